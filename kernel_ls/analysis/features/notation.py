"""Types in text (ARCHITECTURE.md, "Types in text"): reading them, and making them of signatures."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernel_ls.analysis.specialize import value_text
from kernel_ls.model import Argument

_TENSOR = re.compile(r"tensor<(?P<sizes>(?:\d+x)*)(?P<element>[^,>]*(?:<[^>]*>)?)(?:, (?P<layout>.*))?>$")
_DESCRIPTOR = re.compile(r"tensordesc<(?P<element>\w+)\[(?P<sizes>[^]]*)\](?P<rest>.*)>$")
_LONGEST_CONSTANT = 60


@dataclass(frozen=True, slots=True)
class Tensor:
    """A block: its sizes and the type of its elements."""

    sizes: tuple[int, ...]
    element: str


def tensor(text: str) -> Tensor | None:
    """A block's parts; None for any other type."""
    found = _TENSOR.match(text)
    if found is None:
        return None
    return Tensor(tuple(int(n) for n in found["sizes"].split("x") if n), found["element"])


def constant(text: str) -> str | None:
    """The text of a constant's value; None for any other type."""
    if text == "None":
        return "None"
    return text[len("constexpr[") : -1] if text.startswith("constexpr[") and text.endswith("]") else None


def is_value(text: str) -> bool:
    """Whether a type is that of a run-time value or constant, rather than of a function, module or class."""
    return not text.startswith(("function ", "module ", "class ", "dtype "))


def element(text: str) -> str:
    """The type of one element: of a block that of its elements, of a scalar its own."""
    block = tensor(text)
    return block.element if block is not None else text


def parts(text: str) -> tuple[str, ...] | None:
    """The types of a tuple's elements; None for any other type."""
    if not (text.startswith("(") and text.endswith(")")):
        return None
    return tuple(split(text[1:-1]))


def split(text: str) -> list[str]:
    """The parts of a list that commas separate, at its own depth; a comma at the end is none."""
    found: list[str] = []
    depth, start, quote = 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            if character == quote and text[at - 1] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last else found


def scalar(name: str) -> str:
    """A scalar of a signature as types are shown: `fp16` is `f16`, `u1` is `i1`."""
    if name.startswith("fp") and name[2:3].isdigit():
        return "f" + name[2:]
    return "i1" if name == "u1" else name


def signature(kind: Any) -> str:
    """A type of a signature as types are shown: `*fp16` is `*f16`."""
    if isinstance(kind, (tuple, list)):
        inner = ", ".join(signature(k) for k in kind)
        return f"({inner},)" if len(kind) == 1 else f"({inner})"
    text = str(kind)
    if text.startswith("*"):
        inside = text[1:]
        return "*" + (inside if inside.startswith("k") else scalar(inside))
    descriptor = _DESCRIPTOR.match(text)
    if descriptor is not None:
        sizes = "x".join(part.strip() for part in descriptor["sizes"].split(",") if part.strip())
        return f"tensordesc<{sizes}x{scalar(descriptor['element'])}>"
    return scalar(text)


def argument(given: Argument) -> str:
    """What a parameter is in a specialization."""
    if given.type == "constexpr":
        value = value_text(given.value)
        return "None" if value == "None" else f"constexpr[{value}]"
    return signature(given.type)


def shown(types: Sequence[str], most: int = 4) -> str:
    """The types that an expression had, as one text."""
    if not types:
        return ""
    constants = [constant(t) for t in types]
    if len(types) > 1 and all(c is not None for c in constants):
        return "constexpr[" + " | ".join([str(c) for c in constants[:most]] + ["…"] * (len(types) > most)) + "]"
    some = [_short(t) for t in types[:most]]
    return " | ".join([*some, "…"] if len(types) > most else some)


def _short(text: str) -> str:
    value = constant(text)
    if value is not None and len(value) > _LONGEST_CONSTANT:
        return f"constexpr[{value[:_LONGEST_CONSTANT]}…]"
    return text


def of_constant(text: str) -> str:
    """What the generator makes of a constant that is assigned to a plain name: a scalar (`core.to_tensor`).

    A string, None, a type and a tuple stay what they are.
    """
    inner = parts(text)
    if inner is not None:
        items = ", ".join(of_constant(t) for t in inner)
        return f"({items},)" if len(inner) == 1 else f"({items})"
    value = constant(text)
    if value is None or value == "None":
        return text
    if value in ("True", "False"):
        return "i1"
    if re.fullmatch(r"-?\d+", value):
        return _integer(int(value))
    if re.fullmatch(r"-?(\d+\.?\d*(e[-+]?\d+)?|inf|nan)", value):
        return _real(float(value))
    return text


def _integer(value: int) -> str:
    if -(2**31) <= value < 2**31:
        return "i32"
    if 2**31 <= value < 2**32:
        return "u32"
    if -(2**63) <= value < 2**63:
        return "i64"
    return "u64"


def _real(value: float) -> str:
    size = abs(value)
    if math.isnan(size) or size in (0.0, float("inf")) or 2**-126 <= size <= (2 - 2**-23) * 2**127:
        return "f32"
    return "f64"
