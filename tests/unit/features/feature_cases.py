"""Cases of features: Markdown with a file, a cursor, and the whole answer of a feature.

A case is a `##` heading with fenced blocks:

- `py`: the file that is checked; further files have a path (```` ```py path=helpers.py ````);
- `py now`: the text as it stands when the feature is asked, where it was edited since the check;
- one answer, named by its feature: `hover`, `hints`, `all-hints`, `inactive`, `lenses`, `completion`, `signature`,
  `definition`, `references`, `callers`, `callees`.

An answer that versions of Triton say differently names its own: ```` ```completion 3.5 ````.

`$0` is the cursor, in the text that the feature is asked about. UPDATE_CASES=1 rewrites the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from caselib import CURSOR, CaseError, _sections
from checking import Bench

from kernel_ls.analysis.environment import TritonApi
from kernel_ls.analysis.features import navigation
from kernel_ls.analysis.features.snapshot import KernelView, Snapshot
from kernel_ls.analysis.features.trail import Trail
from kernel_ls.analysis.features.view import View
from kernel_ls.analysis.positions import split_lines
from kernel_ls.checker import Checker, CheckOptions
from kernel_ls.model import Location, Position
from kernel_ls.sources import FileSystemProvider

MAIN = "case.py"
COLLECT = ("reached", "types", "ttir")
_MOST_ITEMS = 12


@dataclass(frozen=True)
class FeatureCase:
    """One case."""

    name: str
    source: Path
    files: Mapping[str, str]
    now: str
    cursor: Position | None
    kind: str
    answer: str
    versions: str = ""

    @property
    def id(self) -> str:
        return f"{self.source.stem}-{self.name.lower().replace(' ', '-')}"


def read(path: Path) -> list[FeatureCase]:
    """The cases of a file."""
    cases = []
    for name, blocks in _sections(path.read_text("utf-8")):
        files: dict[str, str] = {}
        now, kind, answer, versions = "", "", "", ""
        for info, text in blocks:
            language, _, rest = info.partition(" ")
            if language != "py":
                kind, answer, versions = language, text, rest
            elif rest == "now":
                now = text
            else:
                files[rest.removeprefix("path=") or MAIN] = text
        if not kind or MAIN not in files:
            raise CaseError(f"{path.name}, {name!r}: a case has a `py` block and an answer")
        asked = now or files[MAIN]
        at = asked.find(CURSOR)
        cursor = None
        if at >= 0:
            before = asked[:at]
            cursor = Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))
        files[MAIN] = files[MAIN].replace(CURSOR, "")
        cases.append(FeatureCase(name, path, files, asked.replace(CURSOR, ""), cursor, kind, answer, versions))
    return cases


@dataclass
class Checked:
    """Files of a folder after a check, as features see them."""

    checker: Checker
    path: str
    view: View
    files: list[str] = field(default_factory=list)

    def now(self, *texts: str) -> View:
        """The view after edits to these texts, one after the other."""
        base = "\n".join(self.view.snapshot.document.lines)
        return replace(self.view, trail=Trail.between([base, *texts]), lines=split_lines(texts[-1]))


def check(bench: Bench, folder: Path, files: Mapping[str, str]) -> Checked:
    """Check `case.py` of a folder with the real worker."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return bench.run(_check(bench, folder, list(files)))


async def _check(bench: Bench, folder: Path, names: list[str]) -> Checked:
    from kernel_ls.analysis.environment import Workspace

    compiler = bench._compiler
    environment = await compiler.environment()
    api = TritonApi(await compiler.api())
    workspace = Workspace(FileSystemProvider([folder.as_posix()], environment.path), api)
    checker = Checker(compiler, workspace, CheckOptions(collect=COLLECT))
    paths = [str(folder / name) for name in names]
    checker.survey(p for p in paths if p != str(folder / MAIN))
    path = str(folder / MAIN)
    _, checks = await checker.examine(path)
    document = workspace.document(path)
    assert document is not None
    snapshot = Snapshot(document, tuple(KernelView(c.function, c.program, c.trials) for c in checks), api)
    for _ in snapshot.warm():
        pass
    return Checked(checker, path, View(snapshot, lines=document.lines), paths)


def answer(case: FeatureCase, checked: Checked) -> str:
    """What the feature says, as the case's block holds it."""
    view = checked.now(case.now) if case.now != case.files[MAIN] else checked.view
    at = case.cursor
    if case.kind == "hints":
        return _with_hints(view, "types")
    if case.kind == "all-hints":
        return _with_hints(view, "all")
    if case.kind == "inactive":
        return "".join(f"{r.span.start.line + 1}-{r.span.end.line + 1}: {r.reason}\n" for r in view.inactive())
    if case.kind == "lenses":
        return "".join(f"{x.span.start.line + 1}: {x.title} [{x.command}]\n" for x in view.lenses())
    assert at is not None, f"{case.name}: no cursor"
    if case.kind == "hover":
        found = view.hover(at)
        return without_ttir(found.text) + "\n" if found is not None else "nothing\n"
    if case.kind == "completion":
        items = view.complete(at)[:_MOST_ITEMS]
        return "".join(f"{i.label}  {i.detail}".rstrip() + "\n" for i in items) or "nothing\n"
    if case.kind == "signature":
        told = view.signature(at)
        return (
            f"{told.label}\n{told.parameters[told.active] if told.active is not None else '-'}\n"
            if told
            else "nothing\n"
        )
    return _navigated(case, checked, at)


def _navigated(case: FeatureCase, checked: Checked, at: Position) -> str:
    workspace, path = checked.checker.workspace, checked.path
    if case.kind == "definition":
        place = navigation.definition(workspace, path, at)
        return _place(place) + "\n" if place is not None else "nothing\n"
    if case.kind == "references":
        return "".join(_place(p) + "\n" for p in navigation.references(workspace, path, at, checked.files))
    item = navigation.prepare(workspace, path, at)
    assert item is not None
    if case.kind == "callers":
        launches = checked.checker.launches
        ends = navigation.incoming(workspace, launches, item.path, item.key, checked.files)
    elif case.kind == "callees":
        ends = navigation.outgoing(workspace, item.path, item.key)
    else:
        raise CaseError(f"nothing answers {case.kind!r}")
    return "".join(
        f"{e.function.name} ({e.function.detail}): "
        + ", ".join(
            f"{Path(e.function.path).name if case.kind == 'callers' else MAIN}:{s.start.line + 1}" for s in e.spans
        )
        + "\n"
        for e in ends
    )


def _place(place: Location) -> str:
    start = place.span.start
    return f"{Path(place.path).name}:{start.line + 1}:{start.column + 1}"


def _with_hints(view: View, level: str) -> str:
    """The lines that have hints, with the hints in their places."""
    hints = sorted(view.hints(0, 10_000, level), key=lambda h: h.position, reverse=True)  # type: ignore[arg-type]
    lines = list(view.lines)
    for hint in hints:
        line = lines[hint.position.line]
        lines[hint.position.line] = f"{line[: hint.position.column]}«{hint.label}»{line[hint.position.column :]}"
    return "".join(f"{line}\n" for line in lines if "«" in line)


def without_ttir(text: str) -> str:
    """A hover without what the versions of Triton say differently: IR."""
    return text.partition("\n\nTTIR\n")[0]
