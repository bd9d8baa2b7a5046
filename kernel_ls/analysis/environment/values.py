"""The values of the static environment, beside plain data and `Unknown`.

`Abstract` is the open base: who follows host code adds subclasses (a tensor, an integer known only at run time) by
overriding the hooks that make sense for them; what is not overridden is Unknown with a reason.

    Abstract
    ├── Ref              an object of the installed Triton, or of math, operator, functools
    ├── Constexpr        tl.constexpr(value)
    ├── Opaque           an object of a package that is not read
    ├── ModuleValue      a module of the user's that is read
    ├── FunctionValue    a function, of whatever role, with the layers that its decorators put around it
    ├── BoundMethod      a method with its receiver
    ├── Partial          functools.partial
    ├── ClassValue       a class of the user's
    ├── InstanceValue    an instance of one
    └── ConfigValue      triton.Config
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernel_ls.model import Location
from kernel_ls.pyeval import Evaluator, Frame, Raised, Unknown

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.classes import ClassBody
    from kernel_ls.analysis.environment.modules import Module


class Abstract:
    """A value that the static environment knows something about. Hooks answer Unknown unless overridden."""

    def describe(self) -> str:
        """The value in a few words, for reasons."""
        return "an object"

    def attribute(self, name: str) -> Any:
        """`self.name`."""
        return Unknown(f"the attribute `{name}` of {self.describe()} is not known")

    def has_attribute(self, name: str) -> bool | None:
        """Whether there is such an attribute; None where it is not known."""
        return None

    def set_attribute(self, name: str, to: Any) -> bool:
        """`self.name = to`; False where that cannot be followed."""
        return False

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: ast.AST | None) -> Any:
        """`self(*args, **kwargs)`."""
        return Unknown(f"what {self.describe()} returns is not known")

    def subscript(self, index: Any) -> Any:
        """`self[index]`."""
        return Unknown(f"an element of {self.describe()} is not known")

    def unary(self, op: str) -> Any:
        """A unary operation, by the name of its syntax node."""
        return Unknown(f"an operation on {self.describe()} is not evaluated")

    def binary(self, op: str, other: Any, reflected: bool) -> Any:
        """`self op other`, or `other op self` where `reflected`."""
        return Unknown(f"an operation on {self.describe()} is not evaluated")

    def compare(self, op: str, other: Any, reflected: bool) -> Any:
        """`self op other`, or `other op self` where `reflected`."""
        same = self is other or self == other
        if op in ("Is", "Eq") and same:
            return True
        if op in ("IsNot", "NotEq") and same:
            return False
        if op in ("Is", "IsNot") and other is None and self.is_object():
            return op == "IsNot"
        return Unknown(f"a comparison with {self.describe()} is not evaluated")

    def is_object(self) -> bool:
        """Whether it is certainly not None."""
        return True

    def truth(self) -> bool | None:
        """Whether it is true; None where that is not known."""
        return None

    def iterate(self) -> list[Any] | None:
        """Its elements; None where they are not known."""
        return None

    def enter(self) -> Any:
        """What `with self as name` binds."""
        return Unknown("it comes from a `with` statement")


# ------------------------------------------------------------------------------------------------- not the user's


@dataclass(frozen=True)
class Ref(Abstract):
    """An object of the installed Triton, or of a standard module that kernels may use, by its dotted name."""

    path: str

    def describe(self) -> str:
        return f"`{self.path}`"

    def truth(self) -> bool | None:
        return True


@dataclass(frozen=True)
class Opaque(Abstract):
    """An object of a package that is not read: numpy, torch, the operating system, an extension module."""

    name: str
    reason: str = ""

    def describe(self) -> str:
        return f"`{self.name}`"

    def compare(self, op: str, other: Any, reflected: bool) -> Any:
        # Two dotted names may lead to one object, so that only equality is certain.
        if isinstance(other, Opaque) and other.name == self.name and op in ("Eq", "Is", "NotEq", "IsNot"):
            return op in ("Eq", "Is")
        return Unknown(f"{self.describe()} is not evaluated", self.name)


@dataclass(frozen=True)
class Constexpr(Abstract):
    """`tl.constexpr(value)`."""

    value: Any

    def describe(self) -> str:
        return "a constexpr"

    def attribute(self, name: str) -> Any:
        if name == "value":
            return self.value
        return super().attribute(name)


@dataclass(frozen=True)
class Partial(Abstract):
    """`functools.partial(function, ...)`."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(hash=False, compare=False, default_factory=dict)

    def describe(self) -> str:
        return "a partial function"

    def attribute(self, name: str) -> Any:
        return {"func": self.function, "args": self.args, "keywords": dict(self.kwargs)}.get(name) or super().attribute(
            name
        )

    def truth(self) -> bool | None:
        return True

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: ast.AST | None) -> Any:
        return evaluator.call(self.function, (*self.args, *args), {**self.kwargs, **kwargs}, node)


@dataclass(frozen=True)
class HostFunction(Abstract):
    """A function that the evaluator itself provides, such as the decorator that `triton.jit(...)` gives."""

    name: str
    run: Callable[[Sequence[Any], Mapping[str, Any], Evaluator], Any] = field(compare=False)

    def describe(self) -> str:
        return f"`{self.name}`"

    def truth(self) -> bool | None:
        return True

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: ast.AST | None) -> Any:
        return self.run(args, kwargs, evaluator)


@dataclass(frozen=True)
class Namespace(Abstract):
    """An object of which some attributes are known, such as the target that the driver reports."""

    name: str
    members: Mapping[str, Any] = field(hash=False)

    def describe(self) -> str:
        return f"`{self.name}`"

    def attribute(self, name: str) -> Any:
        return self.members[name] if name in self.members else super().attribute(name)

    def has_attribute(self, name: str) -> bool | None:
        return True if name in self.members else None

    def truth(self) -> bool | None:
        return True


# ------------------------------------------------------------------------------------------------- the user's


@dataclass(frozen=True)
class ModuleValue(Abstract):
    """A module of the user's, read and evaluated as its names are asked for."""

    module: Module = field(hash=False)

    def __hash__(self) -> int:
        return hash(self.module.path)

    def describe(self) -> str:
        return f"module `{self.module.name}`"

    def attribute(self, name: str) -> Any:
        return self.module.member(name)

    def has_attribute(self, name: str) -> bool | None:
        return self.module.has(name)

    def truth(self) -> bool | None:
        return True


@dataclass(frozen=True)
class Autotune:
    """An autotuner around a kernel.

    `configs` and `key` are evaluated values (a list of `ConfigValue`, a list of strings) or Unknown; `location` is the
    decorator, or the call that made it.
    """

    configs: Any
    key: Any
    location: Location | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def known_configs(self) -> tuple[ConfigValue, ...]:
        """The configurations that are known."""
        if not isinstance(self.configs, (list, tuple)):
            return ()
        return tuple(c for c in self.configs if isinstance(c, ConfigValue))


@dataclass(frozen=True)
class Heuristics:
    """Values that are computed from a launch's arguments: name -> function value, or Unknown."""

    values: Any
    location: Location | None = None


@dataclass(frozen=True, eq=False)
class FunctionValue(Abstract):
    """A function of the user's.

    Attributes:
        module: where it is written.
        node: its definition, with decorators.
        frame: what it closes over; for a function at the top of its module, a frame of the module.
        qualname: its dotted name in the module.
        role: `host` until a decorator makes it `jit`, `gluon` or `constexpr_function`.
        defaults: evaluated defaults by parameter.
        options: arguments of the jit decorator.
        layers: what other decorators put around it, innermost first.
    """

    module: Module
    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    qualname: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    role: str = "host"
    options: Mapping[str, Any] = field(default_factory=dict)
    layers: tuple[Any, ...] = ()
    kind: str = ""
    """`staticmethod`, `classmethod` or `property` for a function of a class."""

    @property
    def key(self) -> tuple[str, int, int]:
        """What makes two values the same function: its file and where it is defined."""
        return (self.module.path, self.node.lineno, self.node.col_offset)

    @property
    def is_kernel_code(self) -> bool:
        """Whether Triton compiles it."""
        return self.role in ("jit", "gluon")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionValue) and other.key == self.key and other.frame.kind == self.frame.kind

    def __hash__(self) -> int:
        return hash(self.key)

    def with_layer(self, layer: Any) -> FunctionValue:
        """The same function with another layer around it."""
        return replace(self, layers=(*self.layers, layer))

    @property
    def autotune(self) -> Autotune | None:
        """The innermost autotuner around it, if there is one."""
        return next((layer for layer in self.layers if isinstance(layer, Autotune)), None)

    @property
    def heuristics(self) -> tuple[Heuristics, ...]:
        """The heuristics around it."""
        return tuple(layer for layer in self.layers if isinstance(layer, Heuristics))

    def describe(self) -> str:
        return f"`{self.qualname}`"

    def truth(self) -> bool | None:
        return True

    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters in order."""
        spec = self.node.args
        return tuple(a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))

    def attribute(self, name: str) -> Any:
        if name in ("fn", "func", "base_fn") and self.role != "host":
            return self
        if name in ("__name__", "__qualname__"):
            return self.qualname if name == "__qualname__" else self.qualname.rpartition(".")[2]
        if name == "__module__":
            return self.module.name
        if name == "arg_names":
            return list(self.parameters())
        return super().attribute(name)

    def has_attribute(self, name: str) -> bool | None:
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return True
        return None

    def set_attribute(self, name: str, to: Any) -> bool:
        return True


@dataclass(frozen=True)
class BoundMethod(Abstract):
    """A method with its receiver."""

    receiver: Any = field(hash=False)
    function: FunctionValue

    def describe(self) -> str:
        return self.function.describe()

    def truth(self) -> bool | None:
        return True

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: ast.AST | None) -> Any:
        return evaluator.call(self.function, (self.receiver, *args), dict(kwargs), node)


@dataclass(frozen=True, eq=False)
class ClassValue(Abstract):
    """A class of the user's; its body is evaluated when something of it is asked for."""

    body: ClassBody

    def describe(self) -> str:
        return f"class `{self.body.qualname}`"

    def truth(self) -> bool | None:
        return True

    def attribute(self, name: str) -> Any:
        return self.body.attribute(self, name)

    def has_attribute(self, name: str) -> bool | None:
        return self.body.has(name)

    def iterate(self) -> list[Any] | None:
        return self.body.members_of_enum(self)

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: ast.AST | None) -> Any:
        return self.body.construct(self, args, kwargs, evaluator)

    def subscript(self, index: Any) -> Any:
        if self.body.kind == "enum":
            return self.attribute(index) if isinstance(index, str) else Unknown("an enum member that is not known")
        return self  # a generic class

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassValue) and other.body.key == self.body.key

    def __hash__(self) -> int:
        return hash(self.body.key)


@dataclass(frozen=True, eq=False)
class InstanceValue(Abstract):
    """An instance of a class of the user's. `member` is its name where it is a member of an enum."""

    cls: ClassValue
    fields: dict[str, Any]
    member: str = ""

    def describe(self) -> str:
        return f"an instance of `{self.cls.body.qualname}`"

    def attribute(self, name: str) -> Any:
        if self.member and name in ("name", "_name_"):
            return self.member
        if self.member and name in ("value", "_value_"):
            return self.fields["value"]
        if name in self.fields and not self.member:
            return self.fields[name]
        found = self.cls.body.find(name)
        if isinstance(found, FunctionValue):
            return bind_method(found, self)
        if found is not None:
            return found.value
        special = self.cls.body.instance_attribute(self, name)
        if special is not None:
            return special
        if self.cls.body.is_complete:
            raise Raised("AttributeError", f"{self.describe()} has no attribute {name!r}")
        return super().attribute(name)

    def has_attribute(self, name: str) -> bool | None:
        if name in self.fields or self.cls.body.find(name) is not None:
            return True
        return False if self.cls.body.is_complete else None

    def set_attribute(self, name: str, to: Any) -> bool:
        if self.member:
            return False
        self.fields[name] = to
        return True

    def _underlying(self) -> Any:
        return self.fields["value"] if self.member and self.cls.body.mixes_int else None

    def compare(self, op: str, other: Any, reflected: bool) -> Any:
        if self.member:
            if isinstance(other, InstanceValue) and other.cls == self.cls:
                same = other.member == self.member
                if op in ("Eq", "Is", "NotEq", "IsNot"):
                    return same == (op in ("Eq", "Is"))
            elif not isinstance(other, Abstract) and op in ("Eq", "NotEq") and self._underlying() is None:
                return op == "NotEq"
        return super().compare(op, other, reflected)

    def truth(self) -> bool | None:
        underlying = self._underlying()
        if isinstance(underlying, (int, str)):
            return bool(underlying)
        if self.member or self.cls.body.kind in ("dataclass", "plain"):
            return None if self.cls.body.find("__bool__") or self.cls.body.find("__len__") else True
        return None

    def iterate(self) -> list[Any] | None:
        if self.cls.body.kind == "namedtuple":
            return list(self.fields.values())
        return None

    def subscript(self, index: Any) -> Any:
        if self.cls.body.kind == "namedtuple" and isinstance(index, (int, slice)):
            values = tuple(self.fields.values())
            if isinstance(index, int) and not -len(values) <= index < len(values):
                raise Raised("IndexError", "tuple index out of range")
            return values[index]
        return super().subscript(index)

    def enter(self) -> Any:
        return self

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: ast.AST | None) -> Any:
        found = self.cls.body.find("__call__")
        if isinstance(found, FunctionValue):
            return evaluator.call(found, (self, *args), dict(kwargs), node)
        return super().call(args, kwargs, evaluator, node)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, InstanceValue) or other.cls != self.cls:
            return False
        return bool(self.member) and self.member == other.member

    def __hash__(self) -> int:
        return hash((self.cls, self.member or id(self)))


def bind_method(function: FunctionValue, receiver: Any) -> Any:
    """What reading a function of a class on an instance gives."""
    if function.kind == "staticmethod":
        return function
    if function.kind == "classmethod":
        return BoundMethod(receiver.cls if isinstance(receiver, InstanceValue) else receiver, function)
    if function.kind == "property":
        return function.module.workspace.call(function, (receiver,), {})
    return BoundMethod(receiver, function)


@dataclass(frozen=True, eq=False)
class ConfigValue(Abstract):
    """`triton.Config`: values of meta-parameters and launch options of one autotuner configuration."""

    kwargs: Any
    options: Mapping[str, Any]
    location: Location | None = None

    @property
    def num_warps(self) -> Any:
        """Warps a program; Triton's default is 4."""
        return self.options.get("num_warps", 4)

    @property
    def num_stages(self) -> Any:
        """Stages of the software pipeline; Triton's default is 3."""
        return self.options.get("num_stages", 3)

    def describe(self) -> str:
        return "a `triton.Config`"

    def truth(self) -> bool | None:
        return True

    def attribute(self, name: str) -> Any:
        defaults = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "pre_hook": None}
        if name == "kwargs":
            return self.kwargs
        if name in defaults:
            return self.options.get(name, defaults[name])
        if name == "all_kwargs" and isinstance(self.kwargs, dict):
            every = {**self.kwargs, **{k: self.attribute(k) for k in defaults if k != "pre_hook"}}
            return HostFunction("all_kwargs", lambda _args, _kwargs, _evaluator: every)
        return super().attribute(name)

    def set_attribute(self, name: str, to: Any) -> bool:
        if isinstance(self.options, dict):
            self.options[name] = to
        return True


def carried_kernel(value: Any, depth: int = 3) -> FunctionValue | None:
    """The jit function that an object wraps: itself, or what an instance made by a decorator holds."""
    if isinstance(value, FunctionValue):
        return value if value.is_kernel_code else None
    if isinstance(value, Partial):
        return carried_kernel(value.function, depth)
    if isinstance(value, BoundMethod):
        return carried_kernel(value.receiver, depth)
    if isinstance(value, InstanceValue) and depth > 0:
        for held in value.fields.values():
            found = carried_kernel(held, depth - 1)
            if found is not None:
                return found
    return None
