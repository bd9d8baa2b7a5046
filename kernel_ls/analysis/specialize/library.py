"""What the functions of Triton's language ask of their arguments, as far as usage inference needs it.

Only names and roles: whether an argument is an address, a shape, an index, an option. Types and shapes are the
generator's business. The receiver of a method is the first argument, as in Triton itself (`x.sum(0)` is `tl.sum(x, 0)`).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class Role(enum.Enum):
    """What an argument is for."""

    ADDRESS = "a pointer, or a block of pointers, that memory is accessed through"
    STORED = "a value that is stored through the pointer beside it"
    MASK = "a block of booleans"
    SHAPE = "sizes of a block, powers of two known when the kernel is compiled"
    SIZE = "one such size"
    CONSTANT = "an integer known when the kernel is compiled"
    INDEX = "integers"
    FLOAT = "floating-point numbers"
    NUMBER = "numbers"
    DTYPE = "an element type"
    OPTION = "a string or flag known when the kernel is compiled"
    FUNCTION = "a jit function"
    CONDITION = "a truth value known when the kernel is compiled"
    DESCRIPTOR = "a tensor descriptor"
    MATRIX = "a block that is multiplied as a matrix"
    ANY = ""


class Gives(enum.Enum):
    """What a function returns, where that is more than something of its arguments' type."""

    SAME = "the element type of its numbers"
    LOADED = "what the address points to"
    ADDRESS = "the address again"
    DESCRIPTOR = "a descriptor of the address"
    INT = "integers"
    FLOAT = "floating-point numbers"
    BOOL = "booleans"
    CAST = "the dtype among its arguments"
    CONSTANT = "an integer known when the kernel is compiled, if its arguments are"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameter names with roles, in order, and what comes back."""

    parameters: tuple[tuple[str, Role], ...]
    gives: Gives = Gives.SAME

    def role(self, position: int | None, keyword: str | None) -> Role:
        """The role of an argument given by position or by keyword."""
        if keyword is not None:
            return next((role for name, role in self.parameters if name == keyword), Role.ANY)
        if position is not None and position < len(self.parameters):
            return self.parameters[position][1]
        return Role.ANY


_ROLES = {
    "a": Role.ADDRESS,
    "v": Role.STORED,
    "m": Role.MASK,
    "S": Role.SHAPE,
    "s": Role.SIZE,
    "c": Role.CONSTANT,
    "i": Role.INDEX,
    "f": Role.FLOAT,
    "n": Role.NUMBER,
    "t": Role.DTYPE,
    "o": Role.OPTION,
    "F": Role.FUNCTION,
    "b": Role.CONDITION,
    "d": Role.DESCRIPTOR,
    "x": Role.MATRIX,
    "?": Role.ANY,
}


def _signature(text: str, gives: Gives = Gives.SAME) -> Signature:
    pairs = (part.partition(":") for part in text.split())
    return Signature(tuple((name, _ROLES[role]) for name, _, role in pairs), gives)


_LOADING = "boundary_check:c padding_option:o cache_modifier:o eviction_policy:o volatile:b"

FUNCTIONS: dict[str, Signature] = {
    "load": _signature(f"pointer:a mask:m other:n {_LOADING}", Gives.LOADED),
    "store": _signature("pointer:a value:v mask:m boundary_check:c cache_modifier:o eviction_policy:o", Gives.NOTHING),
    "atomic_cas": _signature("pointer:a cmp:v val:v sem:o scope:o", Gives.LOADED),
    "make_block_ptr": _signature("base:a shape:i strides:i offsets:i block_shape:S order:c", Gives.ADDRESS),
    "advance": _signature("base:a offsets:i", Gives.ADDRESS),
    "make_tensor_descriptor": _signature("base:a shape:i strides:i block_shape:S padding_option:o", Gives.DESCRIPTOR),
    "load_tensor_descriptor": _signature("desc:d offsets:i", Gives.LOADED),
    "store_tensor_descriptor": _signature("desc:d offsets:i value:v", Gives.NOTHING),
    "arange": _signature("start:c end:s", Gives.INT),
    "zeros": _signature("shape:S dtype:t", Gives.CAST),
    "full": _signature("shape:S value:n dtype:t", Gives.CAST),
    "zeros_like": _signature("input:n"),
    "dot": _signature(
        "input:x other:x acc:n input_precision:o allow_tf32:b max_num_imprecise_acc:c out_dtype:t", Gives.FLOAT
    ),
    "dot_scaled": _signature(
        "lhs:n lhs_scale:n lhs_format:o rhs:n rhs_scale:n rhs_format:o acc:n fast_math:b lhs_k_pack:b rhs_k_pack:b "
        "out_dtype:t",
        Gives.FLOAT,
    ),
    "cast": _signature("input:n dtype:t fp_downcast_rounding:o bitcast:b", Gives.CAST),
    "to": _signature("input:n dtype:t fp_downcast_rounding:o bitcast:b", Gives.CAST),
    "program_id": _signature("axis:c", Gives.INT),
    "num_programs": _signature("axis:c", Gives.INT),
    "where": _signature("condition:m x:n y:n"),
    "broadcast": _signature("input:n other:n"),
    "broadcast_to": _signature("input:n shape:S"),
    "view": _signature("input:n shape:S"),
    "reshape": _signature("input:n shape:S"),
    "expand_dims": _signature("input:n axis:c"),
    "permute": _signature("input:n dims:c"),
    "trans": _signature("input:n dims:c"),
    "cat": _signature("input:n other:n can_reorder:b"),
    "join": _signature("a:n b:n"),
    "interleave": _signature("a:n b:n"),
    "split": _signature("a:n"),
    "ravel": _signature("x:n"),
    "flip": _signature("x:n dim:c"),
    "sort": _signature("x:n dim:c descending:b"),
    "topk": _signature("x:n k:c dim:c"),
    "gather": _signature("src:n index:i axis:c"),
    "histogram": _signature("input:i num_bins:s mask:m", Gives.INT),
    "sum": _signature("input:n axis:c keep_dims:b dtype:t"),
    "max": _signature("input:n axis:c return_indices:b return_indices_tie_break_left:b keep_dims:b"),
    "min": _signature("input:n axis:c return_indices:b return_indices_tie_break_left:b keep_dims:b"),
    "argmax": _signature("input:n axis:c tie_break_left:b keep_dims:b", Gives.INT),
    "argmin": _signature("input:n axis:c tie_break_left:b keep_dims:b", Gives.INT),
    "xor_sum": _signature("input:i axis:c keep_dims:b"),
    "reduce": _signature("input:n axis:c combine_fn:F keep_dims:b"),
    "associative_scan": _signature("input:n axis:c combine_fn:F reverse:b"),
    "cumsum": _signature("input:n axis:c reverse:b dtype:t"),
    "cumprod": _signature("input:n axis:c reverse:b"),
    "softmax": _signature("x:f dim:c keep_dims:b ieee_rounding:b", Gives.FLOAT),
    "maximum": _signature("x:n y:n propagate_nan:o"),
    "minimum": _signature("x:n y:n propagate_nan:o"),
    "clamp": _signature("x:n min:n max:n propagate_nan:o"),
    "fma": _signature("x:n y:n z:n"),
    "abs": _signature("x:n"),
    "umulhi": _signature("x:i y:i", Gives.INT),
    "fdiv": _signature("x:f y:f ieee_rounding:b", Gives.FLOAT),
    "div_rn": _signature("x:f y:f", Gives.FLOAT),
    "cdiv": _signature("x:i div:i", Gives.CONSTANT),
    "next_power_of_2": _signature("n:c", Gives.CONSTANT),
    "swizzle2d": _signature("i:i j:i size_i:i size_j:i size_g:i", Gives.INT),
    "multiple_of": _signature("input:n values:c"),
    "max_contiguous": _signature("input:n values:c"),
    "max_constancy": _signature("input:n values:c"),
    "assume": _signature("cond:m", Gives.NOTHING),
    "debug_barrier": _signature("", Gives.NOTHING),
    "static_assert": _signature("cond:b msg:?", Gives.NOTHING),
    "static_print": _signature("", Gives.NOTHING),
    "device_print": _signature("prefix:o", Gives.NOTHING),
    "device_assert": _signature("cond:m msg:o mask:m", Gives.NOTHING),
    "static_range": _signature("arg1:c arg2:c step:c"),
    "inline_asm_elementwise": _signature("asm:o constraints:o args:n dtype:t is_pure:b pack:c", Gives.CAST),
    "map_elementwise": _signature("scalar_fn:F"),
    "rand": _signature("seed:i offset:i n_rounds:c", Gives.FLOAT),
    "randn": _signature("seed:i offset:i n_rounds:c", Gives.FLOAT),
    "randint": _signature("seed:i offset:i n_rounds:c", Gives.INT),
    "rand4x": _signature("seed:i offsets:i n_rounds:c", Gives.FLOAT),
    "randn4x": _signature("seed:i offsets:i n_rounds:c", Gives.FLOAT),
    "randint4x": _signature("seed:i offset:i n_rounds:c", Gives.INT),
    "philox": _signature("seed:i c0:i c1:i c2:i c3:i n_rounds:c", Gives.INT),
    "pointer_type": _signature("element_ty:t address_space:c"),
}

_MATH = "exp exp2 log log2 log1p expm1 sqrt sqrt_rn rsqrt sin cos tan tanh erf sigmoid floor ceil rint round pow powf"
FUNCTIONS.update({name: _signature("x:f y:f", Gives.FLOAT) for name in _MATH.split()})
FUNCTIONS.update(
    {
        f"atomic_{name}": _signature("pointer:a val:v mask:m sem:o scope:o", Gives.LOADED)
        for name in ("add", "max", "min", "and", "or", "xor", "xchg")
    }
)

DESCRIPTOR_METHODS: dict[str, Signature] = {
    "load": _signature("self:d offsets:i", Gives.LOADED),
    "store": _signature("self:d offsets:i value:v", Gives.NOTHING),
    "gather": _signature("self:d x_offsets:i y_offset:i", Gives.LOADED),
    "scatter": _signature("self:d value:v x_offsets:i y_offset:i", Gives.NOTHING),
    **{
        f"atomic_{name}": _signature("self:d offsets:i value:v", Gives.NOTHING)
        for name in ("add", "max", "min", "and", "or", "xor")
    },
}
"""What only a descriptor has as methods; a tensor's `gather` takes blocks of integers and no offsets."""


# The names of CUDA's libdevice; AMD's follow them.
_FROM_INTEGER = re.compile(r"^(?:u?int|u?ll|short)2|^(?:int|longlong)_as_|^hiloint2")
_INTEGRAL = re.compile(
    r"^(?:ffs|clz|popc|brev|byte_perm|u?mul24|u?mulhi|u?mul64hi|u?r?hadd|u?sad|u?llm|u?min|u?max|ll)"
)


def signature(path: str) -> Signature | None:
    """The signature of a Triton function by its dotted path; libdevice's functions all take numbers."""
    name = path.rpartition(".")[2]
    if "libdevice" in path or ".extra." in path:
        if _FROM_INTEGER.match(name):
            return _signature("x:i", Gives.FLOAT)
        if _INTEGRAL.match(name):
            return _signature("x:i y:i z:i", Gives.INT)
        return _signature("x:n y:n z:n") if name in ("abs", "min", "max") else _signature("x:f y:f z:f", Gives.FLOAT)
    return FUNCTIONS.get(name)
