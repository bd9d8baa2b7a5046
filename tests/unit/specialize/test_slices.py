"""Which arms are reached hangs on a slice of a kernel alone, and the slice leaves out what computes."""

from __future__ import annotations

import ast

import pytest

from kernel_ls.analysis.specialize import flow
from kernel_ls.analysis.specialize.flow import Given, reached_arms
from kernel_ls.analysis.specialize.slices import deciding
from tests.unit.launches.host import PATH, function, index

HELPERS = """
@triton.jit
def inner(a, FLAG: tl.constexpr):
    if FLAG:
        return a + 1
    return a


@triton.jit
def kernel_under_test(x, y, n, FLAG: tl.constexpr, SIZE: tl.constexpr):
"""

BODIES = {
    "a test on a constant that is computed": "    HALF: tl.constexpr = SIZE // 2\n    if HALF > 8:\n        tl.store(x, 1)\n",
    "a test in a helper": "    v = tl.load(x)\n    tl.store(y, inner(v, FLAG))\n",
    "a choice in an expression": "    v = tl.load(x)\n    tl.store(y, inner(v, True) if SIZE > 4 else v)\n",
    "a loop that counts": "    k = 0\n    for i in tl.static_range(SIZE):\n        k += 1\n        if FLAG:\n            tl.store(x, i)\n",
    "an assertion": "    v = tl.load(x)\n    tl.static_assert(SIZE > 4)\n    tl.store(y, v)\n",
    "a walrus": "    if (HALF := SIZE // 2) > 4:\n        tl.store(x, HALF)\n",
    "a name bound in an arm": "    if FLAG:\n        W: tl.constexpr = 1\n    else:\n        W: tl.constexpr = 2\n    if W > 1:\n        tl.store(x, W)\n",
    "an early return": "    if n > 4:\n        return\n    if FLAG:\n        tl.store(x, 1)\n",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("flag", [True, False, None])
def test_the_arms_are_those_of_the_whole_kernel(body: str, flag: bool | None) -> None:
    class Whole(flow._ArmFlow):
        run_unit = flow.Flow.run_unit

    found = index(HELPERS + body)
    program = found.workspace.program(function(found, "kernel_under_test", PATH))
    given = {"x": Given(pointer=True), "y": Given(pointer=True), "SIZE": Given(True, 16)}
    given["FLAG"] = Given(True) if flag is None else Given(True, flag)
    pointers, numbers = frozenset({"x", "y"}), frozenset({"SIZE", "FLAG"})
    whole = frozenset(Whole(program, given, pointers, numbers).run().arms)
    assert whole
    assert reached_arms(program, given) == whole


def test_what_computes_is_left_out() -> None:
    text = "def k(x, F):\n    a = tl.load(x)\n    b = a * 2\n    c = F + 1\n    if c:\n        tl.store(x, b)\n    y = b.to(c)\n"
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    sliced = deciding(node, {"tl": {"k": "ref", "path": "triton.language"}}, _NoUnits())  # type: ignore[arg-type]
    assert ast.unparse(sliced) == "def k(x, F):\n    c = F + 1\n    if c:\n        pass"


class _NoUnits:
    units: dict[str, dict[str, object]] = {}
