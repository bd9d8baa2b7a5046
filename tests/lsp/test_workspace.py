"""What other files of the workspace say of an open one: they are looked through beside the checks."""

from __future__ import annotations

from lsp.editor import Editor

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def row_sum(src, dst, n_cols, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float16)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(src + cols, mask=cols < n_cols, other=0.0)
    tl.store(dst, tl.sum(total, axis=0))
"""
LAUNCH = """\
import torch

from kernels import row_sum


def launch(n):
    x = torch.empty(n, dtype=torch.float32)
    out = torch.empty(1, dtype=torch.float32)
    row_sum[(1,)](x, out, n, BLOCK=256)
"""


async def test_a_launch_in_a_file_that_is_not_open_is_found(editor: Editor) -> None:
    """The kernel alone is right for some tensor; its only launch passes one for which it is not."""
    (editor.root / "kernels.py").write_text(KERNEL)
    (editor.root / "host").mkdir()
    (editor.root / "launches.py").write_text(LAUNCH)
    for number in range(200):
        (editor.root / "host" / f"filler{number}.py").write_text(f"def work{number}(x):\n    return x[{number}](x)\n")
    editor.open("kernels.py")
    await editor.sees("kernels.py", [("loop-carried-type", 10)])
