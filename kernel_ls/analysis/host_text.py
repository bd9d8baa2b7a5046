"""The code of a file that is not in the body of a jit function, and what of the bodies matters outside of them.

An author edits the bodies of kernels. What host code passes to a kernel does not hang on them, but for what they compare
with None; which units a kernel reaches does not, but for the globals that they name.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.node_memo import inside, once, once_for_text
from kernel_ls.model import digest
from kernel_ls.pyeval.statements import bound_names

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class HostText:
    """The host text of a document.

    Attributes:
        digest: of its lines without comments, of what bodies compare with None, and of what does not parse.
        lines: the (0-based) lines that it consists of; those that are empty, a comment or the inside of
            a docstring are none of them.
        reach: a digest of its lines and of the module's names that bodies read.
        code: a digest of its lines without those of jit functions' decorators and signatures.
        heads: of each jit function by its key, a digest of its decorators, its signature and what its body compares with None,
            and the lines of the first two.
        rest: a digest of what is in no head and no function or class that does not parse.
        torn: the qualified names of functions and classes that do not parse.
    """

    digest: str
    lines: tuple[int, ...]
    reach: str
    code: str
    heads: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    rest: str = ""
    torn: frozenset[str] = frozenset()

    @property
    def whole(self) -> tuple[str, str]:
        """All of it."""
        return self.digest, self.reach

    def tears(self, before: HostText) -> bool:
        """Whether this is another host text, in which nothing changed but that some jit functions do not parse any more."""
        if not self.torn or not before.torn <= self.torn or self.rest != before.rest:
            return False
        lost = before.heads.keys() - self.heads.keys()
        return lost <= self.torn and all(
            key in before.heads and before.heads[key][0] == head for key, (head, _) in self.heads.items()
        )

    def since(self, before: HostText) -> dict[int, int]:
        """Where the lines of the same host text, or of one that this one tears, are now."""
        if self.digest == before.digest:
            return dict(zip(before.lines, self.lines, strict=True))
        moved: dict[int, int] = {}
        for key, (_, lines) in self.heads.items():
            moved.update(zip(before.heads[key][1], lines, strict=True))
        return moved | dict(zip(before._outside(), self._outside(), strict=True))

    def _outside(self) -> list[int]:
        inside = {line for _, lines in self.heads.values() for line in lines}
        return [line for line in self.lines if line not in inside]


NO_HOST_TEXT = HostText("", (), "", "")
"""That of a file that cannot be read."""


def host_text(document: ParsedDocument) -> HostText:
    """The host text of a document, computed once."""
    known = document.memo.get("host text")
    if known is None:
        known = document.memo["host text"] = _host_text(document)
    return cast("HostText", known)


def _host_text(document: ParsedDocument) -> HostText:
    bodies: set[int] = set()
    heads: set[int] = set()
    parts: dict[str, tuple[int, int, list[str]]] = {}
    asked: list[list[str]] = []
    read: list[list[str]] = []
    names = {name for s in document.tree.body for name in once_for_text(s, "bound names", partial(_bound, s))}
    for function in kernels.functions(document):
        if function.is_jit:
            first, last = function.node.body[0].lineno, function.node.end_lineno or function.node.lineno
            head = max([function.node.lineno, *(a.end_lineno or 0 for a in _annotated(function.node))])
            bodies.update(range(max(first, head + 1) - 1, last))
            decorated = [d.lineno for d in function.node.decorator_list]
            begin = min([function.node.lineno, *decorated]) - 1
            heads.update(range(begin, last))
            compared, named = once_for_text(function.node, "host text", partial(_of_body, function.node))
            parts[function.key] = begin, last, compared
            asked.append(compared)
            read.append(sorted(names & named))
    for region in document.broken:
        bodies.update(range(region.lines[0], region.lines[1] + 1))
    for statement in document.tree.body:
        docstrings = once_for_text(statement, "docstrings", partial(_docstrings, statement))
        bodies.update(statement.lineno + row for row in docstrings)
    for comment in document.comments:
        if comment.alone:
            bodies.add(comment.span.start.line)
    rows = document.lines
    lines = tuple(n for n in range(len(rows)) if n not in bodies and rows[n] and not rows[n].isspace())
    broken = [(b.enclosing, b.is_definition) for b in document.broken]
    text = [rows[n].rstrip() for n in lines]
    for comment in document.comments:
        at = comment.span.start
        if not comment.alone and at.line not in bodies:
            text[bisect_left(lines, at.line)] = rows[at.line][: at.column].rstrip()
    code = [line for row, line in zip(lines, text, strict=True) if row not in heads]
    kept = {}
    taken: set[int] = set()
    for key, (begin, last, compared) in parts.items():
        own = [n for n in range(bisect_left(lines, begin), bisect_left(lines, last)) if n not in taken]
        taken.update(own)
        kept[key] = digest([[text[n] for n in own], compared]), tuple(lines[n] for n in own)
    rest = [[line for n, line in enumerate(text) if n not in taken], [name for name, whole in broken if not whole]]
    torn = frozenset(name for name, whole in broken if whole)
    return HostText(
        digest([text, asked, broken]), lines, digest([text, read, broken]), digest(code), kept, digest(rest), torn
    )


def host_words(document: ParsedDocument) -> frozenset[str]:
    """The words of a document's host code, computed once; of what is imported only what it is called from then on.

    A function whose name is none of these is not launched here.
    """
    known = document.memo.get("host words")
    if known is None:
        imported: set[int] = set()
        words: set[str] = set()
        for statement in document.tree.body:
            for first, last, names in once(statement, "imports", partial(_imports, statement)):
                imported.update(range(first, last))
                words.update(names)
        for row in host_text(document).lines:
            if row not in imported:
                words.update(_WORD.findall(document.lines[row]))
        known = document.memo["host words"] = frozenset(words)
    return cast("frozenset[str]", known)


def _imports(statement: ast.stmt) -> list[tuple[int, int, frozenset[str]]]:
    """The (0-based) rows of the imports in a statement, with the names that get another one."""
    found = []
    for nodes in (inside(statement, ast.Import), inside(statement, ast.ImportFrom)):
        for node in nodes:
            renamed = frozenset(alias.name.rpartition(".")[2] for alias in node.names if alias.asname)
            found.append((node.lineno - 1, node.end_lineno or node.lineno, renamed))
    return found


def head(function: kernels.JitFunction) -> tuple[str, ...]:
    """The decorators and the signature of a function, as they are written."""
    node = function.node
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return tuple(function.document.lines[first - 1 : node.body[0].lineno - 1])


def _annotated(node: ast.FunctionDef) -> list[ast.expr]:
    """What may still stand on the lines of the signature."""
    spec = node.args
    arguments = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    found = [a.annotation for a in arguments] + [*spec.defaults, *spec.kw_defaults, node.returns]
    return [expression for expression in found if expression is not None]


def _bound(statement: ast.stmt) -> frozenset[str]:
    return frozenset(bound_names([statement]))


def _docstrings(statement: ast.stmt) -> frozenset[int]:
    """The rows of strings that are statements and have rows of their own, counted from the one behind the statement's first."""
    found: set[int] = set()
    for node in inside(statement, ast.Expr):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno - (node.lineno == node.end_lineno), (node.end_lineno or node.lineno) - 1))
    return frozenset(row - statement.lineno for row in found)


def _of_body(node: ast.FunctionDef) -> tuple[list[str], frozenset[str]]:
    """What a function compares with None, and the names that stand in it."""
    return _compared_with_none(node), frozenset(n.id for n in inside(node, ast.Name))


def _compared_with_none(node: ast.FunctionDef) -> list[str]:
    found = {
        ast.unparse(inner)
        for inner in inside(node, ast.Compare)
        if any(isinstance(c, ast.Constant) and c.value is None for c in (inner.left, *inner.comparators))
    }
    return sorted(found)
