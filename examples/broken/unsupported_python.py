"""Python that Triton's language does not have."""

import math

import triton
import triton.language as tl


@triton.jit
def python_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    x[0] = 0.0
    square = lambda value: value * value
    root = math.sqrt(x)
    try:
        x += root
    except OverflowError:
        x += 1.0
    for i in range(4):
        if i == 2:
            break
        x += i
    tl.store(x_ptr + offsets, x, mask=offsets < n)
