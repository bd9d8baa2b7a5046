"""The outline of a file: its kernels, and the helpers that only they call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """One jit function: its qualified name, whether it is a `kernel` or a `helper`, where it and its name stand."""

    name: str
    detail: str
    span: Span
    name_span: Span


def symbols(functions: Iterable[JitFunction], roots: Sequence[JitFunction]) -> tuple[Symbol, ...]:
    """The jit functions of a file; those of `roots` are kernels."""
    kernels = {function.key for function in roots}
    return tuple(
        Symbol(f.qualname, _detail(f, f.key in kernels), f.span, f.name_span)
        for f in sorted(functions, key=lambda f: f.span.start)
    )


def _detail(function: JitFunction, is_kernel: bool) -> str:
    word = "kernel" if is_kernel else "helper"
    return f"Gluon {word}" if function.dialect == "gluon" else word
