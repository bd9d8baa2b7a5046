"""What names suggest, where nothing else tells. Names break ties; they never outweigh a use."""

from __future__ import annotations

import re

_POINTER = re.compile(
    r"(^|_)(ptrs?|pointers?|p)$|ptr|^p_|_ptr_?|^[A-Z]$|^(x|y|o|q|k|v|w|a|b|out|input|output|src|dst)$", re.IGNORECASE
)
_NUMBER = re.compile(
    r"stride|^(n|m|k|s)_|_(size|len|length|num|count|cols?|rows?|dim|elements|numel)$|^num_|^n(um)?_?(cols|rows|elements)?$"
    r"|^(eps|scale|alpha|beta|seed|step|numel|offset)$",
    re.IGNORECASE,
)
_STRIDE = re.compile(r"stride|(^|_)step$|^s_|^st_|_st$", re.IGNORECASE)
_FLOAT = re.compile(
    r"(^|_)(eps|epsilon|scale|scaling|alpha|beta|gamma|lr|momentum|decay|dropout|p|prob|rate|temperature|temp|softcap|"
    r"smoothing|threshold|sm_scale|lse_square_scale|slope|slopes|norm|factor|weight_decay|value|min_val|max_val)(_|$|[0-9])",
    re.IGNORECASE,
)
_INTEGER_POINTEE = re.compile(
    r"(^|_)(idx|idxs|indices|index|indptr|ids?|offsets?|cu_seq\w*|seq_?lens?|lens|lengths?|labels?|targets?|tokens?|table|"
    r"tables|counts?|sizes|perm|permutation|map|mapping|positions?|pos|rows|cols|batch_idx|chunk_\w+)(_|$)|cu_seqlen|indices",
    re.IGNORECASE,
)
_BOOLEAN = re.compile(
    r"^(is|has|use|do|with|enable|should|needs?|apply|return|store|save|causal|even|output|allow|load|inplace|reverse|"
    r"fuse|skip|no|add|compute|transpose|trans|normalize|norm|training|deterministic|upcast|input)_|^(causal|reverse|is\w+|"
    r"has\w+|inplace|training|masked)$",
    re.IGNORECASE,
)


def says_pointer(name: str) -> bool:
    """Whether the name says in so many words that it is a pointer."""
    return "ptr" in name.lower() or "pointer" in name.lower()


def pointer_like(name: str) -> bool:
    """Whether the name is one that pointers have, rather than sizes or strides."""
    return not _NUMBER.search(name) and _POINTER.search(name) is not None


def number_like(name: str) -> bool:
    """Whether the name is one that sizes, strides and scalars have."""
    return _NUMBER.search(name) is not None


def stride_like(name: str) -> bool:
    """Whether the name is a stride's."""
    return _STRIDE.search(name) is not None


def float_like(name: str) -> bool:
    """Whether the name is one that floating-point scalars have."""
    return _FLOAT.search(name) is not None


def integer_pointee_like(name: str) -> bool:
    """Whether the name is one that arrays of indices, offsets or lengths have."""
    return _INTEGER_POINTEE.search(name) is not None


def boolean_like(name: str) -> bool:
    """Whether the name is one that flags have."""
    return _BOOLEAN.search(name) is not None
