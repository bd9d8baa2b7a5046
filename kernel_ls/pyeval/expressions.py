"""Expressions: one method per syntax node, each giving a value or Unknown."""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterator

from .domain import Domain
from .values import MISSING, Budget, Closure, Frame, Raised, Undecided, Unknown


class Expressions:
    """The part of the evaluator that walks expressions."""

    domain: Domain
    budget: Budget

    def expression(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression.

        Raises:
            Raised, Undecided, BudgetExceeded: as the operations in it do.
        """
        self.budget.step()
        method: Callable[[Any, Frame], Any] | None = getattr(self, "_" + type(node).__name__, None)
        if method is None:
            return Unknown(f"`{type(node).__name__}` expressions are not evaluated")
        return method(node, frame)

    def elements(self, value: Any) -> Any:
        """The elements of a value as a list, or Unknown."""
        return self.domain.iterate(value, self.budget)

    def decide(self, value: Any) -> bool:
        """Whether a value is true.

        Raises:
            Undecided: it cannot be known.
        """
        truth = self.domain.truth(value)
        if truth is None:
            raise Undecided(
                value.reason if isinstance(value, Unknown) else "it depends on a condition that is not known"
            )
        return truth

    # ---------------------------------------------------------------------------------------------- leaves

    def _Constant(self, node: ast.Constant, frame: Frame) -> Any:
        return node.value

    def _Name(self, node: ast.Name, frame: Frame) -> Any:
        value = frame.lookup(node.id)
        if value is MISSING:
            value = self.domain.builtin(node.id)
        if value is MISSING:
            raise Raised("NameError", f"name {node.id!r} is not defined")
        return value

    def _JoinedStr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        parts: list[str] = []
        for part in node.values:
            text = part.value if isinstance(part, ast.Constant) else self.expression(part, frame)
            if not isinstance(text, str):
                return text if isinstance(text, Unknown) else Unknown("it formats an object that is not evaluated")
            parts.append(text)
        self.budget.grow(sum(len(p) for p in parts))
        return "".join(parts)

    def _FormattedValue(self, node: ast.FormattedValue, frame: Frame) -> Any:
        value = self.expression(node.value, frame)
        spec = "" if node.format_spec is None else self.expression(node.format_spec, frame)
        if not isinstance(spec, str):
            return spec if isinstance(spec, Unknown) else Unknown("a format that is not known")
        conversion = chr(node.conversion) if node.conversion and node.conversion > 0 else ""
        return self.domain.format(value, conversion, spec, self.budget)

    # ---------------------------------------------------------------------------------------------- containers

    def _items(self, nodes: list[ast.expr], frame: Frame) -> Any:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                more = self.elements(self.expression(node.value, frame))
                if isinstance(more, Unknown):
                    return more
                items.extend(more)
            else:
                items.append(self.expression(node, frame))
        self.budget.grow(len(items))
        return items

    def _Tuple(self, node: ast.Tuple, frame: Frame) -> Any:
        items = self._items(node.elts, frame)
        return items if isinstance(items, Unknown) else tuple(items)

    def _List(self, node: ast.List, frame: Frame) -> Any:
        return self._items(node.elts, frame)

    def _Set(self, node: ast.Set, frame: Frame) -> Any:
        items = self._items(node.elts, frame)
        return items if isinstance(items, Unknown) else self._set_of(items)

    def _set_of(self, items: list[Any]) -> Any:
        for item in items:
            if isinstance(item, Unknown):
                return item
            if not self.domain.is_hashable(item):
                return Unknown("a set of objects that are not evaluated")
        return set(items)

    def _Dict(self, node: ast.Dict, frame: Frame) -> Any:
        result: dict[Any, Any] = {}
        for key_node, value_node in zip(node.keys, node.values):
            value = self.expression(value_node, frame)
            if key_node is None:
                if not isinstance(value, dict):
                    return (
                        value if isinstance(value, Unknown) else Unknown("it unpacks an object that is not evaluated")
                    )
                result.update(value)
                continue
            key = self.expression(key_node, frame)
            if isinstance(key, Unknown) or not self.domain.is_hashable(key):
                return key if isinstance(key, Unknown) else Unknown("a dictionary whose keys are not evaluated")
            result[key] = value
        self.budget.grow(len(result))
        return result

    # ---------------------------------------------------------------------------------------------- operators

    def _UnaryOp(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.expression(node.operand, frame)
        if isinstance(node.op, ast.Not):
            truth = self.domain.truth(value)
            if truth is None:
                return value if isinstance(value, Unknown) else Unknown("it depends on a condition that is not known")
            return not truth
        return self.domain.unary(type(node.op).__name__, value, self.budget)

    def _BinOp(self, node: ast.BinOp, frame: Frame) -> Any:
        left = self.expression(node.left, frame)
        right = self.expression(node.right, frame)
        return self.domain.binary(type(node.op).__name__, left, right, self.budget)

    def _BoolOp(self, node: ast.BoolOp, frame: Frame) -> Any:
        # An operand that decides the whole makes an unknown one before it harmless: `unknown and False` is false.
        decisive = isinstance(node.op, ast.Or)
        value: Any = None
        undecided: Any = None
        for operand in node.values:
            try:
                value = self.expression(operand, frame)
            except Raised as raised:
                if undecided is None:
                    raise
                value = Unknown(raised.reason)
            truth = self.domain.truth(value)
            if truth is decisive and (undecided is None or isinstance(value, bool)):
                return value
            if truth is None and undecided is None:
                undecided = (
                    value
                    if isinstance(value, Unknown) or operand is node.values[-1]
                    else Unknown("it depends on a condition that is not known")
                )
        return value if undecided is None else undecided

    def _Compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.expression(node.left, frame)
        result: Any = True
        for op, right_node in zip(node.ops, node.comparators):
            right = self.expression(right_node, frame)
            result = self.domain.compare(type(op).__name__, left, right)
            if len(node.ops) == 1:
                return result
            truth = self.domain.truth(result)
            if truth is None or truth is False:
                return result
            left = right
        return result

    def _IfExp(self, node: ast.IfExp, frame: Frame) -> Any:
        test = self.expression(node.test, frame)
        truth = self.domain.truth(test)
        if truth is None:
            if not self.domain.explores:
                self.decide(test)
            return self.domain.join(self._attempt(node.body, frame), self._attempt(node.orelse, frame))
        return self.expression(node.body if truth else node.orelse, frame)

    def _attempt(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression that may not be reached: what it raises is an Unknown."""
        try:
            return self.expression(node, frame)
        except Raised as raised:
            return Unknown(raised.reason)

    def _NamedExpr(self, node: ast.NamedExpr, frame: Frame) -> Any:
        value = self.expression(node.value, frame)
        target = frame
        while target.kind == "comprehension" and target.enclosing is not None:
            target = target.enclosing
        target.locals[node.target.id] = value
        return value

    # ---------------------------------------------------------------------------------------------- access and calls

    def _Attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        return self.domain.attribute(self.expression(node.value, frame), node.attr)

    def _Subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        return self.domain.subscript(self.expression(node.value, frame), self.expression(node.slice, frame))

    def _Slice(self, node: ast.Slice, frame: Frame) -> Any:
        parts = [None if p is None else self.expression(p, frame) for p in (node.lower, node.upper, node.step)]
        for part in parts:
            if isinstance(part, Unknown):
                return part
        return slice(*parts)

    def _Call(self, node: ast.Call, frame: Frame) -> Any:
        function = self.expression(node.func, frame)
        if isinstance(node.func, ast.Name) and node.func.id in ("locals", "globals", "vars", "super"):
            special = self.special_call(node, frame)
            if special is not MISSING:
                return special
        arguments = self.arguments(node, frame)
        if isinstance(arguments, Unknown):
            return arguments
        return self.call(function, arguments[0], arguments[1], node)

    def special_call(self, node: ast.Call, frame: Frame) -> Any:
        """A call that depends on the frame it is made from, or MISSING where it is an ordinary one."""
        name = getattr(node.func, "id", "")
        return self.domain.frame_call(name, frame)

    def arguments(self, node: ast.Call, frame: Frame) -> Any:
        """The positional and keyword arguments of a call, or Unknown where an unpacked one is not known."""
        args = self._items(node.args, frame)
        if isinstance(args, Unknown):
            return args
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.expression(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict) and all(isinstance(k, str) for k in value):
                kwargs.update(value)
            else:
                return value if isinstance(value, Unknown) else Unknown("it unpacks an object that is not evaluated")
        return tuple(args), kwargs

    def call(self, function: Any, args: Any, kwargs: dict[str, Any], node: ast.AST | None = None) -> Any:
        """Call a value, through the domain."""
        self.budget.step()
        return self.domain.call(function, tuple(args), kwargs, self, node)  # type: ignore[arg-type]

    def _Starred(self, node: ast.Starred, frame: Frame) -> Any:
        raise Raised("SyntaxError", "a starred expression outside a call or a list")

    def _Await(self, node: ast.Await, frame: Frame) -> Any:
        return Unknown("it is awaited")

    def _Yield(self, node: ast.Yield, frame: Frame) -> Any:
        value = None if node.value is None else self.expression(node.value, frame)
        if frame.yields is None:
            return Unknown("it is a value sent to a generator")
        self.budget.grow(len(frame.yields) + 1)
        frame.yields.append(value)
        return None

    def _YieldFrom(self, node: ast.YieldFrom, frame: Frame) -> Any:
        elements = self.elements(self.expression(node.value, frame))
        if isinstance(elements, Unknown) or frame.yields is None:
            raise Undecided("it yields from something that is not known")
        self.budget.grow(len(frame.yields) + len(elements))
        frame.yields.extend(elements)
        return None

    # ---------------------------------------------------------------------------------------------- functions, comprehensions

    def _Lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        return self.domain.function(self.closure(node, frame, "<lambda>"), (), frame, self)  # type: ignore[arg-type]

    def closure(self, node: Any, frame: Frame, name: str) -> Closure:
        """A function value with its defaults evaluated, as executing its definition does."""
        defaults: dict[str, Any] = {}
        positional = [*node.args.posonlyargs, *node.args.args]
        for argument, default in zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults):
            defaults[argument.arg] = self._attempt(default, frame)
        for argument, keyword_default in zip(node.args.kwonlyargs, node.args.kw_defaults):
            if keyword_default is not None:
                defaults[argument.arg] = self._attempt(keyword_default, frame)
        return Closure(node, frame, defaults, name)

    def _ListComp(self, node: ast.ListComp, frame: Frame) -> Any:
        return self._comprehend(node, frame)

    def _GeneratorExp(self, node: ast.GeneratorExp, frame: Frame) -> Any:
        return self._comprehend(node, frame)

    def _SetComp(self, node: ast.SetComp, frame: Frame) -> Any:
        items = self._comprehend(node, frame)
        return items if isinstance(items, Unknown) else self._set_of(items)

    def _comprehend(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Any:
        try:
            items: list[Any] = []
            for inner in self._rounds(node.generators, frame):
                items.append(self.expression(node.elt, inner))
                self.budget.grow(len(items))
        except _NotKnown as stop:
            return stop.value
        return items

    def _DictComp(self, node: ast.DictComp, frame: Frame) -> Any:
        result: dict[Any, Any] = {}
        try:
            for inner in self._rounds(node.generators, frame):
                key = self.expression(node.key, inner)
                if isinstance(key, Unknown) or not self.domain.is_hashable(key):
                    return key if isinstance(key, Unknown) else Unknown("a dictionary whose keys are not evaluated")
                result[key] = self.expression(node.value, inner)
                self.budget.grow(len(result))
        except _NotKnown as stop:
            return stop.value
        return result

    def _rounds(self, generators: list[ast.comprehension], frame: Frame) -> Iterator[Frame]:
        """A frame for each round of a comprehension."""
        inner = Frame(frame.globals, frame, "comprehension")
        yield from self._nested_rounds(generators, inner)

    def _nested_rounds(self, generators: list[ast.comprehension], frame: Frame) -> Iterator[Frame]:
        if not generators:
            yield frame
            return
        generator = generators[0]
        elements = self.elements(self.expression(generator.iter, frame))
        if isinstance(elements, Unknown):
            raise _NotKnown(elements)
        for element in elements:
            self.budget.step()
            self.assign(generator.target, element, frame)
            kept = True
            for test in generator.ifs:
                value = self.expression(test, frame)
                truth = self.domain.truth(value)
                if truth is None:
                    # Where branches are explored an element that may be left out is kept.
                    if not self.domain.explores:
                        raise _NotKnown(value if isinstance(value, Unknown) else Unknown("a filter that is not known"))
                elif not truth:
                    kept = False
                    break
            if kept:
                yield from self._nested_rounds(generators[1:], frame)

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Bind a value to a target: a name, an attribute, an element, or a pattern of those."""
        if isinstance(target, ast.Name):
            if target.id in frame.global_names and not self.domain.explores:
                raise Undecided(f"the global `{target.id}` is changed by a function")
            frame.owner(target.id).locals[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, frame)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, frame)
        elif isinstance(target, ast.Attribute):
            self.domain.set_attribute(self.expression(target.value, frame), target.attr, value)
        elif isinstance(target, ast.Subscript):
            owner = self.expression(target.value, frame)
            index = self.expression(target.slice, frame)
            if isinstance(owner, Unknown):
                return
            self.domain.set_subscript(owner, index, value, self.budget)
        else:
            raise Undecided("an assignment of this form is not supported")

    def _unpack(self, targets: list[ast.expr], value: Any, frame: Frame) -> None:
        elements = self.elements(value)
        if isinstance(elements, Unknown):
            for target in targets:
                self.assign(target, elements, frame)
            return
        starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if starred is None:
            if len(elements) != len(targets):
                raise Raised("ValueError", f"{len(elements)} values for {len(targets)} names")
            pairs = list(zip(targets, elements))
        else:
            after = len(targets) - starred - 1
            if len(elements) < starred + after:
                raise Raised("ValueError", "too few values to unpack")
            end = len(elements) - after
            pairs = list(zip(targets[:starred], elements[:starred]))
            pairs.append((targets[starred], list(elements[starred:end])))
            pairs.extend(zip(targets[starred + 1 :], elements[end:]))
        for target, element in pairs:
            self.assign(target, element, frame)


class _NotKnown(Exception):
    """A comprehension runs over something that is not known."""

    def __init__(self, value: Unknown) -> None:
        super().__init__()
        self.value = value
