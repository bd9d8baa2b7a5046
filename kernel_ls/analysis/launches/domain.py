"""The evaluator's domain for host code: the static environment's, with values that exist only when the code runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import (
    Abstract,
    ClassValue,
    ConfigValue,
    Constexpr,
    EnvironmentDomain,
    FunctionValue,
    InstanceValue,
    ModuleValue,
    Opaque,
    Partial,
    Ref,
    Workspace,
    carried_kernel,
)
from kernel_ls.analysis.environment.classes import is_wrapper_class
from kernel_ls.analysis.environment.values import BoundMethod, HostFunction
from kernel_ls.pyeval import MISSING, Budget, Builtin, Closure, Evaluator, Frame, Raised, Undecided, Unknown

from . import arithmetic, builtin_calls, tensors, torch_calls
from .arithmetic import key_of, statement, text_of
from .values import Context, Descriptor, Host, HostMethod, Launcher, Number, Predicate, Sizes, Symbol, Tensor, Tensors
from .world import World

if TYPE_CHECKING:
    from .evaluator import HostEvaluator

_DEPTH = 6
"""How deeply calls of the user's functions are followed."""

_LAUNCHING = {"run": "run", "warmup": "warmup"}


class HostDomain(EnvironmentDomain):
    """Values of one course through host code. Every test has an answer: the world decides where the code does not tell."""

    evaluator: HostEvaluator

    def __init__(self, workspace: Workspace, world: World) -> None:
        super().__init__(workspace)
        self.world = world
        self.here: Any = None
        """The place of the expression that was evaluated last."""
        self.want: bool | None = None
        """What the test that is being evaluated should give for the code to go on."""
        self.depth = 0
        self._thawed: dict[int, tuple[Any, Any]] = {}
        self._lifted: dict[int, tuple[Any, Symbol]] = {}

    # ---------------------------------------------------------------------------------------------- values

    def lift(self, value: Any, text: str = "") -> Any:
        """A value as host code has it: what cannot be known is a symbol."""
        if not isinstance(value, Unknown):
            return value
        held = self._lifted.get(id(value))
        if held is None:
            held = self._lifted[id(value)] = (value, Symbol(self.world.fresh(), text or value.name))
        return held[1]

    def symbol(self, text: str, *key: Any) -> Symbol:
        """A symbol; the same one for the same key."""
        return Symbol(self.world.identity(*key) if key else self.world.fresh(), text)

    def flag(self, key: tuple[Any, ...], text: str) -> Any:
        """A bool of which nothing is known but what it is asked of."""
        return statement(self, Predicate(("flag", *key), False, "flag"), text)

    def as_tensor(self, value: Any, mark: bool = False) -> Tensor | None:
        """A value as a tensor, if it is one; `mark` says that it is used as one."""
        value = self.world.resolve(value)
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Symbol):
            if mark and value.id not in self.world.others:
                self.world.tensors.add(value.id)
            if value.id in self.world.tensors:
                return Tensor(value.id, value.text, self.world.resolve(Symbol(self.world.identity("dtype", value.id), f"{value.text}.dtype")))
        return None

    def rank(self, sizes: Sizes) -> int | None:
        """How many elements sizes have, if that is known."""
        known = self.world.ranks.get(sizes.rank_id)
        if known is None:
            bound = self.world.bound.get(self.world.identity("rank", sizes.rank_id))
            known = bound if type(bound) is int and 0 <= bound <= 16 else None
        return known

    def thaw(self, value: Any) -> Any:
        """A copy of what a module holds, so that host code which changes it changes nothing for others."""
        if type(value) in (list, dict, set) or (isinstance(value, InstanceValue) and not value.member):
            held = self._thawed.get(id(value))
            if held is None:
                held = self._thawed[id(value)] = (value, _copied(value))
                self._thawed[id(held[1])] = (held[1], held[1])
            return held[1]
        return value

    # ---------------------------------------------------------------------------------------------- decisions

    def truth(self, value: Any) -> bool | None:
        value = self.world.resolve(value)
        known = self.known_truth(value)
        if known is not None:
            return known
        if isinstance(value, Unknown):
            value = self.lift(value)
        if isinstance(value, Number) and value.predicate is not None:
            return self.world.decide(value.predicate, self.site(), self.want)
        subject = value if isinstance(value, Host) else None
        predicate = Predicate(("true", key_of(value)), False, "true", subject)
        return self.world.decide(predicate, self.site(), self.want)

    def known_truth(self, value: Any) -> bool | None:
        """Whether a value is true, if no decision is needed."""
        value = self.world.resolve(value)
        if isinstance(value, Number):
            return None if value.predicate is None else self.world.known(value.predicate)
        if isinstance(value, (Descriptor, Context, Launcher, HostMethod)):
            return True
        if isinstance(value, Host):
            return None
        if isinstance(value, Unknown):
            return None
        return super().truth(value)

    def site(self) -> Any:
        """The place of a decision."""
        node = self.here
        return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0), self.depth)

    # ---------------------------------------------------------------------------------------------- operations

    def attribute(self, value: Any, name: str) -> Any:
        value = self.world.resolve(value)
        if isinstance(value, Unknown):
            value = self.lift(value)
        if isinstance(value, Symbol):
            if name in tensors.OTHERWISE:
                self.world.others.add(value.id)
                self.world.tensors.discard(value.id)
            elif name in tensors.MARKS and value.id not in self.world.others:
                tensor = self.as_tensor(value, mark=True)
                assert tensor is not None
                return self.world.resolve(tensors.attribute(self, value, tensor, name))
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
        if isinstance(value, Context):
            value.fields[name] = to
        elif isinstance(value, InstanceValue) and not value.member:
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
            known = torch_calls.call(self, function.name, args, kwargs, None)
            if known is not MISSING:
                return known
        if isinstance(function, Ref):
            known = builtin_calls.of_ref(self, self.workspace.api.canonical(function.path), args, kwargs)
            if known is not MISSING:
                return known
        if isinstance(function, Builtin):
            known = builtin_calls.call(self, function.name, list(args), kwargs, evaluator)
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
            return self.world.resolve(tensors.method(self, receiver, method.name, args, kwargs, self.site()))
        return self.symbol("")

    def call_function(
        self, function: FunctionValue, args: Sequence[Any], kwargs: dict[str, Any], evaluator: Evaluator
    ) -> Any:
        if self.depth >= _DEPTH:
            return self.symbol(f"{function.qualname}(...)")
        closure = Closure(function.node, function.frame, dict(function.defaults), function.qualname)
        self.depth += 1
        want, self.want = self.want, None
        try:
            with self.workspace.evaluating(function.module):
                return self.evaluator.call_host(closure, function, args, kwargs)
        except Undecided as undecided:
            return Unknown(undecided.reason)
        finally:
            self.depth -= 1
            self.want = want

    def unary(self, op: str, value: Any, budget: Budget) -> Any:
        value = self.lift(self.world.resolve(value))
        if isinstance(value, Host):
            return arithmetic.unary(self, op, value)
        return self.lift(super().unary(op, value, budget))

    def binary(self, op: str, left: Any, right: Any, budget: Budget) -> Any:
        left, right = self.lift(self.world.resolve(left)), self.lift(self.world.resolve(right))
        for one, two in ((left, right), (right, left)):
            if isinstance(one, Sizes) and isinstance(two, (tuple, list)) or isinstance(two, Sizes):
                return self.symbol("")
            if isinstance(one, Host) and not isinstance(two, (str, dict)):
                if isinstance(two, Constexpr):
                    two = two.value
                return arithmetic.binary(self, op, left, right)
        return self.lift(super().binary(op, left, right, budget))

    def compare(self, op: str, left: Any, right: Any) -> Any:
        left, right = self.lift(self.world.resolve(left)), self.lift(self.world.resolve(right))
        if isinstance(right, (list, tuple, set, frozenset, dict)) and op in ("In", "NotIn"):
            if isinstance(left, Host):
                held = sorted(right, key=repr) if isinstance(right, (set, frozenset)) else list(right)
                return arithmetic.compare(self, op, left, held)
        if isinstance(left, Host) or isinstance(right, Host):
            return arithmetic.compare(self, op, left, right)
        return self.lift(super().compare(op, left, right))

    def iterate(self, value: Any, budget: Budget) -> Sequence[Any] | Unknown:
        value = self.world.resolve(value)
        if isinstance(value, Sizes):
            found = tensors.elements_of(self, value)
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
                elements = tensors.elements_of(self, value)
                plain = all(p is None or type(p) is int for p in (index.start, index.stop, index.step))
                return tuple(elements[index]) if elements is not None and plain else self.symbol("")
            return self.world.resolve(tensors.element(self, value, index))
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

    def enter(self, value: Any, evaluator: Evaluator) -> Any:
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
        if isinstance(value, Number) and isinstance(cls, Builtin):
            if value.kind != "number" or cls.name not in ("int", "float"):
                return cls.name == value.kind or (cls.name == "int" and value.kind == "bool") or cls.name == "object"
        if isinstance(value, Host):
            predicate = Predicate(("is", value.id, name or key_of(cls)), False, "tensor" if tensor_class else "class", value)
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


def _copied(value: Any, depth: int = 3) -> Any:
    if depth == 0:
        return value
    if type(value) is list:
        return [_copied(v, depth - 1) for v in value]
    if type(value) is dict:
        return {k: _copied(v, depth - 1) for k, v in value.items()}
    if type(value) is set:
        return set(value)
    if isinstance(value, InstanceValue) and not value.member:
        return InstanceValue(value.cls, {k: _copied(v, depth - 1) for k, v in value.fields.items()})
    return value


def _context(domain: HostDomain, context: Context, name: str) -> Any:
    if name in ("save_for_backward", "mark_non_differentiable", "set_materialize_grads", "mark_dirty"):

        def keep(args: Sequence[Any], kwargs: Any, evaluator: Any) -> None:
            if name == "save_for_backward":
                context.fields["saved_tensors"] = tuple(args)

        return HostFunction(name, keep)
    if name == "needs_input_grad":
        context.fields[name] = domain.symbol("ctx.needs_input_grad")
    else:
        context.fields[name] = domain.symbol(f"ctx.{name}")
    return context.fields[name]


__all__ = ["ConfigValue", "Frame", "HostDomain", "Raised"]
