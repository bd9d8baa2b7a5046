"""A helper is called without one of its parameters, and with one that it does not have."""

import triton
import triton.language as tl


@triton.jit
def mix(a, b, share):
    return a * share + b * (1 - share)


@triton.jit
def blend_kernel(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets, mask=offsets < n)
    b = tl.load(b_ptr + offsets, mask=offsets < n)
    half = mix(a, b)
    most = mix(a, b, share=0.9, clamp=True)
    tl.store(y_ptr + offsets, half + most, mask=offsets < n)
