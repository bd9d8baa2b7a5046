"""The types of names where they are bound: parameters, targets of assignments and loops.

The generator says the type of what it evaluates; a name that is stored is not evaluated. Its type follows from the value
that is assigned, as the generator makes a variable of it (`visit_Assign`: a number becomes a scalar, unless the name is
annotated `constexpr`), or from where the name is read next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from kernel_ls.analysis.features import notation
from kernel_ls.analysis.features.places import Place, Types, name_place, place_of
from kernel_ls.model import Specialization
from kernel_ls.pyeval.nodes import walk


def derived(
    function: ast.FunctionDef, told: Types, reached: Set[int], given: Specialization | None
) -> dict[Place, tuple[str, ...]]:
    """Types of the names that a function binds, by place.

    Args:
        function: the function.
        told: what the generator said of its expressions.
        reached: lines of the statements that were generated.
        given: the specialization, where the function is the kernel itself.
    """
    return _Names(function, told, reached, given).found


class _Names:
    def __init__(self, function: ast.FunctionDef, told: Types, reached: Set[int], given: Specialization | None) -> None:
        self.told = told
        self.reached = reached
        self.found: dict[Place, tuple[str, ...]] = {}
        self.loads: dict[str, list[ast.Name]] = {}
        self.stores: dict[str, list[Place]] = {}
        for node in walk(function):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    self.loads.setdefault(node.id, []).append(node)
                else:
                    self.stores.setdefault(node.id, []).append(place_of(node))
        for nodes in self.loads.values():
            nodes.sort(key=place_of)
        for places in self.stores.values():
            places.sort()
        self._parameters(function, given)
        self._block(function.body)

    # --------------------------------------------------------------------------------------- parameters

    def _parameters(self, function: ast.FunctionDef, given: Specialization | None) -> None:
        arguments = function.args
        known = {a.name: a for a in given.arguments} if given is not None else {}
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for parameter in [*every, *(a for a in (arguments.vararg, arguments.kwarg) if a is not None)]:
            argument = known.get(parameter.arg)
            if argument is not None:
                types: tuple[str, ...] = (notation.argument(argument),)
                read = self._read_next(parameter.arg, place_of(parameter))
                # What the generator holds for a type or a function says more than the value's own text.
                if read and not types[0].startswith(("constexpr[", "*", "i", "u", "f", "b", "None")):
                    types = read
            else:
                types = self._read_next(parameter.arg, place_of(parameter))
            if types:
                self.found[name_place(parameter)] = types

    def _read_next(self, name: str, after: Place) -> tuple[str, ...]:
        """The types of a name where it is read next in the text, before it is stored again."""
        following = next((p for p in self.stores.get(name, ()) if p > after), None)
        for node in self.loads.get(name, ()):
            place = place_of(node)
            if place > after and place in self.told:
                # A statement reads before it stores: `x = x + 1` still reads what was there before.
                return self.told[place] if following is None or place[0] <= following[0] else ()
        return ()

    # --------------------------------------------------------------------------------------- statements

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if statement.lineno in self.reached:
                self._statement(statement)
            for block in _blocks(statement):
                self._block(block)

    def _statement(self, node: ast.stmt) -> None:
        for inner in _expressions(node):
            if isinstance(inner, ast.NamedExpr):
                self._store(inner.target, self._told(inner) or self._assigned(inner.value))
            elif isinstance(inner, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
                for generator in inner.generators:
                    self._loop_target(generator.target, generator.iter, inner)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._store(target, self._assigned(node.value))
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                kept = _is_constexpr(node.annotation)
                self._store(node.target, self._told(node.value) if kept else self._assigned(node.value))
        elif isinstance(node, ast.AugAssign):
            types = self._told(node.target)
            if types:
                # First the name is read, last it is what was assigned.
                self._store(node.target, types if len(types) <= 2 else (types[0], types[-1]))
            else:
                self._store(node.target, tuple(t for t in self._told(node)[-1:]))
        elif isinstance(node, ast.For):
            self._loop_target(node.target, node.iter, node)
        elif isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    self._store(item.optional_vars, self._told(item.context_expr))

    def _told(self, node: ast.AST) -> tuple[str, ...]:
        return self.told.get(place_of(node), ())

    def _assigned(self, value: ast.expr) -> tuple[str, ...]:
        return tuple(dict.fromkeys(notation.of_constant(t) for t in self._told(value)))

    def _loop_target(self, target: ast.expr, iterated: ast.expr, loop: ast.AST) -> None:
        for name in (n for n in walk(target) if isinstance(n, ast.Name)):
            inside = [n for n in self.loads.get(name.id, ()) if _inside(n, loop) and place_of(n) in self.told]
            if inside:
                self.found[place_of(name)] = self.told[place_of(inside[0])]
            elif isinstance(iterated, ast.Call):
                counted = self._counted(iterated)
                if counted:
                    self.found[place_of(name)] = counted

    def _counted(self, call: ast.Call) -> tuple[str, ...]:
        """The type of a loop's counter, from the bounds of its range."""
        bounds = [t for argument in call.args for t in self._told(argument)[:1]]
        function = self._told(call.func)
        if not bounds or "static_range" in " ".join(function):
            return ()
        kinds = {notation.of_constant(t) for t in bounds}
        return ("i64",) if "i64" in kinds else ("i32",) if kinds <= {"i32", "i1"} else ()

    def _store(self, target: ast.expr, types: tuple[str, ...]) -> None:
        if not types:
            types = self._read_next(target.id, place_of(target)) if isinstance(target, ast.Name) else ()
        if isinstance(target, ast.Name) and types:
            self.found[place_of(target)] = types
        elif isinstance(target, (ast.Tuple, ast.List)):
            split = [p for p in (notation.parts(t) for t in types) if p is not None]
            for number, item in enumerate(target.elts):
                self._store(item, tuple(dict.fromkeys(p[number] for p in split if number < len(p))))


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for handler in getattr(node, "handlers", ()):
        yield handler.body


def _expressions(node: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement's own head."""
    stack: list[ast.AST] = [
        child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, ast.ExceptHandler))
    ]
    while stack:
        inner = stack.pop()
        yield inner
        stack.extend(ast.iter_child_nodes(inner))


def _inside(node: ast.AST, outer: ast.AST) -> bool:
    place, around = place_of(node), place_of(outer)
    return around[:2] <= place[:2] and place[2:] <= around[2:]


def _is_constexpr(annotation: ast.expr) -> bool:
    return any(
        (isinstance(n, ast.Attribute) and n.attr == "constexpr") or (isinstance(n, ast.Name) and n.id == "constexpr")
        for n in walk(annotation)
    )
