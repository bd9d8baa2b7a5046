"""`kernel-ls hover` and `kernel-ls hints`: what an editor would show, for scripts and other tools."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from pathlib import Path

from kernel_ls.analysis.features.view import View
from kernel_ls.background import COLLECT
from kernel_ls.commands.common import settings_of
from kernel_ls.commands.texts import load
from kernel_ls.errors import UsageError
from kernel_ls.model import Position
from kernel_ls.project import Project, root_of

_PLACE = re.compile(r"(?P<file>.+):(?P<row>\d+):(?P<column>\d+)$")


def hover(arguments: argparse.Namespace) -> int:
    """Print what is known at a place; the exit status: 1 where that is nothing."""
    found = _PLACE.match(arguments.place)
    if found is None:
        raise UsageError(f"{arguments.place!r} is not of the form FILE:ROW:COL")
    path = _file(found["file"])
    row, column = int(found["row"]), int(found["column"])
    view = asyncio.run(_view(arguments, path))
    if not 0 < row <= len(view.lines) or column < 1:
        raise UsageError(f"{found['file']} has no row {row}, column {column}")
    shown = view.hover(Position(row - 1, column - 1))
    if arguments.format == "json":
        place = None
        if shown is not None:
            start, end = shown.span.start, shown.span.end
            place = {
                "location": {"row": start.line + 1, "column": start.column + 1},
                "end_location": {"row": end.line + 1, "column": end.column + 1},
            }
        answer = {"version": 1, "text": shown.text if shown is not None else None, **(place or {})}
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    elif shown is not None:
        sys.stdout.write(shown.text + "\n")
    else:
        sys.stderr.write("kernel-ls: nothing is known there\n")
    return 0 if shown is not None else 1


def hints(arguments: argparse.Namespace) -> int:
    """Print the hints of a file, a line each; the exit status."""
    view = asyncio.run(_view(arguments, _file(arguments.place)))
    found = sorted(view.hints(0, len(view.lines), arguments.level), key=lambda h: h.position)
    if arguments.format == "json":
        rows = [
            {
                "location": {"row": h.position.line + 1, "column": h.position.column + 1},
                "label": h.label.strip(),
                "kind": h.kind,
                "tooltip": h.tooltip,
            }
            for h in found
        ]
        sys.stdout.write(json.dumps({"version": 1, "hints": rows}, indent=2, ensure_ascii=False) + "\n")
    else:
        for h in found:
            name = view.lines[h.anchor.start.line][h.anchor.start.column : h.anchor.end.column]
            shown = (
                f"{name}{h.label}" if h.anchor.start.line == h.anchor.end.line and len(name) < 60 else h.label.strip()
            )
            sys.stdout.write(f"{arguments.place}:{h.position.line + 1}:{h.position.column + 1}: {shown}\n")
    return 0


def _file(name: str) -> Path:
    path = Path(os.path.normpath(Path(name).absolute()))
    if not path.is_file():
        raise UsageError(f"there is no file {name!r}")
    load(path)
    return path


async def _view(arguments: argparse.Namespace, path: Path) -> View:
    project = Project(root_of(path), settings_of(arguments, path.parent), collect=(*COLLECT, "ttir"))
    try:
        await project.open()
        _, snapshot = await project.examine(path.as_posix())
        if snapshot is not None:
            for _ in snapshot.warm():
                pass
    finally:
        await project.close()
    if snapshot is None:
        raise UsageError(f"{path} cannot be checked")
    return View(snapshot, lines=snapshot.document.lines)
