"""Courses of events after which something else was shown than a fresh session shows, each once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from property.live import FILES, HELPERS, KERNELS, LAUNCH, PROJECT, USES, Live


@pytest_asyncio.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    root = tmp_path / "project"
    root.mkdir()
    for name, text in {**FILES, "pyproject.toml": PROJECT}.items():
        (root / name).write_text(text, "utf-8")
    made = Live(root, tmp_path / "cache")
    yield made
    await made.session.close()


async def same(live: Live) -> None:
    await live.settled()
    assert live.shown() == await live.fresh()


BROKEN_USES = USES.replace("def product(", "def product((")


@pytest.mark.parametrize("text", [BROKEN_USES, USES.replace("dotted", "other"), USES.replace("N: tl.constexpr", "N")])
async def test_an_unsaved_caller_decides_how_a_helper_is_checked(live: Live, text: str) -> None:
    live.open("helpers.py")
    live.open("uses.py")
    await live.settled()
    live.edit("uses.py", text)
    await same(live)
    live.edit("uses.py", USES)
    await same(live)
    live.edit("uses.py", text)
    await live.settled()
    live.close("uses.py")
    await same(live)


async def test_a_caller_that_was_saved_while_it_was_open_counts_when_it_is_closed(live: Live) -> None:
    live.write("uses.py", "import triton\n")
    live.open("helpers.py")
    await live.settled()
    live.open("uses.py")
    live.edit("uses.py", USES)
    live.save("uses.py")
    await live.settled()
    live.close("uses.py")
    await same(live)


async def test_a_launch_that_comes_and_goes_on_disk_decides_constants(live: Live) -> None:
    live.open("kernels.py")
    await live.settled()
    live.write("launch.py", None)
    await same(live)
    live.write("launch.py", LAUNCH.replace("48", "64"))
    live.write("launch.py", LAUNCH)
    await same(live)


async def test_an_unsaved_file_of_a_new_name_is_found_by_who_imports_it(live: Live) -> None:
    live.write("helpers.py", None)
    live.open("kernels.py")
    await live.settled()
    live.open("helpers.py", HELPERS)
    await same(live)
    live.close("helpers.py")
    await same(live)


async def test_a_failure_that_is_over_is_not_shown_for_good_where_a_cache_answers(live: Live) -> None:
    """Nothing that is checked afterwards needs a worker."""
    live.open("kernels.py")
    await live.settled()
    assert live.engine is not None
    worker = live.engine._project._workers[0]

    async def fail() -> None:
        await worker._discard("killed")
        worker._enter("failed", "it did not start")

    await live.engine._do(fail())
    await asyncio.wait_for(live.until(lambda: live.screen.states[-1][0] == "failed"), 10)
    await asyncio.wait_for(live.until(lambda: live.screen.states[-1][0] == "ready"), 30)


async def test_a_worker_that_dies_at_any_time_costs_nothing(live: Live) -> None:
    live.open("kernels.py")
    for number in range(6):
        live.edit("kernels.py", KERNELS.replace("LIMIT = 4", f"LIMIT = {number}"))
        live.kill_worker()
    await same(live)
