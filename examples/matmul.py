"""Matrix product, autotuned: tiles of the result are taken in groups of rows, so that neighbours share cached operands."""

import torch
import triton
import triton.language as tl


@triton.jit
def grouped_tile(pid, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """The tile that program `pid` computes, when tiles are numbered down columns of GROUP_M tiles."""
    per_group = GROUP_M * tiles_n
    first_m = (pid // per_group) * GROUP_M
    height = min(tiles_m - first_m, GROUP_M)
    inside = pid % per_group
    return first_m + inside % height, inside // height


@triton.jit
def activate(x, ACTIVATION: tl.constexpr):
    if ACTIVATION == "relu":
        return tl.maximum(x, 0.0)
    elif ACTIVATION == "silu":
        return x * tl.sigmoid(x)
    else:
        tl.static_assert(ACTIVATION == "", "ACTIVATION is relu, silu or empty")
        return x


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=4, num_stages=4),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 4}, num_warps=4, num_stages=4),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    a_stride_m, a_stride_k, b_stride_k, b_stride_n, c_stride_m, c_stride_n,
    ACTIVATION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    tile_m, tile_n = grouped_tile(tl.program_id(0), tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N), GROUP_M)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)

    a_ptrs = a_ptr + rows[:, None] * a_stride_m + depth[None, :] * a_stride_k
    b_ptrs = b_ptr + depth[:, None] * b_stride_k + cols[None, :] * b_stride_n
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for done in range(0, k, BLOCK_K):
        in_k = depth < k - done
        a = tl.load(a_ptrs, mask=(rows[:, None] < m) & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (cols[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * a_stride_k
        b_ptrs += BLOCK_K * b_stride_k

    c = activate(total, ACTIVATION).to(c_ptr.dtype.element_ty)
    c_ptrs = c_ptr + rows[:, None] * c_stride_m + cols[None, :] * c_stride_n
    tl.store(c_ptrs, c, mask=(rows[:, None] < m) & (cols[None, :] < n))


def matmul(a: torch.Tensor, b: torch.Tensor, activation: str = "") -> torch.Tensor:
    (m, k), (_, n) = a.shape, b.shape
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)

    def grid(meta):
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    matmul_kernel[grid](
        a, b, c, m, n, k,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        ACTIVATION=activation,
    )  # fmt: skip
    return c


if __name__ == "__main__":
    a = torch.randn(1000, 520, device="cuda", dtype=torch.float16)
    b = torch.randn(520, 900, device="cuda", dtype=torch.float16)
    torch.testing.assert_close(matmul(a, b), a @ b, atol=2e-2, rtol=1e-2)
    torch.testing.assert_close(matmul(a, b, "relu"), torch.relu(a @ b), atol=2e-2, rtol=1e-2)
    print("matmul agrees with torch")
