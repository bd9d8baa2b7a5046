"""A length that only exists at run time cannot be the shape of a block."""

import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, y_ptr, length):
    offsets = tl.arange(0, length)
    tl.store(y_ptr + length - 1 - offsets, tl.load(x_ptr + offsets))
