"""Where the real editors are, as `scripts/setup --editors` left them, and a workspace for them to open."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".cache" / "editors"
HERE = Path(__file__).resolve().parent

KERNEL = '''\
"""Two faults: one the author will mend, one that stays."""
import triton
import triton.language as tl

SCALE = 0.5


@triton.jit
def halve(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * SCALE, mask=offs < n)


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, ofset + 1, mask=offs < n)
'''


def nvim() -> str:
    """The Neovim program; the test is skipped where there is none."""
    found = INSTALLED / "neovim" / "bin" / "nvim"
    if found.is_file():
        return str(found)
    pytest.skip("Neovim is not installed: scripts/setup --editors")


def vscode() -> Path:
    """The folder that holds VS Code's server and playwright-core; skipped where the browser or they are missing."""
    folder = INSTALLED / "vscode"
    if not (folder / "node_modules" / "code-server" / "lib" / "vscode" / "out" / "server-main.js").is_file():
        pytest.skip("VS Code is not installed: scripts/setup --editors")
    if not shutil.which("chromium") or not shutil.which("node"):
        pytest.skip("VS Code's tests need chromium and node on the PATH")
    if not (ROOT / "editors" / "vscode" / "dist" / "extension.js").is_file():
        pytest.skip("the extension is not built: scripts/setup --editors")
    return folder


def server_command() -> list[str]:
    """The command that starts the server under test."""
    return [sys.executable, "-m", "kernel_ls", "server"]


def workspace(folder: Path) -> Path:
    """A workspace with one file of two broken kernels; gives the file."""
    (folder / "pyproject.toml").write_text(f'[tool.kernel-ls]\npython = "{sys.executable}"\n')
    file = folder / "kernels.py"
    file.write_text(KERNEL)
    return file
