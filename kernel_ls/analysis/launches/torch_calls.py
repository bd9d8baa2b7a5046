"""Functions of torch that make or compute tensors: what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import Opaque
from kernel_ls.pyeval import MISSING

from . import dtypes, shapes, tensors
from .arithmetic import binary, compare, kind_of
from .values import Descriptor, Number, Symbol, Tensor, Tensors

if TYPE_CHECKING:
    from .domain import HostDomain

_SIZED = frozenset(["empty", "zeros", "ones", "randn", "rand", "empty_strided"])
_LIKE = frozenset(["empty_like", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like", "randint_like"])
_INTEGERS = frozenset(["randperm", "randint", "arange"])
_METHODS = frozenset(
    [
        "exp",
        "exp2",
        "log",
        "log2",
        "sqrt",
        "rsqrt",
        "sigmoid",
        "tanh",
        "softmax",
        "log_softmax",
        "abs",
        "neg",
        "clamp",
        "relu",
        "sum",
        "cumsum",
        "prod",
        "mean",
        "transpose",
        "permute",
        "reshape",
        "squeeze",
        "unsqueeze",
        "flatten",
        "flip",
        "roll",
        "argmax",
        "argmin",
        "argsort",
        "nonzero",
        "bincount",
        "count_nonzero",
        "isnan",
        "isinf",
        "isfinite",
        "tril",
        "triu",
        "gather",
        "index_select",
        "repeat_interleave",
        "masked_fill",
        "numel",
        "amax",
        "amin",
        "is_floating_point",
        "clone",
        "detach",
        "split",
        "chunk",
        "unbind",
        "sin",
        "cos",
        "any",
        "all",
        "round",
        "floor",
        "ceil",
        "view_as",
        "masked_select",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "narrow",
        "movedim",
        "expand_as",
    ]
)
_OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mult", "matmul": "MatMult", "mm": "MatMult", "bmm": "MatMult", "maximum": "Add",
    "minimum": "Add", "dot": "MatMult", "outer": "Mult",
}  # fmt: skip


def call(domain: HostDomain, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What `name(*args, **kwargs)` returns, for the dotted name of an object of torch; MISSING where nothing is known."""
    head, _, function = name.rpartition(".")
    world = domain.world
    args = tuple(domain.lift(a) for a in args)
    kwargs = {k: domain.lift(v) for k, v in kwargs.items()}
    if head == "torch":
        return _torch(domain, function, args, kwargs)
    if name in ("torch.nn.functional.softmax", "torch.nn.functional.relu", "torch.nn.functional.pad") and args:
        return tensors.method(
            domain, _host(domain, args[0]), "softmax" if function == "softmax" else "relu", (), kwargs
        )
    if name == "torch.nn.Parameter":
        # A module's parameters are converted by `module.to(...)`.
        return Tensor(world.fresh(), "a parameter", None)
    return MISSING


def _host(domain: HostDomain, value: Any) -> Any:
    return value if isinstance(value, (Tensor, Symbol)) else Symbol(domain.world.fresh(), "")


def _torch(domain: HostDomain, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    world = domain.world
    text = f"torch.{name}(...)"
    first = world.resolve(args[0]) if args else None
    if name == "device":
        return tensors.DEVICE
    if name in _SIZED:
        sized = args[:1] if name == "empty_strided" else args
        return tensors.created(
            domain,
            world.fresh(),
            text,
            shapes.sizes_of(domain, sized, kwargs),
            kwargs,
            dtypes.FLOAT32,
            name != "empty_strided",
        )
    if name == "full":
        value = world.resolve(args[1] if len(args) > 1 else kwargs.get("fill_value"))
        default = {"bool": dtypes.BOOL, "int": dtypes.INT64, "float": dtypes.FLOAT32}.get(kind_of(value) or "")
        return tensors.created(domain, world.fresh(), text, shapes.sizes_of(domain, args[:1], kwargs), kwargs, default)
    if name in _LIKE:
        source = args[0] if args else kwargs.get("input")
        tensor = domain.as_tensor(source, mark=True)
        dtype = domain.attribute(source, "dtype") if tensor is not None else None
        shape = shapes.shape_of(domain, tensor, f"{tensor.text}.shape") if tensor is not None else None
        return tensors.created(
            domain, world.fresh(), text, shape, kwargs, dtype, tensor is not None and tensor.contiguous
        )
    if name in _INTEGERS:
        default = dtypes.INT64
        if name == "arange" and any(kind_of(world.resolve(a)) != "int" for a in args):
            default = None if not any(kind_of(world.resolve(a)) == "float" for a in args) else dtypes.FLOAT32
        return tensors.created(domain, world.fresh(), text, None, kwargs, default)
    if name in ("tensor", "as_tensor"):
        return tensors.created(domain, world.fresh(), text, None, kwargs, _dtype_of_data(first))
    if name in ("linspace", "eye", "logspace", "normal"):
        return tensors.created(domain, world.fresh(), text, None, kwargs, dtypes.FLOAT32)
    if name in ("cat", "stack", "concat", "hstack", "vstack"):
        return Tensor(world.fresh(), text, _common(domain, first), None, True)
    if name == "where" and len(args) == 3:
        return binary(domain, "Add", args[1], args[2])
    if name in _OPERATORS and len(args) >= 2:
        return binary(domain, _OPERATORS[name], args[0], args[1])
    if name in ("logical_and", "logical_or", "isclose") and len(args) >= 2:
        return Tensor(world.fresh(), text, dtypes.BOOL)
    if name in ("eq", "ne") and len(args) == 2:
        return compare(domain, "Eq", args[0], args[1])
    if name in _METHODS and isinstance(first, (Tensor, Symbol)):
        domain.as_tensor(first, mark=True)
        return tensors.method(domain, first, name, args[1:], kwargs)
    if name in ("Size",) and isinstance(first, (tuple, list)):
        return tuple(first)
    if name == "broadcast_tensors" and args:
        return tuple(Tensor(world.fresh(), text, domain.attribute(a, "dtype")) for a in args if domain.as_tensor(a))
    return MISSING


def _dtype_of_data(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    kind = kind_of(data)
    return {"bool": dtypes.BOOL, "int": dtypes.INT64, "float": dtypes.FLOAT32}.get(kind or "")


def _common(domain: HostDomain, value: Any) -> Any:
    if isinstance(value, Tensors):
        return value.dtype
    if not isinstance(value, (list, tuple)) or not value:
        return None
    found = [domain.as_tensor(v) for v in value]
    names = {dtypes.name_of(t.dtype) if t is not None else None for t in found}
    name = names.pop() if len(names) == 1 else None
    return dtypes.torch_dtype(name) if name is not None else None


def descriptor(domain: HostDomain, path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What `TensorDescriptor(...)` or `TensorDescriptor.from_tensor(...)` makes; MISSING for another call of Triton's."""
    names: tuple[str, ...]
    if path.endswith("TensorDescriptor.from_tensor"):
        names = ("tensor", "block_shape", "layout")
    elif path.endswith(".TensorDescriptor"):
        names = ("base", "shape", "strides", "block_shape", "padding")
    else:
        return MISSING
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    source = given.get("tensor", given.get("base"))
    tensor = domain.as_tensor(source, mark=True)
    dtype = domain.attribute(source, "dtype") if tensor is not None else None
    return Descriptor(domain.world.fresh(), "a tensor descriptor", dtype, given.get("block_shape"))


__all__ = ["Number", "Opaque", "call", "descriptor"]
