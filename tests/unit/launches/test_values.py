"""What is known of values of host code: tensors, numbers, flags, and what is not known is not claimed."""

from __future__ import annotations

import pytest

from kernel_ls.analysis.environment import Ref
from kernel_ls.analysis.launches import NumberOf, TensorOf

from .host import launches, passed, value

INT, FLOAT, BOOL = NumberOf("int"), NumberOf("float"), NumberOf("bool")
UNKNOWN = "?"


@pytest.mark.parametrize(
    ("expression", "element"),
    [
        ("torch.empty(4)", "fp32"),
        ("torch.empty((4, 4), dtype=torch.float16, device='cuda')", "fp16"),
        ("torch.zeros(4, dtype=torch.bfloat16)", "bf16"),
        ("torch.full((4,), 1)", "i64"),
        ("torch.full((4,), 1.0, dtype=torch.float64)", "fp64"),
        ("torch.arange(8)", "i64"),
        ("torch.arange(0.0, 8.0)", "fp32"),
        ("torch.randint(0, 8, (4,))", "i64"),
        ("torch.randn(4).half()", "fp16"),
        ("torch.randn(4).to(torch.bfloat16)", "bf16"),
        ("torch.randn(4).to('cuda', torch.float16)", "fp16"),
        ("torch.randn(4).to(device=b.device, dtype=torch.int8)", "i8"),
        ("torch.tensor([1, 2])", "i64"),
        ("torch.tensor([1.0])", "fp32"),
        ("torch.tensor([True])", "i1"),
        ("torch.tensor([1], dtype=torch.int32)", "i32"),
        ("torch.empty_like(torch.empty(4, dtype=torch.int16))", "i16"),
        ("torch.empty_like(b, dtype=torch.float16)", "fp16"),
        ("b.new_empty(4, dtype=torch.uint8)", "u8"),
        ("torch.empty(4, dtype=torch.float16).new_zeros(3)", "fp16"),
        ("torch.empty(4, dtype=torch.float16) > 0", "i1"),
        ("torch.empty(4, dtype=torch.float16) * 2", "fp16"),
        ("torch.empty(4, dtype=torch.float16) * 2.0", "fp16"),
        ("torch.empty(4, dtype=torch.int32) * 2.0", "fp32"),
        ("torch.empty(4, dtype=torch.int32) / 2", "fp32"),
        ("torch.empty(4, dtype=torch.int32).sum(-1)", "i64"),
        ("torch.empty(4, dtype=torch.float16).sum(-1)", "fp16"),
        ("torch.empty(4, dtype=torch.float16).view(2, 2).t().contiguous()[0]", "fp16"),
        ("torch.empty(4, dtype=torch.float8_e4m3fn)", "fp8e4nv"),
        ("torch.cat([torch.empty(4).half(), torch.empty(4).half()])", "fp16"),
        ("torch.empty(8, dtype=torch.float16).chunk(2)[1]", "fp16"),
        ("b.float()", "fp32"),
        ("b.argmax(-1)", "i64"),
        ("b.contiguous()", None),
        ("torch.empty_like(b)", None),
        ("b + b.to(torch.float16)", None),
        ("torch.empty(4, dtype=b.dtype)", None),
        ("torch.empty(4, dtype=torch.float16) + torch.empty(4)", None),
        ("torch.nn.Parameter(torch.empty(4))", None),
        ("torch.as_tensor(b)", None),
    ],
)
def test_tensors(expression: str, element: str | None) -> None:
    assert value(expression, "b.stride(0)") == [TensorOf(element)]


def test_what_is_used_as_a_tensor_is_one() -> None:
    assert value("b", "n = b.shape[0]") == [TensorOf(None)]
    assert value("b", parameters="a, b: torch.Tensor") == [TensorOf(None)]
    assert value("b", parameters="a, b: 'torch.Tensor | None'") == [TensorOf(None), UNKNOWN]
    assert value("b") == [UNKNOWN]
    assert value("b", "b.block_shape\nb.shape") == [UNKNOWN]
    helper = "def helper(x: torch.Tensor):\n    return 1\nhelper(b)"
    assert value("b", helper) == [TensorOf(None)]


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("b.shape[0]", INT),
        ("b.size(0)", INT),
        ("b.stride(1)", INT),
        ("b.numel()", INT),
        ("b.shape[0] * 2 + 1", INT),
        ("b.shape[0] / 2", FLOAT),
        ("triton.cdiv(b.numel(), 64)", INT),
        ("triton.next_power_of_2(b.shape[-1])", INT),
        ("1.0 / math.sqrt(b.shape[-1])", FLOAT),
        ("b.shape[-1] ** -0.5", FLOAT),
        ("len(b.shape)", INT),
        ("min(b.shape[0], 128)", INT),
        ("b.data_ptr()", NumberOf("int", wide=True)),
        ("b.dim() > 2", BOOL),
        ("b.float().sum().item()", FLOAT),
        ("7", 7),
        ("1e-5", 1e-5),
        ("None", None),
        ("tl.float16", Ref("triton.language.float16")),
        ("torch.empty(4, 8).stride(0)", 8),
        ("torch.empty(4, 8).shape[1]", 8),
        ("torch.empty(b.shape[0], 8).stride(-1)", 1),
        ("b.contiguous().stride(-1)", 1),
        ("triton.next_power_of_2(100)", 128),
        ("b.transpose(0, 1).contiguous().t().stride(-1)", INT),
    ],
)
def test_numbers(expression: str, known: object) -> None:
    assert value(expression, "b.stride(0)") == [known]


def test_annotations_of_numbers() -> None:
    assert value("b", parameters="a, b: int") == [INT]
    assert value("b", parameters="a, b: float") == [FLOAT]
    assert value("b", parameters="a, b: 'int | float'") == [NumberOf("number")]
    assert value("b", parameters="a, b: float | None") == [UNKNOWN]
    assert value("b", parameters="a, b=1e-6") == [1e-6]
    assert value("b", parameters="a, b=True") == [True, False]


def test_unpacking_tells_the_rank() -> None:
    before = "m, n = b.shape"
    assert value("m", before) == [INT]
    assert value("b.view(m, 4).shape[1]", before) == [4]
    assert [
        len(x.arguments) for x in launches("\ndef f(a):\n    m, n = a.shape\n    kernel[(1,)](a, a, *a.stride())\n")
    ] == [4]
    assert value("n", "*lead, m, n = b.shape") == [INT]
    assert value("n", "m, n, k = *b.shape, 4") == [INT]


class TestCourses:
    """Values that belong together stay together, whatever course the code takes."""

    def test_branches(self) -> None:
        before = "if b.numel() > 8:\n    size = 128\nelse:\n    size = 64"
        assert value("size", before) == [128, 64]

    def test_none_and_flags_agree(self) -> None:
        text = "\ndef f(a, bias=None):\n    n = 1 if bias is None else 2\n    kernel[(1,)](bias, a, n, BLOCK=bias is not None)\n"
        found = {tuple(repr(a.value) for a in x.arguments if a.name in ("n", "BLOCK")) for x in launches(text)}
        assert found == {("2", "True"), ("1", "False")}
        assert all((x.argument("x").value is None) == (x.argument("n").value == 1) for x in launches(text))  # type: ignore[union-attr]

    def test_optional_arguments_are_left_out_together(self) -> None:
        text = """
def f(a, offsets=None, indices=None):
    count = 1 if offsets is None else len(offsets)
    if indices is None:
        pass
    kernel[(1,)](offsets, indices, count, BLOCK=offsets is not None)
"""
        absent = {(x.argument("x").value is None, x.argument("y").value is None) for x in launches(text)}  # type: ignore[union-attr]
        assert absent == {(False, False), (True, True)}

    def test_a_default_of_none_that_nobody_asks_for_is_no_evidence(self) -> None:
        assert None not in passed("\ndef f(a, out=None):\n    kernel[(1,)](out, a, 1, 64)\n")

    def test_guards(self) -> None:
        before = "if b.dtype != torch.float16:\n    raise TypeError\nassert b.shape[1] in (64, 128)\nsize = b.shape[1]"
        assert value("b", before) == [TensorOf("fp16")]
        assert value("size", before) == [64, 128]

    def test_what_guards_a_test_is_no_error(self) -> None:
        text = """
def f(a, state=None):
    if state is not None and not state.is_contiguous():
        raise ValueError
    kernel[(1,)](state, a, 1 if state is None else 2, 64)
"""
        assert passed(text) == [TensorOf(None), None]

    def test_equal_values_are_one(self) -> None:
        before = "assert a.dtype == b.dtype\nassert b.dtype == torch.float16\nassert a.shape[1] == 64"
        assert value("a", before) == [TensorOf("fp16")]

    def test_tables_of_dtypes(self) -> None:
        before = "table = {torch.float16: tl.float16, torch.float32: tl.float32}\nkind = table[b.dtype]"
        assert value("kind", before) == [Ref("triton.language.float16"), Ref("triton.language.float32")]
        assert value("b", before) == [TensorOf("fp16"), TensorOf("fp32")]

    def test_a_flag_without_a_default(self) -> None:
        text = "\ndef f(a, fuse: bool):\n    x = a.half() if fuse else None\n    kernel[(1,)](x, a, 1, BLOCK=fuse)\n"
        found = {(x.argument("x").value, x.argument("BLOCK").value) for x in launches(text)}  # type: ignore[union-attr]
        assert found == {(TensorOf("fp16"), True), (None, False)}


class TestLoops:
    def test_changed_in_a_loop(self) -> None:
        before = "size = 16\nwhile size < b.shape[0]:\n    size *= 2"
        assert value("size", before) == [INT]
        assert value("size", "size = 1\nfor i in range(b.shape[0]):\n    size = size + i") == [INT]

    def test_known_rounds(self) -> None:
        assert value("size", "size = 1\nfor i in range(3):\n    size *= 2") == [8]

    def test_too_many_rounds_claim_nothing(self) -> None:
        assert value("size", "size = 1\nfor i in range(100000):\n    size += 1") == []

    def test_containers_filled_in_a_loop(self) -> None:
        before = "found = []\nfor i in range(b.shape[0]):\n    found.append(i)"
        assert value("len(found)", before) == [INT]
        text = "\ndef f(a, b):\n    xs = []\n    for i in range(b.shape[0]):\n        xs.append(a)\n    kernel[(1,)](*xs, n=1, BLOCK=2)\n"
        assert all(x.incomplete for x in launches(text))


class TestFunctions:
    def test_helpers(self) -> None:
        text = """
def prepare(t, scale):
    if scale is None:
        scale = t.shape[-1] ** -0.5
    return t.contiguous().to(torch.float16), scale

def launch(q):
    q, scale = prepare(q, None)
    kernel[(1,)](q, q, scale, 64)
"""
        assert passed(text) == [TensorOf("fp16")]
        assert passed(text, "n") == [FLOAT]

    def test_what_callers_pass(self) -> None:
        text = """
def launch(q, block):
    kernel[(1,)](q, q, q.stride(-1), block)

def test():
    launch(torch.randn(4, 8, dtype=torch.bfloat16), block=32)
"""
        assert passed(text) == [TensorOf("bf16"), TensorOf(None)]
        assert passed(text, "BLOCK") == [32, UNKNOWN]

    def test_autograd(self) -> None:
        text = """
class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, causal: bool):
        lse = torch.empty(x.shape[0], dtype=torch.float32)
        ctx.save_for_backward(x, lse)
        ctx.causal = causal
        ctx.block = 128
        return x
    @staticmethod
    def backward(ctx, do):
        x, lse = ctx.saved_tensors
        kernel[(1,)](lse, x, 1, ctx.block)
"""
        assert passed(text) == [TensorOf("fp32")]
        assert passed(text, "BLOCK") == [128]

    def test_decorators_that_hand_arguments_on(self) -> None:
        text = """
def guard(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        args = [a if not isinstance(a, torch.Tensor) else a.contiguous() for a in args]
        return fn(*args, **kwargs)
    return wrapper

@guard
def inner(x, size):
    kernel[(1,)](x, x, x.stride(-1), size)

def outer(x: torch.Tensor, size):
    inner(x, size)
"""
        assert TensorOf(None) in passed(text)
        assert passed(text, "BLOCK") == [UNKNOWN]

    def test_what_host_code_changes_is_not_changed_for_others(self) -> None:
        text = """
CACHE = {}
ORDER = [64]
def launch(a):
    CACHE["size"] = 32
    ORDER.append(16)
    kernel[(1,)](a, a, len(ORDER), CACHE["size"])

def later(a):
    kernel[(1,)](a, a, len(ORDER), ORDER[0])
"""
        assert sorted(passed(text, "n")) == [1, 2]
        assert sorted(passed(text, "BLOCK")) == [32, 64]


def test_a_name_of_the_module_that_may_be_either() -> None:
    text = """
if torch.some_question():
    SIZE = 128
else:
    SIZE = 64

def launch(a):
    kernel[(1,)](a, a, SIZE // 2, SIZE)
"""
    found = {(x.argument("n").value, x.argument("BLOCK").value) for x in launches(text)}  # type: ignore[union-attr]
    assert found == {(64, 128), (32, 64)}
