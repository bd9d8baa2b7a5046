"""The project's Neovim configuration in the real Neovim, against the real server and the real Triton."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from editors import programs


def test_neovim_shows_findings_and_follows_an_unsaved_edit(tmp_path: Path) -> None:
    """Both faults appear at their lines; the one that an unsaved edit mends goes, the other stays."""
    program = programs.nvim()
    file = programs.workspace(tmp_path)
    done = subprocess.run(
        [
            *(program, "--clean", "--headless", "-n", "-l", str(programs.HERE / "neovim_check.lua"), str(file)),
            *(str(programs.ROOT / "editors" / "neovim"), *programs.server_command()),
        ],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=programs.ROOT,
    )
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout.strip().splitlines()[-1])
    assert [(d["code"], d["line"]) for d in out["before"]] == [("constexpr-global", 12), ("undefined-name", 18)]
    assert [(d["code"], d["line"]) for d in out["after"]] == [("undefined-name", 18)]
    assert out["modified"], "the edit was not saved"
    assert out["status"]["state"] in ("ready", "busy")
    assert "offs: tensor<" in out["hover"]
    assert out["hints"] > 5
    assert "tt.func public @halve" in out["ir"]
