from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kernel_ls.analysis import kernels
from kernel_ls.analysis.environment import Autotune, Heuristics
from kernel_ls.analysis.environment.modules import Standing
from kernel_ls.analysis.kernels import Decorator, JitFunction
from kernel_ls.analysis.rules.base import Explanation, Rule, finding_at
from kernel_ls.analysis.rules.layers import heuristics_of, tuned_names
from kernel_ls.model import Edit, Fix, Location, Position, Span

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.environment import ResolvedFunction
    from kernel_ls.analysis.rules.surroundings import Surroundings

_JIT = ("jit", "gluon")
_LAYERS = ("autotune", "heuristics")
_NO_FUNCTIONS = ("staticmethod", "classmethod", "property", "functools.lru_cache", "functools.cache")
"""Decorators that make of a function what `triton.jit` cannot take."""


class DecoratorOrder(Rule):
    """Decorators of a kernel stand in an order that Triton does not take.

    What it finds:
        `@triton.jit` above `@triton.autotune` or `@triton.heuristics`, or missing below them; `@triton.jit` twice, or above
        `@staticmethod` and the like; two autotuners; heuristics above an autotuner that compute from what it tunes.

    Why it is a fault:
        Decorators are applied from the bottom up. An autotuner and heuristics wrap a jit function, so `@triton.jit` stands
        next to the `def`. An autotuner inside of another gets `num_warps` twice, at every launch. Heuristics above an
        autotuner are computed before a configuration is chosen, so that they see none of its values.

    Example:
        @triton.jit
        @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
        def kernel(x_ptr, n, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, BLOCK), n)

    Instead:
        @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
        @triton.jit
        def kernel(x_ptr, n, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, BLOCK), n)

    Triton versions:
        All. A jit function in the wrong place is an AttributeError when the file is imported; the others fail when the
        kernel is launched.

    Fix and its safety:
        Moves `@triton.jit` next to the `def`, or adds it. Nothing else is touched.
    """

    code = "decorator-order"
    summary = "decorators of a kernel in an order that Triton does not take"
    priority = 10

    def check(self, document: ParsedDocument, surroundings: Surroundings) -> Iterable[Explanation]:
        for function in kernels.functions(document):
            if any(d.kind in (*_JIT, *_LAYERS) for d in function.decorators):
                if surroundings.workspace.standing(function) is Standing.LIVE:
                    yield from self._order(function)
        for resolved in surroundings.functions:
            yield from self._heuristics_above(resolved)

    def _order(self, function: JitFunction) -> Iterator[Explanation]:
        decorators = function.decorators
        jits = [d for d in decorators if d.kind in _JIT]
        last = decorators[-1]
        if last.kind in _LAYERS:
            if jits:
                message = f"`@{jits[-1].name}` stands above `@{last.name}`, which wraps a jit function; move it next to the `def`."
                fixes = (_moved(function, jits[-1]),)
                yield self._at(function, jits[-1], message, fixes, ((f"`@{last.name}`", _place(function, last)),))
            elif all(d.kind in _LAYERS for d in decorators):
                message = (
                    f"`@{last.name}` wraps a jit function, and `{function.name}` is none; add `@triton.jit` below it."
                )
                yield self._at(function, last, message, (_added(function, last),))
            return
        if len(jits) > 1:
            message = f"`{function.name}` is a jit function already; `@{jits[0].name}` cannot be applied to one."
            yield self._at(function, jits[0], message, (_removed(function, jits[0]),))
        inner = _below(decorators, jits[-1]) if jits else ()
        stopped = next((d for d in inner if d.resolved in _NO_FUNCTIONS), None)
        if jits and stopped is not None:
            message = f"`@{jits[-1].name}` stands above `@{stopped.name}`, of which it cannot read the text; swap them."
            yield self._at(function, jits[-1], message, (_moved(function, jits[-1]),))
        tuners = [d for d in decorators if d.kind == "autotune"]
        if len(tuners) > 1 and jits:
            message = "An autotuner around another: each passes `num_warps`, so that every launch fails."
            yield self._at(function, tuners[0], message, (), (("the other autotuner", _place(function, tuners[-1])),))

    def _heuristics_above(self, resolved: ResolvedFunction) -> Iterator[Explanation]:
        tuned: set[str] = set()
        for layer in resolved.value.layers:
            if isinstance(layer, Autotune):
                tuned |= tuned_names(layer)
            elif isinstance(layer, Heuristics) and tuned and layer.location is not None:
                for heuristic in heuristics_of(layer):
                    read = [r for r in heuristic.reads if r.name in tuned and r.always]
                    if read:
                        message = (
                            f"The heuristic for `{heuristic.name}` reads `{read[0].name}`, which the autotuner below chooses "
                            f"only afterwards; put the heuristics below the autotuner."
                        )
                        yield Explanation(finding_at(self, read[0].location or layer.location, message))

    def _at(
        self,
        function: JitFunction,
        decorator: Decorator,
        message: str,
        fixes: Sequence[Fix] = (),
        related: Sequence[tuple[str, Location]] = (),
    ) -> Explanation:
        found = finding_at(self, _place(function, decorator), message, related=related, kernel=function.qualname)
        return Explanation(found, fixes=tuple(fixes))


def _below(decorators: Sequence[Decorator], decorator: Decorator) -> Sequence[Decorator]:
    return decorators[decorators.index(decorator) + 1 :]


def _place(function: JitFunction, decorator: Decorator) -> Location:
    return Location(function.path, decorator.span)


def _lines(decorator: Decorator) -> Span:
    """The whole lines of a decorator, their ends included."""
    return Span(Position(decorator.span.start.line, 0), Position(decorator.span.end.line + 1, 0))


def _removed(function: JitFunction, decorator: Decorator) -> Fix:
    edit = Edit(Location(function.path, _lines(decorator)), "")
    return Fix(f"Remove `@{decorator.name}`", (edit,))


def _moved(function: JitFunction, decorator: Decorator) -> Fix:
    lines = _lines(decorator)
    text = "".join(f"{function.document.line(n)}\n" for n in range(lines.start.line, lines.end.line))
    above = Position(function.span.start.line, 0)
    edits = (Edit(Location(function.path, lines), ""), Edit(Location(function.path, Span(above, above)), text))
    return Fix(f"Move `@{decorator.name}` next to the `def`", edits)


def _added(function: JitFunction, last: Decorator) -> Fix:
    above = Position(function.span.start.line, 0)
    indent = " " * function.span.start.column
    name = f"{last.name.rpartition('.')[0]}.jit" if "." in last.name else "triton.jit"
    return Fix(f"Add `@{name}`", (Edit(Location(function.path, Span(above, above)), f"{indent}@{name}\n"),))
