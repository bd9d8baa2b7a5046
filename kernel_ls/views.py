"""What features read of each open document: its last snapshot, the edits since, and what the user chose.

Part of the session's state, and like it of one event loop. A snapshot is of some earlier text of its document, which is
found again by its content: a check that was slow is as good as one that was fast.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.analysis.features.trail import Hunk, Trail, difference
from kernel_ls.analysis.features.view import View
from kernel_ls.analysis.positions import split_lines

_MOST_EDITS = 48
"""Edits that are told apart between two checks; where there are more, the oldest count as one."""


@dataclass
class _Viewed:
    text: str
    lines: list[str]
    history: list[tuple[str, Hunk | None]] = field(default_factory=list)
    """The texts that the document had, and the edit that led to each from the one before."""
    snapshot: Snapshot | None = None
    trail: Trail = field(default_factory=Trail)
    older: tuple[Snapshot, Trail] | None = None
    good: dict[str, Reading] = field(default_factory=dict)
    """By kernel: the last reading that had TTIR."""
    chosen: dict[str, str] = field(default_factory=dict)


class Views:
    """The views of all open documents, by path."""

    def __init__(self) -> None:
        self._documents: dict[str, _Viewed] = {}

    def opened(self, path: str, text: str) -> None:
        """A document was opened."""
        plain = _plain(text)
        self._documents[path] = _Viewed(plain, split_lines(plain), [(plain, None)])

    def changed(self, path: str, text: str) -> None:
        """A document has another text."""
        document = self._documents.get(path)
        if document is None:
            return
        plain = _plain(text)
        lines = split_lines(plain)
        hunk = difference(document.lines, lines)
        document.text, document.lines = plain, lines
        document.history.append((plain, hunk))
        document.trail = document.trail.then(hunk)
        if document.older is not None:
            document.older = (document.older[0], document.older[1].then(hunk))
        if len(document.history) > _MOST_EDITS:
            self._shorten(document)

    @staticmethod
    def _shorten(document: _Viewed) -> None:
        middle = len(document.history) // 2
        first, text = document.history[0][0], document.history[middle][0]
        merged = difference(split_lines(first), split_lines(text))
        document.history[: middle + 1] = [(first, None), (text, merged)]
        for name in ("trail",):
            trail: Trail = getattr(document, name)
            if len(trail.hunks) > _MOST_EDITS and document.snapshot is not None:
                base = document.snapshot.document.lines
                setattr(document, name, Trail().then(difference(base, document.lines)))

    def closed(self, path: str) -> None:
        """A document was closed."""
        self._documents.pop(path, None)

    def took(self, path: str, snapshot: Snapshot | None) -> None:
        """A check of a document has ended with a snapshot of one of its texts."""
        document = self._documents.get(path)
        if document is None or snapshot is None:
            return
        trail = self._trail_from(document, _plain(snapshot.document.text))
        self._keep_lost(document, snapshot)
        document.snapshot, document.trail = snapshot, trail
        for number, kernel in enumerate(snapshot.kernels):
            if kernel.trials and kernel.function.path == path:
                reading = snapshot.reading(number, kernel.index(document.chosen.get(kernel.name, "")))
                if reading.attempt.is_clean:
                    document.good[kernel.name] = reading

    @staticmethod
    def _trail_from(document: _Viewed, text: str) -> Trail:
        for index in range(len(document.history) - 1, -1, -1):
            if document.history[index][0] == text:
                document.history = [(text, None), *document.history[index + 1 :]]
                return Trail(tuple(h for _, h in document.history if h is not None))
        return Trail().then(difference(split_lines(text), document.lines))

    @staticmethod
    def _keep_lost(document: _Viewed, snapshot: Snapshot) -> None:
        """Keep the last snapshot of kernels that the new one lacks since they do not parse."""
        now = {k.name for k in snapshot.kernels}
        if not snapshot.document.broken:
            document.older = None
            return
        held = document.older
        if document.snapshot is not None:
            before = {k.name for k in document.snapshot.kernels if k.function.path == document.snapshot.path}
            if before - now:
                marked = tuple(replace(k, stale=k.name not in now) for k in document.snapshot.kernels)
                held = (replace(document.snapshot, kernels=marked), document.trail)
        document.older = held

    def choose(self, path: str, kernel: str, key: str) -> bool:
        """The user chose a specialization (none, for an empty key); whether that is another than before."""
        document = self._documents.get(path)
        if document is None or document.chosen.get(kernel, "") == key:
            return False
        if key:
            document.chosen[kernel] = key
        else:
            document.chosen.pop(kernel, None)
        return True

    def view(self, path: str) -> View | None:
        """A document as features see it now; None where it was not checked yet or is not open."""
        document = self._documents.get(path)
        if document is None or document.snapshot is None:
            return None
        older = None
        if document.older is not None:
            older = View(document.older[0], document.older[1], document.lines, document.chosen)
        return View(document.snapshot, document.trail, document.lines, document.chosen, older)

    def lines(self, path: str) -> list[str] | None:
        """The lines of an open document."""
        document = self._documents.get(path)
        return document.lines if document is not None else None

    def ir(self, path: str, kernel: str) -> tuple[Reading | None, bool]:
        """The reading that has a kernel's TTIR, and whether it is of an earlier text: the kernel has errors now."""
        document = self._documents.get(path)
        view = self.view(path)
        if document is None or view is None:
            return None, False
        now = view.snapshot.view(kernel)
        if now is not None:
            reading = view.reading(kernel)
            if reading is not None and reading.attempt.is_clean:
                return reading, False
        return document.good.get(kernel), True


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff")
