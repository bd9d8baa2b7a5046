"""What reading a file tells of the functions of other files: which it calls, and which it launches.

A helper that a kernel calls is not checked by itself, and a kernel is checked with what its launches pass. To learn that,
every file that holds the name of a function has to be read. What was learnt from one holds for as long as the files that were
read for it have the same host text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernel_ls.analysis.host_text import HostText
from kernel_ls.model import Json


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt from one file.

    Attributes:
        texts: for each file that was read for it, itself included: a digest of the text and both of its host text
            (`HostText.whole`).
        calls: the units that the file's jit functions reach, as `Workspace.calls` gives them.
        words: the words of its host code, as `host_words` gives them.
        launched: path and key of each kernel that it launches; None where its host code was not followed.
    """

    texts: Mapping[str, tuple[str, str, str]]
    calls: frozenset[str]
    words: frozenset[str]
    launched: frozenset[tuple[str, str]] | None

    def may_launch(self, names: Iterable[str]) -> bool:
        """Whether the file may launch a function of one of these names."""
        return not self.words.isdisjoint(names)

    def launches_none(self, kernels: Iterable[tuple[str, str]]) -> bool:
        """Whether the file is known to launch none of some kernels, given by path and key."""
        return self.launched is not None and self.launched.isdisjoint(kernels)

    def to_json(self) -> Json:
        """As `from_json` reads it."""
        return {
            "texts": {path: list(digests) for path, digests in self.texts.items()},
            "calls": sorted(self.calls),
            "words": sorted(self.words),
            "launched": None if self.launched is None else sorted(map(list, self.launched)),
        }

    @staticmethod
    def from_json(data: Json) -> Learnt | None:
        """What `to_json` gave; None for anything else."""
        try:
            texts = {
                str(path): (str(text), str(host), str(reach)) for path, (text, host, reach) in data["texts"].items()
            }
            launched = data["launched"]
            return Learnt(
                texts,
                frozenset(map(str, data["calls"])),
                frozenset(map(str, data["words"])),
                None if launched is None else frozenset((str(path), str(key)) for path, key in launched),
            )
        except (TypeError, KeyError, ValueError, AttributeError):
            return None


def of_text(text_digest: str, host: HostText) -> tuple[str, str, str]:
    """What `Learnt.texts` has for a file."""
    return (text_digest, *host.whole)
