"""`tl.dot` wants operands of one element type, whose inner dimensions agree."""

import torch
import triton
import triton.language as tl


@triton.jit
def project_kernel(x_ptr, w_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    half = tl.arange(0, BLOCK // 2)
    x = tl.load(x_ptr + i[:, None] * BLOCK + i[None, :])
    w = tl.load(w_ptr + half[:, None] * BLOCK + i[None, :])
    y = tl.dot(x, w)
    tl.store(y_ptr + i[:, None] * BLOCK + i[None, :], y)
    mixed = tl.dot(x, x.to(tl.float16))
    tl.store(y_ptr + i[:, None] * BLOCK + i[None, :], mixed)


def project(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.empty(64, 64, device=x.device, dtype=torch.float32)
    project_kernel[(1,)](x.to(torch.bfloat16), w.to(torch.bfloat16), y, BLOCK=64)
    return y
