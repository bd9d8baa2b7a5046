"""Calls and attributes, as usage inference follows them: Triton's own functions, the program's units, methods."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from kernel_ls.model import Json, Program, UnitSpan

from . import library
from .library import Gives, Role
from .usage import Arm, Usage, Use
from .values import MISSING, NONE, NOTHING, Abstract, Origin, following, join, of_wire, replace, sequence

_DEPTH = 14

_TRANSPARENT = frozenset(
    [
        "multiple_of",
        "max_contiguous",
        "max_constancy",
        "broadcast",
        "broadcast_to",
        "view",
        "reshape",
        "expand_dims",
        "permute",
        "trans",
    ]
)
"""Functions whose result is their first argument, an address included."""

_SAME_ATTRIBUTES = frozenset({"T", "value"})
_CONSTANT_ATTRIBUTES = frozenset(
    {"shape", "numel", "ndim", "rank", "primitive_bitwidth", "itemsize", "name", "block_shape", "layout"}
)
_TYPE_ATTRIBUTES = frozenset({"dtype", "type", "scalar", "element_ty"})


@dataclass
class Scope:
    """The names of one function that is being followed."""

    unit: str
    names: dict[str, Abstract]
    globals: Mapping[str, Json]
    returned: list[Abstract] = field(default_factory=list)
    unbound: set[str] = field(default_factory=set)
    """Names that were read, or joined with what another way left, while the function had not bound them."""
    loops: int = 0
    """Run-time loops around what is being followed."""


class CallFlow:
    """The part of the interpreter that needs to know what is called."""

    scope: Scope
    node: ast.AST

    def __init__(self, program: Program) -> None:
        self.program = program
        self.usage = Usage()
        self.guards: list[frozenset[str]] = []
        self._nodes: dict[str, ast.FunctionDef | None] = {}
        self._memo: dict[Any, Abstract] = {}
        self._stack: list[str] = []

    # What `flow.Flow` provides.

    def visit(self, node: ast.expr | None) -> Abstract:
        """Follow an expression."""
        raise NotImplementedError

    def span(self, node: ast.AST) -> UnitSpan:
        """Where a node stands."""
        raise NotImplementedError

    def mark(self, origins: Iterable[Origin], use: Use, node: ast.AST, detail: Any = None) -> None:
        """Note a use."""
        raise NotImplementedError

    def demand(self, value: Abstract, use: Use, node: ast.AST, detail: Any = None) -> None:
        """Note that a value has to be of an element type class."""
        raise NotImplementedError

    def choose_pointer(self, value: Abstract) -> Origin | None:
        """Which summand of an address is the pointer."""
        raise NotImplementedError

    def run_unit(self, unit: str, node: ast.FunctionDef, arguments: Mapping[str, Abstract]) -> Abstract:
        """Follow one function's body."""
        raise NotImplementedError

    def element(self, value: Abstract, index: int, node: ast.AST) -> Abstract:
        """`value[index]`."""
        raise NotImplementedError

    def relate(self, value: Abstract) -> None:
        """Note that one condition relates several constants."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ units

    def function_node(self, unit: str) -> ast.FunctionDef | None:
        """The parsed `def` of a unit."""
        if unit not in self._nodes:
            self._nodes[unit] = _parsed(str(self.program.units.get(unit, {}).get("source", "")))
        return self._nodes[unit]

    def globals_of(self, unit: str) -> Mapping[str, Json]:
        """The globals of a unit, as wire values."""
        found = self.program.units.get(unit, {}).get("globals", {})
        return found if isinstance(found, Mapping) else {}

    def path_of(self, value: Abstract) -> str:
        """The dotted path of a Triton or standard object, or empty."""
        target = value.target
        if isinstance(target, dict) and target.get("k") in ("ref", "opaque"):
            return str(target.get("path") or target.get("name") or "")
        return ""

    def range_kind(self, node: ast.Call) -> str:
        """`range` or `static_range`, if that is what a loop goes over."""
        name = self.path_of(self.visit(node.func)).rpartition(".")[2]
        return name if name in ("range", "static_range") else ""

    # ------------------------------------------------------------------------------------------ attributes

    def attribute(self, value: Abstract, node: ast.Attribute) -> Abstract:
        """`value.name`."""
        name = node.attr
        target = value.target
        found = value.member(name)
        if found is not None:
            return found
        if isinstance(target, dict):
            kind = target.get("k")
            if kind in ("ref", "opaque"):
                return of_wire(
                    {"k": kind, "path": f"{self.path_of(value)}.{name}", "name": f"{self.path_of(value)}.{name}"}
                )
            if kind == "module":
                members = target.get("members")
                return of_wire(members[name]) if isinstance(members, Mapping) and name in members else NOTHING
            if kind == "class":
                members = self.program.units.get(str(target.get("unit")), {}).get("class", {}).get("members", {})
                return of_wire(members[name]) if name in members else Abstract(constant=True)
            if kind == "instance":
                return self._method_of_class(value, target, name)
        if name in _SAME_ATTRIBUTES:
            return value
        if name in _TYPE_ATTRIBUTES:
            return self._type_of(value, name, node)
        if name in _CONSTANT_ATTRIBUTES and not (name == "block_shape" and value.base):
            return Abstract(value=value.shape | value.value, constant=True, kind="int" if name != "shape" else "")
        if name in ("strides", "block_shape", "block_type") and len(value.base) == 1:
            self.mark((o for o in value.base if o.depth == 0), Use.DESCRIPTOR, node, None)
            return Abstract(value=value.value | value.depends, constant=True)
        return Abstract(target={"k": "method", "name": name}, bound=value)

    def _type_of(self, value: Abstract, name: str, node: ast.AST) -> Abstract:
        if value.kind == "dtype":
            if name == "element_ty":
                pointers = [o for o in value.type_of if o.depth == 0]
                self.mark(pointers, Use.ELEMENT_TYPE, node)
                moved = frozenset(o.pointee if o.depth == 0 else o for o in value.type_of)
                return replace(value, type_of=moved)
            return value
        origins = value.base or value.kin
        if value.kind in ("pointer", "descriptor"):
            chosen = self.choose_pointer(value)
            origins = frozenset({chosen}) if chosen else frozenset()
        elif len(value.base) > 1:
            chosen = self.choose_pointer(value)
            origins = frozenset({chosen}) if chosen is not None else value.base
        if value.kind == "descriptor":
            origins = frozenset(o.pointee for o in origins)
        return Abstract(kind="dtype", type_of=origins, constant=True, value=value.value)

    def _method_of_class(self, value: Abstract, target: Mapping[str, Any], name: str) -> Abstract:
        cls = self.program.units.get(str(target.get("unit")), {}).get("class", {})
        methods = cls.get("methods", {})
        if name in methods:
            return Abstract(target={"k": "fn", "unit": methods[name]}, bound=value, constant=True)
        if name in cls.get("members", {}):
            return of_wire(cls["members"][name])
        return Abstract(value=value.value, constant=True)

    # ------------------------------------------------------------------------------------------ calls

    def visit_Call(self, node: ast.Call) -> Abstract:
        """A call: of a unit, a function of Triton, a builtin, a method, or a parameter."""
        function = self.visit(node.func)
        positional: list[Abstract] = []
        for argument in node.args:
            value = self.visit(argument)
            if isinstance(argument, ast.Starred) and value.items is not None:
                positional += value.items
            else:
                positional.append(value)
        keywords = {k.arg: self.visit(k.value) for k in node.keywords if k.arg is not None}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.visit(keyword.value)
        target = function.target
        kind = target.get("k") if isinstance(target, dict) else None
        if kind == "fn":
            receiver = [function.bound] if function.bound is not None else []
            return self.call_unit(str(target["unit"]), [*receiver, *positional], keywords, node)
        if kind == "class":
            return self._construct(target, positional, keywords)
        if kind in ("ref", "opaque"):
            return self._call_path(self.path_of(function), positional, keywords, node)
        if kind == "method" and function.bound is not None:
            return self._call_method(str(target["name"]), function.bound, positional, keywords, node)
        called = [o for o in function.base if o.depth == 0]
        self.mark(called, Use.CALLED, node.func, len(positional))
        held = [*positional, *keywords.values()]
        return following(held, value=function.value | frozenset().union(*(v.value for v in held)), constant=False)

    def call_unit(
        self, unit: str, positional: list[Abstract], keywords: Mapping[str, Abstract], node: ast.AST
    ) -> Abstract:
        """A call of another function of the program, followed with the values it is given."""
        held = [*positional, *keywords.values()]
        role = self.program.units.get(unit, {}).get("role", "")
        definition = self.function_node(unit)
        if definition is None or len(self._stack) >= _DEPTH or self._stack.count(unit) > 1:
            return following(held)
        if role in ("constexpr_function", "host"):
            result = following(held, kin=frozenset())
            self.relate(result)
            return replace(result, constant=True)
        spec = definition.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        bound = dict(zip(names, positional, strict=False))
        if spec.vararg is not None:
            bound[spec.vararg.arg] = sequence(positional[len(names) :])
        bound.update(keywords)
        defaults = self.program.units[unit].get("defaults", {})
        for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            if argument.arg not in bound:
                bound[argument.arg] = of_wire(defaults[argument.arg]) if argument.arg in defaults else NOTHING
        key = (unit, tuple(sorted((k, _frozen(v)) for k, v in bound.items())), tuple(self.guards))
        if key in self._memo:
            return self._memo[key]
        self._memo[key] = following(held)
        self._stack.append(unit)
        try:
            self._memo[key] = self.run_unit(unit, definition, bound)
        finally:
            self._stack.pop()
        return self._memo[key]

    def _construct(
        self, target: Mapping[str, Any], positional: list[Abstract], keywords: Mapping[str, Abstract]
    ) -> Abstract:
        cls = self.program.units.get(str(target.get("unit")), {}).get("class", {})
        fields = [str(f[0]) for f in cls.get("fields", ())]
        held = dict(zip(fields, positional, strict=False)) | dict(keywords)
        return Abstract(
            members=tuple(held.items()),
            target={"k": "instance", "unit": target.get("unit")},
            value=frozenset().union(*(v.value for v in held.values())) if held else frozenset(),
        )

    def _call_method(
        self,
        name: str,
        receiver: Abstract,
        positional: list[Abstract],
        keywords: Mapping[str, Abstract],
        node: ast.Call,
    ) -> Abstract:
        own = [o for o in receiver.base if o.depth == 0]
        descriptor = library.DESCRIPTOR_METHODS.get(name)
        if (descriptor is not None and name != "gather") or (descriptor is not None and len(positional) == 2 and own):
            offsets = positional[0].items if positional else None
            if receiver.kind == "descriptor":
                return self._loaded(receiver, node)
            if own and len(receiver.base) == 1 and (offsets is not None or name in ("gather", "scatter")):
                self._mark_descriptor(own, name, positional, node)
                return self._loaded(replace(receiver, kind="descriptor"), node)
        return self._call_path(f"triton.language.{name}", [receiver, *positional], keywords, node)

    def _mark_descriptor(self, own: list[Origin], name: str, positional: list[Abstract], node: ast.AST) -> None:
        offsets = positional[0].items or () if positional else ()
        rank = len(offsets) if name not in ("gather", "scatter") else 2
        self.mark(
            own,
            Use.DESCRIPTOR,
            node,
            (rank, tuple(tuple(sorted(o.factors)) for o in offsets)),
        )

    def _loaded(self, address: Abstract, node: ast.AST) -> Abstract:
        chosen = self.choose_pointer(address)
        if chosen is None:
            return Abstract(shape=address.shape)
        inner = frozenset({chosen.pointee})
        return Abstract(base=inner, kin=inner, shape=address.shape)

    def address(self, value: Abstract, node: ast.AST) -> Origin | None:
        """Note an access through an address; the pointer it goes through."""
        if value.kind == "cast-pointer":
            return None
        chosen = self.choose_pointer(value)
        if chosen is None:
            return None
        self.mark([chosen], Use.ADDRESS, node)
        if chosen.depth == 0:
            guards = frozenset().union(*self.guards) if self.guards else frozenset()
            held = self.usage.guards.get(chosen.param)
            self.usage.guards[chosen.param] = guards if held is None else held & guards
        # What is added to a pointer is an integer, every summand of it.
        self.mark(value.kin - {chosen}, Use.INDEX, node)
        return chosen

    def _call_path(
        self, path: str, positional: list[Abstract], keywords: Mapping[str, Abstract], node: ast.Call
    ) -> Abstract:
        name = path.rpartition(".")[2]
        self.node = node
        if path.startswith("builtins."):
            return self._call_builtin(name, positional, keywords, node)
        signature = library.signature(path)
        held = [*positional, *keywords.values()]
        if signature is None:
            for value in held:
                self.mark((o for o in value.base if o.depth == 0 and value.constant), Use.OPTION, node, (name, ""))
            return following(held)
        roles: list[tuple[Role, str, Abstract]] = []
        for index, value in enumerate(positional):
            label = signature.parameters[index][0] if index < len(signature.parameters) else ""
            roles.append((signature.role(index, None), label, value))
        roles += [(signature.role(None, key), key, value) for key, value in keywords.items()]
        if name in _TRANSPARENT and positional:
            for role, _, value in roles[1:]:
                self._ask(role, value, node, name)
            shaped = frozenset().union(*(v.value | v.shape for _, _, v in roles[1:])) if len(roles) > 1 else frozenset()
            return replace(positional[0], shape=positional[0].shape | shaped, bound=None)
        pointer = None
        stored: list[Abstract] = []
        for role, label, value in roles:
            if role is Role.ADDRESS:
                pointer = self.address(value, node)
                address = value
            elif role is Role.DESCRIPTOR:
                own = [o for o in value.base if o.depth == 0]
                offsets = next((v for _, key, v in roles if key == "offsets"), NOTHING)
                self._mark_descriptor(own, "load", [offsets], node)
                pointer, address = self.choose_pointer(value), value
            elif role is Role.STORED:
                stored.append(value)
            self._ask(role, value, node, f"{name}.{label}")
        strides = next((v.items for _, label, v in roles if label == "strides" and v.items), ())
        if name == "make_tensor_descriptor" and strides:
            self.mark((o for o in strides[-1].base if o.depth == 0), Use.UNIT, node)
        for value in stored:
            if pointer is not None and name == "atomic_cas" and value.kind == "int":
                # It compares bit by bit and converts nothing.
                self.mark([pointer.pointee], Use.INTEGER, node)
            if pointer is not None:
                self._stored(pointer.pointee, value, node)
        if signature.gives is Gives.LOADED:
            if address.kind == "cast-pointer":
                return Abstract(shape=address.shape, kind=_kind_of(address.items[0]) if address.items else "")
            return self._loaded(address, node)
        return self._result(name, signature.gives, roles, positional, held)

    def _stored(self, pointee: Origin, value: Abstract, node: ast.AST) -> None:
        if not value.is_known:
            self.mark([pointee], Use.STORED, node, value.kind)
        for origin in value.kin:
            if origin != pointee and not value.kind:
                self.usage.same_type.add((pointee, origin))

    def _result(
        self,
        name: str,
        gives: Gives,
        roles: list[tuple[Role, str, Abstract]],
        positional: list[Abstract],
        held: list[Abstract],
    ) -> Abstract:
        shape = frozenset().union(*(v.shape for v in held)) if held else frozenset()
        dtype = next((v for role, _, v in roles if role is Role.DTYPE), None)
        if (gives in (Gives.ADDRESS, Gives.DESCRIPTOR) and positional) or gives in (Gives.ADDRESS, Gives.DESCRIPTOR):
            base = positional[0] if positional else next((v for role, _, v in roles if role is Role.ADDRESS), NOTHING)
            blocks = [v.value for role, _, v in roles if role is Role.SHAPE]
            extra = frozenset().union(*blocks) if blocks else frozenset()
            kind = "descriptor" if gives is Gives.DESCRIPTOR else base.kind
            return replace(base, shape=base.shape | extra, kind=kind, known=MISSING)
        sizes = frozenset().union(*(v.value for role, _, v in roles if role in (Role.SHAPE, Role.SIZE)), frozenset())
        shape = shape | sizes
        if name == "pointer_type":
            return Abstract(kind="dtype", target={"k": "pointer"}, items=tuple(positional[:1]), constant=True)
        if gives is Gives.CAST and dtype is not None:
            if dtype.target == {"k": "pointer"}:
                self.mark(positional[0].kin if positional else (), Use.POINTER_CAST, self.node)
                return Abstract(kind="cast-pointer", shape=shape, items=dtype.items, kin=frozenset(), value=frozenset())
            kin = dtype.type_of | dtype.base
            if name in ("to", "cast"):
                self.mark(positional[0].base if positional else (), Use.CAST, self.node, _kind_of(dtype))
            constant = all(v.constant for v in held) and name in ("to", "cast")
            return Abstract(kin=kin, shape=shape, value=dtype.value, kind=_kind_of(dtype), constant=constant)
        if gives is Gives.CAST or gives is Gives.SAME:
            numbers = [v for role, _, v in roles if role in (Role.NUMBER, Role.FLOAT, Role.ANY, Role.INDEX)]
            kinds = {v.kind for v in numbers if v.kind}
            kind = (
                "float"
                if "float" in kinds
                else (kinds.pop() if len(kinds) == 1 and all(v.kind for v in numbers) else "")
            )
            result = following(numbers, shape=shape, kind=kind, constant=False)
            if name in ("where", "maximum", "minimum") and any(v.base for v in numbers):
                return replace(result, base=frozenset().union(*(v.base for v in numbers)))
            if name in ("split", "join") or (name in ("max", "min") and len(roles) > 2):
                return replace(
                    result,
                    items=(result, replace(result, kin=frozenset(), kind="int")) if name in ("max", "min") else None,
                )
            return result
        if gives is Gives.FLOAT:
            kin = frozenset().union(*(v.kin for role, _, v in roles if role in (Role.FLOAT,)), frozenset())
            if name == "dot":
                kin = frozenset().union(*(v.kin for _, label, v in roles if label == "acc"), frozenset())
            return Abstract(kin=kin, shape=shape, kind="float")
        if gives is Gives.CONSTANT:
            value = following(held)
            self.relate(value)
            return replace(value, kind="int")
        if gives is Gives.INT:
            return Abstract(shape=shape, kind="int")
        if gives is Gives.BOOL:
            return Abstract(shape=shape, kind="bool")
        return NOTHING

    def _ask(self, role: Role, value: Abstract, node: ast.AST, detail: str) -> None:
        """Note what an argument's role says of the parameters behind it."""
        own = [o for o in value.base if o.depth == 0]
        if role in (Role.SHAPE, Role.SIZE):
            for item in value.items if value.items is not None else (value,):
                direct = [o for o in item.base if o.depth == 0]
                self.mark(direct, Use.SIZE, node, detail)
                behind = [Origin(p) for p in item.value if Origin(p) not in direct]
                self.mark(behind, Use.SIZE, node, "")
                self.relate(item)
        elif role is Role.CONSTANT:
            for item in value.items if value.items is not None else (value,):
                self.mark((o for o in item.base if o.depth == 0), Use.CONSTANT, node, detail)
        elif role is Role.INDEX:
            for item in value.items if value.items is not None else (value,):
                self.demand(item, Use.INDEX, node)
        elif role is Role.FLOAT:
            self.demand(value, Use.FLOAT, node)
        elif role is Role.MATRIX:
            self.demand(value, Use.MATRIX, node)
            self.mark((Origin(p) for p in value.shape), Use.MATRIX, node)
        elif role is Role.MASK:
            self.demand(value, Use.MASK, node)
        elif role is Role.NUMBER:
            if detail.startswith("full."):
                self.mark(own, Use.NUMBER, node)
        elif role is Role.DTYPE:
            self.mark(own, Use.DTYPE, node)
        elif role is Role.OPTION:
            self.mark(own, Use.OPTION, node, tuple(detail.split(".")))
        elif role is Role.CONDITION:
            self.mark(own, Use.TEST, node)
            self.relate(value)
            if detail.startswith("static_assert") and value.constant and value.value:
                self.usage.arms.add(Arm(self.span(node), True))
        elif role is Role.FUNCTION:
            self.mark(own, Use.CALLED, node, None)
            if isinstance(value.target, dict) and value.target.get("k") == "fn":
                return

    def _call_builtin(
        self, name: str, positional: list[Abstract], keywords: Mapping[str, Abstract], node: ast.Call
    ) -> Abstract:
        held = [*positional, *keywords.values()]
        if name in ("min", "max"):
            return following(held, kind="int" if all(v.kind == "int" for v in held) else "")
        if name in ("int", "len", "bool", "isinstance", "hasattr", "callable"):
            for value in held:
                if name == "len":
                    self.mark((o for o in value.base if o.depth == 0), Use.TUPLE, node, None)
            if name == "len" and positional and positional[0].items is not None:
                return of_wire({"k": "lit", "v": len(positional[0].items)})
            return following(held, kind="int" if name in ("int", "len") else "bool", kin=frozenset(), constant=True)
        if name == "float":
            return following(held, kind="float", kin=frozenset())
        if name in ("range",):
            return following(held, kind="int", shape=frozenset())
        if name == "getattr" and len(positional) >= 2 and isinstance(positional[1].known, str):
            access = ast.copy_location(ast.Attribute(node.args[0], positional[1].known, ast.Load()), node)
            return self.attribute(positional[0], access)
        return following(held)


@lru_cache(maxsize=4096)
def _parsed(source: str) -> ast.FunctionDef | None:
    """The first function of a unit's text. Nothing changes the tree, so that every run over a program shares it."""
    try:
        return next((n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)), None)
    except (SyntaxError, ValueError):
        return None


def _frozen(value: Abstract) -> Any:
    """A hashable form of a value; targets may hold dictionaries."""
    items = None if value.items is None else tuple(_frozen(i) for i in value.items)
    members = None if value.members is None else tuple((k, _frozen(v)) for k, v in value.members)
    bound = None if value.bound is None else _frozen(value.bound)
    return (
        *(value.base, value.kin, value.shape, value.value, repr(value.known), value.kind),
        *(items, members, repr(value.target), bound, value.type_of, value.constant),
    )


def _kind_of(dtype: Abstract) -> str:
    """The class of a known element type."""
    target = dtype.target
    name = str(target.get("path", "")).rpartition(".")[2] if isinstance(target, dict) else ""
    if name == "int1":
        return "bool"
    if name.startswith(("int", "uint")):
        return "int"
    return "float" if name.startswith(("float", "bfloat")) else ""


__all__ = ["NONE", "CallFlow", "Scope", "join"]
