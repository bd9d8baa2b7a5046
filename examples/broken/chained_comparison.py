"""`a <= b < c` does not exist in Triton; it has to be two comparisons."""

import triton
import triton.language as tl


@triton.jit
def window_kernel(x_ptr, first, last, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 0.0, mask=first <= offsets < last)
