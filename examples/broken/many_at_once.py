"""Six independent mistakes in one kernel. Triton reports the first; after it is mended, the second; and so on."""

import torch
import triton
import triton.language as tl

EPSILON = 1e-6


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=0 <= cols < n_cols, other=0.0)
    squares = 0
    for _ in range(2):
        squares += tl.sum(x * x, axis=0) / 2
    scale = tl.rsqrt(squares / n_cols + EPSILON)
    weight = tl.load(weigth_ptr + cols, mask=cols < n_cols)
    bias = tl.arange(0, 100)
    y = x * scale + tl.zeros((BLOCK * 2,), dtype=tl.float32)
    tl.store(y_ptr + row * n_cols + cols, x * scale, mask=cols < n_cols)


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, weight, y, x.shape[1], BLOCK=1024)
    return y
