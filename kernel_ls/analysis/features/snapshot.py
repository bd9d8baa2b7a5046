"""What one check of a file knows, frozen: the text it read and, for each kernel, what the generator said of it.

Everything that an editor asks is answered from the last snapshot of its document, whatever happens meanwhile. Places are
those of the snapshot's own text, by `ast`'s count (`Place`); `trail` leads from there to the text as it is now.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment import TritonApi
from kernel_ls.analysis.features import instances, lines, names
from kernel_ls.analysis.features.places import Place, Types, name_place, place_of
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.verdict import Attempt, Trial
from kernel_ls.model import Program, Specialization, UnitOrigin


@dataclass(frozen=True, eq=False)
class Reading:
    """One specialization's attempt, read for one file: the types of its expressions and the lines that were generated."""

    attempt: Attempt
    program: Program
    document: ParsedDocument
    memo: dict[object, object] = field(default_factory=dict, repr=False)
    """What pure functions of this reading have computed once."""

    @property
    def specialization(self) -> Specialization:
        """What was generated."""
        return self.attempt.specialization

    @cached_property
    def units(self) -> Mapping[int, str]:
        """The units of the program that stand in this file, by the 1-based line of their `def`."""
        return {
            origin.first_line + 1: unit
            for unit, origin in self.program.origins.items()
            if origin.path == self.document.path and unit in self.program.units
        }

    @cached_property
    def reached(self) -> frozenset[int]:
        """1-based lines of the heads of statements that were generated."""
        return self._lines(self.attempt.result.reached)

    @cached_property
    def lost(self) -> frozenset[int]:
        """1-based lines of statements that were given up, since they read what a fault left unknown."""
        return self._lines(self.attempt.result.lost)

    def _lines(self, ranges: Mapping[str, object]) -> frozenset[int]:
        found: set[int] = set()
        for unit in self.units.values():
            row = self.program.origins[unit].row
            for start, end in ranges.get(unit, ()):  # type: ignore[attr-defined]
                found.update(range(row(start) + 1, row(end) + 2))
        return frozenset(found)

    def generated(self, function: JitFunction) -> bool:
        """Whether any statement of a function was generated."""
        unit = self.units.get(function.node.lineno)
        return unit is not None and bool(self.attempt.result.reached.get(unit))

    @cached_property
    def told(self) -> Types:
        """The types that the generator said, by place."""
        found: dict[Place, tuple[str, ...]] = {}
        for unit in self.units.values():
            origin = self.program.origins[unit]
            for line, column, end_line, end, types in self.attempt.result.types.get(unit, ()):
                place = (
                    origin.row(line) + 1,
                    column + _indent(origin, line),
                    origin.row(end_line) + 1,
                    end + _indent(origin, end_line),
                )
                found[place] = tuple(types)
        return found

    @cached_property
    def types(self) -> Types:
        """The types of all expressions and of the names that are assigned, by place."""
        found = dict(self.told)
        for first in self.units:
            function = self._function_at(first)
            if function is not None and self.generated(function):
                given = self.specialization if self.units[first] == self.program.kernel else None
                found.update(names.derived(function.node, self.told, self.reached, given))
                if given is None:
                    self._passed(function, self.units[first], found)
        return found

    def _passed(self, function: JitFunction, unit: str, found: dict[Place, tuple[str, ...]]) -> None:
        """Add the types of a helper's parameters that it never reads: what its callers pass."""
        arguments = function.node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        unread = [a for a in every if name_place(a) not in found]
        if not unread:
            return
        known = [dict(i.parameters) for i in self.instances(unit)]
        for parameter in unread:
            types = tuple(dict.fromkeys(k[parameter.arg] for k in known if k.get(parameter.arg)))
            if types:
                found[name_place(parameter)] = types

    def instances(self, unit: str) -> list[instances.Instance]:
        """How a helper was called, each way once."""
        return instances.instances(self.program, self.attempt.result, unit)

    @property
    def ttir(self) -> str:
        """Its TTIR; empty where it has none, or none was asked for yet (`take_ttir`)."""
        return self.attempt.result.ttir or str(self.memo.get("ttir", ""))

    def take_ttir(self, text: str) -> None:
        """Keep the TTIR, which is generated apart from the check since a check generates less than all of it."""
        self.memo["ttir"] = text
        self.__dict__.pop("module", None)
        _ = self.module

    @cached_property
    def module(self) -> lines.Module:
        """The operations of its TTIR, empty where it has none. Parsing takes a while: see `parsed`."""
        return lines.read(self.ttir)

    @property
    def parsed(self) -> lines.Module | None:
        """`module`, if somebody has asked for it before: who must answer at once does not parse."""
        return self.__dict__.get("module")

    def at(self, node: ast.AST) -> tuple[str, ...]:
        """The types of a node; none where the generator did not come by."""
        return self.types.get(place_of(node), ())

    def _function_at(self, line: int) -> JitFunction | None:
        return next((f for f in kernels.functions(self.document) if f.node.lineno == line), None)


def _indent(origin: UnitOrigin, line: int) -> int:
    # Indentation is blanks and tabs, so that its characters are its bytes.
    return origin.indents[line - 1] if 0 < line <= len(origin.indents) else 0


@dataclass(frozen=True, eq=False)
class KernelView:
    """One kernel as its check saw it, in every specialization, the first of tier 1 first."""

    function: JitFunction
    program: Program
    trials: tuple[Trial, ...]
    stale: bool = False
    """Whether it is of an earlier text than the snapshot's, since the kernel does not parse now."""

    @property
    def name(self) -> str:
        """Its qualified name."""
        return self.function.qualname

    @property
    def specializations(self) -> tuple[Specialization, ...]:
        """What was generated, a trial's best attempt each."""
        return tuple(t.best.specialization for t in self.trials)

    def index(self, chosen: str = "") -> int:
        """The trial that is shown: the one whose specialization has the key that the user chose, else the first that is
        clean, else the first."""
        for number, specialization in enumerate(self.specializations):
            if chosen and specialization.key == chosen:
                return number
        clean = (n for n, t in enumerate(self.trials) if t.tier == 1 and t.best.is_clean)
        return next(clean, 0)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What one check of a file knows.

    Attributes:
        document: the text that was checked.
        kernels: its kernels and, after them, kernels of other files that reach functions of this one.
        api: what the installed Triton has.
    """

    document: ParsedDocument
    kernels: tuple[KernelView, ...]
    api: TritonApi = field(default_factory=TritonApi)
    _readings: dict[tuple[int, int], Reading] = field(default_factory=dict, repr=False)

    @property
    def path(self) -> str:
        """The file."""
        return self.document.path

    @cached_property
    def functions(self) -> tuple[JitFunction, ...]:
        """The functions of the file that are part of a kernel's program, in order of the text."""
        lines = {line for n in range(len(self.kernels)) for line in self.reading(n, 0).units if self.kernels[n].trials}
        return tuple(f for f in kernels.functions(self.document) if f.node.lineno in lines)

    def reading(self, kernel: int, trial: int) -> Reading:
        """What one attempt said of this file."""
        known = self._readings.get((kernel, trial))
        if known is None:
            view = self.kernels[kernel]
            known = Reading(view.trials[trial].best, view.program, self.document)
            self._readings[kernel, trial] = known
        return known

    def view(self, name: str) -> KernelView | None:
        """The kernel of this file with this qualified name."""
        return next((k for k in self.kernels if k.name == name and k.function.path == self.path), None)

    def function_at(self, line: int) -> JitFunction | None:
        """The innermost function of a program that a 1-based line lies in."""
        found = None
        for function in self.functions:
            first = min([function.node.lineno, *(d.lineno for d in function.node.decorator_list)])
            if first <= line <= (function.node.end_lineno or 0):
                found = function
        return found

    def readings(self, function: JitFunction, chosen: Mapping[str, str]) -> Iterator[Reading]:
        """What is known of a function: the active specialization first, then the others, of every kernel that reaches it.

        Args:
            chosen: the specialization that the user chose, by a kernel's qualified name.
        """
        rest: list[tuple[int, int]] = []
        first = True
        for number, view in enumerate(self.kernels):
            if not view.trials:
                continue
            active = view.index(chosen.get(view.name, ""))
            order = [active, *(n for n in range(len(view.trials)) if n != active)]
            for trial in order:
                reading = self.reading(number, trial)
                if not reading.generated(function):
                    continue
                if first:
                    first = False
                    yield reading
                else:
                    rest.append((number, trial))
        for key in rest:
            yield self.reading(*key)

    def follow(self, before: Snapshot) -> None:
        """Take over what was computed for an earlier snapshot of the file, for kernels that stand there as they did."""
        known = {(v.function.path, v.function.key): number for number, v in enumerate(before.kernels)}
        for number, view in enumerate(self.kernels):
            old = known.get((view.function.path, view.function.key))
            if old is None:
                continue
            was = before.kernels[old]
            if was.trials is view.trials and not was.stale and was.program.origins == view.program.origins:
                for trial in range(len(view.trials)):
                    reading = before._readings.get((old, trial))
                    if reading is not None:
                        self._readings[number, trial] = reading

    def warm(self) -> Iterator[None]:
        """Compute ahead what features read, a part at each step: first the types of the active specializations and what each
        reached, then what other specializations say and the rows of TTIR."""
        for number, view in enumerate(self.kernels):
            for trial in range(len(view.trials)):
                _ = self.reading(number, trial).reached
            if view.trials:
                _ = self.reading(number, view.index()).types
            yield
        _ = self.functions, self.imports
        yield
        for number, view in enumerate(self.kernels):
            if view.trials and self.reading(number, view.index()).ttir:
                _ = self.reading(number, view.index()).module
                yield
        for number, view in enumerate(self.kernels):
            for trial in range(len(view.trials)):
                _ = self.reading(number, trial).types
                yield

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What the names that imports bind stand for, as dotted names."""
        return kernels.imported_names(self.document.tree)

    def active(self, function: JitFunction, chosen: Mapping[str, str]) -> Reading | None:
        """What the active specialization says of a function."""
        return next(self.readings(function, chosen), None)
