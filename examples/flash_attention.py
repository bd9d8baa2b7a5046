"""Attention without the score matrix: a block of queries meets the keys block by block, with a running softmax in base 2."""

import math

import torch
import triton
import triton.language as tl

LOG2_E = tl.constexpr(math.log2(math.e))
MINUS_INFINITY = tl.constexpr(-float("inf"))


@triton.jit
def attend(
    total, weight_sum, peak, q, k_ptrs, v_ptrs, k_step, v_step, rows, first, last, n_keys, scale,
    BLOCK_N: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Fold keys first..last-1 into the running softmax of one block of queries."""
    for start in range(first, last, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        if MASKED:
            k = tl.load(k_ptrs, mask=cols[None, :] < n_keys, other=0.0)
            v = tl.load(v_ptrs, mask=cols[:, None] < n_keys, other=0.0)
        else:
            k = tl.load(k_ptrs)
            v = tl.load(v_ptrs)
        scores = tl.dot(q, k) * scale
        if MASKED:
            visible = cols[None, :] < n_keys
            if CAUSAL:
                visible = visible & (cols[None, :] <= rows[:, None])
            scores = tl.where(visible, scores, MINUS_INFINITY)
        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        shrink = tl.exp2(peak - new_peak)
        weights = tl.exp2(scores - new_peak[:, None])
        total = tl.dot(weights.to(v.dtype), v, total * shrink[:, None])
        weight_sum = weight_sum * shrink + tl.sum(weights, axis=1)
        peak = new_peak
        k_ptrs += k_step
        v_ptrs += v_step
    return total, weight_sum, peak, k_ptrs, v_ptrs


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, head_stride, row_stride, n_rows, softmax_scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64) * head_stride
    first_row = tl.program_id(0) * BLOCK_M
    rows = first_row + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + head + rows[:, None] * row_stride + dims[None, :], mask=rows[:, None] < n_rows, other=0.0)
    k_ptrs = k_ptr + head + cols[None, :] * row_stride + dims[:, None]
    v_ptrs = v_ptr + head + cols[:, None] * row_stride + dims[None, :]
    step = BLOCK_N * row_stride

    total = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    weight_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    peak = tl.full((BLOCK_M,), MINUS_INFINITY, dtype=tl.float32)
    # exp2 is the cheaper instruction; the logarithms' base moves into the scale.
    scale = softmax_scale * LOG2_E
    # Key blocks that every query of the block sees in full need no mask.
    if CAUSAL:
        end = tl.minimum(first_row + BLOCK_M, n_rows)
        full = tl.minimum(first_row, n_rows) // BLOCK_N * BLOCK_N
    else:
        end = n_rows
        full = n_rows // BLOCK_N * BLOCK_N
    total, weight_sum, peak, k_ptrs, v_ptrs = attend(
        total, weight_sum, peak, q, k_ptrs, v_ptrs, step, step, rows, 0, full, n_rows, scale, BLOCK_N, False, CAUSAL
    )
    total, weight_sum, peak, k_ptrs, v_ptrs = attend(
        total, weight_sum, peak, q, k_ptrs, v_ptrs, step, step, rows, full, end, n_rows, scale, BLOCK_N, True, CAUSAL
    )

    out = (total / weight_sum[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + head + rows[:, None] * row_stride + dims[None, :], out, mask=rows[:, None] < n_rows)
    lse = peak + tl.log2(weight_sum)
    tl.store(lse_ptr + tl.program_id(1) * n_rows + rows, lse, mask=rows < n_rows)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of contiguous (heads, rows, 64) tensors, and the base-2 log of each row's softmax denominator."""
    n_heads, n_rows, head_dim = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((n_heads, n_rows), device=q.device, dtype=torch.float32)
    attention_kernel[(triton.cdiv(n_rows, 128), n_heads)](
        q, k, v, out, lse, q.stride(0), q.stride(1), n_rows, head_dim**-0.5,
        HEAD_DIM=64, BLOCK_M=128, BLOCK_N=64, CAUSAL=causal, num_warps=4, num_stages=3,
    )  # fmt: skip
    return out, lse


if __name__ == "__main__":
    q, k, v = (torch.randn(6, 1000, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    for causal in (False, True):
        expected = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]
        torch.testing.assert_close(attention(q, k, v, causal)[0], expected, atol=1e-2, rtol=1e-2)
    print("flash_attention agrees with torch")
