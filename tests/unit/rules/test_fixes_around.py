"""Fixes of what stands around kernels: each removes its finding, adds none, and changes no more than it says."""

from __future__ import annotations

import pytest

from kernel_ls.analysis import rules
from kernel_ls.analysis.edits import apply_edits
from kernel_ls.analysis.environment import MemoryProvider, Workspace
from kernel_ls.analysis.rules import Explanation

HEAD = """\
import torch
import triton
import triton.language as tl


"""
KERNEL = """
@triton.jit
def kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), factor)


"""
TWO = "triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})"


def found(text: str) -> tuple[Explanation, ...]:
    """What the rules find around the kernels of a file."""
    workspace = Workspace(MemoryProvider({"/case.py": text}))
    document = workspace.document("/case.py")
    assert document is not None
    return rules.check_surroundings(document, rules.surroundings_of(document, workspace))


def mended(text: str, title: str) -> str:
    """The text after the fix of that title, which is the first of its finding."""
    before = found(text)
    explanation = next(e for e in before if any(f.title == title for f in e.fixes))
    fix = next(f for f in explanation.fixes if f.title == title)
    after = apply_edits(text, fix.edits)
    left = {(e.finding.code, e.finding.message) for e in found(after)}
    assert left == {(e.finding.code, e.finding.message) for e in before} - {
        (explanation.finding.code, explanation.finding.message)
    }
    return after


def autotuned(configs: str, key: str = "['n']", rest: str = "") -> str:
    """A file with an autotuned kernel."""
    return f"{HEAD}@triton.autotune(configs=[{configs}], key={key}{rest})" + KERNEL


def launched(launch: str) -> str:
    """A file with a kernel and a launch of it."""
    return f"{HEAD}{KERNEL}def run(x: torch.Tensor, factor: float):\n    {launch}\n"


@pytest.mark.parametrize(
    ("text", "title", "before", "after"),
    [
        (autotuned("triton.Config({'BLOK': 64})"), "Rename to `BLOCK`", "{'BLOK': 64}", '{"BLOCK": 64}'),
        (autotuned("triton.Config({'BLOCK': 64, 'X': 1})"), "Remove `X`", "{'BLOCK': 64, 'X': 1}", "{'BLOCK': 64}"),
        (autotuned("triton.Config({'X': 1, 'BLOCK': 64})"), "Remove `X`", "{'X': 1, 'BLOCK': 64}", "{'BLOCK': 64}"),
        (autotuned(TWO, "['n', 'size']"), "Remove `size`", "['n', 'size']", "['n']"),
        (autotuned(TWO, "['size']"), "Remove `size`", "['size']", "[]"),
        (autotuned(TWO, "['N']"), "Rename to `n`", "['N']", '["n"]'),
        (autotuned(TWO, "'factor'"), "Make it a list", "'factor'", "['factor']"),
        (
            autotuned(f"{TWO}, triton.Config({{'BLOCK': 64}})"),
            "Remove the repeated configuration",
            f"[{TWO}, triton.Config({{'BLOCK': 64}})]",
            f"[{TWO}]",
        ),
        (launched("kernel[(1,)](x, 1, BLOCK=64)"), "Pass factor=factor", "BLOCK=64)", "BLOCK=64, factor=factor)"),
        (launched("kernel[(1,)](x, 1, 2.0, BLOK=64)"), "Rename to `BLOCK`", "BLOK=64", "BLOCK=64"),
        (launched("kernel[(1,)](x, 1, 2.0, 64, n=2)"), "Remove `n`", "64, n=2", "64"),
        (launched("kernel[triton.cdiv(1, 2)](x, 1, 2.0, 64)"), "Make it a tuple", "triton.cdiv(1, 2)", "(triton.cdiv(1, 2),)"),
        (
            f"{HEAD}@triton.heuristics({{'BLOK': lambda args: 64}}){KERNEL}",
            "Rename to `BLOCK`",
            "{'BLOK': lambda",
            '{"BLOCK": lambda',
        ),
        (
            f"{HEAD}@triton.heuristics({{'BLOCK': lambda args: args['N']}}){KERNEL}",
            "Rename to `n`",
            "args['N']",
            'args["n"]',
        ),
    ],
)  # fmt: skip
def test_a_fix_changes_what_it_says(text: str, title: str, before: str, after: str) -> None:
    assert mended(text, title) == text.replace(before, after)


def test_a_list_that_is_written_line_by_line_loses_a_line() -> None:
    text = autotuned("\n    triton.Config({'BLOCK': 64}),\n    triton.Config({'BLOCK': 64}),\n    ")
    assert mended(text, "Remove the repeated configuration") == autotuned("\n    triton.Config({'BLOCK': 64}),\n    ")


def test_jit_is_moved_next_to_the_def_with_all_its_lines() -> None:
    above = "@triton.jit(\n    noinline=True,\n)\n@triton.heuristics({'n': lambda args: 1})\ndef kernel(n): ...\n"
    below = "@triton.heuristics({'n': lambda args: 1})\n@triton.jit(\n    noinline=True,\n)\ndef kernel(n): ...\n"
    text = HEAD + above
    (order,) = (e for e in found(text) if e.finding.code == "decorator-order")
    assert apply_edits(text, order.fixes[0].edits) == HEAD + below


def test_jit_is_added_with_the_indentation_of_its_function() -> None:
    text = (
        f"{HEAD}class Kernels:\n    @triton.heuristics({{'n': lambda args: 1}})\n    def kernel(n: tl.constexpr): ...\n"
    )
    assert "    @triton.jit\n    def kernel" in mended(text, "Add `@triton.jit`")


def test_an_argument_without_a_variable_of_its_name_is_not_added() -> None:
    text = launched("kernel[(1,)](x, 1, BLOCK=64)").replace("factor: float", "scale: float")
    (missing,) = found(text)
    assert missing.finding.message == "`factor` is missing in this launch of `kernel`."
    assert missing.fixes == ()


def test_a_kernel_with_any_arguments_is_left_alone() -> None:
    text = launched("kernel[(1,)](x, other=1)").replace("factor, BLOCK: tl.constexpr", "**kwargs")
    assert found(text) == ()
