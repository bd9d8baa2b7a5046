"""After anything that a person, a disk or a system may do, what is shown is what a fresh session shows.

A few examples each time; `KERNEL_LS_EXAMPLES=500` for more.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from editing import Typist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from property.live import FILES, LAUNCH, PROJECT, Live

EXAMPLES = int(os.environ.get("KERNEL_LS_EXAMPLES", "12"))
NAMES = sorted(FILES)
RENAMED = {"helpers.py": "helpers_renamed.py", "helpers_renamed.py": "helpers.py"}


class Person:
    """Does things to a session; what is impossible just now is not done.

    Every number decides everything that is random about its step.
    """

    def __init__(self, live: Live) -> None:
        self.live = live
        self.typists: dict[str, Typist] = {}
        self.steps: dict[str, Callable[[random.Random], None]] = {
            "edit": self._edit,
            "open": self._open,
            "close": lambda rng: self._of_open(rng, self.live.close),
            "save": lambda rng: self._of_open(rng, self.live.save),
            "write": self._write,
            "rename": lambda rng: self.live.rename(*rng.choice(list(RENAMED.items()))),
            "create": lambda rng: self.live.write(
                "more.py", rng.choice((None, LAUNCH.replace("128", "32"), LAUNCH.replace("import torch\n", "")))
            ),
            "configure": self._configure,
            "kill": lambda _rng: self.live.kill_worker(),
        }

    def _of_open(self, rng: random.Random, do: Callable[[str], None]) -> None:
        if self.live.texts:
            do(rng.choice(sorted(self.live.texts)))

    def _edit(self, rng: random.Random) -> None:
        def edit(name: str) -> None:
            typist = self.typists[name]
            typist.edit()
            self.live.edit(name, typist.text)

        self._of_open(rng, edit)

    def _open(self, rng: random.Random) -> None:
        name = rng.choice(NAMES)
        if name not in self.live.texts:
            self.live.open(name)
            self.typists[name] = Typist(self.live.texts[name], random.Random(rng.random()))

    def _write(self, rng: random.Random) -> None:
        name = rng.choice(NAMES)
        text = FILES[name]
        self.live.write(name, rng.choice((text, text.replace("128", "64"), text.replace("x * 2", "x * y"), None)))

    def _configure(self, rng: random.Random) -> None:
        ignore = rng.choice(("", '[tool.kernel-ls]\nignore = ["undefined-name"]\n'))
        self.live.write("pyproject.toml", PROJECT + ignore)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["edit"] * 8 + ["open"] * 3 + ["wait"] * 3)
        | st.sampled_from(["close", "save", "write", "rename", "create", "configure", "kill"]),
        st.integers(0, 2**32),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(_STEPS)
def test_what_is_shown_is_what_a_fresh_session_shows(steps: list[tuple[str, int]]) -> None:
    """Edits, saves, closes, reopens, renames, files that appear and go, other settings, workers that die: in any order."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), [("open", 0), *steps]))


async def _play(folder: Path, steps: list[tuple[str, int]]) -> None:
    root = folder / "project"
    root.mkdir()
    for name, text in {**FILES, "pyproject.toml": PROJECT}.items():
        (root / name).write_text(text, "utf-8")
    live = Live(root, folder / "cache")
    person = Person(live)
    try:
        for step, number in steps:
            if step == "wait":
                await live.settled()
            else:
                person.steps[step](random.Random(number))
        await live.settled()
        shown = live.shown()
        assert not [problem for problem in live.screen.problems if "internal error" in problem]
        assert shown == await live.fresh()
    finally:
        await asyncio.wait_for(live.session.close(), 60)
