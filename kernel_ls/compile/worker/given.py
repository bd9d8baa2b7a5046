"""Parts of a syntax tree that stand for values."""

from __future__ import annotations

import ast
from typing import Any


class Given(ast.expr):
    """An expression that was evaluated already."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Body:
    """What a `lambda` without parameters stands for when it is called: its own expression.

    Args:
        expression: the expression.
    """

    def __init__(self, expression: ast.expr) -> None:
        self.expression = expression
