"""Cases in Markdown: reading them, and matching what they expect with what was found, both ways.

A file of cases has a title and, for each case, a `##` heading, a sentence of why, and fenced blocks:

- `toml`: how to run it, all keys optional (see `Settings`);
- `py`: the file that is checked; ```` ```py path=helpers.py ```` (or any block with a path) is a further file beside it;
- `fix`: the whole text of the first file after the fix of the finding at the cursor, or after all fixes if there is no cursor.

In the `py` blocks, in comments that trail a line or stand alone above it:

- `# error: [code]`, `# error: [code] "part of the message"`, `# error: 12 [code]` with the 1-based column; likewise
  `warning` and `info`; `# error[3.9]:` or `# error[<3.9]:` holds on those versions of Triton only. Several may follow each other.
- `# reveal: tensor<64xf32>`: the type of the value of the statement that starts on that line.
- `$0` is the cursor; it is cut out of the text.

A finding that nothing expects fails a case, and so does an expectation that nothing meets. Findings of level info take part
where the case expects one, or where its `toml` says `info = true`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from packaging.specifiers import SpecifierSet

from kernel_ls.model import Edit, Finding, Position, Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAIN = "case.py"
CURSOR = "$0"
ANSWERS = ("fix",)
"""Kinds of blocks that hold an answer of kernel_ls, rewritten by UPDATE_CASES=1."""

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^`]*)$")
_COMMENT = re.compile(r"#\s*(?P<what>(?:error|warning|info)(?:\[[^]]*\])?|reveal)\s*:(?P<rest>.*)$")
_EXPECTED = re.compile(
    r"#\s*(?P<severity>error|warning|info)(?:\[(?P<versions>[^]]*)\])?:\s*(?:(?P<column>\d+)\s+)?\[(?P<code>[a-z-]+)\]"
    r'\s*(?:"(?P<text>[^"]*)")?\s*'
)
_SHARED = re.compile(r"#\s*expect:\s*(?P<severity>error|warning|info)(?:\s*\[(?P<code>[a-z-]+)\])?\s*$")


class CaseError(Exception):
    """A case is not written as cases are."""


@dataclass(frozen=True)
class Expectation:
    """A finding that a line has to have. `line` is 1-based; without a code, any code will do."""

    file: str
    line: int
    severity: Severity
    code: str = ""
    text: str = ""
    column: int | None = None
    versions: str = ""

    def holds_on(self, triton: str) -> bool:
        """Whether it is meant for this version of Triton."""
        return specifier(self.versions).contains(triton, prereleases=True)

    def met_by(self, finding: Finding, file: str) -> bool:
        """Whether the finding is the expected one."""
        start = finding.location.span.start
        return (
            file == self.file
            and start.line + 1 == self.line
            and finding.severity is self.severity
            and self.code in ("", finding.code)
            and self.text in finding.message
            and self.column in (None, start.column + 1)
        )

    def __str__(self) -> str:
        column = f":{self.column}" if self.column is not None else ""
        text = f' "{self.text}"' if self.text else ""
        return f"{self.file}:{self.line}{column}: {self.severity.value}[{self.code or 'any code'}]{text}"


@dataclass(frozen=True)
class Reveal:
    """The type that the value of the statement on a (1-based) line has to have."""

    file: str
    line: int
    type: str


@dataclass(frozen=True)
class Settings:
    """The `toml` block of a case."""

    targets: tuple[str, ...] = ()
    """Targets other than the default, as `cuda:80`."""
    triton: str = ""
    """Versions of Triton that the case is about, as `>=3.5`; on others it is not run."""
    info: bool | None = None
    """Whether findings of level info take part; by default, where the case expects one."""
    newline: str = "\n"
    bom: bool = False
    tabs: bool = False
    """Whether each four blanks at a line's start become a tab (cases are written with blanks)."""


@dataclass(frozen=True)
class Case:
    """One case: files by their relative path, what is expected of them, and where it is written."""

    name: str
    source: Path
    settings: Settings
    files: Mapping[str, str]
    expectations: tuple[Expectation, ...]
    reveals: tuple[Reveal, ...]
    cursor: tuple[str, Position] | None
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A name that pytest can select."""
        return f"{self.source.stem}-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"

    def encoded(self) -> dict[str, bytes]:
        """The files as they are written to the disk."""
        return {
            path: _encode(text, self.settings) if path.endswith(".py") else text.encode()
            for path, text in self.files.items()
        }


def specifier(text: str) -> SpecifierSet:
    """A condition on versions; `3.9` alone means every 3.9."""
    return SpecifierSet(",".join(f"=={p.strip()}.*" if p.strip()[:1].isdigit() else p for p in text.split(",") if p))


def read_cases(path: Path) -> list[Case]:
    """All the cases of a Markdown file.

    Raises:
        CaseError: a block or a mark is not of a known form.
    """
    cases = []
    for name, blocks in _sections(path.read_text("utf-8")):
        where = f"{path.name}, {name!r}"
        if not blocks:
            continue
        settings, files, answers = Settings(), {}, {}
        for info, text in blocks:
            language, _, rest = info.partition(" ")
            named = re.fullmatch(r"path=(\S+)", rest.strip())
            if named:
                files[named[1]] = text
            elif rest.strip():
                raise CaseError(f"{where}: cannot read {info!r}")
            elif language == "py":
                if MAIN in files:
                    raise CaseError(f"{where}: a second `py` block needs a path")
                files[MAIN] = text
            elif language == "toml":
                settings = _settings(text, where)
            elif language in ANSWERS:
                answers[language] = text
            else:
                raise CaseError(f"{where}: nothing answers {language!r} blocks")
        cases.append(_case(name, path, settings, files, answers, where))
    ids = [case.id for case in cases]
    doubled = {i for i in ids if ids.count(i) > 1}
    if doubled:
        raise CaseError(f"{path.name}: cases of one name: {', '.join(sorted(doubled))}")
    return cases


def _case(
    name: str, path: Path, settings: Settings, files: dict[str, str], answers: dict[str, str], where: str
) -> Case:
    expectations: list[Expectation] = []
    reveals: list[Reveal] = []
    cursor = None
    for file, marked in files.items():
        if not file.endswith(".py"):
            continue
        text = marked
        at = text.find(CURSOR)
        if at >= 0:
            before = text[:at]
            cursor = (file, Position(before.count("\n"), len(before) - (before.rfind("\n") + 1)))
            text = before + text[at + len(CURSOR) :]
            files[file] = text
        found, revealed = read_marks(file, text, where)
        expectations += found
        reveals += revealed
    if not files:
        raise CaseError(f"{where}: there is no `py` block")
    return Case(name, path, settings, files, tuple(expectations), tuple(reveals), cursor, answers)


def read_marks(file: str, text: str, where: str = "") -> tuple[list[Expectation], list[Reveal]]:
    """What the comments of a file expect.

    Raises:
        CaseError: a comment starts as a mark does and is none.
    """
    expectations, reveals = [], []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        mark = _COMMENT.search(line)
        if not mark:
            continue
        target = number
        if line[: mark.start()].strip() == "":
            target = next((n for n in range(number + 1, len(lines) + 1) if not _is_alone(lines[n - 1])), number)
        rest = line[mark.start() :]
        if mark["what"] == "reveal":
            reveals.append(Reveal(file, target, mark["rest"].strip()))
            continue
        while rest:
            one = _EXPECTED.match(rest)
            if not one:
                raise CaseError(f"{where or file}: line {number}: cannot read {rest!r}")
            column = int(one["column"]) if one["column"] else None
            severity = Severity(one["severity"])
            expectations.append(
                Expectation(file, target, severity, one["code"], one["text"] or "", column, one["versions"] or "")
            )
            rest = rest[one.end() :]
    return expectations, reveals


def _is_alone(line: str) -> bool:
    mark = _COMMENT.search(line)
    return mark is not None and line[: mark.start()].strip() == ""


def read_shared_marks(file: str, text: str) -> list[Expectation]:
    """The marks `# expect: SEVERITY [code]` of a plain Python file (`# expect-deep:` is for deeper checks than these)."""
    expectations = []
    for number, line in enumerate(text.splitlines(), 1):
        mark = _SHARED.search(line)
        if mark:
            expectations.append(Expectation(file, number, Severity(mark["severity"]), mark["code"] or ""))
        elif re.search(r"#\s*expect:", line):
            raise CaseError(f"{file}:{number}: cannot read the mark")
    return expectations


# ----------------------------------------------------------------------------------------------- matching


@dataclass(frozen=True)
class Mismatch:
    """How far what was found is from what was expected; false where nothing differs."""

    unmet: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.unmet or self.unexpected or self.types)

    def __str__(self) -> str:
        lines = [f"expected, not found:  {text}" for text in self.unmet]
        lines += [f"found, not expected:  {text}" for text in self.unexpected]
        return "\n".join([*lines, *self.types])


def match(
    expectations: Iterable[Expectation],
    findings: Sequence[tuple[str, Finding]],
    triton: str,
    *,
    info: bool | None = None,
) -> Mismatch:
    """Match both ways. `findings` come with the file's name as expectations spell it.

    An expectation takes one finding, the most particular expectation first.
    """
    wanted = [e for e in expectations if e.holds_on(triton)]
    if info is None:
        info = any(e.severity is Severity.INFO for e in wanted)
    left = [(file, f) for file, f in findings if info or f.severity is not Severity.INFO]
    unmet = []
    for expectation in sorted(wanted, key=lambda e: (e.column is None, not e.text, not e.code)):
        taken = next((pair for pair in left if expectation.met_by(pair[1], pair[0])), None)
        if taken is None:
            unmet.append(str(expectation))
        else:
            left.remove(taken)
    return Mismatch(tuple(sorted(unmet)), tuple(sorted(shown(file, finding) for file, finding in left)))


def shown(file: str, finding: Finding) -> str:
    """A finding in one line, as expectations are shown."""
    start = finding.location.span.start
    return f"{file}:{start.line + 1}:{start.column + 1}: {finding.severity.value}[{finding.code}] {finding.message}"


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that were all computed on it, and that do not overlap."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(position: Position) -> int:
        return min(starts[min(position.line, len(starts) - 1)] + position.column, len(text))

    for edit in sorted(edits, key=lambda e: e.location.span.start, reverse=True):
        span = edit.location.span
        text = text[: offset(span.start)] + edit.text + text[offset(span.end) :]
    return text


def rewrite_answer(source: str, case: str, kind: str, answer: str) -> str:
    """The Markdown text with one answer block of one case replaced."""
    lines = source.splitlines(keepends=True)
    inside = False
    for start, line in enumerate(lines):
        if line.startswith("## "):
            inside = line[3:].strip() == case
        fence = _FENCE.match(line.rstrip("\n"))
        if inside and fence and fence["info"].strip() == kind:
            end = next(n for n in range(start + 1, len(lines)) if lines[n].rstrip("\n") == fence["fence"])
            return "".join([*lines[: start + 1], answer, *lines[end:]])
    raise CaseError(f"case {case!r} has no {kind!r} block")


# ----------------------------------------------------------------------------------------------- reading


def _sections(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each `##` heading with its fenced blocks: (info string, text)."""
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    fence, info, block = "", "", ""
    for line in text.split("\n"):
        if fence:
            if line == fence:
                if not sections:
                    raise CaseError("a block stands before the first case")
                sections[-1][1].append((info, block))
                fence = ""
            else:
                block += line + "\n"
            continue
        opening = _FENCE.match(line)
        if opening:
            fence, info, block = opening["fence"], opening["info"].strip(), ""
        elif line.startswith("## "):
            sections.append((line[3:].strip(), []))
    if fence:
        raise CaseError("a block is not closed")
    return sections


def _settings(text: str, where: str) -> Settings:
    values = tomllib.loads(text)
    unknown = set(values) - {f.name for f in fields(Settings)}
    if unknown:
        raise CaseError(f"{where}: unknown key {', '.join(sorted(unknown))}")
    if "targets" in values:
        values["targets"] = tuple(values["targets"])
    if "newline" in values:
        values["newline"] = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}[values["newline"]]
    return Settings(**values)


def _encode(text: str, settings: Settings) -> bytes:
    if settings.tabs:
        text = re.sub(r"^(?: {4})+", lambda blanks: "\t" * (len(blanks[0]) // 4), text, flags=re.MULTILINE)
    return (b"\xef\xbb\xbf" if settings.bom else b"") + text.replace("\n", settings.newline).encode()
