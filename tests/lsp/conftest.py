"""Editors over the real server, with the real Triton."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from interpreters import Interpreter

from lsp.editor import Editor

BROKEN = """\
import triton
import triton.language as tl

SCALE = 0.5


@triton.jit
def scaled(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, x * SCALE, mask=offs < n)


@triton.jit
def copied(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < m)
    tl.store(y_ptr + offs, x, mask=offs < n)
"""
"""`constexpr-global` in row 11, `undefined-name` in row 17."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with one broken file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "project"\n')
    (root / "broken.py").write_text(BROKEN)
    return root


@pytest_asyncio.fixture
async def editors(folder: Path, tmp_path: Path, triton_python: Interpreter) -> AsyncIterator[Callable[..., Editor]]:
    """Makes editors that are stopped in the end, whatever became of them."""
    made: list[Editor] = []

    def make(**options: object) -> Editor:
        editor = Editor(folder, triton_python.path, tmp_path / "cache", **options)  # type: ignore[arg-type]
        made.append(editor)
        return editor

    yield make
    for editor in made:
        with contextlib.suppress(Exception):
            await editor.stop()
        server = editor.client._server
        if server is not None and server.returncode is None:
            server.kill()


@pytest_asyncio.fixture
async def editor(editors: Callable[..., Editor]) -> Editor:
    """A client that is pushed its diagnostics."""
    made = editors()
    await made.start()
    return made
