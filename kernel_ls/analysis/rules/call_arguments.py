from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.facts import callee, callee_name, event, to_span
from kernel_ls.analysis.rules.sizes import fitting, stepped
from kernel_ls.analysis.rules.syntax import UnitTree
from kernel_ls.analysis.rules.unread import unread_variables
from kernel_ls.model import Fault, Fix, UnitSpan

_TEXT = re.compile(
    r"missing (?:a required|\d+ required|required)|got an unexpected keyword argument|takes (?:from )?\d+ .*positional argument|"
    r"takes no (?:keyword )?arguments|got multiple values for|too many positional arguments|takes at (?:most|least)|takes \d+ arguments? but|"
    r"requires one or two positional arguments|positional-only|expected (?:at (?:most|least) )?\d+ arguments?|"
    r"got some positional-only"
)
_MISSING = re.compile(r"'(\w+)'")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_MULTIPLE = re.compile(r"multiple values for (?:argument )?'(\w+)'")
_NOINLINE = re.compile(r"is marked noinline, but was called with non-scalar argument (\w+)")


class CallArguments(Rule):
    """A call does not fit the function's parameters.

    What it finds:
        A call of a jit function or of a function of Triton with a missing, unknown or doubled argument, with too many
        of them, or a block passed to a function that is marked `noinline`.

    Why it is a fault:
        The arguments cannot be bound to the parameters. A `noinline` function becomes a real call on the GPU, whose
        arguments are single values and pointers.

    Example:
        y = blend(x, w=0.5)            # def blend(x, y, w)

    Instead:
        y = blend(x, other, w=0.5)

    Triton versions:
        All; the parameters of Triton's own functions differ between versions.

    Fix and its safety:
        Renames an unknown keyword to the nearest parameter, where one is near, or removes it where that is given as
        well, and passes the caller's own variables of the names that are missing. A range without an end gets the
        constexpr by which its statement steps, or the only one that fits; `tl.zeros` without a data type f32, an
        accumulator's; a store without a value the only variable that nothing reads and that fits. All are guesses at
        what was meant.
    """

    code = "call-arguments"
    summary = "a call that does not fit the function's parameters"
    priority = 24

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        noinline = _NOINLINE.search(fault.text)
        if event(fault) != "call" and not _TEXT.search(fault.text) and noinline is None:
            return None
        if (
            fault.exception
            not in ("TypeError", "UnsupportedLanguageConstruct", "CompilationError", "CallArguments", "")
            and event(fault) != "call"
        ):
            return None
        tree = context.tree(fault.span.unit)
        call = tree.call_at(fault.span)
        function = tree.source_of(call.func) if call is not None else callee(fault).split(":")[-1] or "the function"
        place = tree.span(call) if call is not None else fault.span
        related: list[tuple[str, UnitSpan]] = []
        defined = to_span(fault.facts.get("callee_span")) or _definition(callee(fault), context)
        if defined is not None:
            related.append((f"`{function}` is defined here", defined))
        if noinline is not None:
            name = noinline.group(1)
            node = _argument(call, name, callee(fault), tree, context)
            message = f"`{function}` is `noinline`, so `{name}` must be a single value or a pointer, not a block."
            return Match(tree.span(node) if node is not None else place, message, tuple(related))
        missing = [str(n) for n in fault.facts.get("missing") or ()]
        extra = [str(n) for n in fault.facts.get("extra") or ()]
        double = [str(n) for n in fault.facts.get("duplicate") or ()]
        if not (missing or extra or double):
            missing, extra, double = _from_text(fault.text)
        message = ""
        if missing and extra and _near(extra[0], fault, context) in missing:
            missing = []  # it is there, under a name that is misspelt
        if missing:
            message = f"`{function}` is called without {_listed(missing)}."
        elif double:
            message = f"`{function}` gets `{double[0]}` twice."
            place = _keyword(call, double[0], tree) or place
        elif extra:
            near = _near(extra[0], fault, context)
            hint = f" Did you mean `{near}`?" if near else ""
            message = (
                f"`{function}` has no parameter `{extra[0]}`.{hint}"
                if extra[0].isidentifier()
                else f"`{function}` is called with too many arguments."
            )
            place = _keyword(call, extra[0], tree) or place
        else:
            text = " ".join(fault.text.split()).rstrip(".")
            text = re.sub(r"^(?:[\w.]+\(\)|`static_assert`) ", "", text)
            message = (
                f"`{function}` {text}."
                if text.startswith(("takes", "got", "missing", "expected", "requires"))
                else f"`{function}`: {text}."
            )
        return Match(place, message, tuple(related))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        call = tree.call_at(fault.span)
        extra = [str(n) for n in fault.facts.get("extra") or ()] or _from_text(fault.text)[1]
        missing = [str(n) for n in fault.facts.get("missing") or ()]
        if call is not None and not extra and missing:
            yield _from_scope(call, missing, tree, context)
        if call is not None and not extra:
            yield from _of_tritons(call, fault, tree, context)
        if call is None or not extra:
            return
        near = _near(extra[0], fault, context)
        for keyword in call.keywords:
            if near and keyword.arg == extra[0]:
                start = tree.span(keyword)
                name = UnitSpan(start.unit, start.line, start.column, start.line, start.column + len(extra[0].encode()))
                if any(k.arg == near for k in call.keywords):
                    yield _without(call, keyword, f"Remove `{extra[0]}`: `{near}` is given", tree, context)
                else:
                    yield context.fix(f"Rename to `{near}`", (name, near))


def _of_tritons(call: ast.Call, fault: Fault, tree: UnitTree, context: RuleContext) -> Iterable[Fix | None]:
    """What a function of Triton's own is likely to be given for its last argument, which is missing."""
    name, missing = callee_name(fault), _from_text(fault.text)[0]
    if name == "arange" and missing == ["end"]:
        yield from stepped(call, tree, context)
        yield from fitting(call, tree, context)
    elif name == "zeros" and missing == ["dtype"]:
        yield _with(call, ", tl.float32", "Make it tl.float32", tree, context)
    elif name == "store" and missing == ["value"] and not call.keywords:
        for unread in unread_variables(tree):
            yield _with(call, f", {unread}", f"Store `{unread}`, which nothing reads", tree, context, choice="value")


def _with(call: ast.Call, text: str, title: str, tree: UnitTree, context: RuleContext, choice: str = "") -> Fix | None:
    """A call with more behind its last positional argument."""
    if not call.args or call.keywords:
        return None
    end = tree.span(call.args[-1])
    place = UnitSpan(end.unit, end.end_line, end.end_column, end.end_line, end.end_column)
    return context.fix(title, (place, text), choice=choice)


def _without(call: ast.Call, keyword: ast.keyword, title: str, tree: UnitTree, context: RuleContext) -> Fix | None:
    """A call without one of its keywords, which is not its first argument."""
    here = tree.span(keyword)
    earlier = [span for n in (*call.args, *call.keywords) if (span := tree.span(n)) < here]
    if not earlier:
        return None
    before = max(earlier)
    span = UnitSpan(here.unit, before.end_line, before.end_column, here.end_line, here.end_column)
    return context.fix(title, (span, ""))


def _from_scope(call: ast.Call, missing: list[str], tree: UnitTree, context: RuleContext) -> Fix | None:
    """Pass what is missing from the caller's own variables of these names, where it has them all."""
    if not all(tree.parameter(n) is not None or tree.assignments(n) for n in missing):
        return None
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    added = ", ".join(f"{n}={n}" for n in missing)
    if not given:
        span = tree.span(call)
        place = UnitSpan(span.unit, span.end_line, span.end_column - 1, span.end_line, span.end_column - 1)
        return context.fix(f"Pass {_listed(missing)}", (place, added))
    end = tree.span(max(given, key=lambda n: (n.lineno, n.col_offset)))
    place = UnitSpan(end.unit, end.end_line, end.end_column, end.end_line, end.end_column)
    return context.fix(f"Pass {_listed(missing)}", (place, f", {added}"))


def _listed(names: list[str]) -> str:
    shown = [f"`{n}`" for n in names]
    return (
        "its argument " + shown[0]
        if len(shown) == 1
        else "its arguments " + ", ".join(shown[:-1]) + f" and {shown[-1]}"
    )


def _from_text(text: str) -> tuple[list[str], list[str], list[str]]:
    unexpected, multiple = _UNEXPECTED.search(text), _MULTIPLE.search(text)
    missing = _MISSING.findall(text) if "missing" in text else []
    return missing, [unexpected.group(1)] if unexpected else [], [multiple.group(1)] if multiple else []


def _keyword(call: ast.Call | None, name: str, tree: UnitTree) -> UnitSpan | None:
    if call is None:
        return None
    return next((tree.span(k) for k in call.keywords if k.arg == name), None)


def _definition(unit: str, context: RuleContext) -> UnitSpan | None:
    tree = context.tree(unit)
    if tree.function is None:
        return None
    span = tree.span(tree.function)
    return UnitSpan(unit, span.line, span.column, span.line, len(tree.lines[span.line - 1].rstrip()))


def _parameters(unit: str, context: RuleContext) -> list[str]:
    function = context.tree(unit).function
    if function is None:
        return []
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _near(name: str, fault: Fault, context: RuleContext) -> str:
    given = [str(c) for c in fault.facts.get("candidates") or ()]
    return nearest(name, given or _parameters(callee(fault), context), few=True)


def _argument(call: ast.Call | None, name: str, unit: str, tree: UnitTree, context: RuleContext) -> ast.expr | None:
    if call is None:
        return None
    parameters = _parameters(unit, context)
    position = parameters.index(name) if name in parameters else None
    return tree.argument_node(call, name, position)
