"""What stands around a cursor in text that need not parse: the owner before a dot, the call that an argument belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_ls.model import Position

_MOST_LINES = 60
_CLOSING = {")": "(", "]": "[", "}": "{"}
_DOTTED = re.compile(r"[A-Za-z_][\w.]*$")
_STATEMENT = re.compile(r"\s*(def|class|if|for|while|with|return|elif|else|try|async|@)\b")


@dataclass(frozen=True, slots=True)
class Call:
    """The call around a cursor.

    `name` is what is called, as written; `launch` tells whether it is called as `kernel[grid](...)`. `index` counts the
    positional arguments before the cursor, `given` are the keywords written so far, `keyword` the one that is being given.
    """

    name: str
    index: int
    keyword: str
    given: frozenset[str]
    launch: bool = False


def owner_before(text: str) -> str | None:
    """The dotted name before a dot at the end of a text: empty for another kind of expression, None without a dot."""
    if not text.endswith("."):
        return None
    owner = text[:-1]
    found = _DOTTED.search(owner)
    if found is not None:
        return found[0]
    # A number's dot is no attribute's.
    return "" if owner.endswith((")", "]")) else None


def enclosing_call(lines: Sequence[str], position: Position) -> Call | None:
    """The innermost call whose parentheses are open at a position."""
    masked = _masked(_before(lines, position))
    depth: list[str] = []
    for at in range(len(masked) - 1, -1, -1):
        character = masked[at]
        if character in _CLOSING:
            depth.append(_CLOSING[character])
        elif character in "([{":
            if depth:
                depth.pop()
                continue
            if character != "(":
                continue  # an item of a list or dictionary that is itself an argument
            name, launch = _name_before(masked, at)
            if not name:
                continue
            index, keyword, given = _arguments(masked[at + 1 :])
            return Call(name, index, keyword, given, launch)
    return None


def _before(lines: Sequence[str], position: Position) -> str:
    first = position.line
    while first > 0 and position.line - first < _MOST_LINES and not _STATEMENT.match(lines[first]):
        first -= 1
        if lines[first].rstrip().endswith(":") and _STATEMENT.match(lines[first]):
            first += 1
            break
    parts = [
        *lines[first : position.line],
        (lines[position.line] if position.line < len(lines) else "")[: position.column],
    ]
    return "\n".join(parts)


def _masked(text: str) -> str:
    """The text with what stands in strings and comments blanked."""
    out = []
    quote, comment = "", False
    for at, character in enumerate(text):
        if character == "\n":
            quote = comment = ""  # type: ignore[assignment]
            out.append(character)
        elif comment:
            out.append(" ")
        elif quote:
            out.append(" ")
            if character == quote and text[at - 1] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
            out.append(" ")
        elif character == "#":
            comment = True
            out.append(" ")
        else:
            out.append(character)
    return "".join(out)


def _name_before(masked: str, at: int) -> tuple[str, bool]:
    """What is called by the parenthesis at an offset, and whether a subscript (a launch's grid) stands between."""
    head = masked[:at].rstrip()
    launch = False
    if head.endswith("]"):
        depth = 0
        for back in range(len(head) - 1, -1, -1):
            depth += (head[back] == "]") - (head[back] == "[")
            if depth == 0:
                head, launch = head[:back], True
                break
        else:
            return "", False
    found = _DOTTED.search(head)
    if found is None:
        return "", False
    name = found[0]
    return (
        ("", False)
        if name in ("if", "while", "return", "and", "or", "not", "in", "is", "lambda", "else")
        else (name, launch)
    )


def _arguments(inside: str) -> tuple[int, str, frozenset[str]]:
    parts: list[str] = [""]
    depth = 0
    for character in inside:
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    keywords = [re.match(r"\s*(\w+)\s*=(?!=)", part) for part in parts]
    given = frozenset(k[1] for k in keywords[:-1] if k)
    last = keywords[-1]
    return sum(1 for k in keywords[:-1] if not k), last[1] if last else "", given
