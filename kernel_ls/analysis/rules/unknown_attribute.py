from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.facts import operand
from kernel_ls.analysis.rules.syntax import shorten
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXT = re.compile(r"(?:module )?'?([\w.]+)'?(?: object)? has no attribute '?(\w+)'?")
_NAMED = re.compile(r"type object '?([\w.]+)'? has no attribute '?(\w+)'?")

_LIBDEVICE = frozenset(
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "copysign",
        "cosh",
        "cospi",
        "cyl_bessel_i0",
        "erfc",
        "erfcinv",
        "erfcx",
        "erfinv",
        "exp10",
        "expm1",
        "fast_cosf",
        "fast_expf",
        "fast_logf",
        "fast_powf",
        "fast_sinf",
        "fast_tanf",
        "fmod",
        "hypot",
        "ilogb",
        "isinf",
        "isnan",
        "j0",
        "j1",
        "ldexp",
        "lgamma",
        "log10",
        "log1p",
        "logb",
        "nearbyint",
        "nextafter",
        "norm_cdf",
        "pow",
        "rcbrt",
        "remainder",
        "rint",
        "round",
        "scalbn",
        "signbit",
        "sinh",
        "sinpi",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
        "y0",
        "y1",
    ]
)


class UnknownAttribute(Rule):
    """An attribute is read that the object does not have.

    What it finds:
        `tl.something`, `x.something` or `module.something` where there is no `something` in the installed Triton, on
        the tensor, or in the module.

    Why it is a fault:
        The name does not exist in the Triton that compiles the kernel. Functions move between versions: `tanh` and
        most special functions live in `libdevice` since 3.0. PyTorch's tensor methods do not exist in a kernel.

    Example:
        y = tl.math.tanh(x)

    Instead:
        from triton.language.extra import libdevice

        y = libdevice.tanh(x)

    Triton versions:
        All; which attributes exist differs between versions.

    Fix and its safety:
        Renames to the nearest attribute that exists, where one is near. It is a guess at what was meant.
    """

    code = "unknown-attribute"
    summary = "an attribute that the object does not have"
    priority = 40

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if fault.exception != "AttributeError":
            return None
        found = _NAMED.search(fault.text) or _TEXT.search(fault.text)
        if found is None:
            return None
        attribute = found.group(2)
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        attribute_node = None
        if node is not None:
            attribute_node = next((n for n in walk(node) if isinstance(n, ast.Attribute) and n.attr == attribute), None)
        if attribute_node is None:
            return None  # an operator or an internal step failed, not an attribute that the author wrote
        place = tree.span(attribute_node)
        owner = tree.source_of(attribute_node.value)
        base = operand(fault, "value", "left", "func")
        is_value = base is not None and base.type and not base.type.startswith(("module", "function"))
        if found.group(1) in ("tensor", "block") or (is_value and found.group(1) != "module"):
            kind = base.type if base is not None and is_value else f"a {found.group(1)}"
            message = f"`{shorten(owner)}` is {kind}, which has no `{attribute}`."
        else:
            message = (
                f"`{owner}` has no `{attribute}` in this Triton."
                if _is_triton(owner, fault)
                else f"`{owner}` has no `{attribute}`."
            )
        if attribute in _LIBDEVICE and found.group(1) != "tensor":
            message += f" Use `libdevice.{attribute}` (from triton.language.extra import libdevice)."
        else:
            near = _suggestion(fault, attribute)
            if near:
                message += f" Did you mean `{near}`?"
            elif attribute in _TORCH_METHODS:
                message += f" {_TORCH_METHODS[attribute]}"
        return Match(place, message, cause=f"{owner}.{attribute}" if _is_triton(owner, fault) else "")

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(fault.span.unit)
        node = tree.node_at(match.span)
        if isinstance(node, ast.Attribute):
            near = _suggestion(fault, node.attr)
            if near:
                whole = match.span
                start = whole.end_column - len(node.attr.encode())
                name = UnitSpan(whole.unit, whole.end_line, start, whole.end_line, whole.end_column)
                yield context.fix(f"Rename to `{near}`", (name, near))


_TORCH_METHODS = {
    "float": "Use `.to(tl.float32)`.",
    "half": "Use `.to(tl.float16)`.",
    "bfloat16": "Use `.to(tl.bfloat16)`.",
    "int": "Use `.to(tl.int32)`.",
    "long": "Use `.to(tl.int64)`.",
    "double": "Use `.to(tl.float64)`.",
    "bool": "Use `.to(tl.int1)` or a comparison.",
    "type": "Use `.to(dtype)`.",
    "unsqueeze": "Use `x[:, None]` or `tl.expand_dims`.",
    "transpose": "Use `tl.trans`.",
    "t": "Use `.T` or `tl.trans`.",
    "mean": "Use `tl.sum` and divide.",
    "size": "Use `.shape`.",
    "stride": "A block has no strides; pass the tensor's stride as an argument.",
    "data_ptr": "A tensor argument is its pointer in a kernel.",
}


def _suggestion(fault: Fault, attribute: str) -> str:
    return nearest(attribute, [str(c) for c in fault.facts.get("candidates") or ()])


def _is_triton(owner: str, fault: Fault) -> bool:
    head = owner.split(".", maxsplit=1)[0]
    return head in ("tl", "triton", "ttgl", "gl", "libdevice", "gluon") or "triton" in fault.text
