"""The evaluator's domain for host code: the static environment's, with values that exist only when the code runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import (
    Abstract,
    ClassValue,
    Constexpr,
    FunctionValue,
    InstanceValue,
    ModuleValue,
    Opaque,
    Partial,
    Ref,
    carried_kernel,
)
from kernel_ls.analysis.environment.classes import is_wrapper_class
from kernel_ls.analysis.environment.values import BoundMethod, HostFunction
from kernel_ls.pyeval import MISSING, Budget, Builtin, Closure, Evaluator, Undecided, Unknown

from . import arithmetic, builtin_calls, dtypes, shapes, tensors, torch_calls
from .arithmetic import key_of, statement, text_of
from .course import CourseDomain
from .values import Context, Host, HostMethod, Launcher, Number, Predicate, Sizes, Symbol, Tensor, Tensors

if TYPE_CHECKING:
    from .evaluator import HostEvaluator

_DEPTH = 6
"""How deeply calls of the user's functions are followed."""

_LAUNCHING = {"run": "run", "warmup": "warmup"}


class HostDomain(CourseDomain):
    """Operations on the values of one course through host code, beside those of the static environment."""

    evaluator: HostEvaluator

    # ---------------------------------------------------------------------------------------------- operations

    def attribute(self, value: Any, name: str) -> Any:
        value = self.world.resolve(value)
        if isinstance(value, Unknown):
            value = self.lift(value)
        if isinstance(value, Symbol):
            if name in tensors.OTHERWISE:
                self.world.others.add(value.id)
                self.world.tensors.discard(value.id)
            elif (name in tensors.MARKS or value.id in self.world.tensors) and value.id not in self.world.others:
                tensor = self.as_tensor(value, mark=True)
                assert tensor is not None
                return self.world.resolve(tensors.attribute(self, value, tensor, name))
            elif name == "to" or name in dtypes.CONVERSIONS:
                return HostMethod(value, name)
            return self.world.resolve(self.symbol(f"{value.text}.{name}", "attribute", value.id, name))
        if isinstance(value, Tensor):
            return self.world.resolve(tensors.attribute(self, value, value, name))
        if isinstance(value, Context):
            return value.fields.get(name, MISSING) if name in value.fields else _context(self, value, name)
        if isinstance(value, Host):
            return HostMethod(value, name)
        kernel = launchable(value, name)
        if kernel is not None and name in _LAUNCHING:
            return Launcher(kernel, _LAUNCHING[name])
        if isinstance(value, InstanceValue):
            return self._of_instance(value, name)
        if isinstance(value, ClassValue) and name == "apply":
            forward = value.body.find("forward")
            if isinstance(forward, FunctionValue) and value.body.find("apply") is None:
                return HostFunction("apply", lambda a, k, e: e.call(forward, (self.context(), *a), dict(k)))
        if isinstance(value, (ModuleValue, ClassValue)):
            return self.thaw(super().attribute(value, name))
        return super().attribute(value, name)

    def context(self) -> Context:
        """A new `ctx`."""
        return Context(self.world.fresh(), "ctx")

    def _of_instance(self, value: InstanceValue, name: str) -> Any:
        if value.member or name in value.fields:
            return self.world.resolve(value.attribute(name))
        found = value.cls.body.find(name)
        if isinstance(found, FunctionValue):
            if found.kind == "property":
                return self.evaluator.call(found, (value,), {})
            if found.kind == "":
                return BoundMethod(value, found)
        if found is None and not name.startswith("__"):
            special = value.cls.body.instance_attribute(value, name)
            if special is not None:
                return special
            # What is not set where its class is read may be set elsewhere.
            value.fields[name] = self.symbol(f"self.{name}")
            return value.fields[name]
        return self.thaw(value.attribute(name))

    def set_attribute(self, value: Any, name: str, to: Any) -> None:
        value = self.world.resolve(value)
        if isinstance(value, Context) or (isinstance(value, InstanceValue) and not value.member):
            value.fields[name] = to

    def call(
        self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], evaluator: Evaluator, node: ast.AST | None
    ) -> Any:
        function = self.world.resolve(function)
        args = tuple(self.world.resolve(a) for a in args)
        if isinstance(function, (Launcher, FunctionValue, Partial)):
            launched = self.evaluator.launched(function, args, kwargs, node)
            if launched is not MISSING:
                return launched
        if isinstance(function, HostMethod):
            return self._method(function, args, kwargs)
        if isinstance(function, (Symbol, Unknown)):
            return self.symbol(f"{text_of(self.lift(function))}(...)")
        if isinstance(function, Host):
            return self.symbol("")
        if isinstance(function, Opaque):
            known = torch_calls.call(self, function.name, args, kwargs)
            if known is not MISSING:
                return known
        if isinstance(function, Ref):
            known = builtin_calls.of_ref(self, self.workspace.api.canonical(function.path), args, kwargs)
            if known is not MISSING:
                return known
        if isinstance(function, Builtin):
            known = builtin_calls.call(self, function.name, list(args))
            if known is not MISSING:
                return known
        return self.lift(super().call(function, args, kwargs, evaluator, node))

    def _method(self, method: HostMethod, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        receiver = self.world.resolve(method.receiver)
        if isinstance(receiver, Context):
            return self.symbol("")
        if isinstance(receiver, Sizes):
            if method.name == "numel":
                return Number(self.world.identity("numel", receiver.id), f"{receiver.text}.numel()", "int")
            return self.symbol("")
        if isinstance(receiver, (Tensor, Symbol)):
            return self.world.resolve(tensors.method(self, receiver, method.name, args, kwargs))
        return self.symbol("")

    def call_function(
        self,
        function: FunctionValue,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        evaluator: Evaluator,  # noqa: ARG002 - the hook's signature
    ) -> Any:
        if self.depth >= _DEPTH:
            return self.symbol(f"{function.qualname}(...)")
        closure = Closure(function.node, function.frame, dict(function.defaults), function.qualname)
        self.depth += 1
        want, self.want = self.want, None
        parameters, self.world.parameters = self.world.parameters, set()
        try:
            with self.workspace.evaluating(function.module):
                return self.evaluator.call_host(closure, function, args, kwargs)
        except Undecided as undecided:
            return Unknown(undecided.reason)
        finally:
            self.depth -= 1
            self.want = want
            self.world.parameters = parameters

    def unary(self, op: str, value: Any, budget: Budget) -> Any:
        value = self.lift(self.world.resolve(value))
        if isinstance(value, Host):
            return arithmetic.unary(self, op, value)
        return self.lift(super().unary(op, value, budget))

    def binary(self, op: str, left: Any, right: Any, budget: Budget) -> Any:
        left, right = self.lift(self.world.resolve(left)), self.lift(self.world.resolve(right))
        for one, two in ((left, right), (right, left)):
            if (isinstance(one, Sizes) and isinstance(two, (tuple, list))) or isinstance(two, Sizes):
                return self.symbol("")
            if isinstance(one, Host) and not isinstance(two, (str, dict)):
                if isinstance(two, Constexpr):
                    two = two.value
                return arithmetic.binary(self, op, left, right)
        return self.lift(super().binary(op, left, right, budget))

    def compare(self, op: str, left: Any, right: Any) -> Any:
        left, right = self.lift(self.world.resolve(left)), self.lift(self.world.resolve(right))
        held = isinstance(right, (list, tuple, set, frozenset, dict))
        if held and op in ("In", "NotIn") and isinstance(left, Host):
            elements = sorted(right, key=repr) if isinstance(right, (set, frozenset)) else list(right)
            return arithmetic.compare(self, op, left, elements)
        if isinstance(left, Host) or isinstance(right, Host):
            return arithmetic.compare(self, op, left, right)
        return self.lift(super().compare(op, left, right))

    def iterate(self, value: Any, budget: Budget) -> Sequence[Any] | Unknown:
        value = self.world.resolve(value)
        if isinstance(value, Sizes):
            found = shapes.elements_of(self, value)
            return Unknown("how many dimensions a tensor has is not known") if found is None else found
        if isinstance(value, Host):
            return Unknown(f"the elements of {value.describe()} are not known")
        return super().iterate(value, budget)

    def element(self, iterable: Any) -> Any:
        iterable = self.world.resolve(iterable)
        if isinstance(iterable, Sizes):
            return Number(self.world.fresh(), f"{iterable.text}[...]", "int")
        if isinstance(iterable, Tensors):
            return Tensor(self.world.fresh(), f"{iterable.text}[...]", iterable.dtype)
        if isinstance(iterable, Symbol) and iterable.text.startswith("range("):
            return Number(self.world.fresh(), iterable.text, "int")
        return self.symbol("")

    def subscript(self, value: Any, index: Any) -> Any:
        value, index = self.lift(self.world.resolve(value)), self.lift(self.world.resolve(index))
        if isinstance(value, Sizes):
            if isinstance(index, slice):
                elements = shapes.elements_of(self, value)
                plain = all(p is None or type(p) is int for p in (index.start, index.stop, index.step))
                return tuple(elements[index]) if elements is not None and plain else self.symbol("")
            return self.world.resolve(shapes.element(self, value, index))
        if isinstance(value, Tensors):
            return Tensor(self.world.identity("item", value.id, key_of(index)), f"{value.text}[...]", value.dtype)
        tensor = self.as_tensor(value)
        if tensor is not None:
            dtype = tensor.dtype if tensor.dtype is not None else self.attribute(value, "dtype")
            return Tensor(self.world.fresh(), f"{tensor.text}[...]", dtype)
        if isinstance(value, Host):
            key = key_of(index) if not isinstance(index, slice) else ("slice", repr(index))
            return self.world.resolve(self.symbol(f"{value.text}[{text_of(index)}]", "item", value.id, key))
        kernel = launchable(value, "__getitem__")
        if kernel is not None:
            return Launcher(kernel, "subscript")
        if isinstance(value, dict) and isinstance(index, Host):
            return self._picked(value, index)
        if isinstance(index, Host) or (isinstance(index, tuple) and any(isinstance(i, Host) for i in index)):
            return self.symbol("")
        found = super().subscript(value, index)
        return self.lift(self.world.resolve(found))

    def _picked(self, table: dict[Any, Any], index: Host) -> Any:
        """An element of a table by a key that is not known: the world decides which."""
        keys = list(table)
        if not keys or len(keys) > 16 or isinstance(index, (Tensor, Sizes)):
            return self.symbol("")
        chosen = keys[self.world.choose((self.site(), "key"), len(keys))]
        if isinstance(index, (Symbol, Number)):
            self.world.bound[index.id] = chosen
        return self.world.resolve(table[chosen])

    def enter(self, value: Any, evaluator: Evaluator) -> Any:  # noqa: ARG002 - the hook's signature
        return self.lift(value)

    def format(self, value: Any, conversion: str, spec: str, budget: Budget) -> Any:
        value = self.world.resolve(value)
        if isinstance(value, (Abstract, Unknown)):
            return Unknown("it formats a value of the host code")
        return super().format(value, conversion, spec, budget)

    def is_instance(self, value: Any, cls: Any) -> Any:
        value = self.world.resolve(value)
        name = cls.name if isinstance(cls, (Opaque, Builtin)) else cls.path if isinstance(cls, Ref) else ""
        tensor_class = name in ("torch.Tensor", "torch.nn.Parameter")
        if isinstance(value, Tensor) or (isinstance(value, Symbol) and value.id in self.world.tensors):
            return name in ("torch.Tensor", "object") or (Unknown("a parameter") if tensor_class else False)
        settled = isinstance(value, Number) and (value.kind != "number" or name not in ("int", "float"))
        if settled and isinstance(cls, Builtin):
            return name in (value.kind, "object") or (name == "int" and value.kind == "bool")
        if isinstance(value, Host):
            predicate = Predicate(
                ("is", value.id, name or key_of(cls)), False, "tensor" if tensor_class else "class", value
            )
            return statement(self, predicate, f"isinstance({value.text}, ...)")
        if tensor_class and not isinstance(value, (Abstract, Unknown)):
            return False
        return super().is_instance(value, cls)

    def has_attribute(self, value: Any, name: str) -> Any:
        value = self.lift(self.world.resolve(value))
        if isinstance(value, Host):
            return self.flag(("has", value.id, name), f"hasattr({value.text}, {name!r})")
        return self.lift(super().has_attribute(value, name))

    def is_hashable(self, value: Any) -> bool:
        return isinstance(value, Host) or super().is_hashable(value)

    # ---------------------------------------------------------------------------------------------- uncertainty

    def join(self, first: Any, second: Any) -> Any:
        return first if first is second else self.widen(first, second)

    def widen(self, before: Any, after: Any) -> Any:
        before, after = self.world.resolve(before), self.world.resolve(after)
        if before is after or key_of(before) == key_of(after):
            return before
        kinds = {arithmetic.kind_of(before), arithmetic.kind_of(after)}
        if len(kinds) == 1 and None not in kinds:
            return Number(self.world.fresh(), "", kinds.pop())  # type: ignore[arg-type]
        one, two = self.as_tensor(before), self.as_tensor(after)
        if one is not None and two is not None:
            return Tensor(self.world.fresh(), two.text, one.dtype if key_of(one.dtype) == key_of(two.dtype) else None)
        return self.symbol("")


def launchable(value: Any, name: str) -> FunctionValue | None:
    """The kernel that is launched by `value.name`, where that is Triton's own method."""
    if isinstance(value, FunctionValue):
        return value if value.is_kernel_code else None
    if isinstance(value, InstanceValue) and is_wrapper_class(value.cls.body) and value.cls.body.find(name) is None:
        return carried_kernel(value)
    return None


def _context(domain: HostDomain, context: Context, name: str) -> Any:
    if name in ("save_for_backward", "mark_non_differentiable", "set_materialize_grads", "mark_dirty"):

        def keep(args: Sequence[Any], _kwargs: Any, _evaluator: Any) -> None:
            if name == "save_for_backward":
                context.fields["saved_tensors"] = tuple(args)

        return HostFunction(name, keep)
    if name == "needs_input_grad":
        context.fields[name] = domain.symbol("ctx.needs_input_grad")
    else:
        context.fields[name] = domain.symbol(f"ctx.{name}")
    return context.fields[name]
