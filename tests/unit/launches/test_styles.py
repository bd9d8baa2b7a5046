"""Every way in which host code launches a kernel is seen, with the arguments at their parameters."""

from __future__ import annotations

import pytest

from kernel_ls.analysis.launches import DescriptorOf, LaunchIndex, TensorOf, TypeOf

from .host import HEADER, PATH, function, index, launches, passed

BEFORE = """
def launch(a, b):
    x = torch.empty(16, dtype=torch.float16)
    n = x.numel()
"""


@pytest.mark.parametrize(
    ("call", "style"),
    [
        ("kernel[(1,)](x, x, n, BLOCK=64)", "subscript"),
        ("kernel[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, x, n, BLOCK=64)", "subscript"),
        ("fn = kernel[(1,)]; fn(x, x, n, BLOCK=64)", "subscript"),
        ("kernel.run(x, x, n, BLOCK=64, grid=(1,), warmup=False)", "run"),
        ("kernel.warmup(torch.float16, torch.float16, n, BLOCK=64, grid=(1,))", "warmup"),
        ("f = functools.partial(kernel[(1,)], x); f(x, n, BLOCK=64)", "subscript"),
        ("other = kernel; other[(1,)](x, x, n, BLOCK=64)", "subscript"),
        ("kernel[1,](*(x, x), **{'n': n, 'BLOCK': 64})", "subscript"),
        ("{'first': kernel}['first'][(1,)](x, x, n, 64)", "subscript"),
        ("[kernel][0][(1,)](x, x, n, 64)", "subscript"),
        ("for k in (kernel,): k[(1,)](x, x, n, 64)", "subscript"),
        ("(lambda: kernel[(1,)](x, x, n, 64))()", "subscript"),
        ("triton.testing.do_bench(lambda: kernel[(1,)](x, x, n, 64))", "subscript"),
        ("with torch.cuda.device(a.device): kernel[(1,)](x, x, n, 64)", "subscript"),
    ],
)
def test_styles(call: str, style: str) -> None:
    found = launches(BEFORE + "    " + call + "\n")
    assert {launch.style for launch in found} == {style}
    first = found[0]
    values = {a.name: a.value for a in first.arguments}
    assert values == {"x": TensorOf("fp16"), "y": TensorOf("fp16"), "n": 16, "BLOCK": 64}
    assert first.function == "launch"
    assert not first.incomplete


def test_compiled_source() -> None:
    found = launches("""
def build():
    source = triton.compiler.ASTSource(fn=kernel, signature={"x": "*fp32", "y": "*fp16", "n": "i32", "BLOCK": "constexpr"},
                                       constexprs={(3,): 128})
    triton.compile(source)
""")
    assert [launch.style for launch in found] == ["ASTSource"]
    values = {a.name: a.value for a in found[0].arguments}
    assert values == {"x": TypeOf("*fp32"), "y": TypeOf("*fp16"), "n": TypeOf("i32"), "BLOCK": 128}


def test_place_grid_and_options() -> None:
    (launch,) = launches("\ndef launch(a):\n    kernel[(a.numel(), 2)](a, a, 7, BLOCK=64, num_warps=8, num_stages=2)\n")
    lines = (HEADER + "\ndef launch(a):\n    kernel[(a.numel(), 2)](a, a, 7, BLOCK=64, num_warps=8)\n").split("\n")
    assert launch.path == PATH
    assert lines[launch.location.span.start.line].strip().startswith("kernel[(a.numel(), 2)]")
    assert launch.grid is not None
    assert launch.grid.span.start.column == len("    kernel[")
    assert launch.options == {"num_warps": 8, "num_stages": 2}
    assert [a.keyword for a in launch.arguments] == [False, False, False, True]
    assert [a.source for a in launch.arguments] == ["a", "a", "7", "64"]


def test_one_of_two_kernels() -> None:
    text = """
@triton.jit
def other(x, y, n, BLOCK: tl.constexpr):
    pass

def launch(a, fast):
    chosen = kernel if fast else other
    chosen[(1,)](a, a, 1, 32)
"""
    assert len(launches(text)) == 1
    assert len(launches(text, "other")) == 1


def test_decorated_kernels() -> None:
    header = """
import torch, triton, triton.language as tl

def wrapped(fn):
    return triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])(fn)

@wrapped
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def kernel(x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    pass
"""
    found = index("\ndef launch(a):\n    kernel[(1,)](a, a, a.numel())\n", header).of_document(PATH)
    assert [a.name for a in found[0].arguments] == ["x", "y", "n"]


def test_kernels_of_other_modules_and_nested_ones() -> None:
    kernels = HEADER
    found = index("\nimport kernels\ndef launch(a):\n    kernels.kernel[(1,)](a, a, 3, 16)\n", "", kernels=kernels)
    assert [launch.kernel.path for launch in found.of_document(PATH)] == ["/project/kernels.py"]
    found = index("\nfrom kernels import kernel as k\ndef launch(a):\n    k[(1,)](a, a, 3, 16)\n", "", kernels=kernels)
    assert [launch.kernel.path for launch in found.of_document(PATH)] == ["/project/kernels.py"]
    nested = """
def make(a):
    @triton.jit
    def inner(x, n):
        pass
    inner[(1,)](a, 4)
"""
    assert [launch.function for launch in launches(nested, "inner")] == ["make"]


def test_methods_and_the_module_itself() -> None:
    text = """
class Layer(torch.nn.Module):
    def __init__(self, size: int, fused: bool = True):
        self.size = size
        self.block = 128
        self.fused = fused
    def forward(self, x):
        kernel[(1,)](x, x, x.stride(0), self.block)

if __name__ == "__main__":
    t = torch.ones(8, dtype=torch.int32)
    kernel[(1,)](t, t, 8, BLOCK=16)
"""
    found = launches(text)
    assert {(launch.function, launch.arguments[3].value) for launch in found} == {("Layer.forward", 128), ("", 16)}


def test_unpacked_arguments_that_are_not_known() -> None:
    (launch,) = launches("\ndef launch(a, *rest, **more):\n    kernel[(1,)](a, *rest, BLOCK=64, **more)\n")
    assert launch.incomplete
    assert [(a.name, a.value) for a in launch.arguments if a.name == "BLOCK"] == [("BLOCK", 64)]


def test_no_launch() -> None:
    assert launches("\ndef f(a):\n    a[0](a)\n    handlers['x'](1)\n    a.run(1)\n") == ()
    assert launches("\n@triton.jit\ndef caller(x):\n    kernel(x, x, 1, 2)\n") == ()


def test_a_kernel_without_a_grid() -> None:
    text = "\ndef launch(a):\n    kernel(a, a, 1, BLOCK=2)\n    kernel[(1,)](a, a, 1, BLOCK=2)\n"
    assert {launch.style for launch in launches(text)} == {"call", "subscript"}


def test_descriptors() -> None:
    header = "from triton.tools.tensor_descriptor import TensorDescriptor\n" + HEADER
    text = """
def launch(a):
    x = torch.empty(64, 64, dtype=torch.bfloat16)
    made = TensorDescriptor.from_tensor(x, block_shape=[32, 16])
    spelt = TensorDescriptor(x, x.shape, x.stride(), [8, 4])
    kernel[(1,)](made, spelt, 1, 64)
"""
    assert passed(text, "x", header=header) == [DescriptorOf("bf16", (32, 16))]
    assert passed(text, "y", header=header) == [DescriptorOf("bf16", (8, 4))]


class TestIndex:
    def test_is_kept_until_something_it_rests_on_changes(self) -> None:
        found = index(
            "\nfrom sizes import SIZE\ndef launch(a):\n    kernel[(1,)](a, a, 1, SIZE)\n", sizes="SIZE = 64\n"
        )
        first = found.of_document(PATH)
        assert first[0].arguments[3].value == 64
        assert found.of_document(PATH) is first
        assert found.is_indexed(PATH)
        found.workspace.provider.files["/project/sizes.py"] = "SIZE = 32\n"  # type: ignore[attr-defined]
        found.workspace.invalidate("/project/sizes.py")
        assert not found.is_indexed(PATH)
        assert found.of_document(PATH)[0].arguments[3].value == 32

    def test_launches_of_a_kernel(self) -> None:
        user = "from main import kernel\nimport torch\ndef f():\n    kernel[(1,)](torch.zeros(2), None, 2, 8)\n"
        found = index("\ndef launch(a):\n    kernel[(1,)](a, a, 1, 64)\n", user=user)
        kernel = function(found)
        assert {launch.path for launch in found.launches_of(kernel)} == {PATH}
        found.known_paths.add("/project/user.py")
        assert list(found.index()) == ["/project/user.py"]
        assert {launch.path for launch in found.launches_of(kernel)} == {PATH, "/project/user.py"}
        assert {launch.path for launch in found.launches_of(kernel, [])} == set()

    def test_nothing_is_known_of_a_file_that_is_not_there(self) -> None:
        assert index("").of_document("/project/missing.py") == ()

    def test_text_that_does_not_parse(self) -> None:
        found: LaunchIndex = index("\ndef broken(:\n    pass\n\ndef launch(a):\n    kernel[(1,)](a, a, 1, 64)\n")
        assert len(found.of_document(PATH)) == 1


def test_a_kernel_that_is_handed_to_a_launcher() -> None:
    launcher = "def launch(kernel, grid, **rest):\n    kernel[grid](**rest, BLOCK=128)\n"
    text = "\nfrom launcher import launch\ndef run(a):\n    launch(kernel, (1,), x=a.half(), y=a.contiguous(), n=4)\n"
    (found,) = index(text, launcher=launcher).of_document(PATH)
    assert found.path == "/project/launcher.py"
    assert {a.name: a.value for a in found.arguments} == {
        "x": TensorOf("fp16"),
        "y": TensorOf(None),
        "n": 4,
        "BLOCK": 128,
    }
