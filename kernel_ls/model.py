"""The frozen data that every layer speaks.

Nothing here does IO, knows a protocol, or imports another module of the project.

Coordinates
-----------
`Span` is in *buffer coordinates*: 0-based lines, 0-based columns that count Unicode code points of the buffer's text.
The CLI adds one to both; `convert.py` turns the columns into the encoding that the LSP client negotiated.
`UnitSpan` is in *unit coordinates*: a position inside one function's text as Triton parses it (dedented, decorators
cut), 1-based lines and 0-based UTF-8 byte columns, as Python's `ast` counts. Only `analysis/positions.py` converts.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Literal

Json = Any
"""What `json.dumps` accepts. Wire formats (values, units, facts) are described in ARCHITECTURE.md."""


# --------------------------------------------------------------------------------------------- places


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a buffer: 0-based line, 0-based column in Unicode code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of a buffer."""

    start: Position
    end: Position

    @staticmethod
    def of(line: int, column: int, end_line: int, end_column: int) -> Span:
        """Build a span from four 0-based numbers."""
        return Span(Position(line, column), Position(end_line, end_column))

    def contains(self, position: Position) -> bool:
        """Whether `position` lies in the span, its end included (a cursor may stand behind the last character)."""
        return self.start <= position <= self.end


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A span of a file. `path` is absolute; for stdin and unsaved buffers it is the name they will have."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True, order=True)
class UnitSpan:
    """A range of one unit's text: 1-based lines, 0-based UTF-8 byte columns."""

    unit: str
    line: int
    column: int
    end_line: int
    end_column: int


# --------------------------------------------------------------------------------------------- targets


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What to compile for, as Triton's `GPUTarget`: `cuda:90`, `hip:gfx942`."""

    backend: str
    arch: int | str
    warp_size: int

    @staticmethod
    def parse(text: str) -> Target:
        """Read `cuda:90`, `hip:gfx942` or, with the warp size spelt out, `hip:gfx1100:32`.

        Raises:
            ValueError: the text is not of that form; the message says what is wrong.
        """
        parts = text.split(":")
        if len(parts) not in (2, 3) or not all(parts):
            raise ValueError(f"target {text!r} is not of the form BACKEND:ARCH, such as cuda:90 or hip:gfx942")
        backend, arch_text = parts[0], parts[1]
        if backend == "cuda":
            if not arch_text.isdigit():
                raise ValueError(f"target {text!r}: a cuda architecture is a number such as 80, 90 or 100")
            arch: int | str = int(arch_text)
            warp = 32
        else:
            arch = arch_text
            # AMD's CDNA chips (gfx9..) have 64 lanes a wavefront, RDNA (gfx10.., gfx11.., gfx12..) 32.
            warp = 64 if arch_text.startswith("gfx9") else 32
        if len(parts) == 3:
            if parts[2] not in ("16", "32", "64"):
                raise ValueError(f"target {text!r}: a warp size is 16, 32 or 64")
            warp = int(parts[2])
        return Target(backend, arch, warp)

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"


DEFAULT_TARGET = Target("cuda", 90, 32)


# --------------------------------------------------------------------------------------------- evidence and specializations


class EvidenceKind(Enum):
    """On what a fact about a kernel's argument rests, best first (design.md, "Specializations")."""

    PIN = "pin"
    RECORDED = "recorded launch"
    LAUNCH = "launch site"
    AUTOTUNE = "autotune config"
    HEURISTIC = "heuristic"
    ANNOTATION = "annotation"
    DEFAULT = "default"
    USE = "use"
    NAME = "name"
    VARIANT = "run-time variant"
    REPAIR = "repair"

    @property
    def is_guess(self) -> bool:
        """Whether a fact of this kind was guessed, so that a bounded search may change it."""
        return self in (EvidenceKind.USE, EvidenceKind.NAME, EvidenceKind.REPAIR)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a fact is believed: its kind, a phrase for a person, and the place it was read from, if any."""

    kind: EvidenceKind
    detail: str = ""
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """What one parameter is in one specialization.

    `type` is Triton's signature notation: `*fp16`, `i32`, `fp32`, `u1`, `constexpr`, `tensordesc<fp16[64, 64]>`, or a
    tuple of such for a tuple argument. `value` is a wire value (ARCHITECTURE.md, "Values") and is meaningful only where
    `type` is `constexpr` (None is `{"k": "lit", "v": null}`). `divisible` is Triton's divisibility-by-16 hint.
    """

    name: str
    type: str | tuple[Any, ...]
    evidence: Evidence
    value: Json = None
    divisible: bool = False
    open: bool = False
    """Whether evidence allows other things as well, so that this one was picked."""

    @property
    def guessed(self) -> bool:
        """Whether no evidence stands behind this very fact."""
        return self.open or self.evidence.kind.is_guess


@dataclass(frozen=True, slots=True)
class Specialization:
    """One way to instantiate a kernel: every parameter in order, and the launch options.

    `tier` 1 is what the evidence says happens; tier 2 is a variant that can happen at run time (a stride that is 1, a
    pointer that is None) and can only give warnings.
    """

    arguments: tuple[Argument, ...]
    options: tuple[tuple[str, Json], ...] = ()
    tier: Literal[1, 2] = 1
    origin: Evidence = Evidence(EvidenceKind.USE)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Names of the parameters whose facts were guessed."""
        return tuple(a.name for a in self.arguments if a.guessed)

    @property
    def key(self) -> str:
        """A digest of what the generator sees of it: equal for specializations that differ in evidence alone."""
        return digest(self.wire())

    def wire(self) -> Json:
        """The part of a job that the worker needs: parameters in order, and options."""
        return {
            "arguments": [[a.name, a.type, a.value, a.divisible] for a in self.arguments],
            "options": dict(self.options),
        }


# --------------------------------------------------------------------------------------------- programs and jobs


@dataclass(frozen=True)
class Program:
    """A closed program: the text of a kernel and of everything it reaches, as plain data.

    `units` maps a unit id to its wire form (ARCHITECTURE.md, "Units"). `origins` tells where each unit's text stands in
    the user's files and is *not* part of the key, so that moving code costs nothing.
    """

    kernel: str
    units: Mapping[str, Json]
    origins: Mapping[str, UnitOrigin] = field(default_factory=dict)
    unknown: tuple[tuple[str, str, str], ...] = ()
    """(unit, name, reason) for each global that a unit reads and that could not be evaluated."""

    @cached_property
    def key(self) -> str:
        """A digest of everything that the generator sees."""
        return digest([self.kernel, dict(self.units)])


@dataclass(frozen=True, slots=True)
class UnitOrigin:
    """Where a unit's text stands: file, 0-based row of its `def`, and what was cut from each line's start.

    `indents` holds, per unit line, how many code points of the buffer's row precede the unit's line (dedent); `rows` the
    0-based row of each unit line, since comments and empty lines are no part of a unit.
    """

    path: str
    first_line: int
    indents: tuple[int, ...]
    rows: tuple[int, ...] = ()

    def row(self, line: int) -> int:
        """The 0-based row of a 1-based unit line; lines outside the unit count on from its ends."""
        if 1 <= line <= len(self.rows):
            return self.rows[line - 1]
        if line > len(self.rows) > 0:
            return self.rows[-1] + line - len(self.rows)
        return self.first_line + line - 1

    def line(self, row: int) -> int | None:
        """The 1-based unit line of a 0-based row; None for a row that is no part of the unit."""
        index = bisect_left(self.rows, row)
        return index + 1 if index < len(self.rows) and self.rows[index] == row else None


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of the worker's work: a program under a specialization for a target."""

    program: Program
    specialization: Specialization
    target: Target
    collect: tuple[str, ...] = ()
    """Extra things to return: `types`, `ttir`, `reached`."""
    budget_seconds: float = 10.0

    @property
    def key(self) -> str:
        """A digest of the job, without positions; the Triton and worker versions are added by the cache."""
        return digest([self.program.key, self.specialization.wire(), str(self.target), sorted(self.collect)])

    def wire(self) -> Json:
        """The job as the worker reads it."""
        return {
            "kernel": self.program.kernel,
            "units": dict(self.program.units),
            "specialization": self.specialization.wire(),
            "target": [self.target.backend, self.target.arch, self.target.warp_size],
            "collect": list(self.collect),
            "budget": self.budget_seconds,
        }


# --------------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing the code generator rejected, in unit coordinates, before a rule has given it a code.

    `path` holds the call sites from the kernel to the unit of `span`, outermost first. `exception` is the innermost
    exception's type name, `text` its message as Triton gave it. `facts` is described in ARCHITECTURE.md, "Facts".
    """

    span: UnitSpan
    exception: str
    text: str
    node: str
    phase: Literal["setup", "generate", "verify"]
    path: tuple[UnitSpan, ...] = ()
    facts: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """A warning Triton gave or a line that `tl.static_print` printed, at its place."""

    span: UnitSpan
    kind: Literal["warning", "print"]
    text: str
    path: tuple[UnitSpan, ...] = ()


class Status(Enum):
    """How a job ended."""

    DONE = "done"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What the worker said of one job. Later depths add fields; they never change the meaning of these."""

    status: Status
    faults: tuple[Fault, ...] = ()
    notes: tuple[Note, ...] = ()
    types: Mapping[str, Json] = field(default_factory=dict)
    """Per unit: `[line, column, end_line, end_column, [type, ...]]`, the types an expression had, in order met."""
    reached: Mapping[str, Json] = field(default_factory=dict)
    """Per unit: `[first_line, last_line]` of each statement that was generated."""
    lost: Mapping[str, Json] = field(default_factory=dict)
    """Per unit: `[first_line, last_line]` of each statement given up because it reads what another fault left unknown."""
    ttir: str = ""
    seconds: float = 0.0
    truncated: str = ""
    """Why generation stopped early (a budget), or empty."""
    message: str = ""
    """For a status other than done: what happened, in a sentence for the user."""


# --------------------------------------------------------------------------------------------- findings


class Severity(Enum):
    """How certain and how bad: error (every specialization fails), warning, info."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a finding."""

    message: str
    location: Location


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text at `location` by `text`."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that was proved to remove its finding and to add no error.

    Candidates of one finding that share a `choice` are answers to one question, such as which size was meant: where
    several would do, the first that is `likely` is offered, or none.
    """

    title: str
    edits: tuple[Edit, ...]
    choice: str = ""
    likely: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, one finding, in buffer coordinates.

    `kernel` is the qualified name of the kernel whose check found it (empty for findings around kernels);
    `specializations` are those that show it, one of them in full for reports.
    """

    code: str
    severity: Severity
    message: str
    location: Location
    kernel: str = ""
    specialization: Mapping[str, str] = field(default_factory=dict)
    specializations: int = 1
    assumed: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    original: str = ""
    """Triton's own message, kept for the second line."""
    fix: Fix | None = None
    tags: tuple[str, ...] = ()
    """`unnecessary` or `deprecated`, as LSP's diagnostic tags."""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """How one kernel's check ended."""

    path: str
    name: str
    location: Location
    status: Literal["clean", "findings", "unknown", "crashed", "timeout"]
    specializations: tuple[Specialization, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FileReport:
    """Everything a check of one file found; findings may lie in other files (a helper's module)."""

    path: str
    kernels: tuple[KernelReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    dependencies: tuple[str, ...] = ()
    """Absolute paths of the other files that were read to check this one."""


def digest(value: Json) -> str:
    """A stable hexadecimal digest of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
