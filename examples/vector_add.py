"""Vector addition: each program adds one block of elements, and a mask guards the ragged end."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(left_ptr, right_ptr, sum_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n_elements
    left = tl.load(left_ptr + offsets, mask=inside)
    right = tl.load(right_ptr + offsets, mask=inside)
    tl.store(sum_ptr + offsets, left + right, mask=inside)


def add(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    total = torch.empty_like(left)
    n_elements = total.numel()
    add_kernel[(triton.cdiv(n_elements, 1024),)](left, right, total, n_elements, BLOCK=1024)
    return total


if __name__ == "__main__":
    a = torch.randn(100_003, device="cuda")
    b = torch.randn(100_003, device="cuda")
    torch.testing.assert_close(add(a, b), a + b)
    print("vector_add agrees with torch")
