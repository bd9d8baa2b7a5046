"""Launches as settings: what Triton would make of the arguments, and nothing where that is not certain."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_ls.analysis.specialize.settings import UNKNOWN_NUMBER, UNKNOWN_POINTEE
from kernel_ls.model import EvidenceKind

from .host import HEADER, PATH, settings


def facts(expression: str, parameter: str = "x", header: str = HEADER) -> list[tuple[Any, Any, bool]]:
    """Type, value and divisibility that the launch of an argument gives."""
    text = f"\ndef launch(a, b):\n    n = b.shape[0]\n    kernel[(1,)]({parameter}={expression}, num_warps=8)\n"
    found = []
    for setting in settings(text, header=header):
        fact = setting.facts[parameter]
        found.append((fact.type, (fact.value or {}).get("v"), fact.divisible))
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.empty(4, dtype=torch.float16)", ("*fp16", None, True)),
        ("torch.empty(4, dtype=torch.bool)", ("*i1", None, True)),
        ("b", (UNKNOWN_POINTEE, None, True)),
        ("None", ("constexpr", None, False)),
        ("1", ("constexpr", 1, False)),
        ("32", ("i32", None, True)),
        ("7", ("i32", None, False)),
        ("1 << 40", ("i64", None, True)),
        ("True", ("i1", None, False)),
        ("0.5", ("fp32", None, False)),
        ("b.stride(0)", ("i32", None, False)),
        ("b.data_ptr()", ("i64", None, False)),
        ("b.shape[0] / 2", ("fp32", None, False)),
    ],
)
def test_arguments(expression: str, expected: tuple[Any, Any, bool]) -> None:
    assert facts(expression) == [expected]


def test_evidence_has_a_place_and_the_text() -> None:
    text = "\ndef launch(b):\n    kernel[(1,)](b, b, b.stride(0), BLOCK=64, num_warps=8)\n"
    (setting,) = settings(text)
    assert setting.options == {"num_warps": 8}
    assert setting.origin.detail == "launched in `launch`"
    evidence = setting.facts["n"].evidence
    assert evidence.kind is EvidenceKind.LAUNCH
    assert "`b.stride(0)`" in evidence.detail
    assert evidence.location is not None
    assert evidence.location.path == PATH
    assert setting.facts["n"].varies


def test_constants_only_where_they_are_known() -> None:
    assert facts("64", "BLOCK") == [("constexpr", 64, False)]
    assert facts("'relu'", "BLOCK") == [("constexpr", "relu", False)]
    assert facts("triton.next_power_of_2(n)", "BLOCK") == []
    assert facts("torch.float16", "BLOCK") == []
    assert facts("tl.float16", "BLOCK") == [("constexpr", None, False)]


def test_not_specialized() -> None:
    header = HEADER.replace("@triton.jit", "@triton.jit(do_not_specialize=['n'])")
    assert facts("1", "n", header) == [("i32", None, False)]
    assert facts("32", "n", header) == [("i32", None, False)]


def test_numbers_of_either_kind() -> None:
    (setting,) = settings("\ndef launch(a, value: 'int | float'):\n    kernel[(1,)](a.half(), a, value, 64)\n")
    assert setting.facts["n"].type == UNKNOWN_NUMBER


def test_few_settings_and_those_that_know_most_first() -> None:
    text = """
def launch(a, bias=None):
    size = a.shape[0]
    if size > 4: BLOCK = 16
    elif size > 3: BLOCK = 32
    elif size > 2: BLOCK = 64
    elif size > 1: BLOCK = 128
    elif size > 0: BLOCK = 256
    else: BLOCK = 512
    kernel[(1,)](a, bias, 2 if bias is None else 3, BLOCK)

def test():
    launch(torch.empty(100, dtype=torch.bfloat16))
"""
    found = settings(text)
    assert len(found) == 4
    assert found[0].facts["x"].type == "*bf16"
    assert found[0].facts["BLOCK"].value["v"] == 16


def test_a_setting_that_says_less_is_left_out() -> None:
    text = """
def launch(a):
    kernel[(1,)](a, a.half(), 16, 64)

def test():
    launch(torch.empty(100, dtype=torch.bfloat16))
"""
    assert [s.facts["x"].type for s in settings(text)] == ["*bf16"]


def test_descriptors() -> None:
    header = "from triton.tools.tensor_descriptor import TensorDescriptor as T\n" + HEADER
    made = "T.from_tensor(torch.empty(64, 64, dtype=torch.bfloat16), block_shape=[32, 16])"
    assert facts(made, header=header) == [("tensordesc<bf16[32, 16]>", None, False)]
    assert facts("T.from_tensor(b, block_shape=[32, 16])", header=header) == []
    tuned = header.replace("@triton.jit", "@triton.autotune([triton.Config({'BLOCK': 32})], key=[])\n@triton.jit")
    assert facts(made, header=tuned) == []


def test_launches_without_a_grid_are_no_evidence() -> None:
    assert settings("\ndef launch(a):\n    kernel(a, a, 1, BLOCK=2)\n") == ()
