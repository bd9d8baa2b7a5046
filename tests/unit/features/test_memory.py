"""Garbage is looked for in pauses, and after many checks without one."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from kernel_ls import memory
from kernel_ls.memory import Collector


@pytest.fixture
def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """What was collected; the process's own collector is left as it was."""
    thresholds = gc.get_threshold()
    made: list[int] = []
    monkeypatch.setattr(memory, "_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(memory.gc, "collect", lambda: made.append(1))
    yield made
    gc.set_threshold(*thresholds)
    gc.unfreeze()


async def test_a_pause_after_a_check_is_used(collections: list[int]) -> None:
    collector = Collector()
    collections.clear()
    collector.checked()
    collector.touched()
    assert collections == []
    await asyncio.sleep(0.1)
    assert collections == [1]


async def test_a_pause_without_a_check_is_not(collections: list[int]) -> None:
    collector = Collector()
    collections.clear()
    collector.touched()
    await asyncio.sleep(0.1)
    assert collections == []


async def test_many_checks_without_a_pause_are_enough(collections: list[int]) -> None:
    collector = Collector()
    collections.clear()
    for _ in range(memory._MOST_CHECKS):
        collector.checked()
    assert collections == [1]
    assert gc.get_threshold()[2] > 100_000


class _Ring:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.itself = self


async def test_what_was_set_aside_is_looked_at_after_much_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    thresholds = gc.get_threshold()
    resident = 0
    monkeypatch.setattr(memory, "resident_bytes", lambda: resident)
    try:
        collector = Collector()
        ring = _Ring()
        for _ in range(memory._MOST_CHECKS):
            collector.checked()
        seen = weakref.ref(ring)
        del ring
        for _ in range(memory._MOST_CHECKS):
            collector.checked()
        assert seen() is not None, "it was in use when it was looked at last"
        resident = memory._MUCH_GROWTH + 1
        collector.checked()
        assert seen() is None
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
