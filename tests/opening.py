"""A workspace over a folder, as the project opens one."""

from __future__ import annotations

from pathlib import Path

from kernel_ls.analysis.environment import TritonApi, Workspace
from kernel_ls.compile.client import Compiler
from kernel_ls.sources import FileSystemProvider


async def open_workspace(folder: Path, compiler: Compiler) -> Workspace:
    """The workspace of a folder, under the interpreter and the Triton of a compiler."""
    environment = await compiler.environment()
    return Workspace(FileSystemProvider([folder.as_posix()], environment.path), TritonApi(await compiler.api()))
