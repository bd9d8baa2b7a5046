"""Which files were read to evaluate which, directly and through others."""

from __future__ import annotations

from collections.abc import Iterable


class Reads:
    """Readers and what they read. A folder that is imported as a package counts under its name with a final `/`."""

    def __init__(self) -> None:
        self._direct: dict[str, set[str]] = {}
        self._dependents: dict[str, set[str]] | None = None

    def add(self, reader: str, files: Iterable[str] = ()) -> None:
        """Note that some files were read for one; with none, that it was read itself."""
        known = self._direct.setdefault(reader, set())
        new = {file for file in files if file != reader} - known
        if new or not known:
            known |= new
            self._dependents = None

    def forget(self, readers: Iterable[str]) -> None:
        """What some files read is not known any more."""
        for reader in readers:
            if self._direct.pop(reader, None) is not None:
                self._dependents = None

    def dependencies(self, path: str) -> set[str]:
        """The files that were read to evaluate a file, itself included."""
        seen: set[str] = set()
        stack = [path]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(self._direct.get(current, ()))
        return {name for name in seen if not name.endswith("/")}

    def dependents(self, path: str) -> set[str]:
        """The files whose evaluation read a file, as far as is known."""
        if self._dependents is None:
            self._dependents = {}
            for reader in self._direct:
                for file in self.dependencies(reader):
                    if file != reader:
                        self._dependents.setdefault(file, set()).add(reader)
        return set(self._dependents.get(path, ()))
