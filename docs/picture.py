"""Draws docs/check.svg, the README's picture: what `kernel-ls check` really prints for a broken example.

python docs/picture.py
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ("check", "examples/broken/many_at_once.py")
WIDTH = 112


def main() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    done = subprocess.run(
        [sys.executable, "-m", "kernel_ls", *COMMAND],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 1:
        raise SystemExit(f"kernel-ls {' '.join(COMMAND)} exited with {done.returncode}, not 1: no picture was drawn")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), f"kernel-ls {' '.join(COMMAND)}"))
    console.print(Text.from_ansi(done.stdout.rstrip()))
    # A fixed id keeps the file the same where the text is the same.
    console.save_svg(str(ROOT / "docs" / "check.svg"), title="kernel_ls", unique_id="kernel-ls-check")


if __name__ == "__main__":
    main()
