from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import parenthesised
from kernel_ls.analysis.rules.facts import event, is_block, operands
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_NODE = re.compile(r"unsupported AST node type: (\w+)")
_OPERATOR = re.compile(
    r"AST (\w+) operator '(\w+)' is not \(currently\) implemented|"
    r"'(MatMult|In|NotIn)' object has no attribute '__name__'"
)
_NO_METHOD = re.compile(r"'(?:tensor|block)' object has no attribute '(__\w+__)'")

_CONSTRUCTS = {
    "Break": "`break` does not exist in a kernel; make it a condition of a `while`, or mask the rest of the passes.",
    "Continue": "`continue` does not exist in a kernel; put the rest of the body under an `if`, or use a mask.",
    "Try": "`try` does not exist in a kernel: nothing raises on a GPU.",
    "TryStar": "`try` does not exist in a kernel: nothing raises on a GPU.",
    "Raise": "`raise` does not exist in a kernel; use `tl.device_assert` or `tl.static_assert`.",
    "Lambda": "`lambda` does not exist in a kernel; write a `@triton.jit` function of the module.",
    "Dict": "Dictionaries do not exist in a kernel.",
    "Set": "Sets do not exist in a kernel.",
    "DictComp": "Dictionary comprehensions do not exist in a kernel.",
    "SetComp": "Set comprehensions do not exist in a kernel.",
    "GeneratorExp": "Generator expressions do not exist in a kernel; unroll with `tl.static_range`.",
    "Delete": "`del` does not exist in a kernel.",
    "Global": "`global` does not exist in a kernel; pass the value as an argument.",
    "Nonlocal": "`nonlocal` does not exist in a kernel; pass the value as an argument.",
    "Import": "`import` belongs outside the kernel.",
    "ImportFrom": "`import` belongs outside the kernel.",
    "ClassDef": "A class cannot be defined in a kernel.",
    "AsyncFunctionDef": "An `async` function cannot be defined in a kernel.",
    "AsyncFor": "`async for` does not exist in a kernel.",
    "AsyncWith": "`async with` does not exist in a kernel.",
    "Await": "`await` does not exist in a kernel.",
    "Yield": "`yield` does not exist in a kernel.",
    "YieldFrom": "`yield from` does not exist in a kernel.",
    "NamedExpr": "`:=` does not exist in a kernel; assign in a statement of its own.",
    "Match": "`match` does not exist in a kernel; use `if` and `elif`.",
    "Starred": "A starred target does not exist in a kernel; name each element.",
}

_MESSAGES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"__setitem__ is not supported"),
        "An element of a block cannot be assigned; build a new block with `tl.where`, or store through a pointer.",
    ),
    (
        re.compile(r"nested comprehensions are not supported"),
        "A comprehension with two `for`s is not supported in a kernel.",
    ),
    (
        re.compile(r"only tuple comprehensions are supported"),
        "A comprehension in a kernel can only run over a tuple; write `tl.static_range` as a loop.",
    ),
    (re.compile(r"Attribute assignment is not supported"), "An attribute cannot be assigned in a kernel."),
    (
        re.compile(r"nested function definition"),
        "A function cannot be defined in a kernel; move it to the module and decorate it with `@triton.jit`.",
    ),
    (
        re.compile(r"Only `range` and `static_range` iterators|iterators are currently supported"),
        "A loop in a kernel runs over `range`, `tl.range` or `tl.static_range` only.",
    ),
    (
        re.compile(r"Don't know what to do with else after for|^Not implemented$"),
        "A loop's `else` is not supported in a kernel.",
    ),
    (
        re.compile(r"Simultaneous multiple assignment|multiple targets"),
        "`a = b = value` is not supported in a kernel; write two assignments.",
    ),
    (
        re.compile(r"f-string containing non-constexpr"),
        "An f-string in a kernel can only hold values known when it is compiled; pass a run-time value to `tl.device_print` as its own argument.",
    ),
    (re.compile(r"unexpected node of type \w+ in a JoinedStr"), "This f-string is not supported in a kernel."),
    (re.compile(r"starred assignment targets"), "A starred target is not supported in a kernel; name each element."),
    (
        re.compile(r"inside `with` statements"),
        "A `with` in a kernel cannot be left by `return`.",
    ),
    (
        re.compile(r"too many indices for tensor"),
        "There are more indices than the block has dimensions.",
    ),
)
_IDENTIFIER = re.compile(r"invalid \w+ identifier: (.+)")
_INDEX = re.compile(r"unsupported tensor index")
_SEMANTIC = re.compile(r"Did you forget to add @triton\.(?:gluon\.)?jit")
_NO_CONTEXT = re.compile(r"attribute '(?:__enter__|__exit__|func)'")
_OPERATOR_SIGNS = {
    "__pow__": "**",
    "__rpow__": "**",
    "__matmul__": "@",
    "__rmatmul__": "@",
    "__pos__": "+",
    "__contains__": "in",
}


class UnsupportedSyntax(Rule):
    """A construct of Python that Triton's language does not have.

    What it finds:
        `break`, `continue`, `try`, `raise`, `lambda`, dictionaries, generator expressions, nested functions, item and
        attribute assignment, indexing a block by a value, `a = b = c`, loops over anything but the three ranges, and
        operators that blocks do not have (`**`, `@`, `in`), `**kwargs`, and names that are not ASCII.

    Why it is a fault:
        A kernel is not run by Python; its text is compiled. Only what has a meaning on a whole block of elements is
        there.

    Example:
        for k in range(n):
            if tl.load(x_ptr + k) > 0:
                break

    Instead:
        k = 0
        while (k < n) & (tl.load(x_ptr + k) <= 0):
            k += 1

    Triton versions:
        All. Some constructs come with newer versions; the checker asks the one that is installed.

    Fix and its safety:
        `tl.dot(a, b)` for `a @ b`, a product for a square, and the body of a `lambda` that is called where it stands.
        Others have no mechanical equivalent.
    """

    code = "unsupported-syntax"
    summary = "Python that the language does not have"
    priority = 35

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        tree = context.tree(fault.span.unit)
        found = _NODE.search(fault.text)
        if found is not None:
            kind = found.group(1)
            behind = _loop_else(tree.node_at(fault.span), tree)
            if behind is not None and kind not in _CONSTRUCTS:
                # Triton visits the parts of such a statement, operators too, and trips over the first of them.
                return Match(tree.span(behind), "A loop's `else` is not supported in a kernel.")
            message = _CONSTRUCTS.get(kind, f"Python's {kind} does not exist in a kernel.")
            return Match(_first_token(fault.span, tree), message)
        variable = tree.function.args.kwarg if tree.function is not None and fault.phase == "setup" else None
        if variable is not None and re.search(rf"\b{variable.arg}\b", fault.text):
            message = f"`**{variable.arg}` does not exist in a kernel: its parameters are all named."
            return Match(tree.span(variable), message)
        found = _IDENTIFIER.search(fault.text)
        if found is not None:
            message = (
                f"`{found.group(1)}` cannot be a kernel's name: only ASCII letters, digits and `_` can be compiled."
            )
            return Match(_name_of_function(fault, tree), message)
        found = _OPERATOR.search(fault.text)
        if found is not None and "implemented on type" not in fault.text:
            return Match(fault.span, _operator_message(found.group(2) or found.group(3), found.group(1) or ""))
        found = _NO_METHOD.search(fault.text)
        if found is not None and found.group(1) in _OPERATOR_SIGNS:
            return Match(fault.span, _sign_message(_OPERATOR_SIGNS[found.group(1)]))
        if _INDEX.search(fault.text):
            return Match(fault.span, _index_message(fault))
        for pattern, message in _MESSAGES:
            if pattern.search(fault.text):
                return Match(_place(pattern, fault, tree), message)
        return self._by_shape(fault, tree)

    def _by_shape(self, fault: Fault, tree: UnitTree) -> Match | None:
        """Constructs on which Triton trips with a message about its own insides."""
        node = tree.node_at(fault.span)
        if _SEMANTIC.search(fault.text) and fault.node in ("Subscript", "AugAssign", "Assign", ""):
            subscript = _subscript(node)
            if subscript is not None:
                if isinstance(node, (ast.AugAssign, ast.Assign)):
                    message = (
                        "An element of a block cannot be assigned; build a new block with `tl.where`, or use "
                        "`tl.atomic_add` through a pointer."
                    )
                    return Match(tree.span(node.target if isinstance(node, ast.AugAssign) else subscript), message)
                statement = tree.statement(subscript)
                if isinstance(statement, ast.AugAssign) and statement.target is subscript:
                    message = "An element of a block cannot be assigned; build a new block with `tl.where`."
                    return Match(tree.span(subscript), message)
                return Match(tree.span(subscript), _index_message(fault))
        if isinstance(node, ast.For) and not isinstance(node.iter, ast.Call):
            if "object has no attribute 'func'" in fault.text or fault.exception == "AttributeError":
                return Match(
                    tree.span(node.iter), "A loop in a kernel runs over `range`, `tl.range` or `tl.static_range` only."
                )
        if isinstance(node, ast.Assign) and len(node.targets) > 1:
            return Match(tree.span(node), "`a = b = value` is not supported in a kernel; write two assignments.")
        if isinstance(node, ast.Assign) and fault.exception in ("AssertionError", "AttributeError"):
            target = node.targets[0]
            if isinstance(target, ast.Starred) or any(isinstance(t, ast.Starred) for t in walk(target)):
                return Match(tree.span(target), _CONSTRUCTS["Starred"])
            if isinstance(target, ast.List):
                return Match(tree.span(target), "Unpack into a tuple of names; a list of targets is not supported.")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and node is not tree.function:
            return Match(_first_token(tree.span(node), tree), _CONSTRUCTS.get(type(node).__name__, _MESSAGES[4][1]))
        starred = _starred(node) if fault.exception == "AssertionError" and not fault.text else None
        if starred is not None:
            spread = next((f" is {o.type}" for o in operands(fault) if o.role == "value" and o.type), " is none")
            text = shorten(tree.source_of(starred.value))
            return Match(tree.span(starred), f"`*` spreads a tuple, but `{text}`{spread}.")
        if isinstance(node, ast.With) and _NO_CONTEXT.search(fault.text):
            place = tree.span(node.items[0].context_expr)
            return Match(place, "A `with` in a kernel takes a context manager of Triton's, such as `tl.async_task`.")
        if isinstance(node, (ast.While, ast.For)) and node.orelse and fault.exception == "AssertionError":
            return Match(tree.span(node.orelse[0]), "A loop's `else` is not supported in a kernel.")
        if isinstance(node, ast.ListComp) and fault.exception in (
            "AttributeError",
            "ValueError",
            "NotImplementedError",
        ):
            if not isinstance(node.generators[0].target, ast.Name):
                text = (
                    "A comprehension's target must be a single name here; take the parts of an element by their index."
                )
                return Match(tree.span(node), text)
            return Match(tree.span(node), "This comprehension is not supported in a kernel.")
        if fault.exception == "UnsupportedLanguageConstruct" and event(fault) != "call":
            return None
        return None

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        node = tree.node_at(match.span)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            left, right = tree.source_of(node.left), tree.source_of(node.right)
            yield context.fix("Use tl.dot", (match.span, f"tl.dot({left}, {right})"))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Name):
            if isinstance(node.right, ast.Constant) and node.right.value == 2:
                yield context.fix("Multiply instead", (match.span, f"({node.left.id} * {node.left.id})"))
        called = tree.parents.get(node) if isinstance(node, ast.Lambda) else None
        if isinstance(node, ast.Lambda) and isinstance(called, ast.Call) and called.func is node:
            bare = not (called.args or called.keywords or ast.unparse(node.args))
            body = parenthesised(node.body, tree.source_of(node.body))
            if bare:
                yield context.fix("Write the expression itself", (tree.span(called), body))
        statement = tree.statement(node) if node is not None else None
        if isinstance(statement, ast.Assign) and len(statement.targets) > 1 and node is statement:
            names = [tree.source_of(t) for t in statement.targets]
            indent = " " * statement.col_offset
            lines = [f"{names[-1]} = {tree.source_of(statement.value)}"]
            lines += [f"{indent}{n} = {names[-1]}" for n in names[:-1]]
            yield context.fix("Write separate assignments", (match.span, "\n".join(lines)))


def _operator_message(name: str, kind: str) -> str:
    signs = {"MatMult": "@", "In": "in", "NotIn": "not in", "Pow": "**", "Invert": "~", "UAdd": "+", "__pos__": "+"}
    if name in signs:
        return _sign_message(signs[name])
    return f"The {kind + ' ' if kind else ''}operator {name} is not supported here."


def _sign_message(sign: str) -> str:
    hints = {
        "**": "Multiply, or use `tl.exp2(y * tl.log2(x))` or libdevice's `pow`.",
        "@": "Use `tl.dot`.",
        "in": "Compare with each value.",
        "not in": "Compare with each value.",
        "+": "Leave the sign out.",
    }
    return f"Blocks and run-time values have no operator `{sign}`. {hints.get(sign, '')}".strip()


def _index_message(fault: Fault) -> str:
    index = next((o for o in operands(fault) if o.role in ("slice", "index", "arg0", "right")), None)
    shown = f" (here by {shorten(index.source)}, {index.type})" if index is not None and is_block(index.type) else ""
    return (
        f"A block can be indexed by `:` and `None` only{shown}, not by a value. Select with a mask and `tl.sum`, with "
        f"`tl.gather`, or load the element through its pointer."
    )


def _starred(node: ast.AST | None) -> ast.Starred | None:
    """The only spread argument that a failing node is or has."""
    if isinstance(node, ast.Starred):
        return node
    spread = [a for a in node.args if isinstance(a, ast.Starred)] if isinstance(node, ast.Call) else []
    return spread[0] if len(spread) == 1 else None


def _loop_else(node: ast.AST | None, tree: UnitTree) -> ast.stmt | None:
    """The statement of a loop's `else` that a node is part of, or the first one of a loop that has an `else`."""
    if isinstance(node, (ast.For, ast.While)) and node.orelse:
        return node.orelse[0]
    while node is not None:
        above = tree.parents.get(node)
        if isinstance(above, (ast.For, ast.While)) and isinstance(node, ast.stmt) and node in above.orelse:
            return node
        node = above
    return None


def _name_of_function(fault: Fault, tree: UnitTree) -> UnitSpan:
    """Where the unit's own `def` says its name."""
    function = tree.function
    line = tree.lines[function.lineno - 1] if function is not None else b""
    at = line.find(function.name.encode()) if function is not None else -1
    if function is None or at < 0:
        return fault.span
    return UnitSpan(tree.unit, function.lineno, at, function.lineno, at + len(function.name.encode()))


def _first_token(span: UnitSpan, tree: UnitTree) -> UnitSpan:
    """The first line of what is reported, so that a whole `try` block is not underlined."""
    if span.end_line == span.line:
        return span
    text = tree.lines[span.line - 1] if span.line <= len(tree.lines) else b""
    return UnitSpan(span.unit, span.line, span.column, span.line, len(text.rstrip()))


def _subscript(node: ast.AST | None) -> ast.Subscript | None:
    if isinstance(node, ast.Subscript):
        return node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        return node.target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0]
    return None


def _place(pattern: re.Pattern[str], fault: Fault, tree: UnitTree) -> UnitSpan:
    """The part of the failing node that the message is about."""
    node = tree.node_at(fault.span)
    if node is None:
        return fault.span
    pick: Callable[[ast.AST], bool] | None = None
    if "setitem" in pattern.pattern:
        subscript = _subscript(node)
        return tree.span(subscript) if subscript is not None else fault.span
    if "f-string" in pattern.pattern:
        pick = lambda n: isinstance(n, ast.JoinedStr)  # noqa: E731
    elif "else after" in pattern.pattern and isinstance(node, (ast.For, ast.While)) and node.orelse:
        return tree.span(node.orelse[0])
    elif "iterators" in pattern.pattern and isinstance(node, ast.For):
        return tree.span(node.iter)
    elif "with" in pattern.pattern and isinstance(node, ast.With):
        pick = lambda n: isinstance(n, ast.Return)  # noqa: E731
    if pick is not None:
        found = [n for n in walk(node) if pick(n)]
        if found:
            return tree.span(found[0])
    return _first_token(fault.span, tree)
