"""Arguments of the command line: help, versions, and errors that are one line and exit status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_ls import __version__
from kernel_ls.analysis.edits import apply_edits, apply_fixes, unified_diff
from kernel_ls.cli import main
from kernel_ls.commands.serve import address
from kernel_ls.errors import UsageError
from kernel_ls.model import Edit, Finding, Fix, Location, Severity, Span

COMMANDS = [
    "check",
    "server",
    "specialize",
    "hover",
    "hints",
    "ir",
    "compile",
    "run",
    "record",
    "rule",
    "doctor",
    "stubs",
    "clean",
]


@pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)], ids=str)
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_every_command_has_help_and_version(
    command: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if option == "--version" and command and command[0] in ("hover", "hints", "compile", "run", "stubs"):
        pytest.skip("takes anything, to say that it is not there yet")
    with pytest.raises(SystemExit) as ended:
        main([*command, option])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert out == f"kernel-ls {__version__}\n" if option == "--version" else "usage: kernel-ls" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "--nonsense"], "--nonsense"),
        (["check", "--output-format", "xml"], "xml"),
        (["check", "no/such/file.py"], "no file or folder 'no/such/file.py'"),
        (["check", "--target", "cuda:x"], "number such as 80"),
        (["check", "--jobs", "many"], "many"),
        (["check", "--jobs", "9999"], "from 0 to 256"),
        (["check", "--select", "Nonsense!"], "not a finding code"),
        (["check", "--python", "no/such/python", "."], "no/such/python"),
        (["check", "--stdin-filename", "x.py"], "goes with `-`"),
        (["check", "--watch", "--fix"], "--watch"),
        (["check", "-", "x.py"], "no other file"),
        (["check", "--deep"], "check --deep is not available yet"),
        (["specialize", "no.py"], "no file"),
        (["ir", "no.py"], "FILE::KERNEL"),
        (["ir", "no.py::k", "--stage", "ptx"], "not available yet"),
        (["hover", "a.py:1:1"], "there is no file 'a.py'"),
        (["hover", "a.py"], "is not of the form FILE:ROW:COL"),
        (["hints", "a.py"], "there is no file 'a.py'"),
        (["record"], "record needs a command"),
        (["record", "--", "no-such-command"], "there is no command 'no-such-command'"),
        (["record", "--", "script.py"], "record -- python script.py"),
        (["record", "--dry-run", "--target", "cuda:x", "--", "python"], "number such as 80"),
        (["server", "--tcp", "0.0.0.0:1"], "--allow-remote"),
        (["server", "--tcp", "here"], "HOST:PORT"),
        ([], "COMMAND"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status: object = main(arguments)
    except SystemExit as ended:
        status = ended.code
    captured = capsys.readouterr()
    assert status == 2
    assert says in captured.err
    assert captured.err.startswith("kernel-ls: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("content", [b"# \xff\n", b"# coding: nonsense\n", b"# coding: ascii\nx = '\xc3\xa9'\n"])
def test_a_file_that_is_not_text_is_one_line_and_status_2(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "kernel_ls", "check", "a.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[3]), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "a.py is not text in its declared encoding" in done.stderr


@pytest.mark.parametrize(
    ("text", "where"), [("localhost:80", ("localhost", 80)), (":0", ("127.0.0.1", 0)), ("[::1]:9", ("::1", 9))]
)
def test_addresses(text: str, where: tuple[str, int]) -> None:
    assert address(text, allow_remote=False) == where


def test_listening_for_other_machines_has_to_be_asked_for() -> None:
    with pytest.raises(UsageError, match="allow-remote"):
        address("example.org:80", allow_remote=False)
    assert address("0.0.0.0:80", allow_remote=True) == ("0.0.0.0", 80)


def edit(path: str, span: Span, text: str) -> Edit:
    return Edit(Location(path, span), text)


def fixed(*edits: Edit) -> Finding:
    return Finding("recursion", Severity.ERROR, "m", edits[0].location, fix=Fix("t", edits))


def test_edits_are_made_from_the_end_and_count_code_points() -> None:
    text = "a = 😀x\r\nb\x0cc\r\nd"
    edits = [
        edit("f", Span.of(0, 5, 0, 6), "y"),
        edit("f", Span.of(1, 2, 1, 3), "CC"),
        edit("f", Span.of(2, 1, 2, 1), "!"),
    ]
    assert apply_edits(text, edits) == "a = 😀y\r\nb\x0cCC\r\nd!"


def test_a_fix_that_meets_an_earlier_one_waits() -> None:
    one, two = fixed(edit("f", Span.of(0, 0, 0, 2), "X")), fixed(edit("f", Span.of(0, 1, 0, 3), "Y"))
    other = fixed(edit("g", Span.of(0, 0, 0, 0), "Z"))
    assert apply_fixes([one, two, other, one], {"f": "abcd", "g": ""}.get) == {"f": "Xcd", "g": "Z"}


def test_a_diff_shows_a_missing_end_of_line() -> None:
    assert unified_diff("a\nb", "a\nc", "f.py").splitlines()[-4:] == [
        "-b",
        "\\ No newline at end of file",
        "+c",
        "\\ No newline at end of file",
    ]
