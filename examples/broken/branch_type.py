"""The two arms of a run-time `if` leave one name with two types."""

import triton
import triton.language as tl


@triton.jit
def bounded_kernel(x_ptr, y_ptr, limit, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    if limit > 0:
        bound = tl.max(x, axis=0)
    else:
        bound = x
    tl.store(y_ptr + offsets, tl.minimum(x, bound), mask=offsets < n)
