"""The autotuner is keyed by a name that is no parameter, so a change of size never tunes again; and one config tunes nothing."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCKS": 1024}, num_warps=8),
    ],
    key=["n_elements"],
)
@triton.jit
def negate_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, -tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def negate_(x: torch.Tensor) -> None:
    negate_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x.numel())
