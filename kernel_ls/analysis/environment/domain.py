"""The evaluator's domain of the static environment: plain data, and the values of values.py."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import library
from kernel_ls.analysis.environment.classes import ClassBody, Super
from kernel_ls.analysis.environment.decorators import decorate_class, decorate_function
from kernel_ls.analysis.environment.modules import Module, Upto
from kernel_ls.analysis.environment.values import (
    Abstract,
    ClassValue,
    Constexpr,
    FunctionValue,
    InstanceValue,
    Opaque,
    Ref,
    carried_kernel,
)
from kernel_ls.pyeval import MISSING, Budget, Builtin, Closure, Domain, Evaluator, Frame, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.workspace import Workspace


class EnvironmentDomain(Domain):
    """Values of modules and host code. Branches whose test is not known are all followed.

    Extend it to follow more of host code: override a hook, handle your own values, and call `super()` for the rest.
    """

    explores = True

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    # ---------------------------------------------------------------------------------------------- definitions

    def function(self, closure: Closure, decorators: Sequence[Any], frame: Frame, evaluator: Evaluator) -> Any:
        module = module_of(frame)
        if module is None:
            return super().function(closure, decorators, frame, evaluator)
        # A function at the top of a module reads the module's names as they are when it is called.
        home = module.frame if frame.kind == "module" else frame
        value = FunctionValue(module, closure.node, home, qualname_in(frame, closure.name), closure.defaults)
        nodes = closure.node.decorator_list if isinstance(closure.node, ast.FunctionDef) else ()
        return decorate_function(value, list(zip(nodes, decorators, strict=False)), evaluator)

    def class_(self, node: ast.ClassDef, frame: Frame, evaluator: Evaluator) -> Any:
        module = module_of(frame)
        if module is None:
            return super().class_(node, frame, evaluator)
        home = module.frame if frame.kind == "module" else frame
        body = ClassBody(module, node, home, qualname_in(frame, node.name))
        decorators = [evaluator.evaluate(d, frame) for d in node.decorator_list]
        return decorate_class(body, decorators, evaluator)

    def imports(self, node: ast.Import | ast.ImportFrom, frame: Frame, evaluator: Evaluator) -> dict[str, Any]:
        module = module_of(frame)
        return super().imports(node, frame, evaluator) if module is None else module.imported(node)

    def frame_call(self, name: str, frame: Frame) -> Any:
        if name == "super":
            receiver = next(iter(frame.locals.values()), None) if frame.kind == "function" else None
            for outer in frame.enclosing_frames():
                cls = outer.locals.get("__class__") if outer.kind == "class" else None
                if isinstance(cls, ClassValue):
                    return Super(cls.body, receiver)
            return Unknown("`super()` outside a method")
        return super().frame_call(name, frame)

    # ---------------------------------------------------------------------------------------------- operations

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, Ref):
            return library.ref_attribute(value, name, self.workspace)
        if isinstance(value, Opaque):
            return library.opaque_attribute(value, name, self.workspace)
        if isinstance(value, Abstract):
            return value.attribute(name)
        return super().attribute(value, name)

    def set_attribute(self, value: Any, name: str, to: Any) -> None:
        if isinstance(value, Unknown):
            return
        if not (isinstance(value, Abstract) and value.set_attribute(name, to)):
            raise Undecided(f"setting the attribute `{name}` of {self.describe(value)} is not followed")

    def call(
        self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], evaluator: Evaluator, node: ast.AST | None
    ) -> Any:
        if isinstance(function, FunctionValue):
            return self.call_function(function, args, kwargs, evaluator)
        if isinstance(function, Ref):
            return library.call_ref(function, args, kwargs, evaluator, self.workspace, node)
        if isinstance(function, Opaque):
            return library.call_opaque(function, args, kwargs, evaluator, self.workspace)
        if isinstance(function, Abstract):
            return function.call(args, kwargs, evaluator, node)
        if isinstance(function, Builtin) and function.name in ("staticmethod", "classmethod", "property") and args:
            return args[0]
        return super().call(function, args, kwargs, evaluator, node)

    def call_function(
        self, function: FunctionValue, args: Sequence[Any], kwargs: dict[str, Any], evaluator: Evaluator
    ) -> Any:
        """A call of the user's function from host code."""
        if function.is_kernel_code:
            return Unknown(f"{function.describe()} is a kernel function that is called from host code")
        closure = Closure(function.node, function.frame, dict(function.defaults), function.qualname)
        try:
            return evaluator.call_closure(closure, args, kwargs)
        except Undecided as undecided:
            return Unknown(undecided.reason)

    def unary(self, op: str, value: Any, budget: Budget) -> Any:
        if isinstance(value, Constexpr):
            return Constexpr(self.unary(op, value.value, budget))
        value = underlying(value)
        if isinstance(value, Abstract):
            return value.unary(op)
        return super().unary(op, value, budget)

    def binary(self, op: str, left: Any, right: Any, budget: Budget) -> Any:
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        if isinstance(left, Constexpr) or isinstance(right, Constexpr):
            return Constexpr(self.binary(op, bare(left), bare(right), budget))
        left, right = underlying(left), underlying(right)
        if isinstance(left, Abstract):
            return left.binary(op, right, False)
        if isinstance(right, Abstract):
            return right.binary(op, left, True)
        return super().binary(op, left, right, budget)

    def compare(self, op: str, left: Any, right: Any) -> Any:
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        if op in ("In", "NotIn"):
            if isinstance(right, ClassValue):
                right = right.iterate() or right
            if isinstance(right, Abstract):
                return Unknown(f"whether {self.describe(right)} contains it is not known")
            return super().compare(op, left, right)
        if isinstance(left, Constexpr) or isinstance(right, Constexpr):
            if op in ("Is", "IsNot"):
                return op == "IsNot"
            return Constexpr(self.compare(op, bare(left), bare(right)))
        if isinstance(left, InstanceValue) != isinstance(right, InstanceValue):
            left, right = underlying(left), underlying(right)
        if isinstance(left, (Ref, Opaque)) and isinstance(right, (Ref, Opaque)):
            return library.compare_names(op, left, right, self.workspace)
        if isinstance(left, Abstract):
            return left.compare(op, right, False)
        if isinstance(right, Abstract):
            return right.compare(op, left, True)
        return super().compare(op, left, right)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, Constexpr):
            return self.truth(value.value)
        if isinstance(value, Abstract):
            return value.truth()
        return super().truth(value)

    def iterate(self, value: Any, budget: Budget) -> Sequence[Any] | Unknown:
        if isinstance(value, Constexpr):
            return self.iterate(value.value, budget)
        if isinstance(value, Abstract):
            elements = value.iterate()
            if elements is None:
                return Unknown(f"the elements of {value.describe()} are not known")
            budget.grow(len(elements))
            return elements
        return super().iterate(value, budget)

    def subscript(self, value: Any, index: Any) -> Any:
        if isinstance(value, Unknown) or isinstance(index, Unknown):
            return value if isinstance(value, Unknown) else index
        index = bare(underlying(index))
        if isinstance(value, Opaque):
            return library.opaque_subscript(value, index)
        if isinstance(value, Constexpr):
            return self.subscript(value.value, index)
        if isinstance(value, Abstract):
            return value.subscript(index)
        return super().subscript(value, index)

    def enter(self, value: Any, evaluator: Evaluator) -> Any:
        return value.enter() if isinstance(value, Abstract) else Unknown("it comes from a `with` statement")

    def format(self, value: Any, conversion: str, spec: str, budget: Budget) -> Any:
        value = bare(underlying(value))
        if isinstance(value, Abstract):
            return Unknown(f"it formats {value.describe()}")
        return super().format(value, conversion, spec, budget)

    def is_instance(self, value: Any, cls: Any) -> bool | Unknown:
        if isinstance(value, Constexpr) and isinstance(cls, Ref):
            return self.workspace.api.canonical(cls.path) == "triton.language.constexpr"
        if isinstance(cls, ClassValue):
            if isinstance(value, InstanceValue):
                return derives(value.cls.body, cls.body)
            if not isinstance(value, (Abstract, Unknown)):
                return False
        if isinstance(value, InstanceValue) and isinstance(cls, Builtin) and value.cls.body.is_complete:
            if cls.name == "tuple":
                return value.cls.body.kind == "namedtuple"
            return cls.name == "object" or (value.cls.body.mixes_int and cls.name in ("int", "str"))
        if isinstance(value, (FunctionValue, ClassValue, Ref)) and isinstance(cls, Builtin):
            return cls.name == "object"
        return super().is_instance(value, cls)

    def has_attribute(self, value: Any, name: str) -> bool | Unknown:
        known: bool | None = None
        if isinstance(value, Ref):
            known = library.ref_exists(value, name, self.workspace)
        elif isinstance(value, Opaque):
            known = library.opaque_has(value, name, self.workspace)
        elif isinstance(value, Abstract):
            known = value.has_attribute(name)
        else:
            return super().has_attribute(value, name)
        return Unknown(f"whether {self.describe(value)} has `{name}` is not known") if known is None else known

    def is_hashable(self, value: Any) -> bool:
        if isinstance(value, tuple):
            return all(self.is_hashable(v) for v in value)
        if isinstance(value, Constexpr):
            return self.is_hashable(value.value)
        if isinstance(value, InstanceValue):
            return bool(value.member)
        return isinstance(value, Abstract) or super().is_hashable(value)

    # ---------------------------------------------------------------------------------------------- uncertainty

    def join(self, first: Any, second: Any) -> Any:
        """Both may be meant: the first that can be used stands for them."""
        if first is second:
            return first
        for value in (first, second):
            if not isinstance(value, Unknown) and value is not None:
                return value
        return first if second is None else second

    def describe(self, value: Any) -> str:
        return value.describe() if isinstance(value, Abstract) else super().describe(value)


def module_of(frame: Frame) -> Module | None:
    """The module in which the code of a frame is written."""
    scope = frame.globals
    if isinstance(scope, Upto):
        return scope.module
    return scope if isinstance(scope, Module) else None


def qualname_in(frame: Frame, name: str) -> str:
    """The qualified name, as Python has it, of something called `name` that is defined in `frame`."""
    parts = [name]
    current: Frame | None = frame
    while current is not None:
        if isinstance(current.node, ast.ClassDef):
            parts.append(current.node.name)
        elif isinstance(current.node, ast.FunctionDef):
            parts += ["<locals>", current.node.name]
        current = current.enclosing
    return ".".join(reversed(parts))


def bare(value: Any) -> Any:
    """The value in a constexpr, or the value itself."""
    return value.value if isinstance(value, Constexpr) else value


def underlying(value: Any) -> Any:
    """The number or string that a member of a mixed enum is, or the value itself."""
    if isinstance(value, InstanceValue) and value.member and value.cls.body.mixes_int:
        return value.fields["value"]
    return value


def derives(body: ClassBody, ancestor: ClassBody) -> bool:
    """Whether one class is another or derives from it."""
    return body.key == ancestor.key or any(derives(p, ancestor) for p in body.parents)


__all__ = ["MISSING", "EnvironmentDomain", "Raised", "carried_kernel", "module_of", "qualname_in"]
