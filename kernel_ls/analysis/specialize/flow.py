"""Follows values through a kernel and everything it calls, and notes how the kernel's parameters are used.

An abstract interpreter over the units of a program: assignments, tuples, loops (twice), both arms of tests that are not known,
calls of other units with the values they are given. It is run again until the choice of pointers is stable, since which
summand of `a + b` is the pointer may only show further down.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from kernel_ls.model import Json, Program, UnitSpan

from .calls import CallFlow, Scope
from .slices import deciding
from .usage import Arm, Mark, Test, Usage, Use
from .values import (
    MISSING,
    NONE,
    NOTHING,
    Abstract,
    Origin,
    following,
    join,
    literal,
    of_wire,
    replace,
    sequence,
    union,
)

_ROUNDS = 3
_STEPS = 120_000
"""Expressions that may be visited in one round; the largest kernels in use need about a tenth."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is already known of a parameter before its use is looked at."""

    constexpr: bool = False
    known: Any = MISSING
    target: Json = None
    pointer: bool | None = None
    """True: a pointer; False: not one; None: not known."""


_Result = TypeVar("_Result")
_KEPT: OrderedDict[tuple[str, str, str], Any] = OrderedDict()
_MOST_KEPT = 2048


def _once(what: str, program: Program, given: Mapping[str, Given], compute: Callable[[], _Result]) -> _Result:
    """A result by the content that it rests on: an edit of one kernel leaves the others' programs what they were.

    Results are in the coordinates of units, so that moving code changes none.
    """
    key = (what, program.key, repr(sorted(given.items())))
    if key in _KEPT:
        _KEPT.move_to_end(key)
    else:
        _KEPT[key] = compute()
        if len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return cast("_Result", _KEPT[key])


def infer(program: Program, given: Mapping[str, Given]) -> Usage:
    """Follow every parameter of the program's kernel. Never fails: what is not understood is followed as nothing."""
    return _once("usage", program, given, lambda: _infer(program, given))


def _infer(program: Program, given: Mapping[str, Given]) -> Usage:
    pointers: frozenset[str] = frozenset(n for n, g in given.items() if g.pointer)
    numbers: frozenset[str] = frozenset(n for n, g in given.items() if g.pointer is False or g.constexpr)
    usage = Usage()
    for _ in range(_ROUNDS):
        usage = Flow(program, given, pointers, numbers).run()
        settled = (numbers | frozenset(_certain_numbers(usage, given))) - pointers
        if settled == numbers:
            break
        numbers = settled
    return usage


def reached_arms(program: Program, given: Mapping[str, Given]) -> frozenset[Arm]:
    """The arms of compile-time tests that are generated under known constants."""
    return _once("arms", program, given, lambda: _reached_arms(program, given))


def _reached_arms(program: Program, given: Mapping[str, Given]) -> frozenset[Arm]:
    numbers = frozenset(n for n, g in given.items() if g.pointer is False or g.constexpr)
    return frozenset(_ArmFlow(program, given, frozenset(n for n, g in given.items() if g.pointer), numbers).run().arms)


def _certain_numbers(usage: Usage, given: Mapping[str, Given]) -> Iterable[str]:
    """Parameters used as pointers never are: multiplied, compared by size, used as loop bounds."""
    arithmetic = {Use.NUMBER, Use.INDEX, Use.INTEGER, Use.FLOAT, Use.MATRIX, Use.SIZE, Use.UNROLL, Use.BITS}
    for origin in usage.marks:
        if origin.depth == 0 and not (origin.param in given and given[origin.param].pointer):
            if usage.uses(origin) & arithmetic:
                yield origin.param


class Flow(CallFlow):
    """One run over the program."""

    def __init__(
        self, program: Program, given: Mapping[str, Given], pointers: frozenset[str], numbers: frozenset[str]
    ) -> None:
        super().__init__(program)
        self.given = given
        self.pointers = pointers
        self.numbers = numbers
        self.steps = _STEPS
        self._methods: dict[type[ast.expr], Any] = {}
        self._marks: dict[Origin, dict[Mark, None]] = {}
        """As `Usage.marks`, each in the order of their first note."""
        unit = program.units.get(program.kernel, {})
        self.order: dict[str, int] = {}
        node = self.function_node(program.kernel)
        if node is not None:
            self.order = {
                a.arg: i for i, a in enumerate([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
            }
        self.kernel = unit

    def run(self) -> Usage:
        """Follow the kernel's body from its parameters."""
        node = self.function_node(self.program.kernel)
        if node is None:
            return self.usage
        arguments = {name: self.parameter(name) for name in self.order}
        try:
            self.run_unit(self.program.kernel, node, arguments)
        except RecursionError:
            self.usage.truncated = True
        self.usage.truncated = self.usage.truncated or self.steps <= 0
        self.usage.marks = {origin: list(marks) for origin, marks in self._marks.items()}
        return self.usage

    def parameter(self, name: str) -> Abstract:
        """A parameter's value before anything was done with it."""
        given = self.given.get(name, Given())
        origin = frozenset({Origin(name)})
        if given.target is not None:
            held = of_wire(given.target)
            return replace(held, value=frozenset({name}))
        if given.known is not MISSING:
            return replace(literal(given.known), value=frozenset({name}), kin=origin)
        if given.constexpr:
            return Abstract(base=origin, kin=origin, value=frozenset({name}), constant=True)
        return Abstract(base=origin, kin=origin, kind="pointer" if given.pointer else "")

    # ------------------------------------------------------------------------------------------ marking

    def span(self, node: ast.AST) -> UnitSpan:
        """Where a node stands, in unit coordinates."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        return UnitSpan(
            self.scope.unit,
            line,
            column,
            getattr(node, "end_lineno", line) or line,
            getattr(node, "end_col_offset", column) or 0,
        )

    def mark(self, origins: Iterable[Origin], use: Use, node: ast.AST, detail: Any = None) -> None:
        """Note a use of each origin, once a place."""
        mark: Mark | None = None
        for origin in origins:
            if mark is None:
                mark = Mark(use, self.span(node), detail)
            marks = self._marks.setdefault(origin, {})
            if len(marks) < 400:
                marks[mark] = None

    def demand(self, value: Abstract, use: Use, node: ast.AST, detail: Any = None) -> None:
        """Note that a value has to be of an element type class; every origin that its type follows has to be so."""
        if use in (Use.INDEX, Use.INTEGER, Use.BITS) and value.kind in ("float", "bool"):
            return
        self.mark(value.kin, use, node, detail)

    def choose_pointer(self, value: Abstract) -> Origin | None:
        """Which of the summands that an address was added up from is the pointer."""
        candidates = [o for o in value.base if not (o.depth == 0 and o.param in self.numbers)]
        if not candidates:
            candidates = [o for o in value.base if not self.given.get(o.param, Given()).constexpr and o.depth == 0]
        if not candidates:
            return None
        known = [o for o in candidates if o.depth == 0 and o.param in self.pointers]
        from .names import pointer_like

        return min(
            known or candidates,
            key=lambda o: (o.depth, not pointer_like(o.root), self.order.get(o.root, 999), o.param),
        )

    # ------------------------------------------------------------------------------------------ statements

    def run_unit(self, unit: str, node: ast.FunctionDef, arguments: Mapping[str, Abstract]) -> Abstract:
        """Follow one function's body with given arguments; what it returns."""
        outer = getattr(self, "scope", None)
        self.scope = Scope(unit, dict(arguments), self.globals_of(unit))
        try:
            self.block(node.body)
            return join(*self.scope.returned) if self.scope.returned else NONE
        finally:
            if outer is not None:
                self.scope = outer

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Follow statements; whether the end is reached (no `return` on the way)."""
        for statement in body:
            if self.steps <= 0:
                return True
            if not self.statement(statement):
                return False
        return True

    def statement(self, node: ast.stmt) -> bool:
        """Follow one statement."""
        if isinstance(node, ast.Assign):
            value = self.visit(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            annotation = ast.unparse(node.annotation)
            value = self.visit(node.value) if node.value is not None else NOTHING
            if "constexpr" in annotation:
                value = replace(value, constant=True)
            self.assign(node.target, value)
        elif isinstance(node, ast.AugAssign):
            load = ast.copy_location(_as_load(node.target), node.target)
            value = self.binary(node.op, self.visit(load), self.visit(node.value), node)
            self.assign(node.target, value)
        elif isinstance(node, ast.Expr):
            self.visit(node.value)
        elif isinstance(node, ast.Return):
            self.scope.returned.append(self.visit(node.value) if node.value is not None else NONE)
            return self.scope.loops > 0  # a `return` that no loop may have: what follows is meant all the same
        elif isinstance(node, ast.If):
            return self.if_(node)
        elif isinstance(node, ast.For):
            self.for_(node)
        elif isinstance(node, ast.While):

            def once() -> None:
                self.test(node.test, decides=False)
                self.block(node.body)

            self.twice(once)
        elif isinstance(node, ast.With):
            for item in node.items:
                value = self.visit(item.context_expr)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, value)
            return self.block(node.body)
        elif isinstance(node, ast.Assert):
            value = self.visit(node.test)
            self.relate(value)
        return True

    def if_(self, node: ast.If) -> bool:
        """Follow the arm that is known to be taken, or both."""
        test = self.test(node.test, decides=True)
        truth = _truth(test)
        before = dict(self.scope.names)
        guard = test.value if test.constant else frozenset()
        ends: list[tuple[bool, dict[str, Abstract]]] = []
        for taken, body in ((True, node.body), (False, node.orelse)):
            if truth is not None and truth is not taken:
                continue
            if test.constant:
                self.usage.arms.add(Arm(self.span(node.test), taken))
            self.scope.names = dict(before)
            self.guards.append(guard)
            ends.append((self.block(body), self.scope.names))
            self.guards.pop()
        live = [names for reached, names in ends if reached]
        if not live:
            self.scope.names = before
            return False
        if len(live) == 1:
            self.scope.names = live[0]
        else:
            self.scope.unbound |= live[0].keys() ^ live[1].keys()
            self.scope.names = _merge(live[0], live[1])
        return True

    def test(self, node: ast.expr, decides: bool) -> Abstract:
        """Follow a test; one on constants alone is noted for the choice of arms."""
        value = self.visit(node)
        self.mark((o for o in value.base if o.depth == 0), Use.TEST, node)
        if decides and value.constant and value.value and not value.is_known:
            span = self.span(node)
            self.usage.tests[span] = Test(span, value.value)
        return value

    def for_(self, node: ast.For) -> None:
        """Follow a loop's body twice, with the values that the iterator gives."""
        iterated = node.iter
        element, unrolled = NOTHING, False
        if isinstance(iterated, ast.Call) and (kind := self.range_kind(iterated)):
            bounds = [self.visit(a) for a in iterated.args]
            for keyword in iterated.keywords:
                self.visit(keyword.value)
            unrolled = kind == "static_range"
            for bound, source in zip(bounds, iterated.args, strict=False):
                self.mark(bound.base, Use.UNROLL if unrolled else Use.INDEX, source, "bound")
                self.demand(bound, Use.INDEX, source)
                if unrolled:
                    # `static_range(NUM // 2)` is bounded by NUM as well.
                    self.mark((Origin(p) for p in bound.value if Origin(p) not in bound.base), Use.UNROLL, source)
            element = following(
                bounds,
                kind="int",
                shape=frozenset(),
                constant=unrolled and all(b.constant for b in bounds),
                factors=self.factors(bounds[2]) if len(bounds) > 2 else frozenset(),
            )
        else:
            value = self.visit(iterated)
            element = join(*value.items) if value.items else following([value])

        def once() -> None:
            self.assign(node.target, element)
            self.block(node.body)

        self.twice(once, unrolled)
        self.block(node.orelse)

    def twice(self, once: Callable[[], None], unrolled: bool = False) -> None:
        """Follow a loop's body, and once more with what it left, unless that is what it began with."""
        for _ in range(2):
            before = dict(self.scope.names)
            unbound, self.scope.unbound = self.scope.unbound, set()
            self.scope.loops += not unrolled
            once()
            self.scope.loops -= not unrolled
            self.scope.names = _merge(before, self.scope.names)
            settled = all(
                before[name] is value if name in before else name not in self.scope.unbound
                for name, value in self.scope.names.items()
            )
            self.scope.unbound |= unbound
            self.scope.unbound |= self.scope.names.keys() - before.keys()
            if settled:
                break

    def product_factors(self, left: Abstract, right: Abstract) -> frozenset[str]:
        """What a product is a multiple of: a parameter that is a factor itself, before what its factors are multiples of."""
        own = [v for v in (left, right) if self.factors(v) != v.factors]
        return frozenset().union(*(self.factors(v) for v in own or (left, right)))

    def factors(self, value: Abstract) -> frozenset[str]:
        """The constexpr parameters that a product with a value is a multiple of."""
        own = {o.param for o in value.base if o.depth == 0 and self.given.get(o.param, Given()).constexpr}
        return frozenset(own) if own and len(value.base) == 1 else value.factors

    def assign(self, target: ast.expr, value: Abstract) -> None:
        """Bind a target."""
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = value
            self.note(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = value.items
            if items is None or len(items) != len(target.elts):
                items = tuple(self.element(value, i, target) for i in range(len(target.elts)))
            for each, item in zip(target.elts, items, strict=True):
                self.assign(each.value if isinstance(each, ast.Starred) else each, item)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            self.visit(target.value)

    # ------------------------------------------------------------------------------------------ expressions

    def visit(self, node: ast.expr | None) -> Abstract:
        """Follow an expression, and note what it hangs on."""
        if node is None:
            return NONE
        self.steps -= 1
        if self.steps <= 0:
            return NOTHING
        method = self._methods.get(type(node), MISSING)
        if method is MISSING:
            method = self._methods[type(node)] = getattr(self, "visit_" + type(node).__name__, None)
        if method is None:
            value = following([self.visit(c) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)])
        else:
            value = method(node)
        self.note(node, value)
        return value

    def note(self, node: ast.expr, value: Abstract) -> None:
        """Remember which parameters an expression hangs on."""
        depends = value.depends
        if depends:
            table = self.usage.depends.setdefault(self.scope.unit, {})
            key = (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
            table[key] = table.get(key, frozenset()) | depends

    def visit_Constant(self, node: ast.Constant) -> Abstract:
        return literal(node.value)

    def visit_Name(self, node: ast.Name) -> Abstract:
        if node.id in self.scope.names:
            return self.scope.names[node.id]
        self.scope.unbound.add(node.id)
        if node.id in self.scope.globals:
            return of_wire(self.scope.globals[node.id])
        return Abstract(target={"k": "ref", "path": f"builtins.{node.id}"}, constant=True)

    def visit_Tuple(self, node: ast.Tuple) -> Abstract:
        return sequence(self.visit(e) for e in node.elts)

    visit_List = visit_Tuple

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Abstract:
        return Abstract(kind="string", constant=True)

    def visit_Lambda(self, node: ast.Lambda) -> Abstract:
        return NOTHING

    def visit_ListComp(self, node: ast.ListComp) -> Abstract:
        for generator in node.generators:
            value = self.visit(generator.iter)
            self.assign(generator.target, join(*value.items) if value.items else following([value]))
        return following([self.visit(node.elt)])

    visit_GeneratorExp = visit_ListComp

    def visit_IfExp(self, node: ast.IfExp) -> Abstract:
        test = self.test(node.test, decides=True)
        truth = _truth(test)
        if truth is not None:
            return self.visit(node.body if truth else node.orelse)
        first, second = self.visit(node.body), self.visit(node.orelse)
        return replace(join(first, second), value=first.value | second.value | test.value)

    def visit_BoolOp(self, node: ast.BoolOp) -> Abstract:
        values = []
        for each in node.values:
            value = self.visit(each)
            self.mark((o for o in value.base if o.depth == 0), Use.TEST, each)
            values.append(value)
            truth = _truth(value)
            if truth is not None and truth is isinstance(node.op, ast.Or):
                return replace(following(values, kind="bool", kin=frozenset()), known=truth, constant=True)
        known: Any = MISSING
        if all(v.is_known for v in values):
            known = isinstance(node.op, ast.And)
        return replace(following(values, kind="bool", kin=frozenset()), known=known)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Abstract:
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            self.mark((o for o in value.base if o.depth == 0), Use.TEST, node.operand)
            negated: Any = (not value.known) if value.is_known else MISSING
            return replace(following([value], kin=frozenset(), kind="bool"), known=negated)
        self.mark(value.base, Use.BITS if isinstance(node.op, ast.Invert) else Use.NUMBER, node)
        known: Any = MISSING
        if isinstance(value.known, (int, float)) and isinstance(node.op, ast.USub):
            known = -value.known
        return replace(value, base=frozenset(), known=known, bound=None)

    def visit_BinOp(self, node: ast.BinOp) -> Abstract:
        return self.binary(node.op, self.visit(node.left), self.visit(node.right), node)

    def binary(self, op: ast.operator, left: Abstract, right: Abstract, node: ast.AST) -> Abstract:
        """An arithmetic operation."""
        known = _arithmetic(op, left.known, right.known)
        both = (left, right)
        if left.items is not None and right.items is not None and isinstance(op, ast.Add):
            return sequence((*left.items, *right.items))
        kind = ""
        if "float" in (left.kind, right.kind):
            kind = "float"
        elif left.kind == right.kind:
            kind = left.kind
        result = following(both, kind=kind, known=known)
        if isinstance(op, (ast.Add, ast.Sub)):
            base = left.base | right.base if isinstance(op, ast.Add) else left.base
            for value, other in ((left, right), (right, left)):
                if other.kind == "float":
                    # A pointer takes no fraction: the other side is a number of floating point.
                    self.mark((o for o in value.base if o.depth == 0), Use.FLOAT, node)
                    base = frozenset()
                self.mark((o for o in value.base if o.depth == 0), Use.WITH, node, other.kin)
            pointer = "pointer" in (left.kind, right.kind)
            factors = left.factors | right.factors
            return replace(result, base=base, kind="pointer" if pointer else kind, factors=factors)
        if isinstance(op, ast.Mult):
            result = replace(result, factors=self.product_factors(left, right))
        for value, other in ((left, right), (right, left)):
            self.mark((o for o in value.base if o.depth == 0), Use.NUMBER, node)
            self.mark((o for o in value.base if o.depth == 0), Use.WITH, node, other.kin)
            if other.kind == "float":
                self.mark((o for o in value.base if o.depth == 0), Use.FLOAT, node)
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            for value in both:
                self.demand(value, Use.INTEGER, node)
            self.relate(result)
            return replace(result, kind=kind or "int")
        if isinstance(op, (ast.LShift, ast.RShift)):
            for value in both:
                self.demand(value, Use.INTEGER, node)
            self.mark((o for o in right.base if o.depth == 0), Use.SHIFT, node)
            return replace(result, kind="int")
        if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            for value, other in ((left, right), (right, left)):
                self.demand(value, Use.MASK if other.kind == "bool" else Use.BITS, node)
            return replace(result, kind="bool" if "bool" in (left.kind, right.kind) else "int")
        if isinstance(op, ast.Div):
            return replace(result, kind="float")
        return result

    def visit_Compare(self, node: ast.Compare) -> Abstract:
        values = [self.visit(node.left), *(self.visit(c) for c in node.comparators)]
        truth: Any = True
        for index, op in enumerate(node.ops):
            left, right = values[index], values[index + 1]
            for value, other in ((left, right), (right, left)):
                self.compared(value, other, op, node)
            outcome = _comparison(op, left, right)
            truth = MISSING if outcome is MISSING or truth is MISSING else (truth and outcome)
        result = following(values, kin=frozenset(), kind="bool")
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            # Whether something is None is decided when the kernel is compiled, whatever it is.
            names = frozenset(o.root for v in values for o in v.base if o.depth == 0)
            result = replace(result, constant=True, value=result.value | names)
        return replace(result, known=truth)

    def compared(self, value: Abstract, other: Abstract, op: ast.cmpop, node: ast.AST) -> None:
        """Note what a comparison tells of one of its sides."""
        own = [o for o in value.base if o.depth == 0]
        if other.is_known and other.known is None:
            self.mark(own, Use.NONE, node)
        elif isinstance(other.known, str):
            self.mark(own, Use.STRING, node, other.known)
        elif other.items is not None and isinstance(op, (ast.In, ast.NotIn)):
            for item in other.items:
                if isinstance(item.known, str):
                    self.mark(own, Use.STRING, node, item.known)
                elif isinstance(item.known, (int, float)):
                    self.mark(own, Use.COMPARED, node, item.known)
        elif other.kind == "dtype":
            self.mark(own, Use.DTYPE, node)
            if own and isinstance(other.target, dict):
                self.mark(own, Use.COMPARED, node, other.target.get("path"))
        else:
            if isinstance(other.known, (bool, int, float)):
                self.mark(value.kin if value.constant else own, Use.COMPARED, node, other.known)
            if not isinstance(op, (ast.Is, ast.IsNot)):
                self.mark(own, Use.FLOAT if other.kind == "float" else Use.NUMBER, node)
                if other.kind == "int" and not other.constant and value.kind == "":
                    self.demand(value, Use.INTEGER, node)

    def visit_Subscript(self, node: ast.Subscript) -> Abstract:
        value = self.visit(node.value)
        index = node.slice
        if isinstance(index, ast.Slice):
            return following([value]) if value.items is not None else value
        position = self.visit(index)
        if isinstance(position.known, int) and not isinstance(position.known, bool):
            return self.element(value, position.known, node)
        if value.items is not None:
            return join(*value.items)
        return value

    def element(self, value: Abstract, index: int, node: ast.AST) -> Abstract:
        """`value[index]`."""
        if value.items is not None:
            return value.items[index] if -len(value.items) <= index < len(value.items) else NOTHING
        if value.members is not None and 0 <= index < len(value.members):
            return value.members[index][1]
        own = [o for o in value.base if o.depth == 0 and "[" not in o.param]
        if len(own) == 1 and len(value.base) == 1 and value.kind == "" and not isinstance(node, ast.Slice):
            self.mark(own, Use.TUPLE, node, index)
            inner = Origin(f"{own[0].param}[{index}]")
            return Abstract(base=frozenset({inner}), kin=frozenset({inner}), value=value.value, constant=value.constant)
        return replace(value, bound=None)

    def visit_Attribute(self, node: ast.Attribute) -> Abstract:
        return self.attribute(self.visit(node.value), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Abstract:
        value = self.visit(node.value)
        self.assign(node.target, value)
        return value

    def visit_Starred(self, node: ast.Starred) -> Abstract:
        return self.visit(node.value)

    def relate(self, value: Abstract) -> None:
        """Note that one condition or division relates several constants."""
        if len(value.value) > 1:
            self.usage.related.add(value.value)


class _ArmFlow(Flow):
    """A run that only finds out which arms are reached: uses are not noted, since nothing that is followed hangs on them."""

    def run_unit(self, unit: str, node: ast.FunctionDef, arguments: Mapping[str, Abstract]) -> Abstract:
        """Follow what the arms of one function hang on."""
        return super().run_unit(unit, deciding(node, self.globals_of(unit), self.program), arguments)

    def mark(self, origins: Iterable[Origin], use: Use, node: ast.AST, detail: Any = None) -> None:
        """Note nothing."""

    def demand(self, value: Abstract, use: Use, node: ast.AST, detail: Any = None) -> None:
        """Note nothing."""

    def note(self, node: ast.expr, value: Abstract) -> None:
        """Note nothing."""

    def factors(self, value: Abstract) -> frozenset[str]:
        """Nothing: only marks say what a value is a multiple of."""
        return frozenset()

    def product_factors(self, left: Abstract, right: Abstract) -> frozenset[str]:
        """Nothing, as `factors`."""
        return frozenset()


def _merge(first: Mapping[str, Abstract], second: Mapping[str, Abstract]) -> dict[str, Abstract]:
    merged = dict(first)
    for name, value in second.items():
        held = merged.get(name)
        if held is not value:
            merged[name] = value if held is None else join(held, value)
    return merged


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return target


def _truth(value: Abstract) -> bool | None:
    if value.is_known:
        return bool(value.known)
    if value.constant and isinstance(value.target, dict) and value.target.get("k") in ("fn", "class"):
        return True
    return None


def _arithmetic(op: ast.operator, left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return MISSING
    if abs(left) > 1 << 64 or abs(right) > 1 << 64:
        return MISSING
    try:
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Mod):
            return left % right
        if isinstance(op, ast.Div):
            return left / right
        if isinstance(left, int) and isinstance(right, int):
            if isinstance(op, ast.LShift) and 0 <= right < 64:
                return left << right
            if isinstance(op, ast.RShift) and right >= 0:
                return left >> right
            if isinstance(op, ast.BitAnd):
                return left & right
            if isinstance(op, ast.BitOr):
                return left | right
    except (ZeroDivisionError, OverflowError, ValueError):
        return MISSING
    return MISSING


def _comparison(op: ast.cmpop, left: Abstract, right: Abstract) -> Any:
    if isinstance(op, (ast.Eq, ast.NotEq)) and left.kind == right.kind == "dtype":
        first, second = left.target, right.target
        if isinstance(first, dict) and isinstance(second, dict):
            same = str(first.get("path")).rpartition(".")[2] == str(second.get("path")).rpartition(".")[2]
            return same is isinstance(op, ast.Eq)
        return MISSING
    if isinstance(op, (ast.Is, ast.IsNot)):
        for one, other in ((left, right), (right, left)):
            if other.is_known and other.known is None:
                if one.is_known:
                    return (one.known is None) is isinstance(op, ast.Is)
                if one.target is not None or one.kind == "pointer":
                    return isinstance(op, ast.IsNot)
        return MISSING
    if not left.is_known or not right.is_known:
        return MISSING
    a, b = left.known, right.known
    try:
        if isinstance(op, ast.Eq):
            return a == b
        if isinstance(op, ast.NotEq):
            return a != b
        if isinstance(op, ast.Lt):
            return a < b
        if isinstance(op, ast.LtE):
            return a <= b
        if isinstance(op, ast.Gt):
            return a > b
        if isinstance(op, ast.GtE):
            return a >= b
        if isinstance(op, ast.In):
            return a in b
        if isinstance(op, ast.NotIn):
            return a not in b
    except TypeError:
        return MISSING
    return MISSING


__all__ = ["Flow", "Given", "infer", "reached_arms", "union"]
