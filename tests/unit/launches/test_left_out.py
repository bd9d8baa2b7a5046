"""What a launch may leave out is left out in one variant, with what goes with it off."""

from __future__ import annotations

from typing import Any

from kernel_ls.analysis.specialize import plan
from kernel_ls.analysis.specialize.from_launches import launched

from .host import PATH, function, index

KERNEL = """
@triton.heuristics({"HAS_BIAS": lambda args: args["bias"] is not None, "WIDE": lambda args: args["n"] > 64})
@triton.jit
def asked(x, bias, n, HAS_BIAS: tl.constexpr, WIDE: tl.constexpr):
    v = tl.load(x + n)
    if HAS_BIAS:
        v += tl.load(bias + n)
    tl.store(x + n, v)


@triton.jit
def told(x, scale, bias, SCALED: tl.constexpr, BIASED: tl.constexpr):
    v = tl.load(x)
    if SCALED:
        v *= tl.load(scale)
    if BIASED:
        v += tl.load(bias)
    tl.store(x, v)
"""


def _variants(host: str, name: str) -> list[dict[str, Any]]:
    """The constants of each variant that leaves something out, and which of its arguments are open."""
    found = index(KERNEL + host)
    kernel = function(found, name, PATH)
    program = found.workspace.program(kernel)
    made = plan(kernel, program, found.workspace, launches=launched(kernel, found))
    return [
        {a.name: (a.value or {}).get("v", a.type) if a.type == "constexpr" else a.type for a in s.arguments if a.open}
        for s in made.variants
        if "leaves out" in s.origin.detail
    ]


def test_what_a_heuristic_asks_about_is_left_out() -> None:
    host = "\ndef launch(x: torch.Tensor, bias: torch.Tensor, n: int):\n    asked[(1,)](x, bias, n)\n"
    assert _variants(host, "asked") == [{"bias": None, "HAS_BIAS": False}]


def test_nothing_is_left_out_that_nobody_leaves_out() -> None:
    host = "\ndef launch(x: torch.Tensor, s: torch.Tensor):\n    told[(1,)](x, s, s, True, True)\n"
    assert _variants(host, "told") == []


def test_what_a_launch_passes_none_for_is_left_out_with_its_flag() -> None:
    host = """
def launch(x: torch.Tensor, scale=None, bias=None):
    told[(1,)](x, scale, bias, scale is not None, bias is not None)

def caller(x: torch.Tensor):
    launch(x, scale=torch.ones(4))
    launch(x, bias=torch.ones(4))
"""
    off = {"scale": None, "bias": None, "SCALED": False, "BIASED": False}
    (variant,) = _variants(host, "told")
    assert {name: value for name, value in off.items() if name in variant} == variant
    assert len(variant) == 2
