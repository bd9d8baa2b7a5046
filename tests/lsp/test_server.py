"""The server as an editor meets it: real connection, real worker, real Triton."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.conftest import BROKEN
from lsp.editor import ROOT, Editor

BOTH = [("constexpr-global", 11), ("undefined-name", 17)]
HELPER = "import triton\n\n\n@triton.jit\ndef helper(x):\n    return x + 1\n"
CALLER = """\
import triton
import triton.language as tl

from helpers import helper


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, helper(tl.load(x_ptr + offs)))
"""


async def test_a_mended_fault_goes_and_the_others_stay(editor: Editor) -> None:
    """The edit is not saved; the finding that stays is that of the new version."""
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    editor.edit("broken.py", (3, 8), (3, 11), "tl.constexpr(0.5)")
    await editor.sees("broken.py", BOTH[1:])
    assert (editor.root / "broken.py").read_text() == BROKEN
    editor.edit("broken.py", (3, 8), (3, 25), "0.5")
    await editor.sees("broken.py", BOTH)


async def test_a_finding_says_everything_that_an_editor_shows(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    shown = next(d for d in editor.client.diagnostics[editor.uri("broken.py")] if d.code == "undefined-name")
    assert shown.range == lsp.Range(lsp.Position(16, 42), lsp.Position(16, 43))
    assert shown.source == "kernel-ls"
    assert shown.code_description is not None
    assert shown.code_description.href.endswith("/docs/rules/undefined-name.md")


async def test_what_breaks_the_syntax_of_one_kernel_leaves_the_findings_of_the_others(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    editor.edit("broken.py", (8, 11), (8, 11), "(")
    await editor.until(lambda: any(code == "syntax-error" for code, _ in editor.shown("broken.py")), "a syntax error")
    assert ("undefined-name", 17) in editor.shown("broken.py")
    editor.edit("broken.py", (8, 11), (8, 12), "")
    await editor.sees("broken.py", BOTH)


async def test_a_line_above_moves_the_findings(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    editor.edit("broken.py", (0, 0), (0, 0), "# é漢😀\r\n\n")
    await editor.sees("broken.py", [("constexpr-global", 13), ("undefined-name", 19)])


@pytest.mark.parametrize("separator", ["\f", "\v", "\x1c", "\x85", "\u2028"])
async def test_an_edit_behind_what_only_python_takes_for_a_line_end_is_made_where_it_was_said(
    editor: Editor, separator: str
) -> None:
    text = f"# one{separator}two\n\n" + BROKEN.replace("tl.load(x_ptr + offs, mask=offs < m)", "tl.load(m)", 1)
    editor.open("new.py", text)
    await editor.sees("new.py", [("constexpr-global", 13), ("undefined-name", 19)])
    editor.edit("new.py", (18, 16), (18, 17), "x_ptr + offs")
    await editor.sees("new.py", [("constexpr-global", 13)])


async def test_closing_clears(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    editor.close("broken.py")
    await editor.sees("broken.py", [])


async def test_an_edited_helper_refreshes_the_open_file_that_uses_it(editor: Editor) -> None:
    (editor.root / "helpers.py").write_text(HELPER)
    (editor.root / "caller.py").write_text(CALLER)
    editor.open("helpers.py")
    editor.open("caller.py")
    await editor.sees("caller.py", [])
    editor.edit("helpers.py", (4, 12), (4, 12), ", y")
    await editor.until(lambda: len(editor.shown("caller.py")) == 1, "the call lacks an argument")
    assert editor.shown("caller.py")[0][1] == 10
    editor.edit("helpers.py", (4, 12), (4, 15), "")
    await editor.sees("caller.py", [])


async def test_a_helper_that_is_renamed_on_disk_is_missed_and_found_again(editor: Editor) -> None:
    (editor.root / "helpers.py").write_text(HELPER)
    (editor.root / "caller.py").write_text(CALLER.replace("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK) + nothing"))
    editor.open("caller.py")
    await editor.sees("caller.py", [("undefined-name", 9)])
    versions = len(editor.client.diagnostics)
    (editor.root / "helpers.py").rename(editor.root / "other.py")
    old, new = editor.uri("helpers.py"), editor.uri("other.py")
    editor.client.workspace_did_rename_files(lsp.RenameFilesParams([lsp.FileRename(old, new)]))
    editor.replace("caller.py", CALLER.replace("from helpers", "from other"))
    await editor.sees("caller.py", [])
    assert versions


async def test_a_worker_that_is_killed_during_a_check_costs_no_answer(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    for number in range(3):
        pids = _workers(editor)
        assert pids, "a worker runs"
        # Another text for each round, so that no cache has the answer.
        editor.edit("broken.py", (3, 0), (3, 0), f"NUMBER{number} = {number}\n")
        editor.edit("broken.py", (11 + number, 0), (11 + number, 0), f"    y = x + {number}\n")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        expected = [("constexpr-global", 12 + number), ("undefined-name", 19 + 2 * number)]
        await editor.until(lambda e=expected: len(editor.shown("broken.py")) == 2, f"{expected}")  # type: ignore[misc]
        await editor.until(
            lambda n=number: ("undefined-name", 19 + 2 * n) in editor.shown("broken.py"),  # type: ignore[misc]
            f"{expected}",
        )


def _workers(editor: Editor) -> list[int]:
    """The processes that the server started."""
    server = editor.client._server
    assert server is not None
    # Whichever of its threads started them.
    tasks = Path(f"/proc/{server.pid}/task").glob("*/children")
    return [int(pid) for children in tasks for pid in children.read_text().split()]


async def test_a_setting_of_the_client_takes_effect_at_once(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    section = {"kernelLs": {"ignore": ["undefined-name"]}}
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(section))
    await editor.sees("broken.py", BOTH[:1])
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"kernelLs": {}}))
    await editor.sees("broken.py", BOTH)


async def test_a_setting_of_pyproject_takes_effect_when_it_is_saved(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    (editor.root / "pyproject.toml").write_text('[tool.kernel-ls]\nselect = ["undefined-name"]\n')
    event = lsp.FileEvent(editor.uri("pyproject.toml"), lsp.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    await editor.sees("broken.py", BOTH[1:])


async def test_an_interpreter_without_triton_is_a_state_with_a_next_step(
    editors: Callable[..., Editor], tmp_path: Path
) -> None:
    """The server lives, and is mended by a setting alone."""
    import venv

    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    editor = editors()
    good, editor.python = editor.python, str(tmp_path / "bare" / "bin" / "python")
    await editor.start()
    editor.open("broken.py")
    await editor.until(lambda: any(s["state"] == "no-triton" for s in editor.statuses), "no-triton")
    section = {"kernelLs": {"python": good}}
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(section))
    await editor.sees("broken.py", BOTH)
    assert editor.statuses[-1]["state"] in ("ready", "busy")


async def test_diagnostics_are_pulled_with_result_ids(editors: Callable[..., Editor]) -> None:
    editor = editors(pulls=True)
    await editor.start()
    editor.open("broken.py")
    report = await editor.pull("broken.py")
    assert {d.code for d in report.items if d.severity == lsp.DiagnosticSeverity.Error} == {c for c, _ in BOTH}
    again = await editor.pull("broken.py", report.result_id)
    assert again.kind == "unchanged"
    editor.edit("broken.py", (3, 8), (3, 11), "tl.constexpr(0.5)")
    report = await editor.pull("broken.py", report.result_id)
    assert {d.code for d in report.items if d.severity == lsp.DiagnosticSeverity.Error} == {"undefined-name"}
    assert editor.uri("broken.py") not in editor.client.diagnostics, "a client that pulls is not pushed the same"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 25), ("utf-16", 20), ("utf-32", 18)])
async def test_columns_follow_the_encoding_that_was_negotiated(
    editors: Callable[..., Editor], encoding: str, column: int
) -> None:
    editor = editors(encodings=(encoding,))
    await editor.start()
    assert editor.capabilities.position_encoding == encoding
    text = "import triton\n\n\n@triton.jit\ndef k(x_ptr, B: 'é'):\n    s = '漢😀é'; y = nothing\n"
    editor.open("new.py", text)
    await editor.until(lambda: ("undefined-name", 6) in editor.shown("new.py"), "the name")
    found = next(d for d in editor.client.diagnostics[editor.uri("new.py")] if d.code == "undefined-name")
    line = text.splitlines()[5]
    before = line[: line.index("nothing")]
    sizes = {"utf-8": len(before.encode()), "utf-16": len(before.encode("utf-16-le")) // 2, "utf-32": len(before)}
    assert found.range.start.character == sizes[encoding]
    assert column


async def test_symbols_are_the_kernels_and_helpers(editor: Editor) -> None:
    (editor.root / "mixed.py").write_text(HELPER + CALLER.split("\n\n\n", 1)[1])
    editor.open("mixed.py")
    await editor.until(lambda: editor.uri("mixed.py") in editor.client.diagnostics, "a check")
    document = lsp.TextDocumentIdentifier(editor.uri("mixed.py"))
    found = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert found is not None
    assert [(s.name, s.detail) for s in found] == [("helper", "helper"), ("kernel", "kernel")]  # type: ignore[union-attr]


async def test_the_worker_is_restarted_on_command(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    before = _workers(editor)
    await editor.client.workspace_execute_command_async(lsp.ExecuteCommandParams("kernelLs.restartWorker"))
    await editor.until(lambda: bool(_workers(editor)) and _workers(editor) != before, "another process")
    await editor.sees("broken.py", BOTH)


async def test_a_command_that_is_not_there_yet_says_so(editor: Editor) -> None:
    with pytest.raises(JsonRpcException, match="not available yet"):
        await editor.client.workspace_execute_command_async(lsp.ExecuteCommandParams("kernelLs.compile"))


async def test_a_client_that_is_asked_for_its_settings_is_heard_before_the_first_check(
    editors: Callable[..., Editor],
) -> None:
    editor = editors()
    await editor.start(section={"kernelLs": {"ignore": ["constexpr-global"]}})
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH[1:])


async def test_two_folders_have_their_own_settings(editors: Callable[..., Editor], folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text('[tool.kernel-ls]\nignore = ["undefined-name"]\n')
    (other / "broken.py").write_text(BROKEN)
    editor = editors()
    await editor.start(folders=(folder, other))
    editor.open("broken.py")
    editor.open("../other/broken.py", BROKEN)
    await editor.sees("broken.py", BOTH)
    uri = (other / "broken.py").as_uri()
    await editor.until(lambda: uri in editor.client.diagnostics or True, "")
    assert editor.shown("broken.py") == BOTH


async def test_shutdown_and_exit_end_everything(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", BOTH)
    workers = _workers(editor)
    assert await editor.stop() == 0
    assert not [pid for pid in workers if _alive(pid)]


async def test_the_end_of_input_ends_the_server_and_its_workers(folder: Path, tmp_path: Path) -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kernel_ls", "server", "--cache-dir", str(tmp_path / "cache")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))},
    )
    assert server.stdin is not None
    server.stdin.close()
    await asyncio.wait_for(server.wait(), 20)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
