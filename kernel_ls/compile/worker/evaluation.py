"""Calls of the user's pure Python functions while a kernel is generated, in the bounded evaluator instead of Python."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .stand_ins import UnknownUse


def call(
    node: ast.FunctionDef,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    scope: Mapping[str, Any],
    function: Any,  # noqa: ARG001
) -> Any:
    """What a call of the function gives.

    Args:
        node: its definition.
        args, kwargs: arguments of the call.
        scope: its globals.
        function: a function object with its signature and defaults.

    Raises:
        UnknownUse: the evaluator cannot tell, or gave up.
        Exception: whatever the function itself raises.
    """
    raise UnknownUse(function.__qualname__, "cannot be evaluated yet")
