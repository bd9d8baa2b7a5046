"""Text of replacement expressions: when parentheses are needed, and how blocks are combined."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable

from kernel_ls.pyeval.nodes import walk

_ATOMS = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.JoinedStr,
    ast.ListComp,
)


def parenthesised(node: ast.expr, text: str) -> str:
    """`text` of `node` as an operand that binds tightest: in parentheses unless it is an atom already."""
    if isinstance(node, ast.Tuple) and not text.startswith("("):
        return f"({text})"
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return f"({text})"  # `0.to` is no Python
    return text if isinstance(node, _ATOMS) else f"({text})"


def bitwise_operand(node: ast.expr, text: str) -> str:
    """`text` of `node` as an operand of `&` or `|`, which bind tighter than comparisons and `not`."""
    if isinstance(node, (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.UnaryOp, ast.BinOp, ast.NamedExpr)):
        return f"({text})"
    return text


def nearest(name: str, candidates: Iterable[str], *, few: bool = False) -> str:
    """The candidate that `name` is most likely a misspelling of, or an empty string.

    A short name needs a closer match than a long one, since `x` is near every letter. Where there are only a `few`
    candidates, the parameters of one function for example, less of a likeness is enough.
    """
    pool = sorted({c for c in candidates if c and c != name and not c.startswith("__")})
    folded = {c.lower().replace("_", ""): c for c in reversed(pool)}
    same = folded.get(name.lower().replace("_", ""))
    if same is not None:
        return same
    if len(name) < 3:
        return ""
    cutoff = 0.7 if few else 0.75 if len(name) > 4 else 0.8
    found = difflib.get_close_matches(name, pool, n=1, cutoff=cutoff)
    return found[0] if found else ""


def harmless(node: ast.expr) -> bool:
    """Whether an expression may be evaluated also where its value is not used: it touches no memory."""
    calls = [n.func for n in walk(node) if isinstance(n, ast.Call)]
    return all(isinstance(f, ast.Attribute) and f.attr in _PURE for f in calls)


_PURE = frozenset(("zeros", "full", "to", "exp", "exp2", "log", "log2", "sqrt", "abs", "maximum", "minimum", "where"))
