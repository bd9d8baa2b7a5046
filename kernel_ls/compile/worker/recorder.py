"""What one check found: faults, notes, types and reached lines, each once, and how much time is left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from .spans import WireSpan


class Stopped(BaseException):
    """The budget is spent. A `BaseException`, so that nothing of Triton's turns it into an error of the kernel."""


class Halted(BaseException):
    """Generation is over and had faults: the module is not to be verified. A `BaseException` as `Stopped` is."""


class Recorder:
    """Collects the wire result of one job.

    Args:
        built: the program (`environment.Built`), for the units of functions and files.
        budget: seconds of wall time that generation may take.
        collect: extra things that were asked for: `types`, `ttir`, `reached`.
    """

    def __init__(self, built: Any, budget: float, collect: list[str]) -> None:
        self.unit_of = built.unit_of
        self.sources: dict[str, str] = built.sources
        self.started = time.monotonic()
        self._budget = budget
        self._deadline = self.started + budget
        self.wants_types = "types" in collect
        self.wants_reached = "reached" in collect
        self.wants_ttir = "ttir" in collect
        self.path: list[WireSpan] = []
        """Call sites from the kernel to the function that is being generated, outermost first."""
        self.generators: list[Any] = []
        """Generators of the program's functions that are at work, outermost first."""
        self.faults: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.truncated = ""
        self.doubting = False
        """Whether there is a value of which something is only guessed (doubts.py)."""
        self._seen_faults: set[tuple[Any, ...]] = set()
        self._seen_notes: set[tuple[Any, ...]] = set()
        self._types: dict[str, dict[tuple[int, int, int, int], dict[str, None]]] = {}
        self._reached: dict[str, set[tuple[int, int]]] = {}
        self._lost: dict[str, set[tuple[int, int]]] = {}

    def tick(self) -> None:
        """Called at every node.

        Raises:
            Stopped: the budget is spent.
        """
        if time.monotonic() > self._deadline:
            self.truncated = f"generation took longer than its budget of {self._budget:g} s and was stopped"
            raise Stopped

    def fault(
        self,
        span: WireSpan,
        exception: str,
        text: str,
        node: str,
        facts: dict[str, Any],
        phase: str = "generate",
    ) -> None:
        """Keep a fault unless the same text was already found at the same place (loop bodies are generated often)."""
        key = (*span, text)
        if key in self._seen_faults:
            return
        self._seen_faults.add(key)
        self.faults.append(
            {
                "span": list(span),
                "exception": exception,
                "text": text,
                "node": node,
                "phase": phase,
                "path": [list(site) for site in self.path],
                "facts": facts,
            }
        )

    @contextlib.contextmanager
    def aside(self) -> Iterator[Callable[[], bool]]:
        """Forget the faults and notes that are found meanwhile; gives a function that says whether there were faults."""
        faults, notes = len(self.faults), len(self.notes)
        seen = set(self._seen_faults), set(self._seen_notes)
        any_faults = False
        try:
            yield lambda: any_faults
        finally:
            any_faults = len(self.faults) > faults
            del self.faults[faults:], self.notes[notes:]
            self._seen_faults, self._seen_notes = seen

    def note(self, span: WireSpan, kind: str, text: str) -> None:
        """Keep a warning or a printed line, once."""
        key = (*span, kind, text)
        if key in self._seen_notes:
            return
        self._seen_notes.add(key)
        self.notes.append({"span": list(span), "kind": kind, "text": text, "path": [list(s) for s in self.path]})

    def type(self, unit: str, place: tuple[int, int, int, int], text: str) -> None:
        """Keep the type that an expression had."""
        self._types.setdefault(unit, {}).setdefault(place, {}).setdefault(text)

    def reach(self, unit: str, lines: list[int]) -> None:
        """Keep that a statement was generated."""
        self._reached.setdefault(unit, set()).add((lines[0], lines[1]))

    def lose(self, unit: str, lines: list[int]) -> None:
        """Keep that a statement was given up, because it reads what another fault left without a value."""
        self._lost.setdefault(unit, set()).add((lines[0], lines[1]))

    def result(self, ttir: str = "") -> dict[str, Any]:
        """The wire result (ARCHITECTURE.md, "Results")."""
        return {
            "faults": self.faults,
            "notes": self.notes,
            "types": {
                unit: [[*place, list(texts)] for place, texts in sorted(places.items())]
                for unit, places in self._types.items()
            },
            "reached": {unit: [list(lines) for lines in sorted(found)] for unit, found in self._reached.items()},
            "lost": {unit: [list(lines) for lines in sorted(found)] for unit, found in self._lost.items()},
            "ttir": ttir,
            "seconds": time.monotonic() - self.started,
            "truncated": self.truncated,
        }
