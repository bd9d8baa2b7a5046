"""What tensors have: attributes, methods, elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import Opaque
from kernel_ls.pyeval import Unknown

from . import dtypes
from .arithmetic import key_of, text_of
from .shapes import rank_of, shape_of, sizes_of, stride, unfolded
from .values import HostMethod, Number, Symbol, Tensor, Tensors

if TYPE_CHECKING:
    from .domain import HostDomain

DEVICE = Opaque("torch.device()")

MARKS = frozenset(
    [
        "stride",
        "data_ptr",
        "numel",
        "nelement",
        "contiguous",
        "is_contiguous",
        "element_size",
        "storage_offset",
        "new_empty",
        "new_zeros",
        "new_ones",
        "new_full",
        "new_tensor",
        "new_empty_strided",
        "view_as",
        "expand_as",
        "unsqueeze",
        "squeeze",
        "transpose",
        "permute",
        "expand",
        "view",
        "reshape",
        "is_cuda",
        "ndim",
        "dim",
        "size",
        "requires_grad",
        "untyped_storage",
        "grad_fn",
        "is_sparse",
        "shape",
        "dtype",
        "device",
        "T",
        "mT",
        "mul_",
        "add_",
        "copy_",
        "zero_",
        "fill_",
        "detach",
        "clone",
        "type_as",
        "itemsize",
    ]
)
"""Attributes that show, of a value that is passed to a kernel, that it is a tensor."""

OTHERWISE = frozenset(
    ["block_shape", "base", "strides", "keys", "values", "items", "append", "tensor_shape", "padding"]
)
"""Attributes that show the contrary."""

_SAME_SHAPE = frozenset(["clone", "detach", "cuda", "cpu", "requires_grad_", "pin_memory"])
_IN_PLACE = frozenset(
    [
        "zero_",
        "fill_",
        "copy_",
        "uniform_",
        "normal_",
        "random_",
        "add_",
        "mul_",
        "sub_",
        "div_",
        "clamp_",
        "exp_",
        "masked_fill_",
        "index_add_",
        "scatter_",
        "scatter_add_",
        "index_copy_",
        "retain_grad",
    ]
)
_SAME_DTYPE = frozenset(
    [
        "view",
        "reshape",
        "transpose",
        "permute",
        "t",
        "expand",
        "expand_as",
        "view_as",
        "squeeze",
        "unsqueeze",
        "flatten",
        "flip",
        "repeat",
        "narrow",
        "select",
        "roll",
        "tile",
        "masked_fill",
        "index_select",
        "gather",
        "repeat_interleave",
        "movedim",
        "swapaxes",
        "swapdims",
        "unflatten",
        "abs",
        "neg",
        "clamp",
        "clamp_min",
        "clamp_max",
        "tril",
        "triu",
        "diagonal",
        "diag",
        "fill",
        "scatter",
        "scatter_add",
        "masked_select",
        "relu",
        "round",
        "floor",
        "ceil",
        "triu_",
        "broadcast_to",
        "adjoint",
        "unfold",
        "as_strided",
        "reshape_as",
    ]
)
_FLOATING = frozenset(
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
        "mean",
        "sin",
        "cos",
        "var",
        "std",
        "norm",
        "reciprocal",
    ]
)
_BOOL = frozenset(
    [
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isnan",
        "isinf",
        "isfinite",
        "logical_not",
        "logical_and",
        "logical_or",
        "any",
        "all",
    ]
)
_INDICES = frozenset(["argmax", "argmin", "argsort", "nonzero", "count_nonzero", "bincount"])
_NEW = frozenset(["new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"])
_SEQUENCES = frozenset(["split", "chunk", "unbind", "tensor_split"])


def attribute(domain: HostDomain, value: Any, tensor: Tensor, name: str) -> Any:
    """`value.name` of a tensor, or of a symbol that is used as one (`tensor`)."""
    world = domain.world
    text = f"{value.text}.{name}"
    if name == "dtype":
        return tensor.dtype if tensor.dtype is not None else Symbol(world.identity("dtype", value.id), text)
    if name == "device":
        return DEVICE
    if name == "shape":
        return shape_of(domain, tensor, text)
    if name == "ndim":
        return rank_of(domain, tensor, text)
    if name in ("T", "mT", "H", "mH"):
        return Tensor(world.identity(name, value.id), text, tensor.dtype)
    if name in ("data", "real"):
        return Tensor(world.identity(name, value.id), text, tensor.dtype, tensor.shape, tensor.contiguous)
    if name in ("is_cuda", "requires_grad", "is_leaf", "is_sparse", "is_quantized", "is_cpu"):
        return domain.flag((name, value.id), text)
    if name in ("grad", "grad_fn", "layout"):
        return Symbol(world.identity(name, value.id), text)
    if name in ("itemsize", "nbytes"):
        return Number(world.identity(name, value.id), text, "int")
    return HostMethod(value, name)


def dtype_argument(domain: HostDomain, args: Sequence[Any], kwargs: Mapping[str, Any], default: Any) -> Any:
    """The dtype among the arguments of `to`; `default` where there is none, None where that is not known."""
    if "dtype" in kwargs:
        given = domain.world.resolve(kwargs["dtype"])
        return default if given is None else given
    if "other" in kwargs:
        args = (*args, kwargs["other"])
    for value in args:
        value = domain.world.resolve(value)
        if dtypes.name_of(value) is not None:
            return value
        tensor = domain.as_tensor(value)
        if tensor is not None:
            return domain.attribute(value, "dtype")
        if isinstance(value, (str, bool, int)) or value is None or value is DEVICE:
            continue
        if isinstance(value, Opaque) and "device" in value.name:
            continue
        if isinstance(value, Symbol) and "device" in value.text.lower():
            continue
        if isinstance(value, Symbol) and "dtype" in value.text.lower():
            return value
        return None
    return default


def method(domain: HostDomain, receiver: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """`receiver.name(*args, **kwargs)` of a tensor or of a symbol."""
    world = domain.world
    if any(isinstance(a, Unknown) for a in (*args, *kwargs.values())):
        args = tuple(domain.lift(a) for a in args)
        kwargs = {k: domain.lift(v) for k, v in kwargs.items()}
    id_ = world.identity("method", key_of(receiver), name, key_of(tuple(args)), key_of(tuple(kwargs.items())))
    shown = ", ".join(text_of(a) for a in args)
    text = f"{receiver.text}.{name}({shown})"
    tensor = domain.as_tensor(receiver)
    if tensor is None:
        if name in dtypes.CONVERSIONS or name in ("to", "contiguous"):
            # Modules have `to` and `half` as well; as an argument of a kernel it is a tensor.
            dtype = dtypes.torch_dtype(dtypes.CONVERSIONS[name]) if name in dtypes.CONVERSIONS else None
            if name == "to":
                dtype = dtype_argument(domain, args, kwargs, None)
            return Tensor(id_, text, dtype, None)
        return Symbol(id_, text)
    dtype = tensor.dtype if tensor.dtype is not None else domain.attribute(receiver, "dtype")
    if name == "stride":
        return stride(domain, tensor, [*args, *kwargs.values()], text)
    if name == "size":
        shape = shape_of(domain, tensor, f"{tensor.text}.shape")
        return domain.subscript(shape, args[0]) if args else shape
    if name in ("numel", "nelement"):
        shape = tensor.shape
        if isinstance(shape, tuple) and all(type(s) is int for s in shape):
            product = 1
            for size in shape:
                product *= size
            return product
        return Number(world.identity("numel", receiver.id), text, "int")
    if name in ("dim", "ndimension"):
        return rank_of(domain, tensor, text)
    if name in ("element_size", "storage_offset", "data_ptr", "__len__"):
        return Number(id_, text, "int", wide=name == "data_ptr")
    if name in ("is_contiguous", "is_floating_point", "is_complex"):
        return True if name == "is_contiguous" and tensor.contiguous else domain.flag((name, receiver.id), text)
    if name == "contiguous":
        shape = shape_of(domain, tensor, f"{tensor.text}.shape")
        return Tensor(id_, receiver.text, dtype, shape, True)
    if name in ("to", "type", "type_as"):
        return Tensor(id_, receiver.text, dtype_argument(domain, args, kwargs, dtype), tensor.shape, tensor.contiguous)
    if name in dtypes.CONVERSIONS:
        return Tensor(id_, text, dtypes.torch_dtype(dtypes.CONVERSIONS[name]), tensor.shape, tensor.contiguous)
    if name in _NEW:
        return created(domain, id_, text, sizes_of(domain, args, kwargs), kwargs, dtype, name != "new_empty_strided")
    if name in _SAME_SHAPE:
        return Tensor(id_, text, dtype, shape_of(domain, tensor, f"{tensor.text}.shape"), tensor.contiguous)
    if name in _IN_PLACE:
        return receiver
    if name in ("view", "reshape", "expand", "repeat"):
        if name == "view" and args and (dtypes.name_of(args[0]) is not None or "dtype" in kwargs):
            return Tensor(id_, text, args[0] if args else kwargs["dtype"])
        if name == "view" and args and isinstance(args[0], Symbol) and "dtype" in args[0].text:
            return Tensor(id_, text, args[0])
        sizes = sizes_of(domain, args, kwargs)
        known = isinstance(sizes, tuple) and name in ("view", "reshape")
        return Tensor(id_, text, dtype, unfolded(domain, sizes, id_) if known else None, tensor.contiguous and known)
    if name in _SAME_DTYPE:
        return Tensor(id_, text, dtype)
    return _computed(domain, id_, text, name, dtype, kwargs)


def _computed(
    domain: HostDomain,
    id_: int,
    text: str,
    name: str,
    dtype: Any,
    kwargs: Mapping[str, Any],
) -> Any:
    given = domain.world.resolve(kwargs.get("dtype"))
    plain = dtypes.name_of(dtype)
    if name in _FLOATING:
        return Tensor(id_, text, given or (dtype if plain is None or dtypes.is_float(plain) else dtypes.FLOAT32))
    if name in ("sum", "cumsum", "prod", "cumprod"):
        floating = plain is not None and dtypes.is_float(plain)
        return Tensor(id_, text, given or (dtype if floating else None if plain is None else dtypes.INT64))
    if name in _BOOL:
        return Tensor(id_, text, dtypes.BOOL)
    if name in _INDICES:
        return Tensor(id_, text, dtypes.INT64)
    if name in ("max", "min", "amax", "amin"):
        return Tensor(id_, text, dtype) if name in ("amax", "amin") or "dim" not in kwargs else Symbol(id_, text)
    if name in _SEQUENCES:
        return Tensors(id_, text, dtype)
    if name == "item":
        kind = (
            "bool"
            if plain == "bool"
            else "int"
            if plain and not dtypes.is_float(plain)
            else "float"
            if plain
            else "number"
        )
        return Number(id_, text, kind)  # type: ignore[arg-type]
    return Symbol(id_, text)


def created(
    domain: HostDomain,
    id_: int,
    text: str,
    shape: Any,
    kwargs: Mapping[str, Any],
    default: Any,
    contiguous: bool = True,
) -> Tensor:
    """A new tensor: of the dtype that is given, or the default one."""
    given = domain.world.resolve(kwargs.get("dtype"))
    if isinstance(given, Unknown):
        given = domain.lift(given)
    return Tensor(id_, text, default if given is None else given, shape, contiguous)
