from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import callee, operands
from kernel_ls.analysis.rules.syntax import UnitTree, dotted
from kernel_ls.model import Fault, Fix

_NOT_CALLABLE = re.compile(r"'(\w+)' object is not callable")
_REFERENCED = re.compile(r"Unsupported function referenced: (.*)", re.DOTALL)
_BUILTIN = re.compile(r"<built-in function (\w+)>|<(?:class|type) '([\w.]+)'>|<ufunc '(\w+)'>")
_MATH_TRIPS = re.compile(
    r"must be real number, not (?:tensor|constexpr|block)|loop of ufunc does not support|"
    r"only (?:size-1|length-1|0-dimensional) arrays|unhashable type|"
    r"(?:int|float)\(\) argument must be a string.*not '(?:tensor|constexpr)'"
)

_EQUIVALENTS = {
    "sqrt": "tl.sqrt",
    "rsqrt": "tl.rsqrt",
    "exp": "tl.exp",
    "exp2": "tl.exp2",
    "log": "tl.log",
    "log2": "tl.log2",
    "sin": "tl.sin",
    "cos": "tl.cos",
    "abs": "tl.abs",
    "fabs": "tl.abs",
    "floor": "tl.floor",
    "ceil": "tl.ceil",
    "erf": "tl.erf",
    "fma": "tl.fma",
    "maximum": "tl.maximum",
    "minimum": "tl.minimum",
    "where": "tl.where",
    "arange": "tl.arange",
    "zeros": "tl.zeros",
    "zeros_like": "tl.zeros_like",
    "full": "tl.full",
    "dot": "tl.dot",
    "matmul": "tl.dot",
    "sum": "tl.sum",
    "max": "tl.max",
    "min": "tl.min",
    "argmax": "tl.argmax",
    "argmin": "tl.argmin",
    "sigmoid": "tl.sigmoid",
    "softmax": "tl.softmax",
    "cumsum": "tl.cumsum",
    "sort": "tl.sort",
    "reshape": "tl.reshape",
    "transpose": "tl.trans",
}
_LIBDEVICE = frozenset(
    [
        "tanh",
        "sinh",
        "cosh",
        "tan",
        "atan",
        "atan2",
        "acos",
        "asin",
        "pow",
        "isnan",
        "isinf",
        "expm1",
        "log1p",
        "log10",
        "rint",
        "round",
        "trunc",
        "erfc",
        "fmod",
        "hypot",
        "cbrt",
    ]
)


class UnsupportedCall(Rule):
    """A kernel calls a function that has no meaning in a kernel.

    What it finds:
        Calls of functions of the standard library, NumPy, PyTorch and the like, also on constants, and calls of
        values that cannot be called.

    Why it is a fault:
        A kernel can call Triton's own functions, `@triton.jit` functions and `@triton.constexpr_function`s. Anything
        else would have to be run by Python, which is not there.

    Example:
        y = np.sqrt(x)

    Instead:
        y = tl.sqrt(x)

    Triton versions:
        All.

    Fix and its safety:
        Writes Triton's function of the same name where there is one. Results may differ in the last bits.
    """

    code = "unsupported-call"
    summary = "a call of something that has no meaning in a kernel"
    priority = 32

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        tree = context.tree(fault.span.unit)
        call = tree.call_at(fault.span)
        if fault.exception == "OpaqueUse":
            node = tree.node_at(fault.span)
            name = callee(fault) or _written(call, tree)
            if call is None or not isinstance(node, (ast.Call, ast.Attribute, ast.Name)):
                return Match(fault.span, _use_message(tree.text(fault.span), name))
            return Match(fault.span, _message(_written(call, tree) or name, name))
        found = _REFERENCED.search(fault.text)
        if found is not None:
            inner = _BUILTIN.search(found.group(1))
            if inner is None:
                return None
            name = next(g for g in inner.groups() if g)
            place = tree.find(
                lambda n: isinstance(n, ast.Call) and dotted(n.func).split(".")[-1] == name.split(".")[-1]
            )
            return Match(tree.span(place) if place is not None else fault.span, _message(name, name))
        found = _NOT_CALLABLE.search(fault.text)
        if found is not None and fault.exception == "TypeError":
            written = _written(call, tree) or tree.text(fault.span)
            kind = {"tensor": "a run-time value", "constexpr": "a constant"}.get(found.group(1), f"a {found.group(1)}")
            return Match(fault.span, f"`{written}` is {kind} and cannot be called.")
        library = callee(fault).partition(".")[0] in ("math", "cmath", "numpy", "operator", "random")
        if call is not None and (_MATH_TRIPS.search(fault.text) or (library and fault.exception == "TypeError")):
            return Match(fault.span, _message(_written(call, tree), callee(fault) or _written(call, tree)))
        return None

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        call = tree.call_at(match.span)
        if call is None:
            return
        equivalent = _equivalent((dotted(call.func) or callee(fault)).split(".")[-1])
        values = [o for o in operands(fault) if o.role != "func"]
        if equivalent.startswith("tl.") and not (values and all(o.value is not None for o in values)):
            yield context.fix(f"Use {equivalent}", (tree.span(call.func), equivalent))


def _written(call: ast.Call | None, tree: UnitTree) -> str:
    return tree.source_of(call.func) if call is not None else ""


def _equivalent(name: str) -> str:
    if name in _EQUIVALENTS:
        return _EQUIVALENTS[name]
    return f"libdevice.{name}" if name in _LIBDEVICE else ""


def _message(written: str, name: str) -> str:
    equivalent = _equivalent(name.rsplit(".", maxsplit=1)[-1])
    message = f"`{written}` cannot be called in a kernel: it is neither Triton's nor a `@triton.jit` function."
    return f"{message} Use `{equivalent}`." if equivalent else message


def _use_message(written: str, name: str) -> str:
    return (
        f"`{written}` ({name}) has no meaning in a kernel."
        if name and name != written
        else f"`{written}` has no meaning in a kernel."
    )
