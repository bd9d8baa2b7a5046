"""Layer normalisation, forward and backward. The weight's and bias's gradients are summed in two steps, without atomics."""

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(inside, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + cols, mask=inside, other=0.0)
    tl.store(y_ptr + row * stride + cols, centred * rstd * weight + bias, mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def backward_kernel(
    dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, dx_ptr, dweight_part_ptr, dbias_part_ptr,
    stride, n_rows, n_cols, BLOCK: tl.constexpr,
):  # fmt: skip
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    dweight = tl.zeros((BLOCK,), dtype=tl.float32)
    dbias = tl.zeros((BLOCK,), dtype=tl.float32)
    # Each program sums over the rows it visits; `reduce_kernel` adds the programs' sums.
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * stride + cols, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * stride + cols, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        normal = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
        weighted = weight * dy
        along_normal = tl.sum(normal * weighted, axis=0) / n_cols
        along_ones = tl.sum(weighted, axis=0) / n_cols
        dx = (weighted - normal * along_normal - along_ones) * rstd
        tl.store(dx_ptr + row * stride + cols, dx, mask=inside)
        dweight += dy * normal
        dbias += dy
    part = tl.program_id(0) * n_cols
    tl.store(dweight_part_ptr + part + cols, dweight, mask=inside)
    tl.store(dbias_part_ptr + part + cols, dbias, mask=inside)


@triton.jit
def reduce_kernel(part_ptr, total_ptr, n_parts, n_cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    total = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for first in range(0, n_parts, BLOCK_R):
        rows = first + tl.arange(0, BLOCK_R)
        inside = (rows[:, None] < n_parts) & (cols[None, :] < n_cols)
        total += tl.sum(tl.load(part_ptr + rows[:, None] * n_cols + cols[None, :], mask=inside, other=0.0), axis=0)
    tl.store(total_ptr + cols, total, mask=cols < n_cols)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        n_rows, n_cols = x.shape
        y = torch.empty_like(x)
        mean = torch.empty(n_rows, device=x.device, dtype=torch.float32)
        rstd = torch.empty(n_rows, device=x.device, dtype=torch.float32)
        block = triton.next_power_of_2(n_cols)
        forward_kernel[(n_rows,)](x, weight, bias, y, mean, rstd, x.stride(0), n_cols, eps, BLOCK=block)
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        n_rows, n_cols = x.shape
        dx = torch.empty_like(x)
        n_parts = min(n_rows, 256)
        dweight_part = torch.empty((n_parts, n_cols), device=x.device, dtype=torch.float32)
        dbias_part = torch.empty((n_parts, n_cols), device=x.device, dtype=torch.float32)
        backward_kernel[(n_parts,)](
            dy, x, weight, mean, rstd, dx, dweight_part, dbias_part,
            x.stride(0), n_rows, n_cols, BLOCK=triton.next_power_of_2(n_cols),
        )  # fmt: skip
        dweight = torch.empty_like(weight)
        dbias = torch.empty_like(weight)
        grid = (triton.cdiv(n_cols, 128),)
        reduce_kernel[grid](dweight_part, dweight, n_parts, n_cols, BLOCK_R=32, BLOCK_C=128)
        reduce_kernel[grid](dbias_part, dbias, n_parts, n_cols, BLOCK_R=32, BLOCK_C=128)
        return dx, dweight, dbias, None


if __name__ == "__main__":
    x = torch.randn(1151, 1000, device="cuda", requires_grad=True)
    weight = torch.rand(1000, device="cuda", requires_grad=True)
    bias = torch.rand(1000, device="cuda", requires_grad=True)
    dy = torch.randn_like(x)
    y = LayerNorm.apply(x, weight, bias, 1e-5)
    expected = torch.nn.functional.layer_norm(x, (1000,), weight, bias, 1e-5)
    torch.testing.assert_close(y, expected, atol=1e-4, rtol=1e-4)
    for ours, theirs in zip(
        torch.autograd.grad(y, (x, weight, bias), dy), torch.autograd.grad(expected, (x, weight, bias), dy)
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)
    print("layer_norm agrees with torch")
