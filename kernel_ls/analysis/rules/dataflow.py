"""Where the values of one unit come from, as far as rules for what Triton accepts in silence ask.

One pass over the text in reading order: no types, and no loop is followed twice. What it says of a value holds for what is
written, not for every way through it; findings that rest on it are information.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from kernel_ls.analysis.rules.base import RuleContext
from kernel_ls.analysis.rules.syntax import UnitTree, dotted, is_constexpr_annotation
from kernel_ls.model import CompileResult

_INTEGERS = ("i32", "i16", "i8", "u32", "u16", "u8")
_ELEMENTWISE = frozenset(
    (
        *(
            "abs",
            "exp",
            "exp2",
            "log",
            "log2",
            "sqrt",
            "rsqrt",
            "sqrt_rn",
            "sin",
            "cos",
            "erf",
            "sigmoid",
            "fma",
            "div_rn",
        ),
        *("maximum", "minimum", "clamp", "cast", "to"),
        *("reshape", "view", "trans", "permute", "broadcast_to", "expand_dims"),
    )
)
"""Functions whose result depends on each element of their arguments alone."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a value.

    Attributes:
        runtime: it exists only when the kernel runs.
        position: it grows with the program's or the loop's number, and is an integer of 32 bits.
        scalar: it is an integer argument of 32 bits, or computed from such.
        wide: it has 64 bits.
        pointer: it is a pointer, or a block of them.
        product: the product of a position and an argument in it, computed in 32 bits.
        bare: the loads in it that have a mask and nothing for the lanes that it leaves out.
    """

    runtime: bool = False
    position: bool = False
    scalar: bool = False
    wide: bool = False
    pointer: bool = False
    product: ast.BinOp | None = None
    bare: frozenset[ast.Call] = frozenset()

    def __or__(self, other: Origin) -> Origin:
        return Origin(
            self.runtime or other.runtime,
            self.position or other.position,
            self.scalar or other.scalar,
            self.wide or other.wide,
            self.pointer or other.pointer,
            self.product or other.product,
            self.bare | other.bare,
        )


@dataclass
class Loop:
    """A `for` over a range: its arguments with what is known of each."""

    node: ast.For
    bounds: list[tuple[ast.expr, Origin]]


@dataclass
class Flow:
    """The pass over one unit. `offsets` are products that are added to a pointer, `taken` the loads that calls take in."""

    tree: UnitTree
    names: dict[str, Origin]
    written: dict[str, ast.expr] = field(default_factory=dict)
    """The expression that a name was last assigned."""
    offsets: list[ast.BinOp] = field(default_factory=list)
    taken: list[tuple[ast.Call, ast.expr, Origin]] = field(default_factory=list)
    """Calls with an argument that holds bare loads."""
    loops: list[Loop] = field(default_factory=list)

    # ---------------------------------------------------------------------------------------------- statements

    def run(self, body: list[ast.stmt]) -> None:
        """Follow statements."""
        for statement in body:
            if isinstance(statement, ast.Assign):
                value = self.origin(statement.value)
                for target in statement.targets:
                    self._assign(target, value, statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self._assign(statement.target, self.origin(statement.value), statement.value)
            elif isinstance(statement, ast.AugAssign):
                both = ast.copy_location(ast.BinOp(statement.target, statement.op, statement.value), statement)
                self._assign(statement.target, self._operation(both, statement.target, statement.value), both)
            elif isinstance(statement, ast.For):
                self._loop(statement)
            else:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        self.origin(child)
                for part in ("body", "orelse"):
                    self.run(getattr(statement, part, []))

    def _assign(self, target: ast.expr, value: Origin, node: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
            self.written[target.id] = node
        elif isinstance(target, (ast.Tuple, ast.List)):
            elements = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node] * len(target.elts)
            for one, element in zip(target.elts, elements, strict=False):
                self._assign(one, self.origin(element) if element is not node else value, element)

    def _loop(self, node: ast.For) -> None:
        bounds: list[tuple[ast.expr, Origin]] = []
        index = Origin(runtime=True)
        if isinstance(node.iter, ast.Call):
            name = dotted(node.iter.func).split(".")[-1]
            arguments = [*node.iter.args, *(k.value for k in node.iter.keywords if k.arg in ("arg1", "arg2", "step"))]
            bounds = [(a, self.origin(a)) for a in arguments]
            if name == "range":
                self.loops.append(Loop(node, bounds))
                moving = any(o.runtime for _, o in bounds)
                index = Origin(runtime=True, position=moving, wide=any(o.wide for _, o in bounds))
            elif name == "static_range":
                index = Origin()
        self._assign(node.target, index, node.iter)
        self.run(node.body)
        self.run(node.orelse)

    # ---------------------------------------------------------------------------------------------- expressions

    def origin(self, node: ast.expr) -> Origin:
        """Where a value comes from."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, Origin())
        if isinstance(node, ast.BinOp):
            return self._operation(node, node.left, node.right)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            return self.origin(node.value)
        if isinstance(node, ast.UnaryOp):
            return self.origin(node.operand)
        found = Origin()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                found |= self.origin(child)
        if isinstance(node, ast.Compare):
            return Origin(runtime=found.runtime)
        return found

    def _operation(self, node: ast.BinOp, left: ast.expr, right: ast.expr) -> Origin:
        a, b = self.origin(left), self.origin(right)
        made = a | b
        if isinstance(node.op, ast.Mult):
            factors = (a.position and b.scalar and not b.position) or (b.position and a.scalar and not a.position)
            if factors and not made.wide and made.product is None:
                made = replace(made, product=node)
        elif isinstance(node.op, (ast.Add, ast.Sub)):
            offset = b if a.pointer else a
            if made.pointer and offset.product is not None:
                self.offsets.append(offset.product)
            if made.pointer:
                made = replace(made, product=None, position=False, scalar=False)
        elif isinstance(node.op, (ast.Mod, ast.BitAnd)):
            made = replace(made, product=None)
        return made

    def _call(self, node: ast.Call) -> Origin:
        name = dotted(node.func).split(".")[-1] if dotted(node.func) else getattr(node.func, "attr", "")
        arguments = [*node.args, *(k.value for k in node.keywords)]
        # A method's receiver is its first argument.
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            arguments.insert(0, node.func.value)
        origins = [self.origin(a) for a in arguments]
        found = Origin()
        for argument, one in zip(arguments, origins, strict=True):
            found |= one
            if one.bare:
                self.taken.append((node, argument, one))
        if name == "program_id":
            return Origin(runtime=True, position=True)
        if name == "num_programs":
            return Origin(runtime=True, scalar=True)
        if name == "arange":
            return Origin(runtime=True)
        if name == "load":
            bare = frozenset((node,)) if lacks_other(node) else frozenset()
            return Origin(runtime=True, bare=bare)
        if name == "where":
            return replace(found, bare=frozenset(), runtime=True)
        if name in ("to", "cast"):
            return replace(found, wide=found.wide or any("64" in ast.unparse(a) for a in arguments[1:]))
        if name in ("min", "max", "minimum", "maximum", "cdiv"):
            return replace(found, bare=found.bare if name in _ELEMENTWISE else frozenset())
        if name in _ELEMENTWISE:
            return found
        # What another function returns is not known.
        return Origin(runtime=True)


def lacks_other(node: ast.Call) -> bool:
    """Whether a load has a mask, and nothing for the lanes that it leaves out."""
    mask = argument(node, "mask", 1)
    if mask is None or (isinstance(mask, ast.Constant) and mask.value in (None, True)):
        return False
    return argument(node, "other", 2) is None and not any(k.arg is None for k in node.keywords)


def argument(node: ast.Call, name: str, position: int) -> ast.expr | None:
    """What a call passes for a parameter."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    return node.args[position] if position < len(node.args) else None


def _is_module(node: ast.expr) -> bool:
    """Whether an attribute's owner is Triton's language rather than a value: `tl`, `tl.math`, `libdevice`."""
    return dotted(node).split(".")[0] in ("tl", "triton", "libdevice", "math", "gl", "ttgl", "language")


def flow_of(unit: str, context: RuleContext) -> Flow | None:
    """Follow the text of a unit; of a helper's parameters nothing is known. None where there is no text."""
    tree = context.tree(unit)
    if tree.function is None:
        return None
    arguments = tree.function.args
    names = {}
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        type_ = context.argument(parameter.arg) if context.is_kernel(unit) else None
        if is_constexpr_annotation(parameter.annotation) or type_ in (None, "constexpr"):
            names[parameter.arg] = Origin()
        else:
            names[parameter.arg] = Origin(
                runtime=True,
                scalar=type_ in _INTEGERS,
                wide=type_ in ("i64", "u64"),
                pointer=str(type_).startswith("*"),
            )
    key = ("flow", tuple(names.items()))
    known = tree.memo.get(key)
    if known is None:
        known = tree.memo[key] = Flow(tree, names)
        known.run(tree.function.body)
    return cast("Flow", known)


def is_reached(node: ast.AST, tree: UnitTree, result: CompileResult) -> bool:
    """Whether code was generated for the statement of a node, as far as the result tells."""
    ranges = result.reached.get(tree.unit)
    statement = tree.statement(node)
    if not ranges or statement is None:
        return True
    # Of a statement with a body, the result has the head alone.
    return any(first == statement.lineno for first, _ in ranges)


def jit_units(context: RuleContext) -> Iterator[str]:
    """The units of a program that are the user's kernel code."""
    for unit, data in context.program.units.items():
        if data.get("role") == "jit" and unit in context.program.origins:
            yield unit
