"""Texts come from open buffers first, then from disk as it is now."""

from __future__ import annotations

import os
from pathlib import Path

from kernel_ls.sources import FileSystemProvider


def test_a_buffer_lies_over_the_file_until_it_is_closed(tmp_path: Path) -> None:
    path = (tmp_path / "a.py").as_posix()
    Path(path).write_text("disk\n")
    provider = FileSystemProvider([str(tmp_path)])
    assert provider.read(path) == "disk\n"
    provider.open(path, "buffer\n")
    assert provider.read(path) == "buffer\n"
    provider.close(path)
    assert provider.read(path) == "disk\n"


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one\n")
    provider = FileSystemProvider([str(tmp_path)])
    assert provider.read(path.as_posix()) == "one\n"
    path.write_text("two\n")
    os.utime(path, ns=(1, 1))
    assert provider.read(path.as_posix()) == "two\n"
    path.unlink()
    assert provider.read(path.as_posix()) is None


def test_a_declared_encoding_counts_and_what_is_not_text_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    provider = FileSystemProvider([str(tmp_path)])
    assert "\u00e9" in (provider.read((tmp_path / "latin.py").as_posix()) or "")
    assert provider.read((tmp_path / "binary.py").as_posix()) is None


def test_a_buffer_without_a_file_can_be_imported(tmp_path: Path) -> None:
    path = (tmp_path / "new.py").as_posix()
    provider = FileSystemProvider([str(tmp_path)])
    assert not provider.is_file(path)
    provider.open(path, "x = 1\n")
    assert provider.is_file(path)


def test_workspace_folders_come_before_the_interpreters_path(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    root = tmp_path.as_posix()
    provider = FileSystemProvider([root], ["", "/usr/lib/python3", root])
    assert list(provider.search_path()) == [root, f"{root}/src", "/usr/lib/python3"]
