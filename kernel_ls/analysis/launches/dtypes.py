"""Element types of tensors: torch's names, Triton's, and what arithmetic makes of two of them."""

from __future__ import annotations

from typing import Any

from kernel_ls.analysis.environment import Opaque, Ref

ELEMENTS = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip
"""torch's dtypes to Triton's names in signatures."""

_ALIASES = {
    "half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64",
}  # fmt: skip

CONVERSIONS = {
    "half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16", "short": "int16",
    "int": "int32", "long": "int64", "bool": "bool", "char": "int8", "byte": "uint8",
}  # fmt: skip
"""Methods of a tensor that convert it."""


def torch_dtype(name: str) -> Opaque:
    """The dtype of torch with this name."""
    return Opaque(f"torch.{name}")


FLOAT32 = torch_dtype("float32")
INT64 = torch_dtype("int64")
BOOL = torch_dtype("bool")


def name_of(value: Any) -> str | None:
    """The plain name of a dtype of torch, or None where the value is none."""
    if isinstance(value, Opaque):
        head, _, tail = value.name.rpartition(".")
        tail = _ALIASES.get(tail, tail)
        return tail if head == "torch" and tail in ELEMENTS else None
    return None


def element_of(value: Any) -> str | None:
    """Triton's name for a dtype of torch or of Triton, as signatures have it."""
    name = name_of(value)
    if name is not None:
        return ELEMENTS[name]
    if isinstance(value, Ref) and value.path.startswith("triton."):
        tail = value.path.rpartition(".")[2]
        return {"int1": "i1", "float8e4nv": "fp8e4nv", "float8e5": "fp8e5"}.get(tail) or ELEMENTS.get(tail)
    return None


def is_float(name: str) -> bool:
    """Whether a dtype is a floating-point one."""
    return "float" in name


def promoted(first: str, second: str) -> str | None:
    """The dtype of an operation on two tensors of at least one dimension; None where that is not plain."""
    if first == second:
        return first
    if is_float(first) != is_float(second):
        return first if is_float(first) else second
    if "bool" in (first, second):
        return second if first == "bool" else first
    if is_float(first):
        order = ["float16", "float32", "float64"]
        names = [n.replace("bfloat16", "float16") for n in (first, second)]
        if any(n not in order for n in names):
            return None
        if names[0] == names[1]:
            return "float32"
        return max(names, key=order.index)
    signed = ["int8", "int16", "int32", "int64"]
    if first in signed and second in signed:
        return max(first, second, key=signed.index)
    return None
