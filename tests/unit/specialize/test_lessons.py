"""What one specialization of a kernel taught is not found out again for the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_ls.analysis.specialize import carry, learned, plan, repair
from kernel_ls.analysis.specialize.from_launches import launched
from kernel_ls.analysis.specialize.plan import Plan
from kernel_ls.model import Argument, Fault, Specialization, UnitSpan
from tests.unit.launches.host import PATH, function, index

KERNEL = """
@triton.jit
def kernel_under_test(x, offsets, n, SIZE: tl.constexpr, VARIED: tl.constexpr):
    if VARIED:
        n = tl.load(offsets + 1) - tl.load(offsets)
    o = tl.arange(0, SIZE)
    tl.store(x + o, n)
"""

SOMETIMES = """
from elsewhere import prepared

def launch(x: torch.Tensor, lengths: torch.Tensor, size: int):
    offsets = prepared(lengths) if size > 4 else None
    kernel_under_test[(1,)](x, offsets, size, SIZE=size, VARIED=True)
"""


def _plan(host: str = "") -> Plan:
    found = index(KERNEL + host)
    kernel = function(found, "kernel_under_test", PATH)
    return plan(kernel, found.workspace.program(kernel), found.workspace, launches=launched(kernel, found))


def _with(specialization: Specialization, name: str, type_: str, value: object = None) -> Specialization:
    wire = {"k": "lit", "v": value} if type_ == "constexpr" else None
    changed = [replace(a, type=type_, value=wire) if a.name == name else a for a in specialization.arguments]
    return replace(specialization, arguments=tuple(changed))


def _of(specialization: Specialization, name: str) -> Argument:
    return next(a for a in specialization.arguments if a.name == name)


def test_what_may_be_none_is_a_tensor_first_where_it_is_loaded_from() -> None:
    domain = _plan(SOMETIMES).kernel.domains["offsets"]
    assert domain[0].type == "*i32"
    assert domain[-1].value == {"k": "lit", "v": None}


def test_a_size_that_was_mended_is_carried_over() -> None:
    made = _plan()
    first = made.specializations[0]
    mended = _with(first, "SIZE", "constexpr", 16)
    assert _of(first, "SIZE").value != _of(mended, "SIZE").value
    carried = carry(made, learned(first, mended), first)
    assert _of(carried, "SIZE").value == {"k": "lit", "v": 16}


@pytest.mark.parametrize("planned", [4096, None])
def test_a_size_that_was_planned_otherwise_stays(planned: int | None) -> None:
    made = _plan()
    first = made.specializations[0]
    taught = learned(first, _with(first, "SIZE", "constexpr", 16))
    other = _with(first, "SIZE", "constexpr", planned)
    assert carry(made, taught, other) == other


def test_a_flag_stays() -> None:
    made = _plan()
    first = _with(made.specializations[0], "VARIED", "constexpr", True)
    taught = learned(first, _with(first, "VARIED", "constexpr", False))
    assert _of(carry(made, taught, first), "VARIED").value == {"k": "lit", "v": True}


def test_what_fails_because_of_none_is_mended_at_what_is_none() -> None:
    made = _plan()
    first = _with(made.specializations[0], "offsets", "constexpr", None)
    span = UnitSpan(made.kernel.program.kernel, 5, 8, 5, 53)
    fault = Fault(span, "AttributeError", "'NoneType' object has no attribute 'type'", "Call", "generate")
    following = repair(made, first, [fault], {first.key})
    assert following is not None
    assert _of(following, "offsets").type == "*i32"
    assert [a for a in following.arguments if a.name != "offsets"] == [
        a for a in first.arguments if a.name != "offsets"
    ]
