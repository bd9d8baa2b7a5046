"""Kernels see a module's constants only as `tl.constexpr(...)`."""

import triton
import triton.language as tl

SLOPE = 0.01


@triton.jit
def leaky_relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, tl.where(x > 0, x, x * SLOPE), mask=offsets < n)
