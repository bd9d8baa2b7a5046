"""What was found for a kernel or around one, kept until something that it rests on changes.

What is kept holds for a key, for the host text of the files that were read for it, and for inputs, which are compared as
they stand. When rows moved, the findings are taken along; when a place of theirs was edited, they are found again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.moves import Edited, Moves, between, moved, rows
from kernel_ls.model import CompileResult, Status

T = TypeVar("T")

_STATES = 4
"""How many values an owner has: what is typed and taken back, or half typed and finished, finds its own again."""


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    key: Hashable
    inputs: Any
    value: T
    rests_on: Mapping[str, Hashable]
    documents: Mapping[str, ParsedDocument | None]
    rows: Mapping[str, frozenset[int]]


class Kept(Generic[T]):
    """The last values of each owner.

    Args:
        documents: a file's document as it is now.
        content: what of a file's text matters for the values, as it is now.
        most: how many owners are remembered; those that were not asked for longest go first.
    """

    def __init__(
        self,
        documents: Callable[[str], ParsedDocument | None],
        content: Callable[[str], Hashable],
        most: int = 512,
    ) -> None:
        self._documents = documents
        self._content = content
        self._most = most
        self._entries: OrderedDict[Hashable, list[_Entry[T]]] = OrderedDict()

    def get(self, owner: Hashable, key: Hashable, inputs: Any = None) -> tuple[T, frozenset[str]] | None:
        """An owner's value with its places as they are now, and the files that it rests on; None where none holds.

        Args:
            owner: whose.
            key: what the value rests on beside files.
            inputs: what else it rests on, with places: values of the model.
        """
        entries = self._entries.get(owner, [])
        for entry in entries:
            if entry.key != key or any(self._content(path) != was for path, was in entry.rests_on.items()):
                continue
            now = self._now(entry, inputs)
            if now is None:
                continue
            entries.remove(entry)
            entries.insert(0, now)
            self._entries.move_to_end(owner)
            return now.value, frozenset(now.rests_on)
        return None

    def _now(self, entry: _Entry[T], inputs: Any) -> _Entry[T] | None:
        """An entry with its places as they are now; None where one of them was edited, or the inputs are others."""
        by_path: dict[str, Moves] = {}
        documents = {path: self._documents(path) for path in entry.documents}
        for path, before in entry.documents.items():
            now = documents[path]
            if now is before:
                continue
            if now is None or before is None:
                return None
            by = between(before, now)
            if by is not None and (by.by or any(by.first <= row < by.last for row in entry.rows[path])):
                by_path[path] = by
        if not by_path:
            # The rows of the next edit count from here.
            return replace(entry, documents=documents) if entry.inputs == inputs else None
        try:
            if moved(entry.inputs, by_path) != inputs:
                return None
            value = moved(entry.value, by_path)
        except Edited:
            return None
        try:
            found = {p: frozenset(map(by_path[p].row, r)) if p in by_path else r for p, r in entry.rows.items()}
        except Edited:
            # A span that ends at the beginning of an edited row is none of that row.
            found = rows((inputs, value))
        return _Entry(entry.key, inputs, value, entry.rests_on, documents, found)

    def put(self, owner: Hashable, key: Hashable, inputs: Any, value: T, rests_on: Iterable[str]) -> None:
        """Keep a value beside the owner's last ones.

        Args:
            owner: whose.
            key: as for `get`.
            inputs: as for `get`.
            value: what was found.
            rests_on: the files that were read for it.
        """
        found = rows((inputs, value))
        content = {path: self._content(path) for path in rests_on}
        entry = _Entry(key, inputs, value, content, {path: self._documents(path) for path in found}, found)
        entries = self._entries.setdefault(owner, [])
        entries.insert(0, entry)
        del entries[_STATES:]
        self._entries.move_to_end(owner)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)


def lasts(result: CompileResult) -> bool:
    """Whether a result may be kept: what a crash or a deadline left may be another one next time."""
    return result.status is Status.DONE
