"""What was learnt from files, kept over runs: after an edit, only the files that it matters to are read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from kernel_ls.analysis.environment import Workspace
from kernel_ls.analysis.host_text import host_text, host_words
from kernel_ls.analysis.launches import LaunchIndex
from kernel_ls.analysis.learnt import Learnt, of_text
from kernel_ls.compile.cache import ResultCache


class LearntStore:
    """`Learnt` by file in a cache, for a run whose texts do not change while it lasts.

    Args:
        cache: where it is kept.
        context: everything that it rests on beside texts: the Triton, the files that there are, this program.
        text_digest: a digest of the text of a file now; empty where it cannot be read.
    """

    def __init__(self, cache: ResultCache, context: str, text_digest: Callable[[str], str]) -> None:
        self._cache = cache
        self._context = context
        self._text_digest = text_digest
        self._looked_for: set[str] = set()
        self._kept: dict[str, bool] = {}
        """For each file that was kept in this run, whether its launches were known."""

    def recall(self, path: str, workspace: Workspace) -> None:
        """Tell a workspace what was learnt from a file, if that still holds; once a run."""
        if path in self._looked_for:
            return
        self._looked_for.add(path)
        blob = self._cache.read(self._key(path))
        if blob is None:
            return
        try:
            learnt = Learnt.from_json(json.loads(blob))
        except ValueError:
            return
        if learnt is not None and all(self._holds(p, was, workspace) for p, was in learnt.texts.items()):
            workspace.take_learnt(path, learnt)
            self._kept[path] = learnt.launched is not None

    def _holds(self, path: str, was: tuple[str, str, str], workspace: Workspace) -> bool:
        text = self._text_digest(path)
        if text == was[0]:
            return True
        document = workspace.document(path)
        return document is not None and host_text(document).whole == was[1:]

    def keep(self, path: str, workspace: Workspace, launches: LaunchIndex) -> None:
        """Keep what is known of a file by now, if that is more than is kept."""
        followed = launches.is_indexed(path)
        if not workspace.knows_calls(path) or self._kept.get(path) in (True, followed):
            return
        documents = {name: workspace.document(name) for name in {path, *workspace.dependencies(path)}}
        own = documents[path]
        if own is None or any(document is None for document in documents.values()):
            return
        launched = {(x.kernel.path, x.kernel.key) for x in launches.of_document(path)} if followed else None
        texts = {n: of_text(self._text_digest(n), host_text(d)) for n, d in documents.items() if d is not None}
        learnt = Learnt(
            texts,
            workspace.calls(path),
            host_words(own),
            None if launched is None else frozenset(launched),
        )
        self._kept[path] = followed
        self._cache.write(self._key(path), json.dumps(learnt.to_json(), separators=(",", ":")).encode())

    def _key(self, path: str) -> str:
        return hashlib.sha256(f"learnt\n{path}\n{self._context}".encode()).hexdigest()
