"""Classes of the user's: their bodies evaluated on demand, their instances made from data.

What Python does when a `class` statement runs (metaclasses, `__init_subclass__`, `__set_name__`) does not happen here: a
class is a named tuple, an enum, a dataclass, a Triton aggregate or plain, told by its bases and decorators.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment.values import (
    Abstract,
    ClassValue,
    FunctionValue,
    HostFunction,
    InstanceValue,
    Opaque,
    Ref,
    bind_method,
)
from kernel_ls.pyeval import Builtin, Evaluator, Frame, Raised, Unknown

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.modules import Module

_ENUMS = frozenset(("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"))
_MIXING = frozenset(("enum.IntEnum", "enum.IntFlag", "enum.StrEnum"))
_NEUTRAL = frozenset(("object", "Exception"))
_NEUTRAL_OPAQUE = frozenset(
    ("typing.Generic", "typing.Protocol", "abc.ABC", "typing.NamedTuple", "enum.Enum", "enum.IntEnum")
)


@dataclass(frozen=True)
class Found:
    """A member of a class that is not a function."""

    value: Any


class ClassBody:
    """What a class statement says.

    Args:
        module: where it is written.
        node: the statement; None for a class that `collections.namedtuple` made.
        frame: what it closes over.
        qualname: its dotted name in the module.
    """

    def __init__(self, module: Module, node: ast.ClassDef | None, frame: Frame, qualname: str) -> None:
        self.module = module
        self.node = node
        self.frame = frame
        self.qualname = qualname
        self.decorated = ""
        """The kind that a decorator gives it: `dataclass` or `aggregate`."""
        self._bases: list[Any] | None = None
        self._members: dict[str, Any] | None = None
        self._fields: list[tuple[str, ast.expr | None, Any]] | None = None
        self._value: ClassValue | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two values the same class."""
        if self.node is None:
            return (self.module.path, self.qualname)
        return (self.module.path, self.node.lineno, self.node.col_offset)

    @property
    def value(self) -> ClassValue:
        """The class as a value; always the same one."""
        if self._value is None:
            self._value = ClassValue(self)
        return self._value

    # ---------------------------------------------------------------------------------------------- what it is

    @property
    def bases(self) -> list[Any]:
        """Its evaluated base classes."""
        if self._bases is None:
            self._bases = []
            if self.node is not None:
                self._bases = [self.module.evaluate(b, self.frame) for b in self.node.bases]
        return self._bases

    @property
    def parents(self) -> list[ClassBody]:
        """The bases that are classes of the user's."""
        return [b.body for b in self.bases if isinstance(b, ClassValue)]

    @property
    def kind(self) -> str:
        """`namedtuple`, `enum`, `dataclass`, `aggregate` or `plain`."""
        if self.node is None:
            return "namedtuple"
        if self.decorated:
            return self.decorated
        for base in self.bases:
            if isinstance(base, Opaque):
                if base.name in _ENUMS:
                    return "enum"
                if base.name == "typing.NamedTuple":
                    return "namedtuple"
            if isinstance(base, ClassValue) and base.body.kind != "plain":
                return base.body.kind
        return "plain"

    @property
    def mixes_int(self) -> bool:
        """Whether members of this enum are integers or strings themselves."""
        for base in self.bases:
            if isinstance(base, Opaque) and base.name in _MIXING:
                return True
            if isinstance(base, Builtin) and base.name in ("int", "str"):
                return True
            if isinstance(base, ClassValue) and base.body.mixes_int:
                return True
        return False

    @property
    def is_complete(self) -> bool:
        """Whether everything that its instances have is written in sources that are read."""
        for base in self.bases:
            if isinstance(base, ClassValue):
                if not base.body.is_complete:
                    return False
            elif isinstance(base, Builtin):
                if base.name not in _NEUTRAL:
                    return False
            elif not (isinstance(base, Opaque) and base.name in _NEUTRAL_OPAQUE):
                return False
        return self.own("__getattr__") is None and not (self.node is not None and self.node.keywords)

    @property
    def members(self) -> dict[str, Any]:
        """What its body binds, in order; each statement evaluated by itself."""
        if self._members is None:
            self._members = {}
            if self.node is not None:
                frame = Frame(self.frame.globals, self.frame, "class", node=self.node)
                frame.locals["__qualname__"] = self.qualname
                frame.locals["__class__"] = self.value
                self._members = frame.locals
                self.module.execute(self.node.body, frame)
                for name in ("__qualname__", "__class__"):
                    frame.locals.pop(name, None)
                self._members = dict(frame.locals)
                frame.locals["__class__"] = self.value
        return self._members

    def own(self, name: str) -> Any:
        """A member that its own body binds, or None."""
        return self.members.get(name)

    @property
    def fields(self) -> list[tuple[str, ast.expr | None, Any]]:
        """Name, annotation and default (a value, or None where there is none, as a one-element tuple) of each own field."""
        if self._fields is None:
            self._fields = []
            for statement in self.node.body if self.node is not None else ():
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    if _is_class_variable(statement.annotation):
                        continue
                    name = statement.target.id
                    default = (self.members.get(name, Unknown("a default")),) if statement.value is not None else None
                    self._fields.append((name, statement.annotation, default))
        return self._fields

    def all_fields(self) -> list[tuple[str, ast.expr | None, Any]]:
        """Its fields and those it inherits, in the order of the constructor."""
        found: dict[str, tuple[str, ast.expr | None, Any]] = {}
        for parent in reversed(self.parents):
            found.update({f[0]: f for f in parent.all_fields()})
        found.update({f[0]: f for f in self.fields})
        return list(found.values())

    def find(self, name: str) -> FunctionValue | Found | None:
        """A member by name, its own or inherited."""
        if name in self.members:
            value = self.members[name]
            return value if isinstance(value, FunctionValue) else Found(value)
        for parent in self.parents:
            found = parent.find(name)
            if found is not None:
                return found
        return None

    # ---------------------------------------------------------------------------------------------- use

    def member_names(self) -> list[str]:
        """The names of an enum's members, in order."""
        return [
            name
            for name, value in self.members.items()
            if not name.startswith("_") and not isinstance(value, (FunctionValue, ClassValue, HostFunction))
        ]

    def members_of_enum(self, cls: ClassValue) -> list[Any] | None:
        """The members of an enum; None for another class."""
        return [self.attribute(cls, n) for n in self.member_names()] if self.kind == "enum" else None

    def has(self, name: str) -> bool | None:
        """Whether the class has an attribute."""
        if self.find(name) is not None or name in ("__name__", "__qualname__", "__module__"):
            return True
        return False if self.is_complete else None

    def attribute(self, cls: ClassValue, name: str) -> Any:
        """`cls.name`."""
        if name in ("__name__", "__qualname__"):
            return self.qualname if name == "__qualname__" else self.qualname.rpartition(".")[2]
        if name == "__members__" and self.kind == "enum":
            return {n: self.attribute(cls, n) for n in self.member_names()}
        found = self.find(name)
        if isinstance(found, FunctionValue):
            return bind_method(found, cls) if found.kind == "classmethod" else found
        if found is not None:
            if self.kind == "enum" and name in self.member_names():
                value = found.value
                if isinstance(value, Opaque) and value.name == "enum.auto()":
                    value = self.member_names().index(name) + 1
                return InstanceValue(cls, {"value": value}, name)
            return found.value
        if self.is_complete:
            raise Raised("AttributeError", f"class {self.qualname!r} has no attribute {name!r}")
        return Unknown(f"the attribute `{name}` of class `{self.qualname}` is not known")

    def instance_attribute(self, instance: InstanceValue, name: str) -> Any:
        """What every instance of this kind of class has without its body saying so, or None."""
        if name == "__class__":
            return instance.cls
        if name == "__dict__":
            return dict(instance.fields)
        if self.kind == "namedtuple":
            if name == "_asdict":
                return HostFunction("_asdict", lambda _a, _k, _e: dict(instance.fields))
            if name == "_replace":
                return HostFunction(
                    "_replace", lambda _a, kwargs, _e: InstanceValue(instance.cls, {**instance.fields, **kwargs})
                )
        return None

    def construct(self, cls: ClassValue, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
        """`cls(*args, **kwargs)`."""
        kind = self.kind
        if kind == "enum":
            for name in self.member_names():
                member = self.attribute(cls, name)
                equal = (
                    evaluator.domain.truth(evaluator.domain.compare("Eq", member.fields["value"], args[0]))
                    if args
                    else None
                )
                if equal:
                    return member
            return Unknown(f"which member of `{self.qualname}` it is, is not known")
        instance = InstanceValue(cls, {})
        initializer = self.find("__init__")
        if isinstance(initializer, FunctionValue):
            result = evaluator.call(initializer, (instance, *args), dict(kwargs))
            if isinstance(result, Unknown):
                keep_arguments(instance, args, kwargs)
            return instance
        if kind in ("namedtuple", "dataclass", "aggregate"):
            self._fill(instance, args, kwargs, evaluator)
            after = self.find("__post_init__")
            if kind == "dataclass" and isinstance(after, FunctionValue):
                evaluator.call(after, (instance,), {})
            return instance
        keep_arguments(instance, args, kwargs)
        return instance

    def _fill(
        self, instance: InstanceValue, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator
    ) -> None:
        fields = self.all_fields()
        if len(args) > len(fields) or any(k not in {f[0] for f in fields} for k in kwargs):
            raise Raised("TypeError", f"{self.qualname}() does not take these arguments")
        given = dict(zip([f[0] for f in fields], args, strict=False))
        given.update(kwargs)
        for name, _, default in fields:
            if name in given:
                instance.fields[name] = given[name]
            elif default is not None:
                value = default[0]
                if isinstance(value, FieldDefault):
                    value = value.make(evaluator)
                instance.fields[name] = value
            else:
                raise Raised("TypeError", f"{self.qualname}() is missing its argument {name!r}")


@dataclass(frozen=True, eq=False)
class FieldDefault(Abstract):
    """`dataclasses.field(...)`."""

    default: Any = None
    factory: Any = None
    given: bool = False

    def make(self, evaluator: Evaluator) -> Any:
        """A default of one instance."""
        if self.factory is not None:
            return evaluator.call(self.factory, (), {})
        return self.default if self.given else Unknown("a field without a default")


@dataclass(frozen=True, eq=False)
class Super(Abstract):
    """`super()` in a method: members are looked for in the bases of the class."""

    body: ClassBody
    receiver: Any

    def describe(self) -> str:
        return "`super()`"

    def attribute(self, name: str) -> Any:
        for parent in self.body.parents:
            found = parent.find(name)
            if isinstance(found, FunctionValue):
                return bind_method(found, self.receiver)
            if found is not None:
                return found.value
        if name == "__init__" and isinstance(self.receiver, InstanceValue):
            receiver = self.receiver

            def keep(args: Sequence[Any], kwargs: Mapping[str, Any], _evaluator: Evaluator) -> Any:
                keep_arguments(receiver, args, kwargs)

            return HostFunction("__init__", keep)
        return Unknown(f"`super().{name}` is not read")


def keep_arguments(instance: InstanceValue, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Remember what an instance was made from, where the class that takes it is not read."""
    for index, value in enumerate(args):
        instance.fields.setdefault(f"_argument_{index}", value)
    for name, value in kwargs.items():
        instance.fields.setdefault(name, value)


def made_namedtuple(module: Module, name: str, fields: Sequence[str], defaults: Sequence[Any]) -> ClassValue:
    """The class that `collections.namedtuple(name, fields)` makes."""
    body = ClassBody(module, None, module.frame, name)
    first = len(fields) - len(defaults)
    body._fields = [(f, None, (defaults[i - first],) if i >= first else None) for i, f in enumerate(fields)]
    body._members = {}
    body._bases = []
    return body.value


def is_wrapper_class(body: ClassBody) -> bool:
    """Whether a class derives from what Triton wraps kernels in (an autotuner, heuristics, a kernel interface)."""
    return any(isinstance(b, Ref) and b.path.startswith("triton.") for b in body.bases) or any(
        is_wrapper_class(p) for p in body.parents
    )


def _is_class_variable(annotation: ast.expr) -> bool:
    node = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return (node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")) == "ClassVar"
