"""One module of the user's: names evaluated when they are asked for, and only the top-level statements that they need.

A name may be bound by several statements; each reads the names as they are *before* it, so that `x = 1; y = x; x = 2` gives
`y` 1. Functions read the names as they are at the end. `if` and `try` are followed where their test is known; where it is not,
every branch is a candidate: the first that gives a value stands, the others are kept in `alternatives`.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment.values import ModuleValue, Opaque, Ref
from kernel_ls.analysis.node_memo import inside, once_for_text
from kernel_ls.pyeval import MISSING, Frame, Raised, Unknown
from kernel_ls.pyeval.statements import bound_names

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.workspace import Workspace

_MUTATORS = frozenset(
    "append extend insert update setdefault add pop remove clear sort reverse discard popitem".split()
)


class Standing(Enum):
    """What has become of a definition once its module is loaded."""

    LIVE = "executed"
    UNDECIDED = "executed or not, depending on something that is not known"
    DEAD = "not executed: it stands under a test that is false here"


class Upto:
    """A module's names as they are before its top-level statement of number `index`."""

    __slots__ = ("index", "module")

    def __init__(self, module: Module, index: int) -> None:
        self.module = module
        self.index = index

    def get(self, name: str, default: Any = None, /) -> Any:
        """The value of a name there, or `default`."""
        value = self.module.value_at(name, self.index)
        if value is MISSING:
            # Bound further down: a function that is called here reads what the module has in the end.
            value = self.module.value_at(name, None)
        return default if value is MISSING else value


class Module:
    """A parsed module and what has been evaluated of it.

    Args:
        workspace: where other modules are found and evaluations are made.
        document: its text.
        name: its dotted name.
        is_package: whether it is the `__init__` of a package, or a folder without one.
    """

    def __init__(self, workspace: Workspace, document: ParsedDocument, name: str, is_package: bool) -> None:
        self.workspace = workspace
        self.document = document
        self.path = document.path
        self.name = name
        self.is_package = is_package
        self.frame = Frame(self, None, "module")
        self.alternatives: dict[str, list[Any]] = {}
        """What a name would be in branches whose tests are not known, beside its value."""
        self.frames: dict[Any, Frame] = {}
        """Frames of functions that other functions are nested in, after an abstract run."""
        self._values: dict[tuple[str, int], Any] = {}
        self._ran: dict[int, dict[str, Any] | Raised] = {}
        self._tests: dict[int, bool | None] = {}
        self._active: set[Any] = set()
        self._stars: list[int] = []
        self._binders: dict[str, list[int]] = {}
        self._torn = {known.rpartition(".")[2] for known in document.broken_names}
        """What cannot be known at present, wherever in the module it stands; better than to say that there is none."""
        self._set_by_functions = frozenset(
            name for s in document.tree.body for name in once_for_text(s, "globals", partial(_declared_global, s))
        )
        for index, statement in enumerate(document.tree.body):
            for name_bound in self._binds(statement):
                if name_bound == "*":
                    self._stars.append(index)
                else:
                    self._binders.setdefault(name_bound, []).append(index)

    @property
    def value(self) -> ModuleValue:
        """The module as a value."""
        return ModuleValue(self)

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return self.document.tree

    # ---------------------------------------------------------------------------------------------- names

    def get(self, name: str, default: Any = None, /) -> Any:
        """The value that a global name has in the end, or `default`."""
        value = self.value_at(name, None)
        return default if value is MISSING else value

    def value_at(self, name: str, before: int | None) -> Any:
        """The value of a name before a statement (or in the end, for None); MISSING where nothing binds it."""
        binders = self._binders_of(name)
        if before is not None:
            binders = [i for i in binders if i < before]
        if not binders:
            return self._special(name)
        key = (name, len(binders))
        if key in self._values:
            return self._values[key]
        if key in self._active:
            return Unknown(f"`{name}` is needed to define itself", name)
        self._active.add(key)
        try:
            value: Any = MISSING
            with self.workspace.evaluating(self):
                for index in binders:
                    try:
                        value = self._step(self.tree.body[index], name, index, value)
                    except Raised as raised:
                        value = Unknown(raised.reason, name)
                    except RecursionError:
                        value = Unknown("it is nested too deeply to evaluate", name)
        finally:
            self._active.discard(key)
        if value is None and name in self._set_by_functions:
            value = Unknown(f"`{name}` is set by a function of its module when that runs", name)
        if isinstance(value, Unknown):
            assumed = self.workspace.assumed(self.path, name)
            value = value if assumed is MISSING else assumed
        self._values[key] = value
        return value

    def member(self, name: str) -> Any:
        """What `module.name` gives for another module.

        Raises:
            Raised: an AttributeError, where the module has no such name.
        """
        # `from . import name` in the package itself binds the name by this very lookup: then the submodule is meant.
        circular = self.is_package and any(active[0] == name for active in self._active if isinstance(active, tuple))
        value = MISSING if circular and self.workspace.submodule(self, name) else self.value_at(name, None)
        if value is not MISSING:
            return value
        if self.is_package:
            submodule = self.workspace.submodule(self, name)
            if submodule is not None:
                self.workspace.reads.add(self.path, (submodule.path,))
                return submodule.value
        if name == "__all__" or not self.is_complete:
            return Unknown(f"whether module `{self.name}` has `{name}` is not known", name)
        hook = self.value_at("__getattr__", None)
        if hook is not MISSING:
            return self.workspace.call(hook, (name,), {})
        raise Raised("AttributeError", f"module {self.name!r} has no attribute {name!r}")

    def has(self, name: str) -> bool | None:
        """Whether the module has a name."""
        if self._binders_of(name) or self._special(name) is not MISSING:
            return self.value_at(name, None) is not MISSING
        if self.is_package and self.workspace.submodule(self, name) is not None:
            return True
        return False if self.is_complete and "__getattr__" not in self._binders else None

    @property
    def is_complete(self) -> bool:
        """Whether every name that the module has is bound by text that is read: no star import of something else."""
        return not self.document.broken and all(
            source is not None for index in self._stars for source in self._star_sources(self.tree.body[index])
        )

    def binds(self, name: str) -> bool:
        """Whether some statement binds the name."""
        return bool(self._binders_of(name))

    def names(self) -> list[str]:
        """The names that its own statements bind, without those of star imports."""
        return list(self._binders)

    def _special(self, name: str) -> Any:
        if name == "__name__":
            return self.name
        if name == "__file__":
            return self.path
        if name == "__package__":
            return self.name if self.is_package else self.name.rpartition(".")[0]
        if name in ("__doc__", "__spec__", "__loader__", "__path__"):
            return Unknown(f"`{name}` is set when the module is imported")
        if name in self._torn:
            return Unknown(f"`{name}` does not parse", name)
        return MISSING

    def _binders_of(self, name: str) -> list[int]:
        explicit = self._binders.get(name, [])
        if not self._stars:
            return explicit
        stars = [i for i in self._stars if self._star_gives(i, name)]
        return sorted({*explicit, *stars}) if stars else explicit

    def _star_gives(self, index: int, name: str) -> bool:
        if name.startswith("__"):
            return False
        key = ("*", index, name)
        if key in self._active:
            return False
        self._active.add(key)
        try:
            return any(
                source is not None and self._star_exports(source, name)
                for source in self._star_sources(self.tree.body[index])
            )
        finally:
            self._active.discard(key)

    def _star_exports(self, source: Any, name: str) -> bool:
        if isinstance(source, Ref):
            return bool(self.workspace.api.exists(f"{source.path}.{name}"))
        if isinstance(source, Module):
            if source.binds("__all__"):
                exported = source.value_at("__all__", None)
                if isinstance(exported, (list, tuple)):
                    return name in exported
            return source.binds(name) and not name.startswith("_")
        return False

    def _star_sources(self, statement: ast.stmt) -> list[Any]:
        """What star imports in a statement lead to: a module, a Ref, or None for one that is not read."""
        found = []
        for node in inside(statement, ast.ImportFrom):
            if any(a.name == "*" for a in node.names):
                value = self._import_source(node)
                found.append(
                    value.module if isinstance(value, ModuleValue) else value if isinstance(value, Ref) else None
                )
        return found

    # ---------------------------------------------------------------------------------------------- statements

    def _binds(self, node: ast.stmt) -> frozenset[str]:
        """The names that a statement binds or changes; `*` for a star import."""
        return once_for_text(node, "binds", partial(_binds, node))

    def _step(self, node: ast.stmt, name: str, index: int, before: Any) -> Any:
        """The value of `name` after a statement, given the one before."""
        if isinstance(node, ast.If):
            return self._branch(node, name, index, before)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._attempt(node, name, index, before)  # type: ignore[arg-type]
        if isinstance(node, ast.With):
            return self._block(node.body, name, index, before)
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            return self._star(node, name, before)
        left = self._run(node, index, name, before)
        return left.get(name, before)

    def _block(self, statements: Iterable[ast.stmt], name: str, index: int, before: Any) -> Any:
        value = before
        for statement in statements:
            bound = self._binds(statement)
            if name in bound or "*" in bound:
                value = self._step(statement, name, index, value)
        return value

    def _branch(self, node: ast.If, name: str, index: int, before: Any) -> Any:
        truth = self._test(node, index)
        if truth is not None:
            return self._block(node.body if truth else node.orelse, name, index, before)
        candidates: list[Any] = []
        for body in (node.body, node.orelse):
            try:
                value = self._block(body, name, index, before)
            except Raised as raised:
                value = Unknown(raised.reason, name)
            if value is not MISSING:
                candidates.append(value)
        return self._choose(name, candidates)

    def _choose(self, name: str, candidates: Sequence[Any]) -> Any:
        if not candidates:
            return MISSING
        usable = [c for c in candidates if not isinstance(c, Unknown) and c is not None]
        usable += [c for c in candidates if c is None]
        chosen = usable[0] if usable else candidates[0]
        others = [c for c in candidates if c is not chosen]
        if others:
            self.alternatives.setdefault(name, []).extend(others)
        return chosen

    def _test(self, node: ast.If, index: int) -> bool | None:
        key = id(node)
        if key not in self._tests:
            if key in self._active:
                return None
            self._active.add(key)
            try:
                value = self.evaluate(node.test, Frame(Upto(self, index), None, "module"))
            finally:
                self._active.discard(key)
            self._tests[key] = self.workspace.domain.truth(value)
        return self._tests[key]

    def standing(self, node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> Standing:
        """Whether a top-level definition, or one in a top-level `if` or `try`, is executed."""
        found = Standing.LIVE
        child, parent = node, parents.get(node)
        chain: list[tuple[ast.AST, ast.AST]] = []
        while parent is not None and not isinstance(parent, ast.Module):
            chain.append((child, parent))
            child, parent = parent, parents.get(parent)
        index = next((i for i, statement in enumerate(self.tree.body) if statement is child), 0)
        for inner, outer in chain:
            if isinstance(outer, ast.If) and inner is not outer.test:
                truth = self._test(outer, index)
                if truth is not None and truth == (inner in outer.orelse):
                    return Standing.DEAD
                if truth is None:
                    found = Standing.UNDECIDED
            elif isinstance(outer, (ast.ExceptHandler, ast.Try)):
                found = Standing.UNDECIDED
        return found

    def _attempt(self, node: ast.Try, name: str, index: int, before: Any) -> Any:
        try:
            # Any statement of the body may raise, above all an import, so that each is executed.
            for statement in node.body:
                if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    self._raise_as(statement, index)
            value = self._block(node.body, name, index, before)
        except Raised as raised:
            handler = self.workspace.handler(node.handlers, raised)
            if handler is None:
                raise
            value = self._block(handler.body, name, index, before)
        else:
            value = self._block(node.orelse, name, index, value)
            if value is MISSING or isinstance(value, Unknown):
                # The body may raise where it runs: what a handler gives is a candidate.
                value = self._handled(node, name, index, value)
        return self._block(node.finalbody, name, index, value)

    def _handled(self, node: ast.Try, name: str, index: int, value: Any) -> Any:
        candidates = [] if value is MISSING else [value]
        for handler in node.handlers:
            try:
                other = self._block(handler.body, name, index, MISSING)
            except Raised:
                continue
            if other is not MISSING and other is not None:
                candidates.append(other)
        return self._choose(name, candidates)

    def _raise_as(self, node: ast.stmt, index: int) -> None:
        """Raise what executing a statement of a `try` body raises."""
        if isinstance(node, ast.If):
            truth = self._test(node, index)
            for statement in () if truth is None else node.body if truth else node.orelse:
                self._raise_as(statement, index)
        elif isinstance(node, ast.Raise) or not isinstance(node, (ast.Try, ast.For, ast.While, ast.With)):
            self._run(node, index, "", MISSING, strict=True)

    def _run(self, node: ast.stmt, index: int, name: str, before: Any, strict: bool = False) -> dict[str, Any]:
        """Execute a statement once; the names that it leaves."""
        key = id(node)
        done = self._ran.get(key)
        if done is None:
            if key in self._active:
                return {name: Unknown(f"`{name}` is needed to define itself", name)}
            self._active.add(key)
            frame = Frame(Upto(self, index), None, "module")
            if before is not MISSING:
                frame.locals[name] = before
            try:
                with self.workspace.evaluating(self):
                    stopped = self.workspace.run_statement(node, frame, in_try=strict)
            finally:
                self._active.discard(key)
            if isinstance(stopped, Raised):
                done = stopped
            else:
                done = frame.locals
                if isinstance(stopped, Unknown):
                    for bound in self._binds(node):
                        # What it was before the statement is not what it is after it.
                        if bound not in done or done[bound] is before:
                            done[bound] = stopped
            self._ran[key] = done
        if isinstance(done, Raised):
            raise done
        return done

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression written in this module."""
        with self.workspace.evaluating(self):
            return self.workspace.evaluator().evaluate(node, frame)

    def execute(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Execute statements written in this module, each by itself: what one raises stops none of the others."""
        with self.workspace.evaluating(self):
            evaluator = self.workspace.evaluator()
            for statement in statements:
                stopped = evaluator.execute([statement], frame)
                if stopped is not None:
                    for name in bound_names([statement]):
                        frame.locals.setdefault(name, stopped)

    # ---------------------------------------------------------------------------------------------- imports

    def imported(self, node: ast.Import | ast.ImportFrom) -> dict[str, Any]:
        """The names that an import statement binds.

        Raises:
            Raised: an ImportError or ModuleNotFoundError, where what it imports is not there.
        """
        if isinstance(node, ast.ImportFrom):
            return self._imported_from(node)
        found: dict[str, Any] = {}
        for alias in node.names:
            whole = self.workspace.import_module(alias.name, self)
            if alias.asname:
                found[alias.asname] = whole
            else:
                first = alias.name.split(".")[0]
                found[first] = self.workspace.import_module(first, self) if "." in alias.name else whole
        return found

    def _import_source(self, node: ast.ImportFrom) -> Any:
        try:
            if node.level:
                return self.workspace.import_relative(self, node.level, node.module or "")
            return self.workspace.import_module(node.module or "", self)
        except Raised as raised:
            return Unknown(raised.reason)

    def _imported_from(self, node: ast.ImportFrom) -> dict[str, Any]:
        if node.module == "__future__":
            return {}
        if node.level:
            source = self.workspace.import_relative(self, node.level, node.module or "")
        else:
            source = self.workspace.import_module(node.module or "", self)
        found = {}
        for alias in node.names:
            if alias.name == "*":
                continue
            try:
                value = self.workspace.domain.attribute(source, alias.name)
            except Raised as raised:
                if raised.kind != "AttributeError":
                    raise
                raise Raised("ImportError", f"cannot import name {alias.name!r}: {raised.message}") from None
            found[alias.asname or alias.name] = value
        return found

    def _star(self, node: ast.ImportFrom, name: str, before: Any) -> Any:
        source = self._import_source(node)
        if isinstance(source, ModuleValue) and self._star_exports(source.module, name):
            return source.module.member(name)
        if isinstance(source, Ref) and self._star_exports(source, name):
            return self.workspace.domain.attribute(source, name)
        return before

    @property
    def opaque_star(self) -> str:
        """The name of a module that is not read and from which everything is imported, or empty."""
        for index in self._stars:
            for node in inside(self.tree.body[index], ast.ImportFrom):
                if any(a.name == "*" for a in node.names):
                    source = self._import_source(node)
                    if not isinstance(source, (ModuleValue, Ref)):
                        return source.name if isinstance(source, Opaque) else (node.module or ".")
        return ""

    def folder(self) -> str:
        """The folder that relative imports of one dot look in."""
        return posixpath.dirname(self.path)


def _declared_global(node: ast.stmt) -> tuple[str, ...]:
    return tuple(name for inner in inside(node, ast.Global) for name in inner.names)


def _binds(node: ast.stmt) -> frozenset[str]:
    names = bound_names([node])
    for inner in _own_statements(node):
        if isinstance(inner, ast.ImportFrom) and any(a.name == "*" for a in inner.names):
            names.add("*")
        names.update(_changed(inner))
    return frozenset(names)


def _own_statements(node: ast.stmt) -> Iterable[ast.AST]:
    """A statement and those nested in it, without the bodies of functions and classes."""
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            stack.extend(c for c in ast.iter_child_nodes(current) if isinstance(c, (ast.stmt, ast.ExceptHandler)))


def _changed(node: ast.AST) -> set[str]:
    """The names whose objects a statement changes in place: `x.append(...)`, `x[k] = v`, `x.a = v`, `del x[k]`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr in _MUTATORS:
            targets.append(function.value)
    elif isinstance(node, (ast.Assign, ast.Delete)):
        targets.extend(t.value for t in node.targets if isinstance(t, (ast.Subscript, ast.Attribute)))
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and isinstance(node.target, (ast.Subscript, ast.Attribute)):
        targets.append(node.target.value)
    names = set()
    for target in targets:
        while isinstance(target, (ast.Attribute, ast.Subscript)):
            target = target.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names
