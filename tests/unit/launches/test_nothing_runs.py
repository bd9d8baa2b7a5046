"""A host file whose every corner writes a mark when Python executes it: looking for its launches writes none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kernel_ls.analysis.environment import Workspace
from kernel_ls.analysis.launches import LaunchIndex
from kernel_ls.sources import FileSystemProvider

MARKING = """
def mark(what):
    from pathlib import Path
    with open(Path(__file__).parent / "marks.txt", "a") as file:
        file.write(what + "\\n")
    return 1
mark("imported helper")
"""

TORCH = """
from marking import mark
mark("imported torch")
class Tensor:
    shape = (1, 2)
    dtype = None
    def __getattr__(self, name):
        mark("attribute")
        return lambda *a, **k: self
    def __add__(self, other):
        mark("operator")
        return self
    __radd__ = __mul__ = __getitem__ = __call__ = __add__
class nn:
    class Module:
        def __init__(self): mark("module")
        def __call__(self, *args): return self.forward(*args)
class autograd:
    class Function:
        @classmethod
        def apply(cls, *args): return cls.forward(Tensor(), *args)
def empty(*args, **kwargs):
    mark("torch.empty")
    return Tensor()
float16 = None
"""

TRITON = """
from marking import mark
mark("imported triton")
class Kernel:
    def __init__(self, fn): self.fn = fn
    def __getitem__(self, grid):
        mark("grid")
        grid({}) if callable(grid) else None
        return lambda *a, **k: mark("launch")
    def warmup(self, *a, **k): mark("warmup")
    run = warmup
def jit(fn): return Kernel(fn)
def cdiv(a, b): return mark("cdiv")
"""

HOST = """
import torch
import triton
from marking import mark

@triton.jit
def kernel(x, n: "mark('annotation')", BLOCK=mark("default")):
    mark("kernel body")

class Layer(torch.nn.Module):
    size = mark("class body")
    def __init__(self):
        super().__init__()
        self.block = mark("init") * 16
    @property
    def width(self):
        return mark("property")
    def forward(self, x):
        kernel[(mark("grid value"),)](x, self.width, self.block)

class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, mark("saved"))
        kernel[lambda meta: (mark("grid function"),)](x, mark("argument"), BLOCK=mark("constant"))
        return x

def helper(x, size=mark("helper default")):
    for _ in range(mark("range")):
        mark("loop")
    while mark("while") > 2:
        pass
    with open(__file__) as file:
        mark("with" + file.read()[:0])
    try:
        mark(f"{mark('f-string')}")
    finally:
        mark("finally")
    eval("mark('eval')")
    exec("mark('exec')")
    __import__("marking").mark("import")
    return [mark("comprehension") for _ in range(2)], x + mark("operand")

def launch(x=None):
    x = torch.empty(16, dtype=torch.float16) if x is None else x
    values, y = helper(x)
    fn = kernel[(triton.cdiv(16, mark("divisor")),)]
    fn(y, values[0])
    kernel.run(x, mark("run argument"), grid=(1,))
    kernel.warmup(x, 1, grid=(1,))
    (lambda: kernel[(1,)](x, mark("lambda")))()
    Layer()(x)
    Op.apply(x)

if __name__ == "__main__":
    launch()
"""


def test_nothing_runs(tmp_path: Path) -> None:
    files = {"marking.py": MARKING, "torch.py": TORCH, "triton.py": TRITON, "host.py": HOST}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    host = (tmp_path / "host.py").as_posix()
    index = LaunchIndex(Workspace(FileSystemProvider([tmp_path.as_posix()])))
    launches = index.of_document(host)
    assert {launch.function for launch in launches} >= {"launch", "Layer.forward", "Op.forward"}
    assert not (tmp_path / "marks.txt").exists()
    # The file does leave marks when it is run, so that their absence says something.
    subprocess.run([sys.executable, host], cwd=tmp_path, check=True, capture_output=True)
    marks = (tmp_path / "marks.txt").read_text()
    for mark in ("launch", "grid function", "saved", "property", "eval", "warmup", "f-string"):
        assert mark in marks
