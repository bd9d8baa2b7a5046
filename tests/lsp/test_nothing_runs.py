"""No entry point runs anything of the files that it looks at: every corner of the traps would leave a mark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import Interpreter
from lsprotocol import types as lsp
from traps import write

from lsp.editor import Editor


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--no-cache", "."),
        ("check", "--no-cache", "--output-format", "json", "traps.py"),
        ("check", "--no-cache", "--diff", "traps.py"),
        ("specialize", "traps.py"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_no_command_runs_the_files_code(arguments: tuple[str, ...], tmp_path: Path, triton_python: Interpreter) -> None:
    write(tmp_path)
    before = _listing(tmp_path)
    command = [sys.executable, "-m", "kernel_ls", *arguments]
    if arguments[0] != "clean":
        command += ["--python", triton_python.path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert _listing(tmp_path) == before


async def test_the_server_runs_nothing(editor: Editor) -> None:
    write(editor.root)
    editor.open("traps.py")
    await editor.until(lambda: editor.shown("traps.py") != [], "findings of the traps")
    document = lsp.TextDocumentIdentifier(editor.uri("traps.py"))
    lines = (editor.root / "traps.py").read_text().split("\n")
    for number, line in enumerate(lines):
        for column in range(0, len(line), 9):
            place = lsp.Position(number, column)
            await editor.client.text_document_hover_async(lsp.HoverParams(document, place))
            await editor.client.text_document_definition_async(lsp.DefinitionParams(document, place))
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines), 0))
    await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
    await editor.client.text_document_code_lens_async(lsp.CodeLensParams(document))
    await editor.client.text_document_completion_async(lsp.CompletionParams(document, lsp.Position(3, 4)))
    assert not (editor.root / "marks.txt").exists()


def _listing(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))
