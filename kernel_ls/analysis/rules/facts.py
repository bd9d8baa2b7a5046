"""Reading a fault's facts (ARCHITECTURE.md, "Facts") and types in text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_ls.model import Fault, Json, UnitSpan


@dataclass(frozen=True, slots=True)
class Operand:
    """One evaluated child of the failing node: its role there, text, type and where its value came from."""

    role: str
    source: str
    span: UnitSpan | None
    type: str
    value: str | None = None
    origin: UnitSpan | None = None
    origin_type: str = ""

    @property
    def described(self) -> str:
        """`` `x` (tensor<64xf32>)``, or with a constant's value in place of its type."""
        text = self.source if len(self.source) <= 40 else self.source[:37] + "..."
        kind = plain_layouts(self.type)
        if self.value is not None and self.value != text:
            return f"`{text}` (the constant {self.value})"
        return f"`{text}` ({kind})" if self.value is None else f"`{text}`"


def to_span(value: Json) -> UnitSpan | None:
    """A span of the wire form, or None."""
    if not isinstance(value, (list, tuple)) or len(value) != 5:
        return None
    return UnitSpan(str(value[0]), *(int(v) for v in value[1:]))


def spans(value: Json) -> tuple[UnitSpan, ...]:
    """Those of a list of wire spans that are there."""
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(s for s in (to_span(v) for v in value) if s is not None)


def event(fault: Fault) -> str:
    """What happened, in the worker's words (empty where it does not say)."""
    return str(fault.facts.get("event") or "")


def operands(fault: Fault) -> tuple[Operand, ...]:
    """The failing node's evaluated children."""
    found = []
    for item in fault.facts.get("operands") or ():
        if not isinstance(item, Mapping):
            continue
        origin = item.get("origin")
        origin = origin if isinstance(origin, Mapping) else {}
        value = item.get("value")
        found.append(
            Operand(
                role=str(item.get("role") or ""),
                source=str(item.get("source") or ""),
                span=to_span(item.get("span")),
                type=str(item.get("type") or ""),
                value=None if value is None else str(value),
                origin=to_span(origin.get("span")),
                origin_type=str(origin.get("type") or ""),
            )
        )
    return tuple(found)


def operand(fault: Fault, *roles: str) -> Operand | None:
    """The first operand with one of `roles`."""
    for role in roles:
        for candidate in operands(fault):
            if candidate.role == role:
                return candidate
    return None


def arguments(fault: Fault) -> tuple[Operand, ...]:
    """The operands of a call without the function itself, and without the module that it was read from."""
    return tuple(
        o for o in operands(fault) if o.role != "func" and not (o.role == "self" and o.type.startswith("module "))
    )


def callee(fault: Fault) -> str:
    """Dotted name of what was called, as the worker gives it."""
    return str(fault.facts.get("callee") or "")


def callee_name(fault: Fault) -> str:
    """The last part of the callee's name: `load`, `dot`, `sum`."""
    return re.split(r"[.:]", callee(fault))[-1]


# ------------------------------------------------------------------------------------------------ types in text

_BLOCK = re.compile(r"^(?:tensor|tensordesc)<((?:\d+x)+)(.+)>$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BlockType:
    """A block's shape and element type, and for Gluon its layout."""

    shape: tuple[int, ...]
    element: str
    layout: str = ""


def block(type_text: str) -> BlockType | None:
    """Read `tensor<128x64xf16>`; None for anything that is not a block."""
    found = _BLOCK.match(type_text.strip())
    if found is None:
        return None
    shape = tuple(int(part) for part in found.group(1).split("x") if part)
    element, _, layout = found.group(2).partition(",")
    return BlockType(shape, element.strip(), layout.strip())


def scalar(type_text: str) -> str:
    """The element type: `f16` of `tensor<64xf16>`, `*f32` of a block of pointers, and a scalar's own."""
    found = block(type_text)
    return found.element if found else type_text


def is_block(type_text: str) -> bool:
    """Whether a value of this type has more than no dimension."""
    return block(type_text) is not None


def is_pointer(type_text: str) -> bool:
    """Whether the type is a pointer or a block of pointers."""
    return scalar(type_text).startswith("*")


def is_float(type_text: str) -> bool:
    """Whether the elements are floating point."""
    return bool(re.fullmatch(r"(bf|f|fp)\d+\w*", scalar(type_text)))


def is_integer(type_text: str) -> bool:
    """Whether the elements are integers, booleans included."""
    return bool(re.fullmatch(r"(i|u)\d+", scalar(type_text)))


def is_constant(type_text: str) -> bool:
    """Whether the value is known when the kernel is compiled."""
    return type_text.startswith("constexpr")


def is_runtime(type_text: str) -> bool:
    """Whether the value exists only when the kernel runs."""
    return bool(re.fullmatch(r"(i|u|f|bf|fp)\d+\w*", type_text)) or type_text.startswith(("*", "tensor<"))


def shape_text(shape: tuple[int, ...]) -> str:
    """`(64, 32)` or `(64,)`, as a person writes a shape."""
    return "(" + ", ".join(str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def brief(text: str) -> str:
    """A text in which layouts are named without what they are made of: `tensor<64xf32, BlockedLayout(...)>`."""
    out, at = "", 0
    for found in re.finditer(r"\w*Layout\(", text):
        if found.start() < at:
            continue
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        out += text[at : found.end()] + "...)"
        at = end
    return out + text[at:]


_DEFAULTS = re.compile(r", (?:ctas_per_cga|cta_split_num|cta_order|cga_layout)=\[[\d, ]*\]")


def plain_layouts(text: str) -> str:
    """A text whose layouts are without what concerns clusters of blocks, which nearly all leave as it is."""
    return _DEFAULTS.sub("", text)


def described_type(type_text: str) -> str:
    """A type as a sentence says it: of a constant its value and what it becomes at run time."""
    found = re.fullmatch(r"constexpr\[(.+)\]", type_text, re.DOTALL)
    if found is None:
        return brief(type_text)
    value = found.group(1)
    kind = "i32" if re.fullmatch(r"-?\d+", value) else "f32" if re.fullmatch(r"-?[\d.]+(?:e-?\d+)?", value) else ""
    return f"the constant {value}" + (f" ({kind})" if kind else "")


def notation(type_text: str) -> str:
    """A type of Triton's own messages (`<['64'], fp16>`, `int32`, `pointer<fp32>`) in the notation of this project."""
    text = re.sub(r"^triton\.language\.(?:float(?=\d))?", lambda m: "fp" if "float" in m[0] else "", type_text.strip())
    found = re.fullmatch(r"<\[(.*?)\],\s*(.+)>", text, re.DOTALL)
    if found is None:
        found = re.fullmatch(r"<\((.*?)\),\s*(.+)>", text, re.DOTALL)
    if found is not None:
        sizes = re.findall(r"\d+", found.group(1))
        return f"tensor<{'x'.join([*sizes, notation(found.group(2))])}>"
    found = re.fullmatch(r"(?:constexpr_type\[|constexpr\[)(.*)\]", text, re.DOTALL)
    if found is not None:
        return f"constexpr[{found.group(1)}]"
    found = re.fullmatch(r"(?:const_)?pointer<(.+)>(?:<\d+>)?", text, re.DOTALL)
    if found is not None:
        return "*" + notation(found.group(1))
    found = re.fullmatch(r"(fp|bf|uint|int)(\d+)", text)
    if found is not None:
        short = {"fp": "f", "bf": "bf", "uint": "u", "int": "i"}[found.group(1)]
        return short + found.group(2)
    return text
