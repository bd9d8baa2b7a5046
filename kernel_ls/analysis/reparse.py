"""A document's tree after an edit, in which the statements that the edit left alone are the old tree's own nodes.

Whoever keeps something by a node of the tree keeps it over edits elsewhere in the file. The result is the one that parsing
the whole text would give, or there is none and the whole text has to be parsed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_ls.analysis import isolation
from kernel_ls.analysis.isolation import BrokenRegion
from kernel_ls.analysis.node_memo import moved
from kernel_ls.analysis.rows import Moves

_CLAUSE = re.compile(r"(?:else|elif|except|finally)\b")


@dataclass(frozen=True, slots=True)
class Reparsed:
    """What an edit made of a tree.

    Attributes:
        tree: the tree of the whole text.
        broken: what of it does not parse.
        part: the rows that were parsed again, the last one excluded. What is before them is as it was, and so is what is
            behind, but for its rows.
    """

    tree: ast.Module
    broken: tuple[BrokenRegion, ...]
    part: tuple[int, int]


def reparse(tree: ast.Module, broken: Sequence[BrokenRegion], lines: list[str], by: Moves) -> Reparsed | None:
    """The tree of a text that was made of another by one edit; None where that cannot be told.

    Args:
        tree, broken: of the text before.
        lines: the text now.
        by: how the rows moved.
    """
    body = tree.body
    before = 0
    while before < len(body) and _last(body[before]) < by.first:
        before += 1
    after = before
    while after < len(body) and _first(body[after]) < by.last:
        after += 1
    # An edit right behind a statement may go on with it, or be a clause of it.
    while before > 0 and _goes_on(
        lines, _last(body[before - 1]) + 1, _first(body[after]) + by.by if after < len(body) else len(lines)
    ):
        before -= 1
    first = _last(body[before - 1]) + 1 if before else 0
    last = _first(body[after]) if after < len(body) else len(lines) - by.by
    if any(not (first <= region.lines[0] and region.lines[1] < last) for region in broken):
        return None
    if before and _shares_row(lines, body[before - 1]):
        return None
    stop = last + by.by
    if after < len(body) and (_is_open_to(lines, first, stop) or _starts_inside(lines[stop], body[after])):
        return None
    part = isolation.attempt("\n" * first + "\n".join(lines[first:stop]))
    found: tuple[BrokenRegion, ...] = ()
    if isinstance(part, isolation.Failure):
        isolated = isolation.isolate_part(lines, first, stop)
        if isolated is None or not all(region.enclosing for region in isolated[1]):
            return None  # What is broken between definitions may reach into the one before or behind it.
        part, found = isolated
    rest = body[after:]
    if by.by and rest:
        again = isolation.attempt("\n" * stop + "\n".join(lines[stop:]))
        if isinstance(again, isolation.Failure):
            return None
        if len(again.body) == len(rest):
            for statement, now in zip(rest, again.body, strict=True):
                moved(statement, now)
        rest = again.body
    return Reparsed(ast.Module(body=[*body[:before], *part.body, *rest], type_ignores=[]), found, (first, stop))


def _first(statement: ast.stmt) -> int:
    """The 0-based row in which a statement begins, its decorators included."""
    rows: list[int] = [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))]
    return min(rows) - 1


def _last(statement: ast.stmt) -> int:
    return (statement.end_lineno or statement.lineno) - 1


def _goes_on(lines: list[str], first: int, stop: int) -> bool:
    """Whether the first row of code in a range belongs to the statement above it."""
    for row in range(first, stop):
        line = lines[row]
        if line.strip() and not line.lstrip().startswith("#"):
            return line[0] in " \t\f" or _CLAUSE.match(line) is not None
    return False


def _shares_row(lines: list[str], statement: ast.stmt) -> bool:
    """Whether something beside a statement may stand on its last row, or that row goes on in the next."""
    line = lines[_last(statement)].encode("utf-8", "surrogatepass")
    rest = line[statement.end_col_offset or 0 :].strip()
    return bool(rest) and not rest.startswith(b"#")


def _starts_inside(line: str, statement: ast.stmt) -> bool:
    """Whether something else stands before a statement on its first row."""
    return (
        min([statement.col_offset, *(d.col_offset - 1 for d in getattr(statement, "decorator_list", ()))]) > 0
        or line[:1] == " "
    )


def _is_open_to(lines: list[str], first: int, stop: int) -> bool:
    """Whether the last row of code in a range may be the beginning of what follows: a decorator, a row that is continued."""
    for row in range(stop - 1, first - 1, -1):
        line = lines[row]
        if line.endswith("\\"):
            return True
        if line.strip() and not line.lstrip().startswith("#"):
            return line.startswith("@")
    return False
