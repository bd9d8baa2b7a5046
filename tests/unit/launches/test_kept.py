"""Launches are kept over edits of kernels' bodies, at their new lines, and found anew after any other edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_ls.analysis.environment import Workspace
from kernel_ls.analysis.launches import LaunchIndex
from kernel_ls.analysis.launches.runs import Follower
from kernel_ls.sources import FileSystemProvider

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, bias_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, x * 2, mask=offs < n)


@triton.jit
def shift(x_ptr, by):
    tl.store(x_ptr, tl.load(x_ptr) + by)


def in_place(x):
    scale[(1,)](x, None, x.numel(), BLOCK=64)
    shift[(1,)](x, 3)
"""
HOST = """\
import torch

from kernels import scale


def launch(n):
    x = torch.empty(n, dtype=torch.float16)
    scale[(4,)](x, x, n, BLOCK=128)
"""


class Counted:
    """How often host code was followed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs = 0
        real = Follower.launches

        def launches(follower: Follower):  # type: ignore[no-untyped-def]
            self.runs += 1
            return real(follower)

        monkeypatch.setattr(Follower, "launches", launches)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "host.py").write_text(HOST)
    return tmp_path


def _shown(index: LaunchIndex, path: str) -> list[object]:
    return [
        (
            str(launch.location),
            launch.kernel.key,
            launch.kernel.span,
            launch.options,
            [(a.name, repr(a.value), str(a.location)) for a in launch.arguments],
        )
        for launch in index.of_document(path)
    ]


def _edited(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[object], list[object], int]:
    """What is shown for both files after `kernels.py` got a text, what a fresh index shows, and the runs it took."""
    provider = FileSystemProvider([folder.as_posix()])
    workspace = Workspace(provider)
    index = LaunchIndex(workspace)
    paths = [(folder / name).as_posix() for name in ("kernels.py", "host.py")]
    assert all(_shown(index, path) for path in paths)
    provider.open(paths[0], text)
    workspace.invalidate(paths[0])
    counted = Counted(monkeypatch)
    after = [_shown(index, path) for path in paths]
    runs = counted.runs
    fresh_provider = FileSystemProvider([folder.as_posix()])
    fresh_provider.open(paths[0], text)
    fresh = LaunchIndex(Workspace(fresh_provider))
    return after, [_shown(fresh, path) for path in paths], runs


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * 2", "x * 3"),
        ("    offs = tl.arange(0, BLOCK)\n", "    offs = tl.arange(0, BLOCK)\n    half = offs // 2\n\n"),
        ("    x = tl.load(x_ptr + offs, mask=offs < n)\n", ""),
        ("\n\n\ndef in_place", "\n\n\n# a comment\ndef in_place"),
        ("x * 2", "undefined +"),
        ("offs = tl.arange(0, BLOCK)\n", "offs = tl.arange(0,\n\n"),
        ("tl.load(x_ptr) + by", "tl.load(x_ptr"),
    ],
)
def test_an_edit_of_a_body_keeps_the_launches_at_their_new_lines(
    old: str, new: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after, fresh, runs = _edited(folder, KERNELS.replace(old, new), monkeypatch)
    assert after == fresh
    assert any(after)
    assert runs == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BLOCK=64", "BLOCK=32"),
        ("def scale(x_ptr, bias_ptr, n,", "def scale(x_ptr, bias, n,"),
        ("@triton.jit\n", "@triton.jit(do_not_specialize=['n'])\n"),
        ("x * 2", "x * 2 if bias_ptr is None else x"),
        ("def in_place(x):", "def in_place(x:"),
        ("x_ptr + offs, x * 2, mask=offs < n)\n", "x_ptr +\n\nOTHER = 3\n"),
    ],
)
def test_any_other_edit_follows_the_host_code_again(
    old: str, new: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after, fresh, runs = _edited(folder, KERNELS.replace(old, new), monkeypatch)
    assert after == fresh
    assert runs > 0
