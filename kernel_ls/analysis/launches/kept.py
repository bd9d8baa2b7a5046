"""What was found in a file's host code, kept over edits that do not touch host code.

Launches are known by the host text of their file and of the files that were read for them. Where only bodies changed, the
launches are the old ones at their new lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kernel_ls.analysis.host_text import HostText
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Location, Position, Span

from .model import Launch


@dataclass(frozen=True)
class Kept:
    """The launches of a file, with the host text of every file that was read for them, and the workspace's epoch."""

    epoch: int
    texts: Mapping[str, HostText]
    launches: tuple[Launch, ...]

    def holds(self, now: Callable[[str], HostText | None]) -> bool:
        """Whether all of those texts are as they were, but for kernels that do not parse at present, whose launches are left out.

        What host code does with another kernel does not hang on them.
        """
        return all(
            (text := now(path)) is not None and (text.digest == old.digest or text.tears(old))
            for path, old in self.texts.items()
        )

    def moved(
        self, now: Callable[[str], HostText | None], kernel: Callable[[JitFunction], JitFunction | None]
    ) -> tuple[Launch, ...]:
        """The launches at the lines where they stand now, of the kernels as they are now."""
        lines: dict[str, dict[int, int]] = {}
        for path, old in self.texts.items():
            text = now(path)
            if text is not None and text.lines != old.lines:
                lines[path] = text.since(old)

        def place(location: Location) -> Location:
            moves = lines.get(location.path)
            if moves is None:
                return location
            start, end = location.span.start, location.span.end
            first, last = moves.get(start.line, start.line), moves.get(end.line, end.line)
            return Location(location.path, Span(Position(first, start.column), Position(last, end.column)))

        found = []
        for launch in self.launches:
            launched = kernel(launch.kernel)
            if launched is None:
                continue
            arguments = tuple(replace(a, location=place(a.location)) for a in launch.arguments)
            grid = place(launch.grid) if launch.grid is not None else None
            found.append(
                replace(launch, kernel=launched, location=place(launch.location), grid=grid, arguments=arguments)
            )
        return tuple(found)
