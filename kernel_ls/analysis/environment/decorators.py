"""What decorators make of functions and classes.

Triton's own are given their meaning. A decorator of the user's is followed by evaluating it; where what it returns carries
the kernel (an autotuner derived from Triton's, an object that launches it), it is *transparent*: the name stands for the
kernel, with the layers that were found. So is every decorator that cannot be followed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment.values import (
    Autotune,
    ClassValue,
    ConfigValue,
    FunctionValue,
    Heuristics,
    HostFunction,
    InstanceValue,
    Opaque,
    Ref,
    carried_kernel,
)
from kernel_ls.analysis.positions import span_of
from kernel_ls.model import Location
from kernel_ls.pyeval import Builtin, Evaluator, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.classes import ClassBody
    from kernel_ls.analysis.environment.modules import Module

_METHOD_KINDS = ("staticmethod", "classmethod", "property")
_PROPERTIES = frozenset(("functools.cached_property", "torch.utils._decorators.cached_property"))
_DATACLASSES = frozenset(("dataclasses.dataclass", "pydantic.dataclasses.dataclass", "attr.s", "attrs.define"))


def decorate_function(function: FunctionValue, decorators: Sequence[tuple[ast.AST, Any]], evaluator: Evaluator) -> Any:
    """The value of a decorated function; `decorators` as written, outermost first."""
    value: Any = function
    for node, decorator in reversed(decorators):
        value = _apply(decorator, value, node, function.module, evaluator)
    return value


def _apply(decorator: Any, value: Any, node: ast.AST, module: Module, evaluator: Evaluator) -> Any:
    if isinstance(decorator, Builtin) and decorator.name in _METHOD_KINDS:
        return replace(value, kind=decorator.name) if isinstance(value, FunctionValue) else value
    if isinstance(decorator, Opaque) or (isinstance(decorator, Ref) and decorator.path in _PROPERTIES):
        name = decorator.name if isinstance(decorator, Opaque) else decorator.path
        if isinstance(value, FunctionValue) and name in _PROPERTIES:
            return replace(value, kind="property")
        return value
    if isinstance(decorator, Unknown) or not callable_value(decorator):
        return value
    try:
        result = evaluator.call(decorator, (value,), {}, node)
    except (Raised, Undecided):
        return value
    return transparent(value, result, module, node)


def callable_value(value: Any) -> bool:
    """Whether calling a value can be followed."""
    return isinstance(value, (Ref, FunctionValue, ClassValue, HostFunction, InstanceValue, Builtin)) or hasattr(
        value, "call"
    )


def transparent(before: Any, after: Any, module: Module, node: ast.AST | None) -> Any:
    """What a name stands for after a decorator turned `before` into `after`."""
    if isinstance(after, Unknown) or after is None:
        return before
    kernel = carried_kernel(before)
    carried = carried_kernel(after)
    if carried is None and kernel is None:
        return after
    result = carried or kernel
    assert result is not None
    if isinstance(after, InstanceValue):
        for layer in layers_of(after, module, node):
            if layer not in result.layers:
                result = result.with_layer(layer)
    if carried is not None and kernel is not None and not carried.layers:
        result = replace(
            result, layers=(*kernel.layers, *(layer for layer in result.layers if layer not in kernel.layers))
        )
    return result


def layers_of(instance: InstanceValue, module: Module, node: ast.AST | None) -> list[Any]:
    """Autotuners that an object made by the user's own wrapper stands for: a list of configurations that it holds."""
    found = []
    for value in instance.fields.values():
        if isinstance(value, (list, tuple)) and value and any(isinstance(c, ConfigValue) for c in value):
            key: Any = next((instance.fields[k] for k in ("key", "keys") if k in instance.fields), [])
            found.append(Autotune(value, key, location_of(node, module)))
            break
    return found


def location_of(node: ast.AST | None, module: Module) -> Location | None:
    """Where a node of a module stands."""
    return None if node is None else Location(module.path, span_of(node, module.document.lines))


# ------------------------------------------------------------------------------------------------- Triton's own


def jit(role: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """`triton.jit(function)`, `triton.jit(**options)` and Gluon's; `role` is what the function becomes."""
    if args:
        return _jitted(role, args[0], kwargs)
    if "fn" in kwargs:
        return _jitted(role, kwargs["fn"], {k: v for k, v in kwargs.items() if k != "fn"})
    options = dict(kwargs)
    return HostFunction(
        role, lambda more, _kwargs, _evaluator: _jitted(role, more[0], options) if more else Unknown(role)
    )


def _jitted(role: str, function: Any, options: Mapping[str, Any]) -> Any:
    if isinstance(function, FunctionValue):
        made = replace(function, role=role, options=dict(options))
        made.module.workspace.note_kernel(made)
        return made
    return function


def autotune(args: Sequence[Any], kwargs: Mapping[str, Any], module: Module | None, node: ast.AST | None) -> Any:
    """`triton.autotune(configs, key, ...)`: the decorator."""
    configs = args[0] if args else kwargs.get("configs", Unknown("the configurations"))
    key = args[1] if len(args) > 1 else kwargs.get("key", [])
    rest = {k: v for k, v in kwargs.items() if k not in ("configs", "key")}
    layer = Autotune(configs, key, location_of(node, module) if module is not None else None, rest)
    return HostFunction("triton.autotune", lambda more, _kwargs, _evaluator: with_layer(more, layer))


def heuristics(args: Sequence[Any], kwargs: Mapping[str, Any], module: Module | None, node: ast.AST | None) -> Any:
    """`triton.heuristics(values)`: the decorator."""
    values = args[0] if args else kwargs.get("values", Unknown("the heuristics"))
    layer = Heuristics(values, location_of(node, module) if module is not None else None)
    return HostFunction("triton.heuristics", lambda more, _kwargs, _evaluator: with_layer(more, layer))


def with_layer(args: Sequence[Any], layer: Any) -> Any:
    """The first argument with a layer around it, where it is a function."""
    if not args:
        return Unknown("a decorator without a function")
    kernel = carried_kernel(args[0])
    if kernel is not None:
        return kernel.with_layer(layer)
    return args[0].with_layer(layer) if isinstance(args[0], FunctionValue) else args[0]


def decorate_class(body: ClassBody, decorators: Sequence[Any], evaluator: Evaluator) -> Any:
    """The value of a decorated class."""
    value: Any = body.value
    for decorator in reversed(decorators):
        if isinstance(decorator, Opaque) and decorator.name.removesuffix("()") in _DATACLASSES:
            body.decorated = "dataclass"
        elif isinstance(decorator, Ref) and _is_aggregate(decorator, body):
            body.decorated = "aggregate"
        elif isinstance(decorator, (FunctionValue, ClassValue, HostFunction)):
            try:
                result = evaluator.call(decorator, (value,), {})
            except (Raised, Undecided):
                continue
            value = result if isinstance(result, ClassValue) else value
    return value


def _is_aggregate(decorator: Ref, body: ClassBody) -> bool:
    canonical = body.module.workspace.api.canonical(decorator.path)
    return canonical.endswith(("._aggregate", ".aggregate"))
