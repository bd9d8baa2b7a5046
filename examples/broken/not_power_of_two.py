"""The launch asks for a block of 768 elements; blocks have a power of two of them."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * factor, mask=offsets < n)


def scale_(x: torch.Tensor, factor: float) -> None:
    scale_kernel[(triton.cdiv(x.numel(), 768),)](x, factor, x.numel(), BLOCK=768)
