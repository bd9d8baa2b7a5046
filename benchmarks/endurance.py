"""A long session: random edits, killed workers and malformed messages against a real server, and whether it stays right.

    python -m benchmarks.endurance [--edits 20000] [--kills 200] [--malformed 10000] [--seed 0] [--compare-every 1000]

A client edits copies of fla-core's, liger-kernel's and the examples' files as people do (`tests/editing.py`): it types,
deletes, pastes, moves, renames, takes back, saves, closes, reopens and renames files. Meanwhile workers are killed and
messages sent that no honest client sends; a worker of its own gets as many malformed frames. What is shown then has to
be what a fresh server shows for the same texts. The exit status is 1 where a figure is not what it has to be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, fetch, named
from benchmarks.processes import Peaks, children, cpu_seconds, is_worker, kill, open_files
from benchmarks.worker_frames import malformed_frames
from tests.editing import Typist, lsp_changes
from tests.lsp import malformed
from tests.lsp.raw import RawClient

FILES = 28
OPEN_AT_ONCE = 6
ANSWER_SECONDS = 40.0
"""A request without an answer, or an edit without findings, for so long means that the server is stuck."""

_HELPERS = re.compile(r"^(fla|liger_kernel)/(ops/)?utils|^own/")

QUIET_SECONDS = 2.0
"""How long nothing may be published before what is shown is taken as final."""

MEASURED_AFTER = 5_000
SERVER_LIMIT, WORKER_LIMIT = 200, 500

OWN = {
    "own/helpers.py": (
        "import triton\nimport triton.language as tl\n\nSCALE = tl.constexpr(0.5)\n\n\n"
        "@triton.jit\ndef scaled(x):\n    return x * SCALE\n\n\n"
        "@triton.jit\ndef row(x_ptr, n, BLOCK: tl.constexpr):\n    o = tl.arange(0, BLOCK)\n"
        "    return tl.load(x_ptr + o, mask=o < n, other=0.0)\n"
    ),
    "own/kernels.py": (
        "import triton\nimport triton.language as tl\n\nfrom own.helpers import row, scaled\n\nLIMIT = 4\n\n\n"
        "@triton.jit\ndef softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    x = row(x_ptr, n, BLOCK)\n"
        "    e = tl.exp(x - tl.max(x, axis=0))\n    o = tl.arange(0, BLOCK)\n"
        "    tl.store(y_ptr + o, scaled(e / tl.sum(e, axis=0)), mask=o < n)\n\n\n"
        "@triton.jit\ndef wrong(x_ptr, n, BLOCK: tl.constexpr):\n    o = tl.arange(0, BLOCK)\n"
        "    acc = 0\n    for i in range(0, n):\n        acc += tl.load(x_ptr + o)\n"
        "    tl.store(x_ptr + o, acc * LIMIT + nothing)\n"
    ),
    "own/__init__.py": "",
    "own/launch.py": (
        "import torch\n\nfrom own.kernels import softmax, wrong\n\n\ndef run(x):\n    y = torch.empty_like(x)\n"
        "    softmax[(1,)](x, y, x.numel(), BLOCK=128)\n    wrong[(1,)](x, x.numel(), BLOCK=64)\n    return y\n"
    ),
}


@dataclass
class Tally:
    """What happened."""

    edits: int = 0
    kills: int = 0
    malformed: int = 0
    frames: int = 0
    exits: int = 0
    stuck: int = 0
    wrong: int = 0
    compared: int = 0
    requests: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    early: dict[str, float] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Say at once what is not as it has to be."""
        print(text[:3000], flush=True)


def workspace(folder: Path, rng: random.Random, *, whole: bool) -> list[str]:
    """Fill a folder with copies of real files; the ones that are to be edited, by their names in it.

    Beside the edited ones stand the folders of helpers that they use; `whole` copies all of both libraries.
    """
    for corpus in named(["fla-core", "liger-kernel"]):
        for source in fetch(corpus).iterdir():
            if source.is_dir() and not source.name.endswith(".dist-info"):
                shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, text in OWN.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "pyproject.toml").write_text('[project]\nname = "endurance"\n', "utf-8")
    fit = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if path.stat().st_size < 12_000
        and "triton.jit" in path.read_text("utf-8", "replace")
        and "own" not in path.parts
    )
    names = [*(name for name in OWN if name != "own/__init__.py"), *rng.sample(fit, min(FILES, len(fit)))]
    for path in folder.rglob("*.py") if not whole else ():
        name = path.relative_to(folder).as_posix()
        if name not in names and path.name != "__init__.py" and not _HELPERS.search(name):
            path.unlink()
    return names


class Endurance:
    """One run."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.random = random.Random(arguments.seed)
        self.root = folder / "workspace"
        self.root.mkdir()
        self.folder = folder
        self.names = workspace(self.root, self.random, whole=arguments.whole)
        self.client = RawClient(self.root, folder / "cache", arguments.triton_python)
        self.tally = Tally()
        self.peaks = Peaks()
        self.open: dict[str, Typist] = {}
        self.versions: dict[str, int] = {}
        self._version = 1
        self._servers = 0
        self._heard_at = 0.0
        self._comparing = False
        self._killer = random.Random(arguments.seed + 1)

    # -------------------------------------------------------------------------------------------- the session

    async def run(self) -> Tally:
        """Everything, until the counts are reached."""
        started = time.monotonic()
        await self._start(self.client)
        killing = asyncio.create_task(self._kill_at_random())
        try:
            while self.tally.edits < self.arguments.edits:
                if self.client.process.returncode is not None:
                    await self._ended()
                await self._burst()
                self._sample()
                every = self.arguments.compare_every
                if every and self.tally.edits // every > self.tally.compared:
                    self.tally.compared += 1
                    await self._compare()
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
        self._send_malformed(self.arguments.malformed - self.tally.malformed)
        await self._compare()
        self._sample()
        self.tally.late = self._measured()
        self.tally.frames, problems = await malformed_frames(
            self.arguments.triton_python, self.folder, self.arguments.malformed, self.arguments.seed
        )
        for problem in problems:
            self.tally.note(problem)
        self.tally.exits += len(problems)
        await self.client.kill()
        self.tally.seconds = time.monotonic() - started
        return self.tally

    async def _start(self, client: RawClient) -> None:
        await client.start()
        await client.initialize()

        def heard(message: Mapping[str, Any]) -> None:
            if "method" in message:
                self._heard_at = time.monotonic()

        client.heard = heard

    async def _ended(self) -> None:
        self.tally.exits += 1
        self.tally.note(f"the server ended: {self.client.errors[-1500:]}")
        self._servers += 1
        self.client = RawClient(self.root, self.folder / "cache", self.arguments.triton_python)
        await self._start(self.client)
        for name, typist in self.open.items():
            self.client.open(name, typist.text, self.versions[name])

    async def _burst(self) -> None:
        """Some edits in a row, then what a person does in a pause."""
        name = self._some_document()
        typist = self.open[name]
        for _ in range(self.random.choice((1, 2, 4, 8, 16))):
            before = typist.text
            changes = typist.edit()
            if not changes:
                continue
            self._change(name, lsp_changes(before, changes))
            self.tally.edits += 1
            self._send_malformed(self._due(self.arguments.malformed, self.tally.malformed))
            await asyncio.sleep(self.random.choice((0.0, 0.0, 0.002, 0.02)))
            if self.tally.edits == MEASURED_AFTER:
                self._sample()
                self.tally.early = self._measured()
        what = self.random.random()
        if what < 0.25:
            await self._settled(name)
        elif what < 0.45:
            await self._ask(name)
        elif what < 0.53:
            self._save(name)
        elif what < 0.60:
            self._close(name)
        elif what < 0.62:
            self._rename_file()
        elif what < 0.63:
            self._configure()

    def _due(self, wanted: int, done: int) -> int:
        return max(0, wanted * self.tally.edits // max(1, self.arguments.edits) - done)

    def _some_document(self) -> str:
        if len(self.open) < OPEN_AT_ONCE and (not self.open or self.random.random() < 0.5):
            name = self.random.choice([n for n in self.names if n not in self.open])
            path = self.root / name
            typist = Typist(path.read_text("utf-8") if path.is_file() else "", random.Random(self.random.random()))
            self._version += 1
            self.open[name], self.versions[name] = typist, self._version
            self.client.open(name, typist.text, self._version)
            return name
        return self.random.choice(list(self.open))

    def _change(self, name: str, changes: list[dict[str, object]]) -> None:
        self._version += 1
        self.versions[name] = self._version
        document = {"uri": self.client.uri(name), "version": self._version}
        self.client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def _save(self, name: str) -> None:
        self._write(name, self.open[name].text)
        self.client.tell("textDocument/didSave", {"textDocument": {"uri": self.client.uri(name)}})
        self._watched({name: 2})

    def _write(self, name: str, text: str) -> None:
        with (self.root / name).open("w", encoding="utf-8", newline="") as file:
            file.write(text)

    def _close(self, name: str) -> None:
        self.client.tell("textDocument/didClose", {"textDocument": {"uri": self.client.uri(name)}})
        del self.open[name], self.versions[name]

    def _rename_file(self) -> None:
        """The helpers get another name on disk, or their old one back."""
        here, there = self.root / "own/helpers.py", self.root / "own/helpers_renamed.py"
        old, new = (here, there) if here.exists() else (there, here)
        old.rename(new)
        self.client.tell("workspace/didRenameFiles", {"files": [{"oldUri": old.as_uri(), "newUri": new.as_uri()}]})

    def _configure(self) -> None:
        """Other settings of the project, or none again."""
        text = '[project]\nname = "endurance"\n'
        if self.random.random() < 0.5:
            text += '[tool.kernel-ls]\nignore = ["undefined-name"]\n'
        (self.root / "pyproject.toml").write_text(text, "utf-8")
        self._watched({"pyproject.toml": 2})

    def _watched(self, files: Mapping[str, int]) -> None:
        events = [{"uri": self.client.uri(name), "type": kind} for name, kind in files.items()]
        self.client.tell("workspace/didChangeWatchedFiles", {"changes": events})

    # ------------------------------------------------------------------------------------------ what goes wrong

    def _send_malformed(self, count: int) -> None:
        for _ in range(count):
            self.client.send(malformed.message(self.random, self.client.uri("own/kernels.py"), self.tally.malformed))
            self.tally.malformed += 1

    async def _kill_at_random(self) -> None:
        """Kill a worker whenever so many edits have passed, at no moment in particular."""
        while True:
            await asyncio.sleep(self._killer.random() * 0.2)
            if self._due(self.arguments.kills, self.tally.kills):
                self._look_at_workers()
                for pid in children(self.client.process.pid) if not self._comparing else ():
                    self.tally.kills += kill(pid)

    # ------------------------------------------------------------------------------------------ what has to hold

    async def _ask(self, name: str) -> None:
        """Hover, hints, symbols: answered, whatever runs."""
        line = self.random.randrange(self.open[name].text.count("\n") + 1)
        place = {"textDocument": {"uri": self.client.uri(name)}, "position": {"line": line, "character": 8}}
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 200, "character": 0}}
        for method, params in (
            ("hover", place),
            ("inlayHint", {"textDocument": place["textDocument"], "range": span}),
            ("documentSymbol", {"textDocument": place["textDocument"]}),
        ):
            began = time.monotonic()
            self.tally.requests += 1
            if await self._holds(self.client.ask(f"textDocument/{method}", params, ANSWER_SECONDS), method):
                self.tally.slowest = max(self.tally.slowest, time.monotonic() - began)

    async def _settled(self, name: str) -> None:
        """Wait until the findings of a document are those of its present version."""
        uri, version = self.client.uri(name), self.versions[name]
        published = self.client.until(
            lambda: self.client.diagnostics.get(uri, {}).get("version") == version,
            f"the findings of version {version} of {name}",
            ANSWER_SECONDS,
        )
        await self._holds(published, name)

    async def _holds(self, waited: Any, what: str) -> bool:
        try:
            await waited
        except AssertionError as error:
            if self.client.process.returncode is None:
                self.tally.stuck += 1
                self.tally.note(f"stuck after {self.tally.edits} edits: {what}: {error}")
            return False
        return True

    async def _compare(self) -> None:
        """Whether what is shown is what a fresh server shows for the same texts."""
        self._comparing = True
        # An edit of each, so that no answer of a worker that was killed twice under the same job stands.
        for name, typist in self.open.items():
            self._change(name, [{"text": typist.text + "\n#"}])
            self._change(name, [{"text": typist.text}])
            await self._settled(name)
        await self._quiet(self.client)
        fresh = RawClient(self.root, Path(tempfile.mkdtemp(dir=self.folder)), self.arguments.triton_python)
        shown = {name: self._shown(self.client, name) for name in self.open}
        await fresh.start()
        await fresh.initialize()
        fresh.heard = self.client.heard
        for name, typist in self.open.items():
            fresh.open(name, typist.text, self.versions[name])
        for name in self.open:
            version = self.versions[name]
            await fresh.until(
                lambda n=name, v=version: fresh.diagnostics.get(fresh.uri(n), {}).get("version") == v,  # type: ignore[misc]
                f"a fresh check of {name}",
                120,
            )
        await self._quiet(fresh)
        for name, typist in self.open.items():
            expected = self._shown(fresh, name)
            if shown[name] != expected:
                self.tally.wrong += 1
                kept = self.folder / f"wrong-{self.tally.wrong}.py"
                kept.write_text(typist.text, "utf-8", newline="")
                self._change(name, [{"text": typist.text + "\n#"}])
                self._change(name, [{"text": typist.text}])
                await self._settled(name)
                await self._quiet(self.client)
                again = self._shown(self.client, name) == expected
                self.tally.note(f"{'right' if again else 'still wrong'} once the whole text was sent:")
                self.tally.note(
                    f"wrong after {self.tally.edits} edits: {name} ({kept}):\n  only shown {sorted(set(shown[name]) - set(expected))}"
                    f"\n  only fresh {sorted(set(expected) - set(shown[name]))}"
                )
        await fresh.kill()
        self._comparing = False
        print(
            f"{self.tally.edits} edits, {self.tally.kills} kills, {self.tally.wrong} wrong, {self._measured()}",
            flush=True,
        )

    async def _quiet(self, client: RawClient) -> None:
        """Wait until a server says nothing and computes nothing: it has looked through the folder, and checked what that told."""
        # Of workers that are killed as they start, a server rests for some seconds, and says so.
        await client.until(lambda: client.states[-1:] != ["failed"], "a usable compiler", 120)
        quiet_since, used = time.monotonic(), 0.0
        while time.monotonic() - max(quiet_since, self._heard_at) < QUIET_SECONDS:
            await asyncio.sleep(0.2)
            now = sum(map(cpu_seconds, (client.process.pid, *children(client.process.pid))))
            if now > used + 0.02:
                quiet_since = time.monotonic()
            used = now

    @staticmethod
    def _shown(client: RawClient, name: str) -> list[str]:
        found = client.diagnostics.get(client.uri(name), {"diagnostics": []})["diagnostics"]
        return sorted(json.dumps(diagnostic, sort_keys=True) for diagnostic in found)

    # ------------------------------------------------------------------------------------------------- memory

    def _sample(self) -> None:
        self.peaks.look(f"server {self._servers}", self.client.process.pid)
        self._look_at_workers()

    def _look_at_workers(self) -> None:
        for pid in filter(is_worker, children(self.client.process.pid)):
            self.peaks.look("worker", pid)

    def _measured(self) -> dict[str, float]:
        """Peaks so far in MB, and the server's open files."""
        server = max((v for k, v in self.peaks.found.items() if k.startswith("server")), default=0)
        return {
            "server": server / 1e6,
            "worker": self.peaks.found.get("worker", 0) / 1e6,
            "files": open_files(self.client.process.pid),
        }


def main() -> int:
    """Run it and print the table; 0 where everything is as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--malformed", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--compare-every", type=int, default=1_000, help="edits between two comparisons; 0 for one at the end"
    )
    parser.add_argument("--whole", action="store_true", help="with all files of both libraries in the workspace")
    parser.add_argument("--triton-python", default=sys.executable, help="the interpreter whose Triton is asked")
    parser.add_argument("--keep", action="store_true", help="keep the folder, with the texts that were checked wrongly")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="endurance-"))
    try:
        tally = asyncio.run(Endurance(arguments, folder).run())
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    early = tally.early or tally.late
    rows: list[tuple[str, Any, bool]] = [
        ("edits", tally.edits, True),
        ("workers killed", tally.kills, True),
        ("malformed messages to the server", tally.malformed, True),
        ("malformed frames to a worker", tally.frames, True),
        ("requests (slowest answer)", f"{tally.requests} ({tally.slowest * 1000:.0f} ms)", True),
        ("server or worker exits", tally.exits, tally.exits == 0),
        ("stuck", tally.stuck, tally.stuck == 0),
        ("comparisons with a fresh server", tally.compared + 1, True),
        ("files with other findings", tally.wrong, tally.wrong == 0),
    ]
    for name, limit in (("server", SERVER_LIMIT), ("worker", WORKER_LIMIT)):
        first, last = early[name], tally.late[name]
        rows.append(
            (f"{name}'s peak, MB: after {MEASURED_AFTER} edits, at the end", f"{first:.0f}, {last:.0f}", last <= limit)
        )
    rows.append(("server's open files: then, at the end", f"{early['files']:.0f}, {tally.late['files']:.0f}", True))
    rows.append(("seconds", f"{tally.seconds:.0f}", True))
    for name, value, good in rows:
        print(f"{name:<55} {value}{'' if good else '   <- not what it has to be'}")
    return 0 if all(good for _, _, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
