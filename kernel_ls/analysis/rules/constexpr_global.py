from __future__ import annotations

import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import event
from kernel_ls.analysis.rules.globals import definition_of, wrap_in_constexpr
from kernel_ls.model import Fault, Fix, Location

_NAME = re.compile(r"Cannot access global variable (\S+) from within")


class ConstexprGlobal(Rule):
    """A kernel reads a module-level variable that is not a `tl.constexpr`.

    What it finds:
        A name of the enclosing module (or function) that holds an ordinary Python value and is read inside a jit
        function. Functions, modules, dtypes and values made by `tl.constexpr(...)` may be read.

    Why it is a fault:
        Triton compiles a kernel once and keeps the result. A global could change afterwards without the kernel being
        compiled again, so Triton only accepts globals that say that they are constants. The annotated form
        `NAME: tl.constexpr = 4` does not say so: it leaves a plain number.

    Example:
        LOG2E = 1.4426950408889634

        @triton.jit
        def kernel(x_ptr):
            tl.store(x_ptr, tl.exp2(tl.load(x_ptr) * LOG2E))

    Instead:
        LOG2E = tl.constexpr(1.4426950408889634)

    Triton versions:
        All since 3.0. Older ones accepted such globals with a warning, which is why code breaks on an upgrade. The
        annotated form was accepted until 3.2.

    Fix and its safety:
        Wraps the value in `tl.constexpr(...)` where it is defined. Host code that uses the same name sees a
        `constexpr` object, which does arithmetic and comparisons like the number it holds; use `.value` where the
        number itself is needed.
    """

    code = "constexpr-global"
    summary = "a kernel reads a global that is not a `tl.constexpr`"
    priority = 10

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = _NAME.search(fault.text)
        if event(fault) != "global" and not (fault.exception == "NameError" and found):
            return None
        if fault.facts.get("callee"):
            return None
        name = str(fault.facts.get("name") or (found.group(1) if found else ""))
        kind = str(fault.facts.get("type") or "")
        value = str(fault.facts.get("value") or "")
        described = f"a plain Python {kind}" if kind else "a plain Python value"
        if value and len(value) <= 30:
            described += f" ({value})"
        message = (
            f"`{name}` is {described}; a kernel can read only those globals that are `tl.constexpr(...)`. "
            f"Define it as `{name} = tl.constexpr({value if value and len(value) <= 30 else '...'})`."
        )
        also: tuple[tuple[str, Location], ...] = ()
        definition = definition_of(name, fault.span.unit, context)
        if definition is not None:
            what = "annotated here, which is not enough" if definition.annotated else "defined here"
            also = ((f"`{name}` is {what}", definition.location),)
        return Match(fault.span, message, also=also)

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        found = _NAME.search(fault.text)
        name = str(fault.facts.get("name") or (found.group(1) if found else ""))
        definition = definition_of(name, fault.span.unit, context)
        if definition is not None:
            yield wrap_in_constexpr(definition)
