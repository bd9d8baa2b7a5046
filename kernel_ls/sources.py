"""Texts of files: open buffers over the disk, what was read from disk kept until the file's time or size changes."""

from __future__ import annotations

import os
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path

_LIMIT = 10_000_000
"""Bytes; a larger file is not read, since no module that kernels need is that long."""


class FileSystemProvider:
    """The `SourceProvider` of the analysis over the disk, with the editor's buffers laid over it.

    Args:
        workspace: folders of the workspace; a `src` folder in one of them is searched as well.
        python_path: `sys.path` of the user's interpreter, as the worker reports it.
        steady: look at a file on disk once, and again only after `changed`: for whoever reads the same files thousands of
            times in one piece of work.
    """

    def __init__(self, workspace: Sequence[str] = (), python_path: Sequence[str] = (), *, steady: bool = False) -> None:
        self._workspace = [_normal(folder) for folder in workspace]
        self._python_path = [_normal(folder) for folder in python_path if folder]
        self._buffers: dict[str, str] = {}
        self._texts: dict[str, tuple[tuple[int, int], str | None]] = {}
        self._kinds: dict[str, tuple[bool, bool]] = {}
        self._steady = steady
        self._looked: dict[str, str | None] = {}
        """What files on disk held when they were looked at, if that is to do."""

    # ---------------------------------------------------------------------------------------------- changes

    def open(self, path: str, text: str) -> None:
        """Lay a buffer's text over a file; also for each later change of the buffer."""
        self._buffers[_normal(path)] = text
        self._kinds.clear()

    def close(self, path: str) -> None:
        """Take a buffer away: the file's text on disk counts again."""
        self._buffers.pop(_normal(path), None)
        self.changed()

    def changed(self) -> None:
        """Forget what is known of the disk, after files were made, moved or deleted."""
        self._kinds.clear()
        self._looked.clear()

    def look_again(self) -> None:
        """Look at each file again when it is read next: its text may have changed, which nobody told."""
        self._looked.clear()

    def set_python_path(self, python_path: Sequence[str]) -> None:
        """Tell `sys.path` of the user's interpreter, once it is known."""
        self._python_path = [_normal(folder) for folder in python_path if folder]

    @property
    def buffers(self) -> Mapping[str, str]:
        """The open buffers by path."""
        return self._buffers

    # ---------------------------------------------------------------------------------------------- reading

    def read(self, path: str) -> str | None:
        """The buffer's text, or the file's; None where there is none, or it is not text in its declared encoding."""
        if path in self._buffers:
            return self._buffers[path]
        if path in self._looked:
            return self._looked[path]
        text = self._on_disk(path)
        if self._steady:
            self._looked[path] = text
        return text

    def _on_disk(self, path: str) -> str | None:
        try:
            status = os.stat(path)  # noqa: PTH116 (asked thousands of times a check, and a Path costs more than the call)
        except (OSError, ValueError):
            # A ValueError where no file can have such a name: a buffer's that has none.
            return None
        mark = (status.st_mtime_ns, status.st_size)
        known = self._texts.get(path)
        if known is None or known[0] != mark:
            known = self._texts[path] = (mark, _text(path) if status.st_size <= _LIMIT else None)
        return known[1]

    def is_file(self, path: str) -> bool:
        """Whether there is such a file or buffer."""
        return path in self._buffers or self._kind(path)[0]

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder."""
        return self._kind(path)[1]

    def _kind(self, path: str) -> tuple[bool, bool]:
        known = self._kinds.get(path)
        if known is None:
            place = Path(path)
            known = self._kinds[path] = (place.is_file(), place.is_dir())
        return known

    def search_path(self) -> Sequence[str]:
        """Workspace folders, their `src` folders, then the interpreter's path."""
        found: list[str] = []
        for folder in self._workspace:
            found.append(folder)
            source = f"{folder}/src"
            if self.is_folder(source):
                found.append(source)
        return [*found, *(p for p in self._python_path if p not in found)]


def _normal(path: str) -> str:
    if not path.startswith("/") and ("://" in path or path.startswith("untitled:")):
        return path  # a buffer that has no file
    return Path(path).absolute().as_posix().rstrip("/") or "/"


def _text(path: str) -> str | None:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeError):
        return None
