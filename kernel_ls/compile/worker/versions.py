"""What differs between Triton versions: the only file that asks which one is installed.

Where a difference can be seen on the code generator itself, it is looked for there, so that a development build
answers by what it does and not by its number; only silent differences of behaviour are told by version.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import triton
from triton.compiler.code_generator import CodeGenerator


def version() -> tuple[int, int]:
    """Major and minor number of the installed Triton; (0, 0) where it does not say."""
    found = re.match(r"(\d+)\.(\d+)", getattr(triton, "__version__", ""))
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def loop_variable_dies_with_loop() -> bool:
    """Whether a `for` loop's variable that is read after the loop is poison (accepted in silence by these versions)."""
    return True


def comprehension_filters_are_ignored() -> bool:
    """Whether the `if` of a comprehension is dropped without a word."""
    return hasattr(CodeGenerator, "visit_ListComp") and version() < (3, 9)


def each_arm_is_compared_with_the_outside() -> bool:
    """Whether a name keeps its type in the first arm even if the second arm leaves it the same way (Triton 3.3)."""
    return not hasattr(CodeGenerator, "_find_carries")


def while_takes_integers() -> bool:
    """Whether a `while` on an integer scalar is lowered properly; before, it becomes invalid IR."""
    return version() >= (3, 9)


def returns_are_settled_at_the_end() -> bool:
    """Whether return types are reconciled after the body (`handle_returns`) instead of at each `return`."""
    return hasattr(CodeGenerator, "handle_returns")


def modules_are_mapped_at_attributes() -> bool:
    """Whether a backend's replacement of a module is also followed for `a.b` (`tl.extra.libdevice`)."""
    return hasattr(CodeGenerator, "get_Attribute")


def first_column(kernel: Any) -> int:
    """The number of the first column in locations of the IR: Triton 3.9 counts from one, those before from zero."""
    return int(getattr(kernel, "def_file_col_number", 0))


def source_of(kernel: Any, signature: dict[str, Any], constants: dict[Any, Any], attrs: dict[Any, Any]) -> Any:
    """What `triton.compile` is given for a kernel: Gluon kernels have a source of their own."""
    if getattr(kernel, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource  # noqa: PLC0415 - not in every version

        return GluonASTSource(kernel, signature, constants, attrs)
    from triton.compiler.compiler import ASTSource  # noqa: PLC0415

    return ASTSource(kernel, signature, constants, attrs)


def make_ir(source: Any, target: Any, options: Any, codegen_fns: Any, module_map: Any, context: Any) -> Any:
    """Generate a source's module; Triton 3.3 did not need the target."""
    if "target" in inspect.signature(source.make_ir).parameters:
        return source.make_ir(target, options, codegen_fns, module_map, context)
    return source.make_ir(options, codegen_fns, module_map, context)
