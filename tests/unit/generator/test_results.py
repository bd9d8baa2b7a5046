"""What a result says beside faults: facts, call paths, notes, types, reached lines, and when it stopped."""

from __future__ import annotations

from typing import Any

from . import jobs, kernels
from .conftest import Generator


def _check(generator: Generator, body: str, spec: str, **more: Any) -> dict[str, Any]:
    return generator(jobs.job(kernels.HEADER + body.lstrip("\n"), "k", spec, **more))


def _facts(result: dict[str, Any]) -> dict[str, Any]:
    assert len(result["faults"]) == 1, result["faults"]
    return result["faults"][0]["facts"]


def test_a_loop_carried_fault_names_both_types_and_places(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(src, dst, n):
    acc = 0
    for i in range(n):
        acc += tl.load(src + i)
    tl.store(dst, acc)
""",
        "n=i32",
    )
    facts = _facts(result)
    assert (facts["event"], facts["name"], facts["initial"], facts["final"]) == ("loop-carried", "acc", "i32", "f32")
    assert facts["initial_span"] == ["m:k", 2, 4, 2, 11]
    assert facts["assign_spans"] == [["m:k", 4, 8, 4, 31]]
    assert (facts["initial_value"], facts["loop"], facts["constexpr"]) == ("0", "for", False)


def test_an_argument_that_equals_one_is_said_to_be_a_constant(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(src, dst, n, step):
    for i in range(n):
        tl.store(dst, i * step)
        step = n
""",
        "n=i32 step=1",
    )
    facts = _facts(result)
    assert (facts["name"], facts["constexpr"], facts["initial_value"], facts["final"]) == ("step", True, "1", "i32")


def test_operands_have_types_values_and_origins(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(src, dst, N: tl.constexpr):
    x = tl.load(src + tl.arange(0, 64))
    y = x + tl.arange(0, N)
""",
        "N=32",
    )
    facts = _facts(result)
    left, right = facts["operands"]
    assert (left["role"], left["type"], left["origin"]["span"]) == ("left", "tensor<64xf32>", ["m:k", 2, 4, 2, 39])
    assert (right["source"], right["type"], right["origin"]) == ("tl.arange(0, N)", "tensor<32xi32>", None)


def test_a_fault_in_a_helper_has_the_way_to_it(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def inner(x):
    return x + missing


@triton.jit
def outer(x):
    return inner(x)


@triton.jit
def k(src, dst):
    tl.store(dst, outer(tl.load(src)))
""",
        "",
    )
    (fault,) = result["faults"]
    assert fault["span"][0] == "m:inner"
    assert [site[0] for site in fault["path"]] == ["m:k", "m:outer"]


def test_a_fault_in_a_library_function_stands_at_its_call(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(src, dst):
    tl.store(dst, tl.sum(tl.load(src + tl.arange(0, 64)), axis=4))
""",
        "",
    )
    (fault,) = result["faults"]
    assert (fault["span"][:3], fault["node"], fault["facts"]["callee"]) == (
        ["m:k", 2, 18],
        "Call",
        "triton.language.sum",
    )
    assert fault["path"] == []


def test_a_name_that_is_bound_elsewhere_says_where(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(dst, n, FLAG: tl.constexpr):
    if FLAG:
        bias = 1.0
    if n > 0:
        bias = 2.0
    tl.store(dst, bias)
""",
        "n=i32 FLAG=False",
    )
    facts = _facts(result)
    assert facts["bound_under"] == [["m:k", 2, 7, 2, 11]]
    assert facts["bound_in_branch"] == [["m:k", 4, 7, 4, 12]]


def test_prints_and_warnings_are_notes_at_their_calls(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(dst, n, N: tl.constexpr):
    for i in range(n):
        tl.static_print("N is", N)
    r = tl.arange(0, N)
    ok = (r < n) and (r > 2)
    tl.store(dst + r, 1, mask=ok)
""",
        "dst=*i32 n=i32 N=64",
    )
    assert result["faults"] == []
    assert [(note["kind"], note["span"][1]) for note in result["notes"]] == [("print", 3), ("warning", 5)]
    assert result["notes"][0]["text"] == "N is 64"


def test_types_and_reached_lines_are_collected_on_demand(generator: Generator) -> None:
    body = """
@triton.jit
def twice(x):
    return x * 2


@triton.jit
def k(src, dst, FLAG: tl.constexpr):
    x = tl.load(src + tl.arange(0, 64))
    if FLAG:
        x = twice(x)
    else:
        x = nowhere
    tl.store(dst, twice(tl.sum(x)))
"""
    result = _check(generator, body, "FLAG=True", collect=("types", "reached"))
    assert result["faults"] == []
    types = {tuple(entry[:4]): entry[4] for entry in result["types"]["m:twice"]}
    assert types[(2, 11, 2, 12)] == ["tensor<64xf32>", "f32"]
    assert [2, 2] in result["reached"]["m:k"]
    assert [6, 6] not in result["reached"]["m:k"]
    bare = _check(generator, body, "FLAG=True")
    assert (bare["types"], bare["reached"], bare["ttir"]) == ({}, {}, "")


def test_an_endless_expansion_ends_with_the_budget(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def k(dst):
    tl.store(dst, wrong)
    for i in tl.static_range(100000000):
        tl.store(dst + i, i)
""",
        "dst=*i32",
        budget=0.5,
    )
    assert [fault["exception"] for fault in result["faults"]] == ["NameError"]
    assert "budget" in result["truncated"]
    assert result["seconds"] < 5


def test_verifier_errors_are_faults_at_their_line(generator: Generator) -> None:
    text = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def k(src, dst, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [8], [0])
    offsets = gl.arange(0, N, layout)
    gl.store(dst + offsets, gl.load(src + offsets))
"""
    result = generator(jobs.job(text, "k", "N=256"))
    assert [(f["phase"], f["span"][:2]) for f in result["faults"]] == [("verify", ["m:k", 3])]
    assert _check_gluon(generator, text.replace("[8]", "[4]")) == []


def _check_gluon(generator: Generator, text: str) -> list[Any]:
    faults: list[Any] = generator(jobs.job(text, "k", "N=256"))["faults"]
    return faults


def test_a_program_that_cannot_be_built_is_a_setup_fault(generator: Generator) -> None:
    job = jobs.job(kernels.HEADER + "@triton.jit\ndef k(dst):\n    pass\n", "k", "")
    job["units"]["m:k"]["source"] = "def k(dst):\n    x = = 1\n"
    (fault,) = generator(job)["faults"]
    assert (fault["phase"], fault["exception"], fault["span"][:2]) == ("setup", "SyntaxError", ["m:k", 2])


def test_a_target_that_triton_lacks_is_a_setup_fault(generator: Generator) -> None:
    job = jobs.job(kernels.HEADER + "@triton.jit\ndef k(dst):\n    pass\n", "k", "")
    job["target"] = ["npu", 1, 32]
    (fault,) = generator(job)["faults"]
    assert fault["phase"] == "setup"


def test_a_host_function_is_a_fault_and_its_value_goes_on(generator: Generator) -> None:
    result = _check(
        generator,
        """
def round_up(n):
    return 1 << (n - 1).bit_length()


@triton.jit
def k(dst, N: tl.constexpr):
    FULL: tl.constexpr = round_up(N)
    lane = tl.arange(0, FULL)
    tl.store(dst + lane, lane + tl.arange(0, 32))
""",
        "dst=*i32 N=50",
    )
    assert [(f["span"][1], f["facts"]["event"]) for f in result["faults"]] == [(2, "global"), (4, "expression")]
    assert result["faults"][0]["facts"]["callee"] == "m:round_up"


def test_a_kernel_cannot_reach_behind_what_it_is_given(generator: Generator) -> None:
    result = _check(
        generator,
        """
@triton.jit
def helper(x):
    return x


@triton.jit
def k(dst):
    a = tl.load.__globals__
    b = getattr(helper, "__globals__")
    c = getattr(tl.core, "os", 3)
    tl.store(dst, helper(1))
    tl.store(dst, hasattr(tl, "load"))
""",
        "dst=*i32",
    )
    assert [(f["span"][1], f["exception"]) for f in result["faults"]] == [(2, "AttributeError"), (3, "AttributeError")]


def test_a_backends_library_is_found(generator: Generator) -> None:
    text = """
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def k(src, dst):
    tl.store(dst, libdevice.tanh(tl.load(src)))
"""
    result = generator(jobs.job(text, "k", "", collect=("ttir",)))
    assert result["faults"] == []
    assert "__nv_tanhf" in result["ttir"]
