from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import Operand, is_float, is_pointer, notation, operands
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXT = re.compile(
    r"invalid operands of type (.+) and (.+)|unexpected (?:type|signedness) |cannot add pointers together|"
    r"Cannot use /, #, or % with|Cannot mod |Unexpected dtype|is out of range for type|"
    r"between an unsigned tensor and a negative scalar|wrong type argument to unary|cannot convert .+ of type .+ to tensor|"
    r"both operands of fdiv must have|fdiv requires floating-point|Nonrepresentable integer|"
    r"Only floating point clamp is supported|expected (?:integer type|matching operand types)|"
    r"unsupported operand type\(s\)|can't multiply sequence|can only concatenate|not supported between instances of|"
    r"bad operand type for unary|values to unpack|'\w+_type' object has no attribute 'scalar'|operator '__\w+__' is not \(currently\) implemented on type|[Ll]ayout mismatch|cannot cast .+ to |approx division requires|cannot unpack non-iterable",
    re.DOTALL,
)
_NOT_UNPACKED = re.compile(r"'(?:tensor|block|constexpr|dtype|NoneType)' object has no attribute 'values'|non-iterable")
_NONE = re.compile(r"cannot convert None of type .+ to tensor")
_NO_FIELD = re.compile(r"'(__\w+__)' is not in list")
_NO_METHOD = re.compile(r"'(\w+)' object has no attribute '(__\w+__|logical_and|logical_or)'")


class IncompatibleOperands(Rule):
    """An operator whose operands have types that it cannot take.

    What it finds:
        A pointer plus a float, a sum of pointers, bitwise operators on floats, `%` of integers of different
        signedness, an operator on None, a tuple or a string, a constant that the other operand's type cannot hold, and an
        assignment to several names whose value is no tuple or has another number of elements.

    Why it is a fault:
        The operation has no meaning on these types. The most frequent case is `/` on integers in an offset: it gives a
        float, also where the division has no remainder.

    Example:
        half = n / 2
        x = tl.load(x_ptr + half)

    Instead:
        half = n // 2
        x = tl.load(x_ptr + half)

    Triton versions:
        All.

    Fix and its safety:
        `//` for `/` where the float comes from dividing integers. For negative numbers Triton's `//` rounds towards
        zero, as C does.
    """

    code = "incompatible-operands"
    summary = "operands whose types do not go with the operator"
    priority = 50

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = _TEXT.search(fault.text)
        method = _NO_METHOD.search(fault.text) or _NO_FIELD.search(fault.text)
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        unpacked = _unpacked(fault, node, tree)
        if unpacked is not None:
            return unpacked
        if found is None and method is None and fault.exception != "IncompatibleTypeErrorImpl":
            return None
        given = [o for o in operands(fault) if o.role != "func"]
        place, related = fault.span, _origins(given)
        pair = _returned_tuple(given, fault, tree)
        if pair is not None:
            return pair
        left = next((o for o in given if o.role == "left"), given[0] if given else None)
        right = next((o for o in given if o.role == "right"), given[1] if len(given) > 1 else None)
        alone = len(given) == 1 and given[0].role == "right" and is_float(given[0].type)
        if alone and "pointer<" in fault.text:
            hint = "Use `//` where it comes from a division."
            return Match(place, f"{given[0].described} is a float and cannot be added to a pointer. {hint}", related)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.AugAssign)) and left is not None and right is not None:
            return Match(place, _binary(left, right, fault.text, _sign(node)), related)
        if isinstance(node, ast.UnaryOp):
            shown = f" ({given[0].type})" if given and given[0].type and given[0].value is None else ""
            text = f"The operator `{_sign(node)}` cannot take `{shorten(tree.source_of(node.operand))}`{shown}."
            return Match(place, text, related)
        if _NONE.search(fault.text):
            return Match(place, _no_value(node, given, tree), related)
        if left is not None and right is not None and len(given) == 2 and isinstance(node, ast.Call):
            name = tree.source_of(node.func)
            return Match(place, f"`{name}` cannot take {left.described} and {right.described}.", related)
        if found is not None and found.group(1):
            first, second = notation(found.group(1)), notation(found.group(2))
            return Match(place, f"{first} and {second} do not go together here.", related)
        return Match(place, _plain(fault.text), related)

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        if not any(is_pointer(o.type) for o in operands(fault)) and "pointer<" not in fault.text:
            return
        for division in _divisions(fault, tree):
            yield floor_division(division, tree, context)


def _no_value(node: ast.AST | None, given: list[Operand], tree: UnitTree) -> str:
    """What is said where None stands for a block or a number."""
    empty = [o for o in given if o.type == "None" or o.value == "None"]
    shown = f"`{shorten(empty[0].source)}` is None" if empty and empty[0].source != "None" else "None"
    if isinstance(node, ast.Call):
        verb = "; " if " is " in shown else " is given, but "
        return f"{shown}{verb}`{tree.source_of(node.func)}` needs a block or a number here."
    if isinstance(node, ast.Return):
        return "None is no value of the GPU's and cannot be returned among others."
    return f"{shown}{' and' if ' is ' in shown else ''} has no value when the kernel runs."


def _unpacked(fault: Fault, node: ast.AST | None, tree: UnitTree) -> Match | None:
    """An assignment to several names whose value is no tuple, or one of another length."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Tuple):
        return None
    target = node.targets[0]
    names, value = len(target.elts), next((o for o in operands(fault) if o.role == "value"), None)
    text = shorten(tree.source_of(node.value))
    related: tuple[tuple[str, UnitSpan], ...] = ()
    if value is not None and value.origin is not None:
        related = ((f"`{text}` is {value.type}", value.origin),)
    if _NOT_UNPACKED.search(fault.text):
        kind = f" is {value.type}" if value is not None and value.type else " is one value"
        return Match(tree.span(target), f"`{text}`{kind}, which cannot be unpacked into {names} names.", related)
    if "values to unpack" in fault.text or (fault.exception == "IndexError" and "out of range" in fault.text):
        held = _length(value.type) if value is not None else 0
        has = f"has {held} elements" if held else "has another number of elements"
        nested = any(isinstance(e, ast.Tuple) for e in target.elts)
        wanted = "the names here do not fit" if nested and held == names else f"there are {names} names"
        return Match(tree.span(target), f"`{text}` {has}, but {wanted}.", related)
    return None


def _length(type_text: str) -> int:
    """The number of elements of a tuple's type in text, 0 where it is none."""
    if not (type_text.startswith("(") and type_text.endswith(")")):
        return 0
    depth, count, last = 0, 0, ""
    for character in type_text[1:-1]:
        depth += (character in "(<[") - (character in ")>]")
        count += character == "," and depth == 0
        last = character if character != " " else last
    return count + (last not in ("", ","))


def _returned_tuple(given: list[Operand], fault: Fault, tree: UnitTree) -> Match | None:
    """A tuple where a block is wanted, which a call returned: the assignment that keeps all of it is what to change."""
    if "to tensor" not in fault.text or "tuple" not in fault.text:
        return None
    for o in given:
        if not o.type.startswith("(") or o.origin is None or o.origin.unit != tree.unit:
            continue
        statement = tree.node_at(o.origin)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            called = tree.source_of(statement.value.func)
            message = (
                f"`{called}` returns a tuple of {o.type.count(',') + 1}, so that `{o.source}` is no block; "
                f"unpack it: `first, second = {shorten(tree.source_of(statement.value))}`."
            )
            return Match(o.origin, message, (("used as a block here", o.span or fault.span),))
    return None


def floor_division(node: ast.BinOp, tree: UnitTree, context: RuleContext) -> Fix | None:
    """`//` in place of the `/` of a division."""
    between = UnitSpan(
        tree.unit,
        node.left.end_lineno or node.left.lineno,
        node.left.end_col_offset or 0,
        node.right.lineno,
        node.right.col_offset,
    )
    text = tree.text(between)
    slash = text.find("/")
    if slash < 0 or "\n" in text or "//" in text:
        return None
    column = between.column + len(text[:slash].encode())
    return context.fix("Divide with `//`", (UnitSpan(tree.unit, between.line, column, between.line, column + 1), "//"))


def _divisions(fault: Fault, tree: UnitTree) -> list[ast.BinOp]:
    """Divisions from which a float operand comes: in the expression itself or where a name in it was assigned."""
    roots: list[ast.AST] = []
    for o in operands(fault):
        if o.type and is_float(o.type):
            for span in (o.span, o.origin):
                node = tree.node_at(span) if span is not None and span.unit == tree.unit else None
                if node is not None:
                    roots.append(node)
    found = [n for root in roots for n in walk(root) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    if not found:
        for root in roots:
            for name in [n.id for n in walk(root) if isinstance(n, ast.Name)]:
                for statement in tree.assignments(name):
                    found += [n for n in walk(statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    return list(dict.fromkeys(found))


_SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}


def _sign(node: ast.BinOp | ast.AugAssign | ast.Compare | ast.UnaryOp) -> str:
    """How an operator is written."""
    return _SIGNS.get(type(node.ops[0] if isinstance(node, ast.Compare) else node.op), "")


def _binary(left: Operand, right: Operand, text: str, sign: str) -> str:
    if not left.type and "pointer<" in text and is_float(right.type):
        return (
            f"{right.described} is a float and cannot be added to a pointer. Use `//` where it comes from a division."
        )
    for pointer, other in ((left, right), (right, left)):
        if is_pointer(pointer.type) and is_float(other.type):
            message = f"{other.described} is a float and cannot be added to the pointer {pointer.described}."
            return message + " Use `//` where it comes from a division."
        if other.type == "None" or other.value == "None":
            return f"`{shorten(other.source)}` is None and cannot be combined with {pointer.described}."
        if other.type.startswith("("):
            return (
                f"`{shorten(other.source)}` is a tuple of {other.type} and cannot be combined with {pointer.described}."
            )
    if is_pointer(left.type) and is_pointer(right.type):
        return f"{left.described} and {right.described} are both pointers and cannot be added."
    if "signedness" in text:
        return f"{left.described} and {right.described} differ in signedness; cast one of them first."
    if "out of range" in text:
        constant, other = (left, right) if left.value is not None else (right, left)
        return f"{constant.value or constant.source} does not fit into {other.type}, the type of `{shorten(other.source)}`."
    if "negative scalar" in text:
        return f"{left.described} and {right.described}: an unsigned block and a negative constant; cast one of them."
    return f"The operator `{sign}` cannot take {left.described} and {right.described}."


def _origins(given: list[Operand]) -> tuple[tuple[str, UnitSpan], ...]:
    return tuple((f"`{shorten(o.source)}` is {o.type}", o.origin) for o in given if o.origin is not None)


def _plain(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text[:1].upper() + text[1:] + "."
