"""Pins: `# kernel-ls: spec x_ptr=*fp16 n=i32 BLOCK=1024 num_warps=8` above a kernel says what it is instantiated with.

Several lines are several specializations. Values are Triton's signature notation (`*fp16`, `i32`, `tensordesc<fp16[64, 64]>`),
literals, dtypes (`fp16`, `tl.float16`) for constexpr parameters, `None`, `True`, strings, tuples. What a value *means* hangs on the
parameter it is for, so that a pin keeps text and literal both; `analysis.specialize` decides.

`# kernel-ls: run ...` is read into names and texts only; launching is another depth's work.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernel_ls.analysis.comments import Comment, comments
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Location, Span

LAUNCH_OPTIONS = frozenset(
    {"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "waves_per_eu", "matrix_instr_nonkdim"}
)
"""Options of a launch that a pin may set beside parameters; a backend ignores those that it does not know."""

_MARK = re.compile(r"#\s*kernel-ls:\s*(?P<kind>spec|run)\b(?P<rest>.*)$")
_NAME = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*=\s*")
_TYPE = re.compile(
    r"\*?k?(?:[iu](?:1|8|16|32|64)|fp(?:8\w*|16|32|64)|bf16|void)$|tensordesc<.*>$|nvTmaDesc$", re.DOTALL
)
_OPEN, _CLOSE = "([{<", ")]}>"


@dataclass(frozen=True, slots=True)
class PinValue:
    """One value of a pin: its text, where it stands, and what it is if it is a literal or a type."""

    text: str
    location: Location

    @property
    def is_type(self) -> bool:
        """Whether the text is a type in Triton's signature notation."""
        return _TYPE.match(self.text) is not None

    @property
    def literal(self) -> tuple[bool, Any]:
        """Whether the text is a Python literal, and its value."""
        try:
            return True, ast.literal_eval(self.text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return False, None


@dataclass(frozen=True, slots=True)
class PinError:
    """What is wrong with a pin and what to write instead."""

    message: str
    location: Location


@dataclass(frozen=True, slots=True)
class Pin:
    """One `spec` or `run` line: values by name in the order written, launch options apart."""

    kind: str
    values: tuple[tuple[str, PinValue], ...]
    options: tuple[tuple[str, PinValue], ...]
    location: Location
    errors: tuple[PinError, ...] = ()

    def get(self, name: str) -> PinValue | None:
        """The value pinned for a parameter."""
        return next((v for n, v in self.values if n == name), None)


def pins_of(function: JitFunction) -> tuple[Pin, ...]:
    """The pins of a kernel: comment lines right above it, above its decorators or between them."""
    document = function.document
    if "kernel-ls:" not in document.text:
        return ()
    node = function.node
    top = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
    first = top
    while first > 0 and document.line(first - 1).lstrip().startswith("#"):
        first -= 1
    found = []
    for comment in comments(document.lines[first : node.lineno - 1]):
        row = comment.span.start.line + first
        moved = Comment(
            comment.text, Span.of(row, comment.span.start.column, row, comment.span.end.column), comment.alone
        )
        pin = _read(moved, function)
        if pin is not None:
            found.append(pin)
    return tuple(found)


def _read(comment: Comment, function: JitFunction) -> Pin | None:
    match = _MARK.search(comment.text)
    if match is None:
        return None
    row, column = comment.span.start.line, comment.span.start.column
    path = function.path
    location = Location(path, Span.of(row, column + match.start(), row, column + len(comment.text.rstrip())))
    values: list[tuple[str, PinValue]] = []
    options: list[tuple[str, PinValue]] = []
    errors: list[PinError] = []
    parameters = [p.name for p in function.parameters]
    for name, text, start, end in _pairs(match.group("rest")):
        base = column + match.start("rest")
        place = Location(path, Span.of(row, base + start, row, base + end))
        if not name:
            errors.append(PinError(f"`{text}` is not of the form NAME=VALUE, such as x_ptr=*fp16 or BLOCK=128.", place))
        elif name in parameters:
            if any(n == name for n, _ in values):
                errors.append(PinError(f"`{name}` is pinned twice in this line.", place))
            values.append((name, PinValue(text, place)))
        elif name in LAUNCH_OPTIONS or match.group("kind") == "run":
            options.append((name, PinValue(text, place)))
        else:
            known = ", ".join(parameters)
            errors.append(PinError(f"`{function.name}` has no parameter `{name}`; it has {known}.", place))
    return Pin(match.group("kind"), tuple(values), tuple(options), location, tuple(errors))


def _pairs(text: str) -> Iterator[tuple[str, str, int, int]]:
    """(name, value text, start, end) of each pair; an empty name for a word that is none. Brackets and quotes nest."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _NAME.match(text, at)
        start = at
        value_start = match.end() if match else at
        end = _value_end(text, value_start)
        yield (match.group("name") if match else ""), text[value_start:end].strip(), start, end
        at = max(end, at + 1)


def _value_end(text: str, at: int) -> int:
    depth = 0
    quote = ""
    while at < len(text):
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in _OPEN and not text.startswith("<<", at) and not text.startswith("<<", at - 1):
            depth += 1
        elif character in _CLOSE and depth:
            depth -= 1
        elif character.isspace() and depth == 0:
            return at
        at += 1
    return at
