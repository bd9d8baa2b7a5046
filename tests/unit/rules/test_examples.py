"""The example of each manual page gives the finding, and what is to be written instead does not: with the real Triton.

A page shows as little as tells the matter; what it leaves out stands in `AROUND`.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from pathlib import Path

import pytest
from caselib import specifier
from checking import Bench

from kernel_ls.analysis import rules
from kernel_ls.analysis.rules import manual
from kernel_ls.analysis.rules.base import Rule

IMPORTS = """\
import os

import numpy as np
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl
"""
KNOWN = {"os", "np", "torch", "triton", "tl", "gluon", "ttgl"} | set(dir(builtins))


@dataclass(frozen=True)
class Around:
    """What an example needs to be a whole.

    Attributes:
        pin: the kernel's specialization.
        before: statements of the kernel in front of the example's.
        module: definitions above it.
        after: definitions below it.
        target: what it is compiled for.
        triton: the versions of Triton that show it.
        is_module: whether the example is a statement of a module.
    """

    pin: str = ""
    before: str = ""
    module: str = ""
    after: str = ""
    target: str = ""
    triton: str = ""
    is_module: bool = False


LANES = "offs = tl.arange(0, 64)\n"
BLOCK = LANES + "x = tl.load(x_ptr + offs)\n"
SCALAR_USE = "\n\n# kernel-ls: spec p=*fp32 flag=i32\n@triton.jit\ndef kernel(p, flag):\n    tl.store(p, pick(tl.load(p), flag))\n"
READS_WIDTH = "\n\n@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr + tl.arange(0, WIDTH), 0.0)\n"
BLEND = "@triton.jit\ndef blend(x, y, w):\n    return x * w + y * (1 - w)\n"
TILES = (
    "r = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]\na = tl.load(a_ptr + r)\nb = tl.load(b_ptr + r)\n"
)

AROUND = {
    "call-arguments": Around(module=BLEND, before=BLOCK),
    "chained-comparison": Around(triton="<3.9"),
    "deprecated-api": Around(triton=">=3.9"),
    "dot-operands": Around(pin="a_ptr=*fp16 b_ptr=*fp16", before=TILES, triton="<3.9"),
    "ignored-filter": Around(triton="<3.9"),
    "incompatible-operands": Around(pin="n=i32 x_ptr=*fp32"),
    "invalid-argument": Around(before=BLOCK),
    "logical-operator": Around(before="r = tl.arange(0, 64)\n"),
    "loop-carried-type": Around(pin="n=i32 x_ptr=*fp32"),
    "pointer-expected": Around(before=LANES),
    "return-type": Around(after=SCALAR_USE),
    "static-assert": Around(pin="BLOCK=24"),
    "tensor-truth-value": Around(before=BLOCK),
    "unknown-value": Around(after=READS_WIDTH, is_module=True),
    "unsupported-on-target": Around(target="cuda:80", before=BLOCK),
    "unused-result": Around(triton="<3.9"),
}
"""What examples need, where they do not stand alone."""

NOT_RUN = {
    "assumed-specialization": "the example is of a kernel for which no guess compiles, and leaves its body out",
    "compiler-crash": "defects of one version have no example",
    "compiler-timeout": "it takes as long as the compiler may",
    "frontend-error": "what no rule knows has no example",
    "invalid-ir": "the example shows a line of a kernel and one of its launch",
}


def whole(text: str, around: Around) -> str:
    """A file with an example in it: the example where it has functions of its own, else a kernel around it."""
    tree = _parsed(text)
    if around.is_module or (tree is not None and any(isinstance(n, ast.FunctionDef) for n in tree.body)):
        return f"{IMPORTS}\n{around.module}\n{text}\n{around.after}"
    body = around.before + text + "\n"
    names = _free(body) if tree is not None else ["x_ptr", "offs"]
    defined = {n.name for n in _parsed(around.module).body if isinstance(n, ast.FunctionDef)}  # type: ignore[union-attr]
    parameters = [f"{n}: tl.constexpr" if n.isupper() else n for n in names if n not in defined]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    pin = f"# kernel-ls: spec {around.pin}\n" if around.pin else ""
    kernel = f"{pin}@triton.jit\ndef kernel({', '.join(parameters)}):\n{lines}"
    return f"{IMPORTS}\n{around.module}\n{kernel}\n{around.after}"


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _free(body: str) -> list[str]:
    """The names that statements read before anything binds them, in order."""
    tree = ast.parse(body)
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    bound: set[str] = set()
    free: list[str] = []
    for node in sorted(places, key=lambda n: (n.lineno, isinstance(n.ctx, ast.Store), n.col_offset)):
        if isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif node.id not in bound | KNOWN and node.id not in free:
            free.append(node.id)
    loops = {
        n.target.id
        for n in ast.walk(tree)
        if isinstance(n, (ast.For, ast.comprehension)) and isinstance(n.target, ast.Name)
    }
    return [n for n in free if n not in loops]


def codes_of(text: str, around: Around, bench: Bench, folder: Path) -> set[str]:
    """The codes that a file gives."""
    folder.mkdir(exist_ok=True)
    (folder / "case.py").write_text(text, "utf-8")
    targets = [around.target] if around.target else []
    return {finding.code for _, finding in bench.check(folder, ["case.py"], targets=targets).findings}


SHOWN = [rule for rule in rules.registry().values() if rule.code not in NOT_RUN]


@pytest.mark.parametrize("rule", SHOWN, ids=lambda rule: rule.code)
def test_the_example_gives_the_finding_and_what_is_written_instead_does_not(
    rule: Rule, bench: Bench, tmp_path: Path
) -> None:
    page = manual.page(rule)
    around = AROUND.get(rule.code, Around())
    if not specifier(around.triton).contains(bench.interpreter.triton, prereleases=True):
        pytest.skip(f"shown by Triton {around.triton}")
    text = whole(page.example, around)
    assert rule.code in codes_of(text, around, bench, tmp_path / "example"), text
    if page.instead:
        text = whole(page.instead, around)
        assert rule.code not in codes_of(text, around, bench, tmp_path / "instead"), text


def test_only_rules_have_something_around_their_examples() -> None:
    assert (set(AROUND) | set(NOT_RUN)) - set(rules.registry()) == set()
