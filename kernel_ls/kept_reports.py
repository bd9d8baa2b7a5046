"""Whole reports of files that nothing has changed for: a second check of an unchanged tree only reads texts.

A report rests on the texts that were read for it, on which files there are (an import looks for files that are not there),
on which of them name a jit function of the file, on the settings, the Triton and this program. All of that is in the key or
is compared, so that a kept report is the one that a check would make.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from kernel_ls import model
from kernel_ls.compile.cache import ResultCache
from kernel_ls.model import FileReport


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A report, with the digests of the texts that it rests on and the names of the file's jit functions."""

    report: FileReport
    texts: Mapping[str, str]
    names: tuple[str, ...]


class ReportStore:
    """Reports by file in a cache.

    Args:
        cache: where they are kept.
        context: everything a report rests on that is no text: settings, Triton, target, what else is checked, this program.
        read: the text of a file now, or None.
        naming: the files that hold one of some names.
    """

    def __init__(
        self,
        cache: ResultCache,
        context: str,
        read: Callable[[str], str | None],
        naming: Callable[[Iterable[str]], frozenset[str]],
    ) -> None:
        self._cache = cache
        self._context = context
        self._read = read
        self._naming = naming
        self._digests: dict[str, str] = {}

    def get(self, path: str) -> FileReport | None:
        """The report of a file, if one is kept and everything it rests on is as it was."""
        blob = self._cache.read(self._key(path))
        kept = _load(blob) if blob is not None else None
        if kept is None:
            return None
        others = self._naming(kept.names) - {path}
        if not others <= kept.texts.keys() or any(self.digest(p) != d for p, d in kept.texts.items()):
            return None
        return kept.report

    def put(self, path: str, report: FileReport, read: Iterable[str], names: Iterable[str]) -> None:
        """Keep a report.

        Args:
            path: the file.
            report: its report.
            read: the files whose texts it rests on.
            names: the names of the file's jit functions.
        """
        if any(k.status in ("crashed", "timeout") for k in report.kernels):
            return
        known = tuple(sorted(names))
        files = {path, *read, *self._naming(known)}
        kept = KeptReport(report, {file: self.digest(file) for file in files}, known)
        blob = io.BytesIO()
        _Writer(blob, protocol=4).dump(kept)
        self._cache.write(self._key(path), blob.getvalue())

    def _key(self, path: str) -> str:
        return hashlib.sha256(f"report\n{path}\n{self._context}".encode()).hexdigest()

    def digest(self, path: str) -> str:
        """A digest of a file's text, looked at once; empty where it cannot be read."""
        known = self._digests.get(path)
        if known is None:
            text = self._read(path)
            known = "" if text is None else hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
            self._digests[path] = known
        return known


class _Writer(pickle.Pickler):
    """Writes enumerations by their values: how Python itself does it differs between releases of one minor version."""

    def reducer_override(self, value: Any) -> Any:
        return (type(value), (value.value,)) if isinstance(value, Enum) else NotImplemented


class _Reader(pickle.Unpickler):
    """Makes the model's data and nothing else, whatever a damaged or planted file asks for."""

    def find_class(self, module: str, name: str) -> Any:
        if module == model.__name__ and "." not in name:
            found = getattr(model, name, None)
            if isinstance(found, type):
                return found
        if (module, name) == (KeptReport.__module__, KeptReport.__qualname__):
            return KeptReport
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a report")


def _load(blob: bytes) -> KeptReport | None:
    try:
        found = _Reader(io.BytesIO(blob)).load()
    except Exception:  # a damaged entry can raise anything; it is no report then
        return None
    return found if isinstance(found, KeptReport) else None


def own_stamp() -> str:
    """Tells one state of this program from another."""
    folder = Path(__file__).resolve().parent
    stamps = []
    for file in sorted(folder.rglob("*.py")):
        status = file.stat()
        stamps.append(f"{file.relative_to(folder)} {status.st_mtime_ns} {status.st_size}")
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest()
