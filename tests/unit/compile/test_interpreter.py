"""The interpreter is found in the documented order, and what was named is never silently replaced."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from interpreters import Interpreter as Installed

from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.compile.interpreter import probe, resolve
from kernel_ls.errors import InterpreterNotFound, TritonMissing


def environment(folder: Path, *, windows: bool = False) -> Path:
    """Make what looks like a virtual environment; its interpreter."""
    python = folder / "Scripts" / "python.exe" if windows else folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin")
    return python


def test_the_order_is_setting_client_environment_own_path(tmp_path: Path) -> None:
    setting, client = environment(tmp_path / "a"), environment(tmp_path / "b")
    activated, workspace = environment(tmp_path / "c"), environment(tmp_path / "work" / ".venv")
    variables = {"VIRTUAL_ENV": str(tmp_path / "c"), "PATH": str(workspace.parent)}
    folders = [tmp_path / "work"]

    def found(**named: str) -> tuple[str, str]:
        interpreter = resolve(folders=folders, environ=variables, own="/own/python", own_has_triton=True, **named)
        return interpreter.path, interpreter.source

    assert found(setting=str(setting), client=str(client)) == (str(setting), "the setting")
    assert found(client=str(client)) == (str(client), "the client")
    assert found() == (str(activated), "VIRTUAL_ENV, the activated environment")
    del variables["VIRTUAL_ENV"]
    assert found() == (str(workspace), f".venv of {tmp_path / 'work'}")
    folders.clear()
    assert found() == ("/own/python", "the server's own")
    last = resolve(environ={"PATH": str(workspace.parent)}, own="/own/python", own_has_triton=False)
    assert (last.path, last.source) == (str(workspace), "python on the PATH")


def test_an_environment_s_folder_can_be_named(tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    windows = environment(tmp_path / "win", windows=True)
    assert resolve(setting=str(tmp_path / "env")).path == str(python)
    assert resolve(setting=str(tmp_path / "win")).path == str(windows)
    assert resolve(setting="env", folders=[tmp_path]).path == str(python)
    assert resolve(setting="python", environ={"PATH": str(python.parent)}).path == str(python)


def test_what_is_named_and_missing_is_an_error(tmp_path: Path) -> None:
    environment(tmp_path / ".venv")
    for named in ({"setting": str(tmp_path / "none")}, {"client": "no-such-python"}):
        with pytest.raises(InterpreterNotFound, match="no Python interpreter"):
            resolve(folders=[tmp_path], environ={"PATH": ""}, **named)
    with pytest.raises(InterpreterNotFound, match="no Python interpreter was found"):
        resolve(environ={"PATH": ""}, own_has_triton=False)


def test_conda_s_base_is_not_a_choice(tmp_path: Path) -> None:
    base = environment(tmp_path / "conda")
    variables = {"CONDA_PREFIX": str(tmp_path / "conda"), "CONDA_DEFAULT_ENV": "base", "PATH": ""}
    assert resolve(environ=variables, own="/own", own_has_triton=True).path == "/own"
    variables["CONDA_DEFAULT_ENV"] = "kernels"
    assert resolve(environ=variables, own="/own", own_has_triton=True).path == str(base)


async def test_a_probe_says_what_is_there(triton_python: Installed, tmp_path: Path) -> None:
    found = await probe(triton_python.path, cache_dir=tmp_path)
    assert found.triton == triton_python.triton


async def test_a_probe_of_an_interpreter_without_triton_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(TritonMissing) as caught:
        await probe(str(script), cache_dir=tmp_path)
    assert "pip install triton" in str(caught.value)


async def test_the_manifest_lists_triton_s_interface(triton_python: Installed, tmp_path: Path) -> None:
    compiler = WorkerCompiler(triton_python.path, cache_dir=tmp_path)
    manifest = await compiler.api()
    await compiler.close()
    names = manifest["names"]
    assert manifest["triton"] == triton_python.triton
    assert names["triton.language.float32"] == {"kind": "dtype", "value": "fp32"}
    load = names["triton.language.load"]
    assert load["kind"] == "builtin"
    assert ["mask", "None", "any"] in load["signature"]
    assert "_semantic" not in str(load["signature"])
    assert "tensor" in load["doc"]
    assert names["triton.language.tensor.to"]["kind"] == "builtin"
    assert names["triton.language.core.load"] == {"kind": "builtin", "alias": "triton.language.load"}
    assert names["triton.language.sum"]["kind"] == "jit"
    assert names["triton.language.math.exp"]["alias"] == "triton.language.exp"
    assert names["triton.language.constexpr"]["kind"] == "class"
    assert names["triton.Config"]["signature"][0] == ["kwargs", None, "any"]
    assert not any(name.startswith(("triton.backends", "triton._C")) for name in names)
    assert not any(".typing." in name or name.endswith(".Any") for name in names)
    # Every alias leads to an entry in full.
    assert all("alias" not in names[entry["alias"]] for entry in names.values() if "alias" in entry)

    again = WorkerCompiler(triton_python.path, cache_dir=tmp_path)
    assert await again.api() == manifest
    assert again.state.pid == 0, "the manifest was on disk"
    await again.close()
