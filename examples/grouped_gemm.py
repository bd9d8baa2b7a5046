"""Many matrix products of different sizes in one launch: the programs share out the tiles of all of them.

Each problem's operands are found through a table of addresses, and read through tensor descriptors made on the device.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def grouped_gemm_kernel(
    a_addresses, b_addresses, c_addresses, sizes_ptr, n_problems,
    PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    problem_end = 0
    for problem in range(n_problems):
        m = tl.load(sizes_ptr + problem * 3)
        n = tl.load(sizes_ptr + problem * 3 + 1)
        k = tl.load(sizes_ptr + problem * 3 + 2)
        tiles_n = tl.cdiv(n, BLOCK_N)
        problem_start = problem_end
        problem_end += tl.cdiv(m, BLOCK_M) * tiles_n
        if tile < problem_end:
            a_ptr = tl.load(a_addresses + problem).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_addresses + problem).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_addresses + problem).to(tl.pointer_type(tl.float16))
            a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [BLOCK_M, BLOCK_K])
            b_desc = tl.make_tensor_descriptor(b_ptr, [k, n], [n, 1], [BLOCK_K, BLOCK_N])
            c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [BLOCK_M, BLOCK_N])
            while tile < problem_end:
                row = (tile - problem_start) // tiles_n * BLOCK_M
                col = (tile - problem_start) % tiles_n * BLOCK_N
                total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for done in range(0, k, BLOCK_K):
                    total = tl.dot(a_desc.load([row, done]), b_desc.load([done, col]), total)
                c_desc.store([row, col], total.to(tl.float16))
                tile += PROGRAMS


def grouped_gemm(problems: list[tuple[torch.Tensor, torch.Tensor]]) -> list[torch.Tensor]:
    """The product of each pair of contiguous half-precision matrices (descriptors want row lengths that are multiples of 8)."""
    results = [torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype) for a, b in problems]
    device = problems[0][0].device

    def addresses(tensors):
        return torch.tensor([t.data_ptr() for t in tensors], device=device, dtype=torch.int64)

    sizes = torch.tensor([[a.shape[0], b.shape[1], a.shape[1]] for a, b in problems], device=device, dtype=torch.int32)
    # Descriptors made on the device live in memory that Triton asks the caller for.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device=device, dtype=torch.int8))
    grouped_gemm_kernel[(132,)](
        addresses(a for a, _ in problems), addresses(b for _, b in problems), addresses(results), sizes, len(problems),
        PROGRAMS=132, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, num_warps=4,
    )  # fmt: skip
    return results


if __name__ == "__main__":
    shapes = [(512, 256, 128), (1000, 72, 344), (64, 640, 1024)]
    pairs = [
        (torch.randn(m, k, device="cuda", dtype=torch.float16), torch.randn(k, n, device="cuda", dtype=torch.float16))
        for m, n, k in shapes
    ]
    for (a, b), c in zip(pairs, grouped_gemm(pairs)):
        torch.testing.assert_close(c, a @ b, atol=2e-2, rtol=1e-2)
    print("grouped_gemm agrees with torch")
