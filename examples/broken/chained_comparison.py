"""`a <= b < c` has to be two comparisons (up to Triton 3.8)."""

import triton
import triton.language as tl


@triton.jit
def window_kernel(x_ptr, first, last, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 0.0, mask=first <= offsets < last)
