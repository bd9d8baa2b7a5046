from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_ls.analysis.environment import Heuristics
from kernel_ls.analysis.launches import Launch, LaunchArgument, TensorOf
from kernel_ls.analysis.rules.base import Explanation, Rule, finding_at
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.launch_sites import Site, Sites
from kernel_ls.analysis.rules.layers import (
    CONFIG_OPTIONS,
    LAUNCH_OPTIONS,
    RUN_ARGUMENTS,
    accepts_anything,
    configs_of,
    heuristics_of,
    names_of,
    parameter_names,
    tuned_names,
)
from kernel_ls.analysis.rules.surroundings import is_open, removal
from kernel_ls.model import Edit, Fix, Location, Position, Severity, Span

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.rules.surroundings import Surroundings


class LaunchArguments(Rule):
    """A launch does not fit its kernel.

    What it finds:
        A launch that leaves out an argument, passes one that the kernel does not have, passes one twice, or passes what an
        autotuner or heuristics set; a grid that is a number; a kernel that is called without a grid. As a warning: a tensor
        for a constexpr, a grid of more than three sizes. As information: a value that heuristics replace in silence.

    Why it is a fault:
        A launch binds its arguments like a call of a function, with launch options such as `num_warps` beside them. What an
        autotuner sets is passed by the autotuner, so that it would be there twice. A grid is a tuple of up to three sizes,
        or a function that returns one.

    Example:
        @triton.jit
        def kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            tl.store(x_ptr + offs, factor, mask=offs < n)

        def scale(x):
            kernel[(1,)](x, x.numel(), BLOCK=64)

    Instead:
        @triton.jit
        def kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            tl.store(x_ptr + offs, factor, mask=offs < n)

        def scale(x):
            kernel[(1,)](x, x.numel(), 2.0, BLOCK=64)

    Triton versions:
        All. Triton says `dynamic_func() missing 1 required positional argument`, or `got multiple values`, with no word on
        the kernel. Which launch options there are depends on version and backend; those of any backend are let through.

    Fix and its safety:
        Adds `name=name` for an argument that is left out where the launching code has a variable of that name; renames to
        the nearest parameter; removes what the autotuner sets; makes a tuple of the grid.
    """

    code = "launch-arguments"
    summary = "a launch does not fit its kernel"
    priority = 10

    def check(self, document: ParsedDocument, surroundings: Surroundings) -> Iterable[Explanation]:
        sites = Sites(document, surroundings)
        cases: dict[tuple[Location, str, str], list[Launch]] = {}
        for launch in surroundings.launches.of_document(document.path):
            if launch.style in ("subscript", "run", "warmup"):
                cases.setdefault((launch.location, launch.kernel.path, launch.kernel.key), []).append(launch)
        for launches in cases.values():
            site = sites.of(launches[0])
            if site is not None and not accepts_anything(site.kernel):
                yield from self._launch(launches, _Judge(site, sites))
        yield from self._bare(sites, document)

    def _launch(self, launches: Sequence[Launch], judge: _Judge) -> Iterator[Explanation]:
        # What is wrong with every course that leads here is wrong; of one alone, the text may rule out that course.
        found = [dict(judge.faults(launch)) for launch in launches]
        for key, fault in found[0].items():
            if all(key in other for other in found[1:]):
                yield self._explanation(fault, judge.site)
        style = launches[0].style
        if style != "warmup":
            for fault in judge.grid(launches[0]):
                yield self._explanation(fault, judge.site)

    def _bare(self, sites: Sites, document: ParsedDocument) -> Iterator[Explanation]:
        for call, value in sites.bare_calls():
            kernel = sites.workspace.resolve_function(value)
            if kernel is None:
                continue
            place = sites.surroundings.location(document, call.func)
            name = ast.unparse(call.func)
            message = f"`{name}` is a jit function, which host code launches with a grid: `{name}[grid](...)`."
            related = ((f"`{kernel.name}` is defined here", kernel.name_location),)
            yield Explanation(finding_at(self, place, message, related=related, kernel=kernel.qualname))

    def _explanation(self, fault: _Fault, site: Site) -> Explanation:
        related = ((f"`{site.kernel.name}` is defined here", site.kernel.name_location), *fault.related)
        found = finding_at(
            self, fault.place, fault.message, severity=fault.severity, related=related, kernel=site.kernel.qualname
        )
        return Explanation(found, fixes=fault.fixes)


@dataclass(frozen=True, slots=True)
class _Fault:
    place: Location
    message: str
    severity: Severity = Severity.ERROR
    fixes: tuple[Fix, ...] = ()
    related: tuple[tuple[str, Location], ...] = ()


class _Judge:
    """What is wrong with the launches of one site."""

    def __init__(self, site: Site, sites: Sites) -> None:
        self.site = site
        self.sites = sites
        self.parameters = parameter_names(site.kernel)
        tuner = site.value.autotune
        configs = configs_of(tuner) if tuner is not None else ()
        self.tuned: frozenset[str] = frozenset()
        """Set by every configuration."""
        self.sometimes: frozenset[str] = frozenset()
        """Set by some."""
        self.is_tuned = tuner is not None
        self.is_known = configs is not None
        """Whether it is known what the autotuner sets."""
        if tuner is not None:
            if tuner.arguments.get("prune_configs_by") is not None:
                self.is_known = False  # The user's function may make other configurations.
            elif configs is not None:
                self.tuned = tuned_names(tuner)
                self.sometimes = frozenset().union(*(names_of(c) or frozenset() for c in configs))
        self.heuristic = frozenset(h.name for layer in site.value.heuristics for h in heuristics_of(layer))
        if any(not isinstance(layer.values, dict) for layer in site.value.layers if isinstance(layer, Heuristics)):
            self.is_known = False

    def faults(self, launch: Launch) -> Iterator[tuple[tuple[str, str], _Fault]]:
        """What is wrong in one course, by kind and name."""
        passed: dict[str, LaunchArgument] = {}
        for argument in launch.arguments:
            if argument.name is None:
                if not launch.incomplete:
                    yield ("extra", ""), self._extra(launch, argument)
                continue
            if argument.name in passed:
                yield ("twice", argument.name), self._twice(argument, passed[argument.name])
            passed[argument.name] = argument
            yield from self._owned(argument)
            parameter = self.site.kernel.parameter(argument.name)
            if parameter is not None and parameter.is_constexpr and isinstance(argument.value, TensorOf):
                message = f"`{argument.name}` is a constexpr of `{self.site.kernel.name}`, and gets a tensor."
                yield ("tensor", argument.name), _Fault(self._place(argument), message, Severity.WARNING)
        for option in launch.options:
            yield from self._option(option, passed)
        if not launch.incomplete and self.is_known:
            missing = [p.name for p in self.site.kernel.parameters if p.default is None and p.name not in passed]
            missing = [name for name in missing if name not in self.sometimes and name not in self.heuristic]
            # A name that is misspelt is reported there.
            renamed = {nearest(o, missing) for o in launch.options if self._is_unknown(o)}
            missing = [name for name in missing if name not in renamed]
            if missing:
                yield ("missing", ",".join(missing)), self._missing(missing)

    # ---------------------------------------------------------------------------------------------- arguments

    def _extra(self, launch: Launch, argument: LaunchArgument) -> _Fault:
        count = sum(not a.keyword for a in launch.arguments)
        message = f"`{self.site.kernel.name}` has {len(self.parameters)} parameters, and {count} arguments are passed by position."
        return _Fault(argument.location, message)

    def _twice(self, argument: LaunchArgument, first: LaunchArgument) -> _Fault:
        message = f"`{argument.name}` is passed twice: by position and by name."
        return _Fault(
            self._place(argument), message, fixes=self._without(argument.name), related=(("the first", first.location),)
        )

    def _owned(self, argument: LaunchArgument) -> Iterator[tuple[tuple[str, str], _Fault]]:
        name = argument.name or ""
        fixes = self._without(name) if argument.keyword else ()
        if name in self.sometimes:
            tuner = self.site.value.autotune
            related = (("the autotuner", tuner.location),) if tuner is not None and tuner.location is not None else ()
            message = f"`{name}` is chosen by the autotuner of `{self.site.kernel.name}`, and cannot be passed as well."
            yield ("owned", name), _Fault(self._place(argument), message, fixes=fixes, related=related)
        elif name in self.heuristic and not argument.keyword:
            message = (
                f"`{name}` is computed by heuristics of `{self.site.kernel.name}`, and is passed by position as well."
            )
            yield ("owned", name), _Fault(self._place(argument), message)
        elif name in self.heuristic:
            message = (
                f"`{name}` is computed by heuristics of `{self.site.kernel.name}`: what is passed here is ignored."
            )
            # Many pass it to be explicit, with the same value.
            yield ("owned", name), _Fault(self._place(argument), message, Severity.INFO, fixes)

    def _is_unknown(self, option: str) -> bool:
        return option not in LAUNCH_OPTIONS and option not in RUN_ARGUMENTS

    def _option(self, option: str, passed: dict[str, LaunchArgument]) -> Iterator[tuple[tuple[str, str], _Fault]]:
        place = self._keyword(option)
        kernel = self.site.kernel.name
        if self.is_tuned and option in CONFIG_OPTIONS:
            message = (
                f"`{option}` is passed by the autotuner of `{kernel}` at every launch, and cannot be passed as well."
            )
            yield ("option", option), _Fault(place, message, fixes=self._without(option))
        elif option in RUN_ARGUMENTS and self.site.grid is not None:
            yield ("option", option), _Fault(place, f"`{option}` is passed by `{kernel}[...]` itself.")
        elif self._is_unknown(option):
            near = nearest(option, [p for p in (*self.parameters, *CONFIG_OPTIONS) if p not in passed])
            hint = f"; did you mean `{near}`?" if near else "."
            fixes: tuple[Fix, ...] = ()
            if near and self._node(option) is not None:
                end = Span(place.span.start, self._after_name(place, option))
                fixes = (Fix(f"Rename to `{near}`", (Edit(Location(place.path, end), near),)),)
            fixes += self._without(option)
            yield ("option", option), _Fault(place, f"`{kernel}` has no parameter `{option}`{hint}", fixes=fixes)

    def _missing(self, missing: Sequence[str]) -> _Fault:
        names = ", ".join(f"`{n}`" for n in missing)
        verb = "is" if len(missing) == 1 else "are"
        place = self.sites.surroundings.location(self.sites.document, self.site.call.func)
        fixes: tuple[Fix, ...] = ()
        if all(self._in_scope(name) for name in missing) and not is_open(self.site.call):
            fixes = (self._added(missing),)
        return _Fault(place, f"{names} {verb} missing in this launch of `{self.site.kernel.name}`.", fixes=fixes)

    def _in_scope(self, name: str) -> bool:
        """Whether the launching code has a variable of a name, bound before the launch."""
        module = self.sites.module
        if self.sites.local(name, self.site.call) is not None:
            return True
        return module is not None and module.has(name) is True

    def _added(self, missing: Sequence[str]) -> Fix:
        call = self.site.call
        text = ", ".join(f"{n}={n}" for n in missing)
        last = max(
            [*call.args, *(k.value for k in call.keywords)], key=lambda n: (n.lineno, n.col_offset), default=None
        )
        whole = self.sites.surroundings.location(self.sites.document, call)
        if last is None:
            inside = Position(whole.span.end.line, whole.span.end.column - 1)
            at = Span(inside, inside)
        else:
            end = self.sites.surroundings.location(self.sites.document, last).span.end
            at = Span(end, end)
            text = f", {text}"
        return Fix(f"Pass {text.removeprefix(', ')}", (Edit(Location(whole.path, at), text),))

    # ---------------------------------------------------------------------------------------------- places

    def _node(self, name: str | None) -> ast.keyword | None:
        return next((k for k in self.site.call.keywords if k.arg is not None and k.arg == name), None)

    def _keyword(self, name: str | None) -> Location:
        node = self._node(name)
        return self.sites.surroundings.location(self.sites.document, node if node is not None else self.site.call.func)

    def _place(self, argument: LaunchArgument) -> Location:
        if argument.keyword and self._node(argument.name) is not None:
            return self._keyword(argument.name)
        return argument.location

    @staticmethod
    def _after_name(place: Location, name: str) -> Position:
        return Position(place.span.start.line, place.span.start.column + len(name))

    def _without(self, name: str | None) -> tuple[Fix, ...]:
        node = self._node(name)
        return () if node is None else (removal(self.sites.document, node, f"Remove `{name}`"),)

    # ---------------------------------------------------------------------------------------------- the grid

    def grid(self, launch: Launch) -> Iterator[_Fault]:
        """What is wrong with the grid."""
        call = self.site.call
        node = self.site.grid
        if launch.style == "run":
            node = next((k.value for k in call.keywords if k.arg == "grid"), None)
            names = {k.arg for k in call.keywords}
            if not is_open(call) and not names >= RUN_ARGUMENTS:
                lacking = " and ".join(f"`{n}`" for n in sorted(RUN_ARGUMENTS) if n not in names)
                yield _Fault(
                    self._keyword(None), f"`run` needs {lacking}; `{self.site.kernel.name}[grid](...)` passes them."
                )
        grid = self.sites.assigned(node, call) if node is not None else None
        while isinstance(grid, ast.Lambda):
            grid = grid.body
        if grid is None:
            return
        place = self.sites.surroundings.location(self.sites.document, grid)
        if self.sites.is_number(grid):
            start, end = (Location(place.path, Span(p, p)) for p in (place.span.start, place.span.end))
            fix = Fix("Make it a tuple", (Edit(start, "("), Edit(end, ",)")))
            yield _Fault(place, "A grid is a tuple of sizes, and this is a number.", fixes=(fix,))
        elif isinstance(grid, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in grid.elts):
            if not grid.elts:
                yield _Fault(place, "A grid has at least one size.")
            elif any(not (isinstance(e, ast.Constant) and e.value == 1) for e in grid.elts[3:]):
                message = f"A grid has up to three sizes: the last {len(grid.elts) - 3} of these are ignored."
                yield _Fault(place, message, Severity.WARNING)
