"""`kernel-ls stubs`: type stubs of the installed Triton, for pyright, basedpyright, mypy and their kin."""

from __future__ import annotations

import argparse
import asyncio
import shutil
from pathlib import Path

from kernel_ls.analysis.features.stubs import stubs
from kernel_ls.commands.common import project_of, say, settings_of
from kernel_ls.errors import UsageError

_MARK = "Made by `kernel-ls stubs`"


def run(arguments: argparse.Namespace) -> int:
    """Write the stub package into a folder; the exit status."""
    folder = Path(arguments.folder).absolute()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{arguments.folder!r} is not a folder")
    root = folder / "triton"
    head = root / "__init__.pyi"
    if root.exists() and not (head.is_file() and _MARK in head.read_text("utf-8", "replace")):
        raise UsageError(f"{root} exists and was not made by this command: remove it, or name another folder")
    files, version = asyncio.run(_files(arguments))
    try:
        if root.exists():
            shutil.rmtree(root)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"the stubs cannot be written: {error}") from None
    say(f"wrote {len(files)} stubs of Triton {version} to {root}")
    if folder.name != "typings":
        say(f'pyright looks for them in `typings`, or where `stubPath` says: "stubPath": "{folder.name}"')
    return 0


async def _files(arguments: argparse.Namespace) -> tuple[dict[str, str], str]:
    here = Path.cwd()
    project = project_of(here, settings_of(arguments, here))
    try:
        await project.open()
        manifest = await project.compiler.api()
    finally:
        await project.close()
    return stubs(manifest), str(manifest.get("triton", ""))
