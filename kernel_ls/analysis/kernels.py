"""The functions of a document, and which of them are jit functions as far as its own text tells.

This is syntax alone: what a name means is read off the document's own imports. Decorators of a project's own are resolved by
`analysis.environment`, which reads other modules; it starts from `functions`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, cast

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.node_memo import inside, once, once_for_text
from kernel_ls.analysis.positions import span_of
from kernel_ls.model import Location, Span
from kernel_ls.pyeval.nodes import walk

DecoratorKind = Literal["jit", "gluon", "autotune", "heuristics", "constexpr_function", "other"]
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda

_KINDS: dict[str, DecoratorKind] = {
    "triton.jit": "jit",
    "triton.runtime.jit": "jit",
    "triton.runtime.jit.jit": "jit",
    "triton.autotune": "autotune",
    "triton.runtime.autotune": "autotune",
    "triton.runtime.autotuner.autotune": "autotune",
    "triton.heuristics": "heuristics",
    "triton.runtime.heuristics": "heuristics",
    "triton.runtime.autotuner.heuristics": "heuristics",
    "triton.constexpr_function": "constexpr_function",
    "triton.runtime.jit.constexpr_function": "constexpr_function",
    "triton.experimental.gluon.jit": "gluon",
    "triton.experimental.gluon._runtime.jit": "gluon",
    "triton.experimental.gluon.constexpr_function": "constexpr_function",
}


@dataclass(frozen=True, slots=True)
class Decorator:
    """One decorator: its dotted name as written, the name after the document's imports, and what it is known to be."""

    name: str
    resolved: str
    kind: DecoratorKind
    node: ast.expr
    span: Span

    @property
    def call(self) -> ast.Call | None:
        """The call, where the decorator is one."""
        return self.node if isinstance(self.node, ast.Call) else None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    is_constexpr: bool
    keyword_only: bool
    span: Span


@dataclass(frozen=True, eq=False)
class JitFunction:
    """A function of a document with what surrounds it.

    `scopes` are the enclosing functions and classes, outermost first; `key` is the qualified name, with `#2` and so on
    where a file has several of the same.
    """

    document: ParsedDocument
    name: str
    qualname: str
    key: str
    node: ast.FunctionDef
    scopes: tuple[Scope, ...]
    dialect: Literal["triton", "gluon"]
    decorators: tuple[Decorator, ...]
    parameters: tuple[Parameter, ...]

    @property
    def path(self) -> str:
        """The file."""
        return self.document.path

    @cached_property
    def span(self) -> Span:
        """The whole definition from its `def` on."""
        return span_of(self.node, self.document.lines)

    @cached_property
    def name_span(self) -> Span:
        """The name behind `def`."""
        line = self.span.start.line
        text = self.document.line(line)
        at = text.find(self.name, self.span.start.column + len("def"))
        if at < 0:
            return Span.of(line, self.span.start.column, line, len(text))
        return Span.of(line, at, line, at + len(self.name))

    @property
    def name_location(self) -> Location:
        """The name's place in its file."""
        return Location(self.path, self.name_span)

    @property
    def is_jit(self) -> bool:
        """Whether the document's own imports show a jit decorator."""
        return any(d.kind in ("jit", "gluon") for d in self.decorators)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name."""
        return next((p for p in self.parameters if p.name == name), None)


def find(document: ParsedDocument) -> tuple[JitFunction, ...]:
    """The functions that are jit functions by the document's own imports, in order of the text."""
    return tuple(f for f in functions(document) if f.is_jit)


def functions(document: ParsedDocument) -> tuple[JitFunction, ...]:
    """Every `def` of the document, in order of the text. Asynchronous functions are never kernels and are left out.

    So are jit functions of which a statement does not parse: half a kernel has faults that the whole has not.
    """
    known = document.memo.get("functions")
    if known is None:
        known = document.memo["functions"] = tuple(_functions(document))
    return cast("tuple[JitFunction, ...]", known)


def _functions(document: ParsedDocument) -> Iterator[JitFunction]:
    aliases, definitions = _survey(document.tree)
    damaged = {(b.enclosing, b.lines) for b in document.broken if b.enclosing and not b.is_definition}
    seen: dict[str, int] = {}
    for node, scopes in definitions:
        qualname = _qualname(node.name, scopes)
        seen[qualname] = seen.get(qualname, 0) + 1
        key = qualname if seen[qualname] == 1 else f"{qualname}#{seen[qualname]}"
        decorators = tuple(_decorator(d, aliases, document) for d in node.decorator_list)
        dialect: Literal["triton", "gluon"] = "gluon" if any(d.kind == "gluon" for d in decorators) else "triton"
        parameters = once(node, "parameters", partial(_parameters, node, document))
        function = JitFunction(document, node.name, qualname, key, node, scopes, dialect, decorators, parameters)
        last = node.end_lineno or node.lineno
        if function.is_jit and any(n == qualname and node.lineno <= at + 1 <= last for n, (at, _) in damaged):
            continue
        yield function


def imported_names(tree: ast.Module) -> dict[str, str]:
    """What each name that an `import` anywhere in the tree binds stands for, as a dotted name.

    Relative imports keep their leading dots.
    """
    names: dict[str, str] = {}
    for statement in tree.body:
        names.update(once_for_text(statement, "imported names", partial(_imported_in, statement)))
    return names


def _imported_in(statement: ast.stmt) -> dict[str, str]:
    names: dict[str, str] = {}
    imports = [*inside(statement, ast.Import), *inside(statement, ast.ImportFrom)]
    for node in sorted(imports, key=lambda n: (n.lineno, n.col_offset)):
        _bind(node, names)
    return names


def _bind(node: ast.AST, names: dict[str, str]) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            names[bound] = alias.name if alias.asname else bound
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                for path in _KINDS:
                    if path.startswith(f"{module}.") and "." not in path[len(module) + 1 :]:
                        names.setdefault(path[len(module) + 1 :], path)
            elif module.endswith("."):
                names[alias.asname or alias.name] = module + alias.name
            else:
                names[alias.asname or alias.name] = f"{module}.{alias.name}"


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes on a name, empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def resolve(name: str, aliases: dict[str, str]) -> str:
    """A dotted name with its first part replaced by what it was imported as."""
    head, _, rest = name.partition(".")
    base = aliases.get(head, head)
    return f"{base}.{rest}" if rest else base


_LEAVES = frozenset(
    {ast.Expr, ast.Return, ast.AugAssign, ast.AnnAssign, ast.Assert, ast.Pass, ast.Raise, ast.Delete, ast.Global}
)
_Definition = tuple[ast.FunctionDef, tuple[Scope, ...]]


def _survey(tree: ast.Module) -> tuple[dict[str, str], list[_Definition]]:
    """What names stand for by imports and plain assignments, and every `def` with the scopes around it.

    One pass over the statements, never into an expression; a stack of its own, since a chain of `elif` nests deeply.
    """
    names: dict[str, str] = {}
    renamed: list[ast.Assign] = []
    definitions: list[_Definition] = []
    for statement in tree.body:
        imports, assigned, defined = once(statement, "survey", partial(_survey_of, statement))
        for node in imports:
            _bind(node, names)
        renamed += assigned
        definitions += defined
    for assignment in renamed:
        _rename(assignment, names)
    return names, definitions


def _survey_of(statement: ast.stmt) -> tuple[list[ast.Import | ast.ImportFrom], list[ast.Assign], list[_Definition]]:
    """A statement's imports, its assignments that may give something another name, and its definitions with the scopes around."""
    imports: list[ast.Import | ast.ImportFrom] = []
    renamed: list[ast.Assign] = []
    definitions: list[_Definition] = []
    stack: list[tuple[ast.AST, tuple[Scope, ...]]] = [(statement, ())]
    while stack:
        node, scopes = stack.pop()
        kind = type(node)
        if kind in _LEAVES:
            continue
        if isinstance(node, ast.Assign):
            if isinstance(node.value, (ast.Attribute, ast.IfExp, ast.Name)):
                renamed.append(node)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
            continue
        if isinstance(node, ast.FunctionDef):
            definitions.append((node, scopes))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scopes = (*scopes, node)
        children: list[ast.AST] = []
        for field in ("body", "handlers", "cases", "orelse", "finalbody"):
            children += getattr(node, field, ())
        stack.extend((child, scopes) for child in reversed(children))
    return imports, renamed, definitions


def _rename(node: ast.Assign, names: dict[str, str]) -> None:
    """`my_jit = triton.jit`, or one of two of which the other may be anything: the name is a decorator's other name."""
    value = node.value
    for choice in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
        resolved = resolve(dotted(choice), names)
        if resolved in _KINDS:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    names.setdefault(target.id, resolved)
            return


def _qualname(name: str, scopes: tuple[Scope, ...]) -> str:
    parts = []
    for scope in scopes:
        parts.append("<lambda>" if isinstance(scope, ast.Lambda) else scope.name)
        if not isinstance(scope, ast.ClassDef):
            parts.append("<locals>")
    return ".".join([*parts, name])


def _decorator(node: ast.expr, aliases: dict[str, str], document: ParsedDocument) -> Decorator:
    callee = node.func if isinstance(node, ast.Call) else node
    # `@partial(triton.jit, noinline=True)` decorates as its first argument does.
    if (
        isinstance(node, ast.Call)
        and resolve(dotted(callee), aliases) in ("functools.partial", "partial")
        and node.args
    ):
        callee = node.args[0]
    name = dotted(callee)
    resolved = resolve(name, aliases)
    # `from .compat import triton` hands Triton on: what is written as Triton's is taken to be.
    kind = _KINDS.get(resolved) or (_KINDS.get(name) if resolved.endswith(f".{name}") else None) or "other"
    return Decorator(name, resolved, kind, node, span_of(node, document.lines))


def _parameters(node: ast.FunctionDef, document: ParsedDocument) -> tuple[Parameter, ...]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    pairs = [(a, d, False) for a, d in zip(positional, defaults, strict=True)]
    pairs += [(a, d, True) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return tuple(
        Parameter(
            argument.arg,
            argument.annotation,
            default,
            _is_constexpr(argument.annotation),
            keyword_only,
            span_of(argument, document.lines),
        )
        for argument, default, keyword_only in pairs
    )


def _is_constexpr(annotation: ast.expr | None) -> bool:
    """As Triton decides it: the annotation's text names `constexpr` (`KernelParam.is_constexpr`)."""
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant):
        return isinstance(annotation.value, str) and "constexpr" in annotation.value
    return any(
        (isinstance(n, ast.Attribute) and n.attr == "constexpr") or (isinstance(n, ast.Name) and n.id == "constexpr")
        for n in walk(annotation)
    )
