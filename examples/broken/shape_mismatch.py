"""Row statistics meet a tile without the `[:, None]` that would spread them over its columns."""

import triton
import triton.language as tl


@triton.jit
def centre_kernel(x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + offsets)
    mean = tl.sum(x, axis=1) / COLS
    tl.store(x_ptr + offsets, x - mean)


def centre_(x):
    centre_kernel[(1,)](x, ROWS=16, COLS=64)
