"""Which files may have to do with a jit function, and how little is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_ls.neighbours import Neighbours

KERNEL = "import triton\n\n\n@triton.jit\ndef {name}(x_ptr):\n    pass\n"


def test_files_that_hold_the_name_are_found_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.format(name="scaled"))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "launch.py").write_text("scaled[(1,)](x)\n")
    (tmp_path / "other.py").write_text("rescaled = 1\n")
    neighbours = Neighbours(tmp_path)
    assert neighbours.refresh()
    assert {Path(p).name for p in neighbours.naming(["scaled"])} == {"kernel.py", "launch.py"}
    assert not neighbours.refresh(), "nothing changed"


def test_a_name_that_is_new_is_looked_for_in_files_that_have_not_changed(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.format(name="scaled"))
    (tmp_path / "launch.py").write_text("added[(1,)](x)\n")
    neighbours = Neighbours(tmp_path)
    neighbours.refresh()
    (tmp_path / "more.py").write_text(KERNEL.format(name="added"))
    assert neighbours.refresh()
    assert {Path(p).name for p in neighbours.naming(["added"])} == {"more.py", "launch.py"}


@pytest.mark.parametrize("levels", [0, 1])
def test_below_a_whole_home_nothing_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, levels: int) -> None:
    """A lone file there is no reason to read everything that a person has, nor what lies beside their home."""
    home = tmp_path / "homes" / "me"
    folder = [home, *home.parents][levels]
    (home / "project").mkdir(parents=True)
    (home / "project" / "launch.py").write_text("scaled[(1,)](x)\n")
    (folder / "kernel.py").write_text(KERNEL.format(name="scaled"))
    monkeypatch.setenv("HOME", str(home))
    neighbours = Neighbours(folder)
    neighbours.refresh()
    assert [Path(p).name for p in neighbours.files()] == ["kernel.py"]
    inside = Neighbours(home / "project")
    inside.refresh()
    assert [Path(p).name for p in inside.files()] == ["launch.py"]
