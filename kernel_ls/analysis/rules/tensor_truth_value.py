from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import harmless, parenthesised
from kernel_ls.analysis.rules.facts import is_block, is_integer, operand
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix

_BLOCK = re.compile(r"Boolean value of Tensor with more than one value is ambiguous")
_KIND = re.compile(r"`if` conditionals can only accept values of type .*, not objects of type (\w+)")
_NOT = re.compile(r"Cannot bitcast data-type of size \d+ to data-type of size 1\b")
_TRUTH = re.compile(r"truth value of|__bool__|can only unsplat single-element|can only convert .* to .*scalar")


class TensorTruthValue(Rule):
    """A condition that has no truth value.

    What it finds:
        `if`, `while`, `not`, `and` or a conditional expression on a block of more than one element; a `while` on an
        integer; `not` on an integer; an `if` on a constant that is neither a boolean, an integer nor None.

    Why it is a fault:
        A program on the GPU takes one way. A block holds many answers; reduce it to one (`tl.max`, `tl.sum`) or select
        element by element (`tl.where`, `mask=`). A `while` needs a comparison, since an integer is not converted to a
        boolean there.

    Example:
        if x > 0:                 # x is a block
            x = x * 2

    Instead:
        x = tl.where(x > 0, x * 2, x)

    Triton versions:
        All. A `while` on an integer prints a module and gives no position before 3.9, which converts it.

    Fix and its safety:
        An `if` on a block whose arms assign one name becomes `tl.where`, and one that only stores becomes a `mask=`. `while n:` becomes `while n != 0:`, and `not n` becomes `n == 0`, which mean the same.
    """

    code = "tensor-truth-value"
    summary = "a condition that has no truth value"
    priority = 16

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        holder = tree.enclosing(node, (ast.If, ast.While, ast.IfExp)) if node is not None else None
        test = holder.test if isinstance(holder, (ast.If, ast.While, ast.IfExp)) else None
        given = operand(fault, "test", "cond", "operand")
        kind = given.type if given is not None else ""
        if fault.exception == "WhileCondition":
            place = tree.span(test) if isinstance(holder, ast.While) and test is not None else fault.span
            text = tree.text(place)
            if is_block(kind):
                message = (
                    f"`{text}` is a block ({kind}) and has no single truth value; reduce it with `tl.max` or `tl.sum`."
                )
            else:
                shown = f" ({kind})" if kind else ""
                message = f"`{text}`{shown} is not a boolean; a `while` needs a comparison, such as `{text} != 0`."
            return Match(place, message)
        if _BLOCK.search(fault.text):
            place = tree.span(test) if test is not None else fault.span
            shown = f" ({kind})" if kind else ""
            return Match(
                place,
                f"`{shorten(tree.text(place))}` is a block{shown} and has no single truth value; select with `tl.where` or reduce it first.",
            )
        found = _KIND.search(fault.text)
        if found is not None:
            place = tree.span(test) if test is not None else fault.span
            return Match(
                place,
                f"`{shorten(tree.text(place))}` is a {found.group(1)}; a condition on a constant must be a bool, an int or None.",
            )
        negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if isinstance(node, ast.UnaryOp) and negated and "'__not__'" in fault.text:
            return Match(tree.span(node), f"`{shorten(tree.source_of(node.operand))}` ({kind}) has no truth value.")
        if isinstance(node, ast.UnaryOp) and negated and _NOT.search(fault.text):
            text = shorten(tree.source_of(node.operand))
            return Match(
                tree.span(node), f"`not` needs a boolean, and `{text}` is {kind or 'none'}; compare it: `{text} == 0`."
            )
        if _TRUTH.search(fault.text):
            place = tree.span(test) if test is not None else fault.span
            return Match(place, f"`{shorten(tree.text(place))}` has no truth value while the kernel is compiled.")
        return None

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        given = operand(fault, "test", "cond", "operand")
        tree = context.tree(match.span.unit)
        test = tree.node_at(match.span)
        branch = tree.parents.get(test) if test is not None else None
        if _BLOCK.search(fault.text) and isinstance(branch, ast.If) and branch.test is test:
            yield _selected(branch, tree, context)
        negated = context.node(match.span)
        if isinstance(negated, ast.UnaryOp) and _NOT.search(fault.text):
            text = context.tree(match.span.unit).source_of(negated.operand)
            if not isinstance(negated.operand, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
                text = f"({text})"
            above = context.tree(match.span.unit).parents.get(negated)
            alone = isinstance(above, (ast.If, ast.While, ast.Assign, ast.keyword))
            yield context.fix("Compare with 0", (match.span, f"{text} == 0" if alone else f"({text} == 0)"))
        if fault.exception == "WhileCondition" and (given is None or is_integer(given.type)):
            node = context.node(match.span)
            text = context.text(match.span)
            if isinstance(node, (ast.Name, ast.Call, ast.Attribute)):
                yield context.fix("Compare with 0", (match.span, f"{text} != 0"))
            else:
                yield context.fix("Compare with 0", (match.span, f"({text}) != 0"))


def _selected(branch: ast.If, tree: UnitTree, context: RuleContext) -> Fix | None:
    """An `if` on a block as a selection, where its arms do one thing that touches no memory beside what is selected."""
    text = tree.source_of(branch.test)
    done = branch.body[0]
    if isinstance(tree.parents.get(branch), ast.If) and tree.text(tree.span(branch)).startswith("elif"):
        return None
    if len(branch.body) != 1 or len(branch.orelse) > 1 or "#" in tree.source_of(branch):
        return None  # a comment of the author's would be lost
    if isinstance(done, ast.Expr) and isinstance(done.value, ast.Call) and not branch.orelse:
        call = done.value
        stores = isinstance(call.func, ast.Attribute) and call.func.attr == "store" and len(call.args) == 2
        if stores and not call.keywords:
            arguments = ", ".join(tree.source_of(a) for a in call.args)
            whole = f"{tree.source_of(call.func)}({arguments}, mask={text})"
            return context.fix("Store under a mask", (tree.span(branch), whole))
        return None
    then = _assigned(done, tree)
    other = _assigned(branch.orelse[0], tree) if branch.orelse else (then[0], then[0]) if then else None
    if then is None or other is None or then[0] != other[0]:
        return None
    return context.fix("Use tl.where", (tree.span(branch), f"{then[0]} = tl.where({text}, {then[1]}, {other[1]})"))


def _assigned(statement: ast.stmt, tree: UnitTree) -> tuple[str, str] | None:
    """The name that a statement assigns and the text of its new value."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and harmless(statement.value):
        name, value = statement.target.id, tree.source_of(statement.value)
        sign = _SIGNS.get(type(statement.op))
        return (name, f"{name} {sign} {parenthesised(statement.value, value)}") if sign else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and harmless(statement.value):
        target = statement.targets[0]
        return (target.id, tree.source_of(statement.value)) if isinstance(target, ast.Name) else None
    return None


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|"}
