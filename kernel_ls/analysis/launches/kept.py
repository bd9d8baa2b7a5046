"""What was found in a file's host code, kept over edits that do not touch host code.

An author edits the bodies of kernels; what host code passes does not hang on them, but for what they compare with None.
So launches are known by the *host text* of their file and of the files that were read for them: every line that is not in
the body of a jit function. Where only bodies changed, the launches are the old ones at their new lines.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Location, Position, Span, digest

from .model import Launch


@dataclass(frozen=True, slots=True)
class HostText:
    """The host text of a document: its digest, and the (0-based) lines that it consists of."""

    digest: str
    lines: tuple[int, ...]


def host_text(document: ParsedDocument) -> HostText:
    """The host text of a document, computed once."""
    known = document.memo.get("host text")
    if known is None:
        known = document.memo["host text"] = _host_text(document)
    return cast("HostText", known)


def _host_text(document: ParsedDocument) -> HostText:
    inside: set[int] = set()
    asked: list[list[str]] = []
    for function in kernels.functions(document):
        if function.is_jit:
            first, last = function.node.body[0].lineno, function.node.end_lineno or function.node.lineno
            head = max([function.node.lineno, *(a.end_lineno or 0 for a in _annotated(function.node))])
            inside.update(range(max(first, head + 1) - 1, last))
            asked.append(_compared_with_none(function.node))
    lines = tuple(n for n in range(len(document.lines)) if n not in inside)
    broken = [(b.enclosing, b.message) for b in document.broken]
    return HostText(digest([[document.lines[n] for n in lines], asked, broken]), lines)


def _annotated(node: ast.FunctionDef) -> list[ast.expr]:
    """What may still stand on the lines of the signature."""
    spec = node.args
    arguments = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    found = [a.annotation for a in arguments] + [*spec.defaults, *spec.kw_defaults, node.returns]
    return [expression for expression in found if expression is not None]


def _compared_with_none(node: ast.FunctionDef) -> list[str]:
    found = {
        ast.unparse(inner)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Compare)
        and any(isinstance(c, ast.Constant) and c.value is None for c in (inner.left, *inner.comparators))
    }
    return sorted(found)


@dataclass(frozen=True)
class Kept:
    """The launches of a file, with the host text of every file that was read for them."""

    texts: Mapping[str, HostText]
    launches: tuple[Launch, ...]

    def holds(self, now: Callable[[str], HostText | None]) -> bool:
        """Whether all of those texts are as they were."""
        return all((text := now(path)) is not None and text.digest == old.digest for path, old in self.texts.items())

    def moved(
        self, now: Callable[[str], HostText | None], kernel: Callable[[JitFunction], JitFunction | None]
    ) -> tuple[Launch, ...]:
        """The launches at the lines where they stand now, of the kernels as they are now."""
        lines: dict[str, dict[int, int]] = {}
        for path, old in self.texts.items():
            text = now(path)
            if text is not None and text.lines != old.lines:
                lines[path] = dict(zip(old.lines, text.lines, strict=True))

        def place(location: Location) -> Location:
            moves = lines.get(location.path)
            if moves is None:
                return location
            start, end = location.span.start, location.span.end
            first, last = moves.get(start.line, start.line), moves.get(end.line, end.line)
            return Location(location.path, Span(Position(first, start.column), Position(last, end.column)))

        found = []
        for launch in self.launches:
            launched = kernel(launch.kernel)
            if launched is None:
                continue
            arguments = tuple(replace(a, location=place(a.location)) for a in launch.arguments)
            grid = place(launch.grid) if launch.grid is not None else None
            found.append(
                replace(launch, kernel=launched, location=place(launch.location), grid=grid, arguments=arguments)
            )
        return tuple(found)
