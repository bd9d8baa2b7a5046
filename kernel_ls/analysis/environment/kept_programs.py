"""Closed programs kept over edits: a program stays what it is where its units' texts and all host code are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.host_text import head, host_text
from kernel_ls.analysis.kernels import JitFunction, functions
from kernel_ls.analysis.positions import build_unit
from kernel_ls.model import Program, UnitOrigin

Documents = Callable[[str], "ParsedDocument | None"]
_Text = tuple[str, str, str, tuple[str, ...]]
"""Of a unit: its file, its function's key there, its text, its decorators and signature as they are written."""


@dataclass(frozen=True, slots=True)
class KeptProgram:
    """A program and what it rests on.

    Attributes:
        program: the program when it was made.
        epoch: the workspace's epoch then.
        files: the host code of every file that was read for it, and which jit functions were there.
        units: the text of every unit.
    """

    program: Program
    epoch: int
    files: Mapping[str, tuple[str, tuple[str, ...]]]
    units: Mapping[str, _Text]

    def now(self, epoch: int, documents: Documents) -> Program | None:
        """The program with its units where they stand now; None where it may be another one."""
        if epoch != self.epoch or any(_host_code(path, documents) != was for path, was in self.files.items()):
            return None
        origins: dict[str, UnitOrigin] = {}
        for unit, (path, key, source, written) in self.units.items():
            function = _function(path, key, documents)
            if function is None or head(function) != written:
                return None
            text, origin = build_unit(function.document, function.node)
            if text != source:
                return None
            origins[unit] = origin
        same = all(self.program.origins[unit] == origin for unit, origin in origins.items())
        return self.program if same else replace(self.program, origins=origins)


def kept(program: Program, epoch: int, files: Iterable[str], documents: Documents) -> KeptProgram | None:
    """What is to be kept of a program; None where a unit of it is no function that is found again by its name."""
    units: dict[str, _Text] = {}
    for unit, wire in program.units.items():
        origin = program.origins.get(unit)
        module = f"{wire.get('module')}:"
        if origin is None or "class" in wire or not unit.startswith(module):
            return None
        function = _function(origin.path, unit[len(module) :], documents)
        if function is None or function.node.lineno != origin.first_line + 1:
            return None
        units[unit] = origin.path, function.key, str(wire["source"]), head(function)
    return KeptProgram(program, epoch, {path: _host_code(path, documents) for path in files}, units)


def _host_code(path: str, documents: Documents) -> tuple[str, tuple[str, ...]]:
    document = documents(path)
    if document is None:
        return "", ()
    return host_text(document).code, tuple(f.key for f in functions(document) if f.is_jit)


def _function(path: str, key: str, documents: Documents) -> JitFunction | None:
    document = documents(path)
    if document is None:
        return None
    by_key = document.memo.get("functions by key")
    if by_key is None:
        by_key = document.memo["functions by key"] = {f.key: f for f in functions(document)}
    return by_key.get(key)  # type: ignore[attr-defined,no-any-return]
