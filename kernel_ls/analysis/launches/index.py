"""The launches of a workspace, file by file, kept until a file that they rest on changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment import Workspace
from kernel_ls.analysis.host_text import HostText, host_text, host_words
from kernel_ls.analysis.kernels import JitFunction

from .kept import Kept
from .model import Launch
from .runs import Follower
from .sites import may_launch

_STATES = 3
"""How many states of a file's host code are remembered: what is half typed and finished has its launches again."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The launches of a file where they stand in these documents, which are all that was read for it."""

    epoch: int
    documents: Mapping[str, ParsedDocument | None]
    launches: tuple[Launch, ...]


class LaunchIndex:
    """Launches by file and by kernel.

    What is found in a file is kept for as long as the host text of the file and of everything that was read for it is the
    same (`kept`); nothing has to be told to the index.

    Args:
        workspace: the user's code.

    Attributes:
        known_paths: files that may launch kernels beside those that import them; whoever walks the workspace adds to it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.known_paths: set[str] = set()
        self._found: dict[str, _Found] = {}
        self._kept: dict[str, list[Kept]] = {}

    def of_document(self, path: str) -> tuple[Launch, ...]:
        """Every launch that a file's text makes, in order of the text. Never raises.

        A kernel of the file that it hands to a function of another file is launched there: that launch is one of these too.
        """
        document = self.workspace.document(path)
        if document is None or not may_launch(document.text):
            return ()
        known = self._found.get(path)
        if known is None or not self._holds(known):
            states = self._kept.setdefault(path, [])
            epoch = self.workspace.epoch
            kept = next((k for k in states if k.epoch == epoch and k.holds(self._host_text)), None)
            if kept is not None:
                found = kept.moved(self._host_text, self._as_now)
            else:
                module = self.workspace.module(path)
                if module is None:
                    return ()
                found = Follower(self.workspace, document, module).launches()
                texts = {name: self._host_text(name) for name in self.workspace.dependencies(path)}
                kept = Kept(epoch, {name: text for name, text in texts.items() if text is not None}, found)
                states.insert(0, kept)
                del states[_STATES:]
            self.workspace.read_for(path, kept.texts)
            known = self._found[path] = _Found(
                epoch, {name: self.workspace.document(name) for name in kept.texts}, found
            )
        return known.launches

    def _holds(self, found: _Found) -> bool:
        current = self.workspace.document
        return found.epoch == self.workspace.epoch and all(current(p) is d for p, d in found.documents.items())

    def _host_text(self, path: str) -> HostText | None:
        document = self.workspace.document(path)
        return host_text(document) if document is not None else None

    def _as_now(self, kernel: JitFunction) -> JitFunction | None:
        found = self.workspace.definitions(kernel.path).values()
        return next((f for f in found if f.key == kernel.key), None)

    def may_launch(self, path: str, names: Iterable[str]) -> bool:
        """Whether a file's host code mentions one of some functions: where it does not, it launches none of them."""
        learnt = self.workspace.learnt(path)
        if learnt is not None:
            return learnt.may_launch(names)
        document = self.workspace.document(path)
        return document is not None and not host_words(document).isdisjoint(names)

    def launches_none(self, path: str, kernels: Iterable[JitFunction]) -> bool:
        """Whether a file is known to launch none of some kernels, without following its host code."""
        kernels = list(kernels)
        learnt = self.workspace.learnt(path)
        if learnt is not None and learnt.launches_none((k.path, k.key) for k in kernels):
            return True
        return not self.may_launch(path, [k.name for k in kernels])

    def is_indexed(self, path: str) -> bool:
        """Whether what `of_document` answers for a file is at hand."""
        known = self._found.get(path)
        return known is not None and self._holds(known)

    def launches_of(self, kernel: JitFunction, paths: Iterable[str] | None = None) -> tuple[Launch, ...]:
        """The launches of a kernel, those that know most of their arguments first.

        Args:
            kernel: the kernel.
            paths: the files to look in; without it the kernel's own, those that are known to import its file, and those
                that are indexed already.
        """
        found: list[Launch] = []
        for path in self._files(kernel) if paths is None else paths:
            found += [launch for launch in self.of_document(path) if launch.is_of(kernel)]
        return tuple(sorted(found, key=lambda launch: (launch.case, -launch.known, launch.incomplete)))

    def _files(self, kernel: JitFunction) -> Iterator[str]:
        yield kernel.path
        seen = {kernel.path}
        for path in sorted(self.workspace.dependents(kernel.path)):
            if path not in seen and not self.launches_none(path, (kernel,)):
                seen.add(path)
                yield path
        for path in sorted(self._found):
            if path not in seen and self.is_indexed(path):
                yield path

    def index(self, paths: Iterable[str] | None = None) -> Iterator[str]:
        """Index files one by one, yielding each path when it is done: whoever drives it lets other work go on in between."""
        for path in sorted(self.known_paths) if paths is None else paths:
            if not self.is_indexed(path):
                self.of_document(path)
            yield path
