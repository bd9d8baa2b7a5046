"""The cache gives back what was put in, and no state of its file costs more than compiling anew."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_ls.compile.cache import ResultCache
from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.compile.pool import CachedCompiler
from kernel_ls.model import CompileResult, Fault, Note, Status, UnitSpan

from .conftest import job

SPAN = UnitSpan("user:k", 2, 4, 2, 9)
RESULT = CompileResult(
    Status.DONE,
    faults=(
        Fault(SPAN, "TypeError", "bad <['64'], fp16>", "BinOp", "generate", (SPAN,), {"operands": [{"type": "i32"}]}),
    ),
    notes=(Note(SPAN, "print", "π", (SPAN,)),),
    types={"user:k": [(1, 2, 3, 4, ("i32",))]},
    reached={"user:k": [[1, 2]]},
    ttir="module {}",
    seconds=0.5,
)


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    key = cache.key(job("k"), "3.5.1")
    assert cache.get(key) is None
    cache.put(key, RESULT)
    assert cache.get(key) == RESULT
    assert ResultCache(tmp_path).get(key) == RESULT
    stats = cache.stats()
    assert (stats.entries, stats.hits, stats.misses, stats.off) == (1, 1, 1, "")


def test_the_key_tells_jobs_and_tritons_apart(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    keys = {cache.key(job("k"), "3.5.1"), cache.key(job("k"), "3.9.0"), cache.key(job("other"), "3.5.1")}
    assert len(keys) == 3
    assert cache.key(job("k"), "3.5.1") in keys


@pytest.mark.parametrize("status", [Status.CRASHED, Status.TIMEOUT, Status.UNAVAILABLE])
def test_what_says_nothing_about_the_job_is_not_kept(tmp_path: Path, status: Status) -> None:
    cache = ResultCache(tmp_path)
    cache.put("key", CompileResult(status))
    assert cache.get("key") is None


def test_what_was_cut_short_is_not_kept(tmp_path: Path) -> None:
    """Another time the machine may be quicker."""
    cache = ResultCache(tmp_path)
    cache.put("key", replace(RESULT, truncated="budget"))
    assert cache.get("key") is None


def test_two_caches_share_one_file(tmp_path: Path) -> None:
    one, other = ResultCache(tmp_path), ResultCache(tmp_path)
    one.put("a", RESULT)
    other.put("b", RESULT)
    assert one.get("b") == other.get("a") == RESULT
    assert other.clear() == 2
    assert one.get("a") is None


def test_the_size_is_bounded_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("kernel_ls.compile.cache.time.time", lambda: now[0])
    cache = ResultCache(tmp_path, max_bytes=20_000)
    for number in range(400):
        now[0] += 1
        cache.put(str(number), RESULT)
    assert cache.stats().bytes <= 20_000
    assert cache.get("0") is None
    assert cache.get("399") == RESULT


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 1000])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "results.sqlite3").write_bytes(damage)
    cache = ResultCache(tmp_path)
    cache.put("a", RESULT)
    assert cache.off == ""
    assert cache.get("a") == RESULT


def test_a_file_that_is_damaged_while_in_use_costs_no_more_than_its_content(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    for number in range(50):
        cache.put(str(number), RESULT)
    cache._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]
    with (tmp_path / "results.sqlite3").open("r+b") as file:
        file.write(b"\xff" * 8192)
    second = ResultCache(tmp_path)
    assert second.get("7") in (None, RESULT)
    second.put("x", RESULT)
    assert second.get("x") == RESULT
    assert cache.get("7") in (None, RESULT)
    cache.put("y", RESULT)


def test_an_entry_that_cannot_be_read_is_a_miss(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    cache.put("a", RESULT)
    with sqlite3.connect(tmp_path / "results.sqlite3") as database:
        database.execute("UPDATE results SET result = x'00ff'")
    assert cache.get("a") is None
    assert cache.off == ""


def test_a_folder_that_cannot_be_written_turns_the_cache_off(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("in the way")
    cache = ResultCache(place / "cache")
    assert "off" in cache.off
    cache.put("a", RESULT)
    assert cache.get("a") is None
    assert cache.clear() == 0
    assert cache.stats().off == cache.off
    cache.close()


def test_a_full_disk_turns_the_cache_off(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    # SQLite's own limit on the file gives the error of a full disk.
    cache._database.execute("PRAGMA max_page_count = 8")  # type: ignore[union-attr]
    for number in range(2000):
        cache.put(str(number), RESULT)
    assert "full" in cache.off
    assert cache.get("1") is None


def test_a_lock_that_is_held_is_not_waited_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_ls.compile.cache._BUSY_SECONDS", 0.05)
    cache = ResultCache(tmp_path)
    holder = sqlite3.connect(tmp_path / "results.sqlite3", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    cache.put("a", RESULT)
    assert cache.get("a") is None
    assert cache.off == ""
    holder.execute("COMMIT")
    holder.close()
    cache.put("a", RESULT)
    assert cache.get("a") == RESULT


async def test_a_known_result_needs_no_worker(misbehaving_python: str, cache_dir: Path) -> None:
    first = CachedCompiler(WorkerCompiler(misbehaving_python, cache_dir=cache_dir), ResultCache(cache_dir))
    twins = await asyncio.gather(first.check(job("fine")), first.check(job("fine")))
    assert twins[0] == twins[1]
    await first.close()
    second = CachedCompiler(WorkerCompiler(misbehaving_python, cache_dir=cache_dir), ResultCache(cache_dir))
    assert await second.check(job("fine")) == twins[0]
    assert second.state.pid == 0
    assert (await second.check(job("other"))).ttir != twins[0].ttir
    await second.close()


async def test_a_result_that_a_replaced_triton_may_have_given_is_not_kept(
    misbehaving_python: str, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = ResultCache(cache_dir)
    compiler = CachedCompiler(WorkerCompiler(misbehaving_python, cache_dir=cache_dir), cache)
    await compiler.check(job("fine"))
    assert cache.stats().entries == 1
    mark = tmp_path / "running"
    checking = asyncio.ensure_future(compiler.check(job("wait", mark=str(mark))))
    while not mark.exists():
        await asyncio.sleep(0.002)
    # As while `pip install` works beside the running server.
    monkeypatch.setattr("kernel_ls.compile.remembered.stamp", lambda _environment: (1, 2))
    mark.unlink()
    assert (await checking).status is Status.DONE
    assert cache.stats().entries == 1
    await compiler.close()


async def test_without_triton_the_cache_hides_nothing(cache_dir: Path, tmp_path: Path) -> None:
    compiler = CachedCompiler(WorkerCompiler("/bin/false", cache_dir=cache_dir), ResultCache(cache_dir))
    result = await compiler.check(job("fine"))
    assert result.status is Status.UNAVAILABLE
    await compiler.close()
