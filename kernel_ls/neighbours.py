"""Which files of a folder may launch or call which jit functions, by their words alone: no file is parsed for it.

A kernel's launches and a helper's callers may stand anywhere in a workspace. Reading every file as Python would take
seconds; finding the files that hold a jit function's name takes milliseconds, and only those are read properly.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_ls.discovery import walk

_JIT = re.compile(rb"^[ \t]*@[\w.]*jit\b[^\n]*\n(?:[^\n]*\n){0,40}?[ \t]*def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*")
MOST_FILES = 20_000
LARGEST = 1_000_000
"""Bytes of a file beyond which it is generated code, or no code at all."""


@dataclass(frozen=True, slots=True)
class _Known:
    stamp: tuple[int, int]
    defines: frozenset[bytes]
    mentions: frozenset[bytes]


class Neighbours:
    """The files below a folder that may have to do with a jit function.

    `refresh` may run in a thread; `naming` answers from the last refresh that ended.

    Args:
        folder: the root.
        exclude: patterns of .gitignore's kind, relative to it.
    """

    def __init__(self, folder: Path, exclude: Sequence[str] = ()) -> None:
        self.folder = folder
        self._exclude = tuple(exclude)
        self._files: dict[str, _Known] = {}
        self._refreshing = threading.Lock()
        self.is_known = False
        """Whether a first refresh has ended."""

    def refresh(self) -> bool:
        """Look at the folder again, reading what changed; whether anything did."""
        with self._refreshing:
            stamps = self._stamps()
            before = self._files
            fresh: set[str] = set()
            found: dict[str, _Known] = {}
            for path, stamp in stamps.items():
                known = before.get(path)
                if known is not None and known.stamp == stamp:
                    found[path] = known
                else:
                    # Read again below rather than kept: all of a large folder's texts at once are a gigabyte.
                    fresh.add(path)
                    found[path] = _Known(stamp, frozenset(_JIT.findall(_read(path))), frozenset())
            names = frozenset().union(*(k.defines for k in found.values())) if found else frozenset()
            earlier = frozenset().union(*(k.defines for k in before.values())) if before else frozenset()
            # A name that is new may stand in files that have not changed.
            for path in stamps if names - earlier else fresh:
                words = names.intersection(_WORD.findall(_read(path))) if names else frozenset()
                found[path] = _Known(found[path].stamp, found[path].defines, words)
            # A name that no file defines any more is as if it had never been.
            for path, known in found.items():
                if not known.mentions <= names:
                    found[path] = _Known(known.stamp, known.defines, known.mentions & names)
            changed = bool(fresh) or found.keys() != before.keys()
            self._files = found
            self.is_known = True
            return changed

    def files(self) -> list[str]:
        """All files that were seen, in order."""
        return sorted(self._files)

    def naming(self, names: Iterable[str]) -> frozenset[str]:
        """The files that hold one of these names of jit functions."""
        wanted = {name.encode() for name in names}
        return frozenset(path for path, known in self._files.items() if wanted & known.mentions)

    def _stamps(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        if self.folder in _whole_homes():
            # A lone file that lies there is no project, and what lies below is everything that a person has.
            paths: Iterable[Path] = sorted(self.folder.glob("*.py"))
        else:
            paths = walk(self.folder, exclude=self._exclude, root=self.folder, mentioning=())
        for path in paths:
            try:
                status = path.stat()
            except OSError:
                continue
            if status.st_size <= LARGEST:
                found[path.as_posix()] = (status.st_mtime_ns, status.st_size)
            if len(found) >= MOST_FILES:
                break
        return found


def _whole_homes() -> tuple[Path, ...]:
    """The user's home folder and those around it."""
    try:
        home = Path.home()
    except RuntimeError:
        return (Path("/"),)
    return (home, *home.parents)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
