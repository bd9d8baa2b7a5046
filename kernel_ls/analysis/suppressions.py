"""`# kernel-ls: ignore[code]`: which findings a file's comments silence, and which comments silence nothing.

- at the end of a line it holds for that line; alone on a line, for the next line that is not a comment;
- `# kernel-ls: ignore` without codes silences everything there;
- `# kernel-ls: ignore-file[code]` anywhere holds for the whole file.

Syntax errors are never silenced: what does not parse cannot be said to be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from kernel_ls.analysis.comments import Comment, comments
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.model import Finding, Location, Severity, Span

UNUSED = "unused-suppression"
_MARK = re.compile(r"#\s*kernel-ls:\s*(?P<kind>ignore-file|ignore)\b\s*(?:\[(?P<codes>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: the 0-based line it silences (None for the whole file) and the codes, empty for all."""

    location: Location
    line: int | None
    codes: tuple[str, ...]

    def silences(self, finding: Finding) -> bool:
        """Whether it silences this finding, which is in the same file."""
        if self.codes and finding.code not in self.codes:
            return False
        span = finding.location.span
        return self.line is None or span.start.line == self.line


def find(document: ParsedDocument) -> tuple[Suppression, ...]:
    """The suppression comments of a document."""
    if "kernel-ls:" not in document.text:
        return ()
    return tuple(s for c in comments(document.lines) for s in _read(c, document))


def _read(comment: Comment, document: ParsedDocument) -> Iterable[Suppression]:
    match = _MARK.search(comment.text)
    if match is None:
        return
    codes = tuple(c.strip() for c in (match.group("codes") or "").split(",") if c.strip())
    start = comment.span.start.column + match.start()
    row = comment.span.start.line
    location = Location(document.path, Span.of(row, start, row, comment.span.start.column + match.end()))
    line: int | None = row
    if match.group("kind") == "ignore-file":
        line = None
    elif comment.alone:
        line = row + 1
        while document.line(line).lstrip().startswith("#") and line < len(document.lines):
            line += 1
    yield Suppression(location, line, codes)


def apply(
    findings: Sequence[Finding],
    documents: Callable[[str], ParsedDocument | None],
    paths: Collection[str] = (),
    known: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The findings that no comment silences, and one `unused-suppression` for each comment of `paths` that silences none.

    Args:
        findings: of any files.
        documents: the parsed document of a path.
        paths: files that were checked whole, so that a comment which silences nothing there is really unused.
        known: every finding code; a comment with an unknown code is reported as such.
    """
    by_path: dict[str, tuple[Suppression, ...]] = {}

    def suppressions(path: str) -> tuple[Suppression, ...]:
        if path not in by_path:
            document = documents(path)
            by_path[path] = find(document) if document is not None else ()
        return by_path[path]

    used: set[Suppression] = set()
    kept = []
    for finding in findings:
        hits = [s for s in suppressions(finding.location.path) if s.silences(finding)]
        if hits and finding.code != "syntax-error":
            used.update(hits)
        else:
            kept.append(finding)
    for path in paths:
        for suppression in suppressions(path):
            if suppression not in used:
                kept.append(_unused(suppression, known))
    return tuple(kept)


def _unused(suppression: Suppression, known: Collection[str]) -> Finding:
    strange = [c for c in suppression.codes if known and c not in known]
    if strange:
        message = f"There is no finding code `{strange[0]}`; `kernel-ls rule --all` lists them."
    elif suppression.codes:
        message = f"Nothing here gives {', '.join(f'`{c}`' for c in suppression.codes)}: the comment can go."
    else:
        message = "Nothing is found here: the comment can go."
    return Finding(UNUSED, Severity.WARNING, message, suppression.location, tags=("unnecessary",))
