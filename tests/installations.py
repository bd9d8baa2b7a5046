"""Interpreters whose Triton a test may break, replace and repair, without a byte of the real one being touched."""

from __future__ import annotations

import os
import shutil
import site
import stat
import sys
from pathlib import Path


def script(path: Path, text: str) -> str:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def linked_installation(folder: Path) -> tuple[str, Path]:
    """An interpreter, and the package folder of its Triton: links to the real files, which `replace` puts others in place of."""
    real = next(Path(p) / "triton" for p in site.getsitepackages() if (Path(p) / "triton").is_dir())
    copy = folder / "site" / "triton"
    shutil.copytree(real, copy, copy_function=_link, ignore=shutil.ignore_patterns("__pycache__", "bin", "include"))
    paths = os.pathsep.join([str(folder / "site"), *site.getsitepackages()])
    return script(folder / "python", f'PYTHONPATH="{paths}" exec "{sys.executable}" -B "$@"'), copy


def replace(file: Path, content: str | bytes) -> None:
    """Put another file in a file's place."""
    # Beside and moved: the links lead to the real files, which stay as they are.
    beside = file.with_name(file.name + ".new")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    beside.replace(file)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        Path(target).symlink_to(source)
