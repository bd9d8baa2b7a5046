"""Settings from launches that `kernel-ls record` wrote down: what was really passed, as Triton's binder made it.

The file is data that somebody's process wrote: every line is looked at before it is believed, and one that is not as it
should be is left out.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Evidence, EvidenceKind, Json

from .settings import LAUNCH_OPTIONS, Fact, Setting

FILE = ".kernel-ls/launches.jsonl"
"""Where the launches of a workspace are written down, below its root."""

VERSION = 1
_MOST_TEXT = 64 << 20
_MOST_OF_KERNEL = 16
"""Launches of one kernel that are kept."""
_MOST_SETTINGS = 4

_TYPE = re.compile(
    r"constexpr|\*k?\w{1,16}|[iu]\d{1,2}|fp\d{1,2}\w{0,8}|bf16|nvTmaDesc|tensordesc<[\w\[\]<>,.:= ()-]{1,200}>"
)


@dataclass(frozen=True, slots=True)
class RecordedArgument:
    """One argument of a launch: type in Triton's notation, wire value of a constant (None if it has none), divisibility by 16."""

    name: str
    type: Any
    value: Json
    divisible: bool


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """One launch: file and qualified name of the kernel, arguments in order, launch options, the grid where it is known."""

    file: str
    kernel: str
    arguments: tuple[RecordedArgument, ...]
    options: tuple[tuple[str, Json], ...]
    grid: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The launches of a file, and how many of its lines are none."""

    launches: tuple[RecordedLaunch, ...] = ()
    bad: int = 0


def records(text: str) -> Records:
    """Read recorded launches; lines that are not of this version, or are damaged, count as bad."""
    if len(text) > _MOST_TEXT:
        return Records((), text.count("\n"))
    found: dict[str, RecordedLaunch] = {}
    bad = 0
    for line in text.splitlines():
        if line.strip():
            launch = _launch(line)
            if launch is None:
                bad += 1
            else:
                found.setdefault(repr(launch), launch)
    return Records(tuple(found.values()), bad)


def _launch(line: str) -> RecordedLaunch | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("v") != VERSION:
        return None
    file, kernel, arguments, options = (fields.get(k) for k in ("file", "kernel", "args", "options"))
    if not isinstance(file, str) or not isinstance(kernel, str) or not kernel:
        return None
    if not isinstance(arguments, list) or not isinstance(options, dict):
        return None
    read = [_argument(a) for a in arguments]
    if any(a is None for a in read):
        return None
    grid = fields.get("grid")
    numbers = isinstance(grid, list) and len(grid) <= 3 and all(type(n) is int for n in grid)
    return RecordedLaunch(
        file,
        kernel,
        tuple(a for a in read if a is not None),
        tuple(sorted((k, v) for k, v in options.items() if k in LAUNCH_OPTIONS and type(v) in (int, bool, str))),
        tuple(grid) if numbers and isinstance(grid, list) else None,
    )


def _argument(fields: Any) -> RecordedArgument | None:
    if not isinstance(fields, list) or len(fields) != 4 or not isinstance(fields[0], str):
        return None
    type_, value = _type(fields[1]), _value(fields[2])
    return None if type_ is None else RecordedArgument(fields[0], type_, value, fields[3] is True)


def _type(type_: Any) -> Any:
    if isinstance(type_, str):
        return type_ if _TYPE.fullmatch(type_) else None
    if isinstance(type_, list) and len(type_) <= 64:
        inner = tuple(_type(t) for t in type_)
        return None if None in inner else inner
    return None


def _value(value: Any, depth: int = 0) -> Json:
    """A constant's wire value as far as it is one of plain data; None for anything else."""
    if isinstance(value, list) and depth < 4:  # the constants of a tuple argument
        return [_value(item, depth + 1) for item in value]
    if not isinstance(value, dict) or depth > 4:
        return None
    kind, held = value.get("k"), value.get("v")
    if kind == "lit" and (held is None or type(held) in (bool, int, float, str)):
        return {"k": "lit", "v": held}
    if kind == "float" and held in ("inf", "-inf", "nan"):
        return {"k": "float", "v": held}
    if kind == "ref" and isinstance(value.get("path"), str) and re.fullmatch(r"triton\.language\.\w+", value["path"]):
        return {"k": "ref", "path": value["path"]}
    if kind == "tuple" and isinstance(value.get("items"), list):
        items = [_value(item, depth + 1) for item in value["items"]]
        return None if None in items else {"k": "tuple", "items": items}
    return None


def merged(before: str, new: str, root: str) -> str:
    """The text of a file of launches after a run: kernels that were launched now have the launches of now.

    Args:
        before: the file's text.
        new: what the run wrote, with absolute paths.
        root: the workspace's root; files below it are written relative to it, so that a checkout may be moved.
    """
    lines: dict[str, list[str]] = {}
    for line in new.splitlines():
        launch = _launch(line)
        if launch is not None:
            fields = json.loads(line)
            if posixpath.isabs(launch.file) and f"{launch.file}/".startswith(f"{root.rstrip('/')}/"):
                fields["file"] = posixpath.relpath(launch.file, root)
            kept = lines.setdefault(f"{fields['file']}::{launch.kernel}", [])
            text = json.dumps(fields)
            if text not in kept and len(kept) < _MOST_OF_KERNEL:
                kept.append(text)
    older: dict[str, list[str]] = {}
    for line in before.splitlines():
        launch = _launch(line)
        if launch is not None and f"{launch.file}::{launch.kernel}" not in lines:
            older.setdefault(f"{launch.file}::{launch.kernel}", []).append(line)
    every = {**older, **lines}
    return "".join(f"{line}\n" for key in sorted(every) for line in every[key])


class Recorded:
    """The launches of a workspace, by kernel.

    Args:
        found: what the file holds.
        root: the workspace's root.
    """

    def __init__(self, found: Records = Records(), root: str = "") -> None:
        self._by_kernel: dict[tuple[str, str], list[RecordedLaunch]] = {}
        for launch in found.launches:
            path = launch.file if posixpath.isabs(launch.file) else posixpath.normpath(f"{root}/{launch.file}")
            self._by_kernel.setdefault((path, launch.kernel), []).append(launch)

    @property
    def kernels(self) -> int:
        """Of how many kernels launches are known."""
        return len(self._by_kernel)

    def launches_of(self, kernel: JitFunction) -> Sequence[RecordedLaunch]:
        """The launches of a kernel."""
        return self._by_kernel.get((kernel.path, kernel.qualname), ())

    def settings_of(self, kernel: JitFunction) -> tuple[Setting, ...]:
        """What was passed to a kernel, a few distinct settings. Parameters that it had then and has no more are left out."""
        found: dict[str, Setting] = {}
        for launch in self.launches_of(kernel):
            setting = _setting(kernel, launch)
            if setting.facts:
                same = repr(
                    (sorted((n, f.type, repr(f.value), f.divisible) for n, f in setting.facts.items()), setting.options)
                )
                found.setdefault(same, setting)
            if len(found) == _MOST_SETTINGS:
                break
        return tuple(found.values())


def _setting(kernel: JitFunction, launch: RecordedLaunch) -> Setting:
    given: Mapping[str, RecordedArgument] = {a.name: a for a in launch.arguments}
    evidence = Evidence(EvidenceKind.RECORDED, "a recorded launch")
    facts: dict[str, Fact] = {}
    for parameter in kernel.parameters:
        argument = given.get(parameter.name)
        if argument is None:
            continue
        constant = argument.type == "constexpr"
        if constant and argument.value is None:
            continue  # a constant that is no plain data: a function, say
        if "constexpr" in str(argument.type) and not constant:
            continue  # a tuple some of whose elements were made constants
        specialized = constant and argument.value.get("v", 0) in (None, 1) and argument.value.get("k") == "lit"
        if constant != parameter.is_constexpr and not specialized:
            continue  # the kernel has changed since
        if parameter.is_constexpr and not constant:
            continue
        facts[parameter.name] = Fact(argument.type, evidence, argument.value, argument.divisible)
    grid = f" on the grid {launch.grid}" if launch.grid is not None else ""
    return Setting(facts, dict(launch.options), replace(evidence, detail=f"a recorded launch{grid}"))
