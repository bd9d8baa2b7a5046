"""The kernel is fine; its launches are not: one has no grid, one forgets an argument, one gives a grid that is no tuple."""

import torch
import triton
import triton.language as tl


@triton.jit
def clear_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 0.0, mask=offsets < n)


def clear_(x: torch.Tensor) -> None:
    clear_kernel(x, x.numel(), BLOCK=1024)


def clear_again_(x: torch.Tensor) -> None:
    clear_kernel[(triton.cdiv(x.numel(), 1024),)](x, BLOCK=1024)


def clear_once_more_(x: torch.Tensor) -> None:
    clear_kernel[lambda meta: triton.cdiv(x.numel(), meta["BLOCK"])](x, x.numel(), BLOCK=1024)
