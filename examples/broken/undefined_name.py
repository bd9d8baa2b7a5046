"""A name that is misspelt, and one that is bound in a branch which may not have run."""

import triton
import triton.language as tl


@triton.jit
def shift_kernel(x_ptr, y_ptr, shift, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=insid)
    if shift > 0:
        moved = offsets + shift
    tl.store(y_ptr + moved, x, mask=inside)
