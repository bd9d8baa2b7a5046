"""What the installed Triton says of its functions: their manifest entries by what a kernel writes, as text for a person."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from kernel_ls.analysis import kernels
from kernel_ls.analysis.environment import TritonApi
from kernel_ls.analysis.features import notation

LANGUAGE = "triton.language"
TENSOR = f"{LANGUAGE}.tensor"

CONSTRAINTS = {
    "arange": "Both bounds are constants, and their difference is a power of two.",
    "dot": "`(M, K)` times `(K, N)`, each at least 16 (8 for M or N on some targets); both operands of one element type.",
    "dot_scaled": "The scales are of type u8 and have one element for each group of values along K.",
    "load": "A block of pointers, or one pointer; `mask` and `other` broadcast to the pointers' shape. A block pointer takes `boundary_check` instead of `mask`.",
    "store": "`value` and `mask` broadcast to the pointers' shape; `value` is converted to the pointee's type.",
    "reshape": "The number of elements stays the same; every size is a power of two.",
    "view": "The number of elements stays the same; every size is a power of two.",
    "zeros": "Every size is a constant power of two.",
    "full": "Every size is a constant power of two.",
    "broadcast_to": "Every size is that of the input, or the input's is 1.",
    "trans": "A permutation of the dimensions.",
    "permute": "A permutation of the dimensions.",
    "expand_dims": "The new dimensions have size 1.",
    "cat": "Both inputs have the same shape; the order of elements is kept only with `can_reorder=False`.",
    "join": "Both inputs have the same shape; the new last dimension has size 2.",
    "split": "The last dimension has size 2.",
    "where": "The condition is i1, and the three broadcast to one shape; both arms are evaluated.",
    "program_id": "`axis` is 0, 1 or 2.",
    "num_programs": "`axis` is 0, 1 or 2.",
    "static_range": "The bounds are constants: the loop is unrolled.",
    "static_assert": "The condition is a constant.",
    "make_block_ptr": "`shape`, `strides`, `offsets`, `block_shape` and `order` have one item a dimension; the block's sizes are constants.",
    "make_tensor_descriptor": "The last stride is 1, the others are multiples of 16 bytes; the block's sizes are constants.",
    "reduce": "`axis` and `keep_dims` are constants; the combining function is a jit function of two values.",
    "associative_scan": "`axis` is a constant; the combining function is a jit function of two values.",
    "cdiv": "Integers; with constants the result is a constant.",
    "sum": "`axis` is a constant; without one everything is reduced to a scalar.",
    "max": "`axis` is a constant; without one everything is reduced to a scalar.",
    "min": "`axis` is a constant; without one everything is reduced to a scalar.",
    "sort": "The sorted dimension is the last; its size is a power of two.",
    "gather": "`index` has the source's shape except along `axis`.",
    "histogram": "The input has one dimension, `num_bins` is a constant power of two.",
    "atomic_add": "A pointer or a block of them; the element type is one that the target adds atomically.",
    "multiple_of": "A promise to the compiler, not a check: one constant for each dimension.",
    "max_contiguous": "A promise to the compiler, not a check: one constant for each dimension.",
}
"""What a function asks of its arguments, in a sentence, by its name in `triton.language`."""

VALUES: Mapping[str, tuple[str, ...]] = {
    "eviction_policy": ('""', '"evict_first"', '"evict_last"'),
    "input_precision": ('"tf32"', '"tf32x3"', '"ieee"'),
    "padding_option": ('""', '"zero"', '"nan"'),
    "sem": ('"relaxed"', '"acquire"', '"release"', '"acq_rel"'),
    "scope": ('"gpu"', '"cta"', '"sys"'),
    "fp_downcast_rounding": ('"rtne"', '"rtz"'),
    "axis": ("0", "1", "2"),
    "volatile": ("True", "False"),
    "bitcast": ("True", "False"),
    "keep_dims": ("True", "False"),
    "can_reorder": ("True", "False"),
    "allow_tf32": ("True", "False"),
    "return_indices": ("True", "False"),
    "warp_specialize": ("True", "False"),
    "flatten": ("True", "False"),
    "disallow_acc_multi_buffer": ("True", "False"),
}
"""The values that a keyword takes, where they are a handful."""

_CACHE = {"load": ('""', '".ca"', '".cg"', '".cv"'), "store": ('""', '".wb"', '".cg"', '".cs"', '".wt"')}


def values_of(function: str, keyword: str, api: TritonApi) -> tuple[str, ...]:
    """The values that a keyword of a Triton function takes; none where they are not a handful."""
    if keyword == "cache_modifier":
        return _CACHE.get(function, _CACHE["load"])
    if keyword in ("dtype", "out_dtype", "acc_dtype", "element_ty"):
        return tuple(f"tl.{name}" for name in members(api, LANGUAGE) if api.kind(f"{LANGUAGE}.{name}") == "dtype")
    return VALUES.get(keyword, ())


def members(api: TritonApi, owner: str) -> Iterator[str]:
    """The public names of a module or class of Triton's."""
    yield from api.members(owner)


def resolved(node: ast.AST, imports: Mapping[str, str], owner_types: tuple[str, ...] = ()) -> str:
    """The dotted name of what a kernel reads of Triton: `tl.load`, or a method of a value of these types."""
    if isinstance(node, ast.Attribute) and any(_is_block(t) for t in owner_types):
        return f"{TENSOR}.{node.attr}"
    if isinstance(node, ast.Attribute) and any(t.startswith("tensordesc<") for t in owner_types):
        return f"{LANGUAGE}.tensor_descriptor.{node.attr}"
    name = kernels.dotted(node)
    return kernels.resolve(name, dict(imports)) if name else ""


def _is_block(text: str) -> bool:
    return notation.is_value(text) and notation.constant(text) is None and not text.startswith(("(", "tensordesc<"))


def entry(api: TritonApi, path: str) -> Mapping[str, Any] | None:
    """The manifest's entry in full of a dotted name, aliases followed."""
    found = api.entry(path)
    for _ in range(4):
        alias = (found or {}).get("alias")
        if not isinstance(alias, str):
            break
        found = api.entry(alias)
    return found


def parameters(found: Mapping[str, Any]) -> list[str]:
    """The parameters of an entry as they are written."""
    shown = []
    star = False
    for name, default, kind in found.get("signature", ()):
        if kind == "keyword" and not star:
            shown.append("*")
            star = True
        if kind in ("*", "**"):
            star = True
            shown.append(f"{kind}{name}")
        else:
            shown.append(name if default is None else f"{name}={default}")
    return shown


def signature(path: str, found: Mapping[str, Any]) -> str:
    """A function's head as one line of Python."""
    short = path.removeprefix("triton.language.")
    prefix = "tl." if path.startswith("triton.language.") else ""
    return f"{prefix}{short}({', '.join(parameters(found))})"


def constraint(path: str) -> str:
    """What a function asks of its arguments; empty where there is nothing to say."""
    owner, _, name = path.rpartition(".")
    return CONSTRAINTS.get(name, "") if owner in (LANGUAGE, TENSOR) else ""


def summary(found: Mapping[str, Any]) -> str:
    """The first paragraph of an entry's documentation."""
    return str(found.get("doc", "")).strip().split("\n\n")[0]
