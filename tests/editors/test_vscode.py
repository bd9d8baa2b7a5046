"""The packed extension's code in the real VS Code's extension host, against the real server and the real Triton."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from editors import programs


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _vscode_server(folder: Path, data: Path, result: Path) -> Iterator[str]:
    """VS Code's own server on a loopback port, without Workspace Trust questions; gives its address."""
    settings = data / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        json.dumps(
            {
                "kernelLs.serverCommand": programs.server_command(),
                "git.enabled": False,
                "workbench.startupEditor": "none",
                "telemetry.telemetryLevel": "off",
            }
        )
    )
    port = _free_port()
    main = folder / "node_modules" / "code-server" / "lib" / "vscode" / "out" / "server-main.js"
    command = ["node", str(main), "--host", "127.0.0.1", "--port", str(port), "--without-connection-token"]
    command += ["--accept-server-license-terms", "--enable-smoke-test-driver", "--disable-workspace-trust"]
    command += ["--server-data-dir", str(data / "server"), "--user-data-dir", str(data)]
    command += ["--extensions-dir", str(data / "extensions"), "--telemetry-level", "off"]
    environment = {**os.environ, "KERNEL_LS_TEST_RESULT": str(result), "PYTHONPATH": str(programs.ROOT)}
    with (data / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(150):
            try:
                urllib.request.urlopen(address, timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(10)


def test_vscode_shows_findings_and_follows_an_unsaved_edit(tmp_path: Path) -> None:
    """Both faults appear at their lines; the one that an unsaved edit mends goes, the other stays."""
    folder = programs.vscode()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    programs.workspace(workspace)
    result = tmp_path / "result.json"
    data = tmp_path / "data"
    data.mkdir()
    with _vscode_server(folder, data, result) as address:
        drive = ["node", str(programs.HERE / "vscode_drive.mjs"), address, str(programs.ROOT / "editors" / "vscode")]
        drive += [str(programs.HERE / "vscode_test.js"), str(result), str(workspace)]
        done = subprocess.run(drive, capture_output=True, text=True, timeout=200, cwd=folder)
    assert result.is_file(), done.stdout + done.stderr
    out = json.loads(result.read_text())
    assert "error" not in out, out["error"]
    assert [(d["code"], d["line"]) for d in out["before"]] == [("constexpr-global", 12), ("undefined-name", 18)], out
    assert [(d["code"], d["line"]) for d in out["after"]] == [("undefined-name", 18)]
    assert out["dirty"], "the edit was not saved"
    assert {"kernelLs.restartServer", "kernelLs.restartWorker"} <= set(out["commands"])
    assert "offs: tensor<" in out["hover"], out["hover"]
    assert any(hint.startswith(": tensor<") for hint in out["hints"]), out["hints"]
    assert out["lenses"].count("TTIR") == 2, out["lenses"]
    assert "tt.func public @halve" in out["ir"], out["ir"][:300]
