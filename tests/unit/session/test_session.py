"""The session's rules, with a checker that waits at a gate and a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from unit.session.fakes import Bench

from kernel_ls.compile.client import WorkerState
from kernel_ls.errors import InterpreterNotFound
from kernel_ls.session import Debounce, Superseded
from kernel_ls.settings import Settings

A, B, H = "/w/a.py", "/w/b.py", "/w/helpers.py"


async def test_opening_publishes_the_findings_of_that_version(bench: Bench) -> None:
    bench.session.opened(A, 7, "ok\nbad")
    await bench.settle()
    assert bench.client.last(A) == (7, [("undefined-name", 1)])


async def test_parse_findings_are_there_before_the_generator_answers(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "syntax\nbad")
    await bench.settle()
    assert bench.client.last(A) == (1, [("syntax-error", 0)])


async def test_an_edit_ends_the_running_check_and_only_the_new_version_is_shown(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.session.changed(A, 2, "ok")
    await bench.settle()
    assert bench.engine.cancelled == [A]
    bench.engine.gate.set()
    await bench.settle()
    assert bench.client.last(A) == (2, [])
    assert [v for p, v, found in bench.client.published if p == A and found] == []


async def test_a_result_for_an_older_text_is_never_shown_even_if_the_check_cannot_be_cancelled(bench: Bench) -> None:
    bench.session.opened(A, 1, "ok")
    await bench.settle()
    engine = bench.engine
    check = engine.check

    async def stubborn(path: str) -> object:
        return await asyncio.shield(asyncio.ensure_future(check(path)))

    engine.check = stubborn  # type: ignore[assignment,method-assign]
    engine.gate.clear()
    bench.session.changed(A, 2, "bad")
    await bench.settle()
    bench.session.changed(A, 3, "ok\nbad")
    engine.gate.set()
    await bench.settle()
    assert bench.client.last(A) == (3, [("undefined-name", 1)])
    assert not [p for p in bench.client.published if p[1] == 2]


async def test_the_first_edit_of_an_expensive_file_is_checked_at_once_and_the_next_ones_wait(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.seconds = 0.4
    bench.session.opened(A, 1, "one")
    await bench.settle()
    bench.engine.gate.clear()
    for version in (2, 3, 4):
        bench.session.changed(A, version, f"edit {version}")
        await bench.settle()
        bench.clock.move(0.1)
        await bench.settle()
    assert [text for path, text in bench.engine.started if path == A] == ["one", "edit 2"]
    bench.engine.gate.set()
    bench.clock.move(0.11)
    await bench.settle()
    assert [text for path, text in bench.engine.started if path == A] == ["one", "edit 2", "edit 4"]
    assert bench.client.last(A)[0] == 4


async def test_an_edit_of_a_cheap_file_is_checked_at_once(bench: Bench) -> None:
    bench.session.opened(A, 1, "one")
    await bench.settle()
    bench.session.changed(A, 2, "bad")
    await bench.settle()
    assert bench.clock.time == 0
    assert bench.client.last(A) == (2, [("undefined-name", 0)])


@pytest.mark.parametrize(("cost", "delay"), [(0.0, 0.0), (0.05, 0.0), (0.2, 0.1), (30.0, 0.5)])
def test_the_debounce_follows_the_cost(cost: float, delay: float) -> None:
    assert Debounce().delay(cost) == pytest.approx(delay)


async def test_a_version_that_goes_back_is_dropped(bench: Bench) -> None:
    bench.session.opened(A, 5, "bad")
    await bench.settle()
    bench.session.changed(A, 4, "ok")
    await bench.settle()
    assert bench.client.last(A) == (5, [("undefined-name", 0)])


async def test_an_edit_that_changes_nothing_is_not_checked_and_gets_its_version(bench: Bench) -> None:
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.session.changed(A, 2, "bad")
    await bench.settle()
    assert len(bench.engine.started) == 1
    assert bench.client.last(A) == (2, [("undefined-name", 0)])


async def test_closing_clears_and_nothing_is_published_afterwards(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.session.closed(A)
    bench.engine.gate.set()
    await bench.settle()
    assert bench.client.last(A) == (None, [])


async def test_reopening_while_the_old_check_runs_shows_the_new_text_only(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.session.closed(A)
    bench.session.opened(A, 1, "ok\nok\nbad")
    bench.engine.gate.set()
    await bench.settle()
    assert bench.client.last(A) == (1, [("undefined-name", 2)])


async def test_a_helper_that_changes_refreshes_its_open_dependents_and_no_others(bench: Bench) -> None:
    bench.session.opened(H, 1, "fine")
    bench.session.opened(A, 1, f"use {H}")
    bench.session.opened(B, 1, "alone")
    await bench.settle()
    started = len(bench.engine.started)
    bench.session.changed(H, 2, "broken")
    await bench.settle()
    assert bench.client.last(A) == (1, [("undefined-name", 0)])
    assert [path for path, _ in bench.engine.started[started:]] == [H, A]
    assert bench.client.refreshes == 1


async def test_closing_a_helper_with_unsaved_text_refreshes_its_dependents(bench: Bench) -> None:
    bench.session.opened(H, 1, "broken")
    bench.session.opened(A, 1, f"use {H}")
    await bench.settle()
    assert bench.client.last(A)[1]
    bench.session.closed(H)
    await bench.settle()
    assert bench.client.last(A) == (1, [])


async def test_a_file_that_changes_on_disk_refreshes_who_reads_it(bench: Bench) -> None:
    bench.session.opened(A, 1, f"use {H}")
    await bench.settle()
    bench.engine.disk[H] = "broken"
    bench.session.files_changed([H])
    await bench.settle()
    assert bench.client.last(A) == (1, [("undefined-name", 0)])


async def test_an_edit_goes_before_a_refresh_that_runs(bench: Bench) -> None:
    bench.session.opened(H, 1, "fine")
    bench.session.opened(A, 1, f"use {H}")
    bench.session.opened(B, 1, "alone")
    await bench.settle()
    bench.engine.gate.clear()
    bench.engine.disk["/w/new.py"] = ""
    bench.session.files_changed(["/w/new.py"])
    await bench.settle()
    refreshing = bench.engine.started[-1][0]
    other = B if refreshing != B else A
    bench.session.changed(other, 2, "bad")
    await bench.settle()
    assert bench.engine.started[-1][0] == other, "the edited file is checked now"
    bench.engine.gate.set()
    await bench.settle()
    assert bench.client.last(other) == (2, [("undefined-name", 0)])
    assert (refreshing, bench.engine.text(refreshing)) in bench.engine.finished, "what gave way is checked later"


async def test_a_finding_in_a_file_that_is_not_open_is_shown_there_and_taken_back(bench: Bench) -> None:
    bench.session.opened(A, 1, f"bad@{H}")
    await bench.settle()
    assert bench.client.last(H) == (None, [("undefined-name", 0)])
    bench.session.changed(A, 2, "ok")
    await bench.settle()
    assert bench.client.last(H) == (None, [])


async def test_a_finding_in_an_open_helper_goes_when_the_helper_is_edited(bench: Bench) -> None:
    bench.session.opened(H, 1, "fine")
    bench.session.opened(A, 1, f"bad@{H}\nuse {H}")
    await bench.settle()
    assert bench.client.last(H) == (1, [("undefined-name", 0)])
    bench.engine.gate.clear()
    bench.session.changed(H, 2, "other")
    await bench.settle()
    assert bench.session.shown(H) == (), "it was found in another text"
    bench.engine.gate.set()
    await bench.settle()
    assert bench.client.last(H) == (2, [("undefined-name", 0)]), "the dependent found it again"


async def test_a_crash_of_a_check_costs_its_answer_and_nothing_else(bench: Bench) -> None:
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.engine.failure = RuntimeError("a defect")
    bench.session.changed(A, 2, "bad\nbad")
    await bench.settle()
    assert bench.client.problems == ["internal error while checking a.py; the log has the details"]
    bench.engine.failure = None
    bench.session.changed(A, 3, "ok")
    await bench.settle()
    assert bench.client.last(A) == (3, [])


async def test_pulled_findings_are_those_of_the_present_text(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    pulled = asyncio.ensure_future(bench.session.findings(A))
    await bench.settle()
    assert not pulled.done()
    bench.engine.gate.set()
    answer = await pulled
    assert answer is not None
    assert [f.code for f in answer[0]] == ["undefined-name"]
    again = await bench.session.findings(A)
    assert again == answer, "an unchanged document keeps its result id"


async def test_a_pull_that_an_edit_overtakes_is_superseded(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    pulled = asyncio.ensure_future(bench.session.findings(A))
    await bench.settle()
    bench.session.changed(A, 2, "ok")
    bench.engine.gate.set()
    with pytest.raises(Superseded):
        await pulled


async def test_a_pull_of_a_document_that_is_closed_meanwhile_ends(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    pulled = asyncio.ensure_future(bench.session.findings(A))
    await bench.settle()
    bench.session.closed(A)
    assert await pulled is None


async def test_each_workspace_folder_has_its_own_engine(bench: Bench) -> None:
    bench.session.folders_changed([Path("/w/one"), Path("/w/two")])
    bench.session.opened("/w/one/a.py", 1, "bad")
    bench.session.opened("/w/two/a.py", 1, "ok")
    bench.session.opened("/elsewhere/x.py", 1, "ok")
    await bench.settle()
    assert set(bench.engines) == {Path("/w/one"), Path("/w/two"), Path("/elsewhere")}
    bench.session.closed("/elsewhere/x.py")
    await bench.settle()
    assert bench.engines[Path("/elsewhere")].closed
    assert not bench.engines[Path("/w/one")].closed


async def test_other_settings_replace_the_engine_and_check_again(bench: Bench) -> None:
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.session.settings_changed()
    await bench.settle()
    assert len(bench.made) == 1, "settings that are the same change nothing"
    bench.settings[Path("/w")] = Settings(budget=1.0)
    bench.session.settings_changed()
    await bench.settle()
    assert [engine.closed for engine in bench.made] == [True, False]
    assert bench.engine.started == [(A, "bad")]
    assert bench.client.last(A) == (1, [("undefined-name", 0)])


async def test_no_interpreter_is_a_visible_state_and_mended_by_settings(bench: Bench) -> None:
    bench.refuse = InterpreterNotFound("there is no Python interpreter 'x'")
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    assert bench.client.states[-1][0] == "failed"
    assert await bench.session.findings(A) == ((), (await bench.session.findings(A))[1])  # type: ignore[index]
    bench.refuse = None
    bench.session.settings_changed()
    await bench.settle()
    assert bench.client.last(A) == (1, [("undefined-name", 0)])


async def test_the_worker_state_reaches_the_client_once_a_change(bench: Bench) -> None:
    bench.session.opened(A, 1, "ok")
    await bench.settle()
    bench.client.states.clear()
    for _ in range(2):
        bench.engine.enter(WorkerState("no-triton", "there is no Triton", "pip install triton"))
    assert bench.client.states == [("no-triton", "there is no Triton: pip install triton")]


async def test_a_compiler_that_cannot_be_used_is_tried_again_less_and_less_often(bench: Bench) -> None:
    """Triton may be installed by then, and nobody has to edit anything."""
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    bench.engine.enter(WorkerState("no-triton", "there is no Triton", "pip install triton"))
    tries = []
    for _ in range(200):
        before = len(bench.engine.started)
        bench.clock.move(1.0)
        await bench.settle()
        if len(bench.engine.started) > before:
            tries.append(round(bench.clock.time))
    assert tries == [6, 18, 42, 90, 150]
    assert bench.engine.restarts == 5, "whether or not a check would need the compiler"
    bench.engine.enter(WorkerState("ready"))
    bench.clock.move(1000.0)
    await bench.settle()
    assert len(bench.engine.started) == 6
    bench.engine.enter(WorkerState("failed", "it is broken"))
    bench.session.closed(A)
    bench.clock.move(1000.0)
    await bench.settle()
    assert len(bench.engine.started) == 6


async def test_restarting_checks_everything_again(bench: Bench) -> None:
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    await bench.session.restart_workers()
    await bench.settle()
    assert bench.engine.restarts == 1
    assert len(bench.engine.finished) == 2


async def test_after_close_nothing_is_published(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    count = len(bench.client.published)
    await bench.session.close()
    bench.engine.gate.set()
    await bench.settle()
    assert len(bench.client.published) == count
    assert bench.engine.closed


async def test_progress_ends_however_the_check_ends(bench: Bench) -> None:
    bench.session.opened(B, 1, "")
    await bench.settle()
    bench.engine.gate.clear()
    bench.session.opened(A, 1, "bad")
    await bench.settle()
    assert bench.client.running == {A}
    bench.session.closed(A)
    await bench.settle()
    assert bench.client.running == set()
