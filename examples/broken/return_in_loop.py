"""A search that returns from inside its loop; a Triton function leaves loops only at their end."""

import triton
import triton.language as tl


@triton.jit
def first_above_kernel(x_ptr, index_ptr, threshold, n):
    for i in range(n):
        if tl.load(x_ptr + i) > threshold:
            tl.store(index_ptr, i)
            return
    tl.store(index_ptr, -1)
