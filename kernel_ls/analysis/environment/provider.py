"""Where the texts of modules come from: the one thing that the environment needs from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class SourceProvider(Protocol):
    """Texts of Python files, open buffers before the disk. Paths are absolute, with `/` between their parts."""

    def read(self, path: str) -> str | None:
        """The current text of a file, or None where there is no such file or it is not text."""

    def is_file(self, path: str) -> bool:
        """Whether there is such a file (on disk or as a buffer)."""

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder."""

    def search_path(self) -> Sequence[str]:
        """Folders in which absolute imports are looked up, in order."""


class OverlayProvider:
    """Another provider's texts with some replaced: what would be if a change were made."""

    def __init__(self, base: SourceProvider, texts: Mapping[str, str]) -> None:
        self._base = base
        self._texts = dict(texts)

    def read(self, path: str) -> str | None:
        """The text of a file."""
        return self._texts[path] if path in self._texts else self._base.read(path)

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._texts or self._base.is_file(path)

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder."""
        return self._base.is_folder(path)

    def search_path(self) -> Sequence[str]:
        """Where absolute imports are looked up."""
        return self._base.search_path()


class MemoryProvider:
    """Sources that are held in memory: for tests and for text that has no file.

    Args:
        files: path -> text.
        search_path: where absolute imports are looked up.
    """

    def __init__(self, files: Mapping[str, str], search_path: Sequence[str] = ("/project",)) -> None:
        self.files = dict(files)
        self._search_path = tuple(search_path)

    def read(self, path: str) -> str | None:
        """The text of a file."""
        return self.files.get(path)

    def is_file(self, path: str) -> bool:
        """Whether the file is held."""
        return path in self.files

    def is_folder(self, path: str) -> bool:
        """Whether a file below it is held."""
        return any(name.startswith(path.rstrip("/") + "/") for name in self.files)

    def search_path(self) -> Sequence[str]:
        """The folders given."""
        return self._search_path
