"""What stands around the kernels of one document, as the rules that need no generated code see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis import kernels
from kernel_ls.analysis.node_memo import inside, once, once_for_text
from kernel_ls.analysis.positions import span_of
from kernel_ls.model import Edit, Fix, Location, Position, Span

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.environment import Autotune, ResolvedFunction, Workspace
    from kernel_ls.analysis.launches import LaunchIndex


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The jit functions of a document with what their decorators hold, and the launches that its text makes.

    Only those functions are among them whose definition is certainly the one that their module has.
    """

    workspace: Workspace
    functions: tuple[ResolvedFunction, ...]
    launches: LaunchIndex

    @property
    def triton(self) -> tuple[int, int]:
        """The installed Triton's version, as far as rules ask for it; that of the newest where it is not known."""
        parts = self.workspace.api.version.split(".")
        if len(parts) >= 2 and parts[0].isdigit() and parts[1].isdigit():
            return int(parts[0]), int(parts[1])
        return (99, 0)

    @cached_property
    def tuned(self) -> tuple[Tuned, ...]:
        """The kernels with an autotuner of Triton's own around them, one for each autotuner."""
        found = []
        for function in self.functions:
            for layer in function.value.layers:
                if hasattr(layer, "configs") and self.is_tritons(layer.location, "triton.autotune"):
                    found.append(Tuned(function, layer))
        return tuple(found)

    def call_at(self, location: Location | None) -> ast.Call | None:
        """The call that stands at a place."""
        document = self.workspace.document(location.path) if location is not None else None
        if document is None or location is None:
            return None
        return calls(document).get(location.span)

    def is_tritons(self, location: Location | None, name: str) -> bool:
        """Whether the call at a place is one of a function of Triton's, rather than of something that behaves like it."""
        call = self.call_at(location)
        module = self.workspace.module(location.path) if location is not None else None
        if call is None or module is None:
            return False
        value = module.evaluate(call.func, module.frame)
        path = getattr(value, "path", None)
        return isinstance(path, str) and self.workspace.api.canonical(path) == name

    def location(self, document: ParsedDocument, node: ast.AST) -> Location:
        """Where a node of a document stands."""
        return Location(document.path, span_of(node, document.lines))


@dataclass(frozen=True, eq=False)
class Tuned:
    """A kernel and one autotuner around it."""

    function: ResolvedFunction
    layer: Autotune


def surroundings_of(
    document: ParsedDocument, workspace: Workspace, launches: LaunchIndex | None = None
) -> Surroundings:
    """Evaluate what surrounds the kernels of a document.

    Args:
        document: the file.
        workspace: the user's code.
        launches: the index that the caller keeps; without it the document's launches are followed anew.
    """
    from kernel_ls.analysis.environment.modules import Standing
    from kernel_ls.analysis.launches import LaunchIndex

    functions = workspace.functions(document.path)
    live = tuple(f for f in functions if workspace.standing(f.jit) is Standing.LIVE)
    return Surroundings(workspace, live, launches or LaunchIndex(workspace))


def calls(document: ParsedDocument) -> dict[Span, ast.Call]:
    """Every call of a document by its place."""
    known: Any = document.memo.get("calls")
    if known is None:
        known = document.memo["calls"] = {}
        for statement in document.tree.body:
            known.update(once(statement, "calls by place", partial(_calls_in, statement, document)))
    found: dict[Span, ast.Call] = known
    return found


def _calls_in(statement: ast.stmt, document: ParsedDocument) -> dict[Span, ast.Call]:
    return {span_of(n, document.lines): n for n in inside(statement, ast.Call)}


def called_names(document: ParsedDocument) -> set[str]:
    """The dotted names that a document's text calls."""
    found: set[str] = set()
    for statement in document.tree.body:
        found |= once_for_text(statement, "called names", partial(_called_in, statement, document))
    return found - {""}


def _called_in(statement: ast.stmt, document: ParsedDocument) -> frozenset[str]:
    inside = once(statement, "calls by place", partial(_calls_in, statement, document))
    return frozenset(kernels.dotted(call.func) for call in inside.values())


def given(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The expression that a call passes for a parameter; None where it passes none or that cannot be told."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or position >= len(call.args):
        return None
    if any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return None
    return call.args[position]


def is_open(call: ast.Call) -> bool:
    """Whether a call unpacks arguments, so that more may be passed than its text shows."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def elements(node: ast.expr | None) -> Iterator[ast.expr]:
    """The elements of a list or tuple that is written out."""
    if isinstance(node, (ast.List, ast.Tuple)):
        yield from node.elts


def removal(document: ParsedDocument, node: ast.AST, title: str, last: ast.AST | None = None) -> Fix:
    """Take an element out of what is written out: with the comma behind it, and its line where nothing else stands there."""
    start = span_of(node, document.lines).start
    end = span_of(last or node, document.lines).end
    line = document.line(end.line)
    column = end.column + len(line[end.column :]) - len(line[end.column :].lstrip())
    if line[column : column + 1] == ",":
        column += 1
        rest = line[column:]
        alone = not document.line(start.line)[: start.column].strip()
        if alone and not rest.strip():
            place = Span(Position(start.line, 0), Position(end.line + 1, 0))
            return Fix(title, (Edit(Location(document.path, place), ""),))
        column += len(rest) - len(rest.lstrip())
        return Fix(title, (Edit(Location(document.path, Span(start, Position(end.line, column))), ""),))
    before = document.line(start.line)[: start.column]
    if before.rstrip().endswith(","):
        start = Position(start.line, len(before.rstrip()) - 1)
    return Fix(title, (Edit(Location(document.path, Span(start, end)), ""),))
