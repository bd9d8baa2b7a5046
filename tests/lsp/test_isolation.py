"""Whatever becomes of the compiler, it is said with a next step, and what was known goes on being answered."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest_asyncio
from installations import linked_installation, replace, script

from lsp.conftest import BROKEN
from lsp.raw import RawClient

BOTH = [("constexpr-global", 11), ("undefined-name", 17)]
MENDED = BROKEN.replace("SCALE = 0.5", "SCALE = tl.constexpr(0.5)")


@pytest_asyncio.fixture
async def clients(folder: Path, tmp_path: Path) -> AsyncIterator[Callable[..., RawClient]]:
    """Makes clients of servers that are ended afterwards."""
    made: list[RawClient] = []

    def make(python: str = sys.executable, cache: Path | None = None) -> RawClient:
        made.append(RawClient(folder, cache or tmp_path / "cache", python))
        return made[-1]

    yield make
    for client in made:
        await client.kill()


async def opened(client: RawClient) -> RawClient:
    await client.start()
    await client.initialize()
    client.open("broken.py", BROKEN)
    await client.sees("broken.py", BOTH)
    await client.until(lambda: client.states[-1] == "ready", "an idle worker")
    return client


async def hovered(client: RawClient) -> str:
    """What hover says of `x` in row 10: its type, from the last check that there was."""
    place = {"textDocument": {"uri": client.uri("broken.py")}, "position": {"line": 9, "character": 4}}
    answer = await client.ask("textDocument/hover", place, 5.0)
    return str(answer["result"])


def said(client: RawClient, state: str) -> list[dict[str, Any]]:
    found = [m["params"] for m in client.messages if m.get("method") == "kernelLs/status"]
    return [status for status in found if status["state"] == state]


async def test_a_triton_that_breaks_and_is_repaired_under_a_server_is_told_and_seen_without_an_edit(
    clients: Callable[..., RawClient], tmp_path: Path
) -> None:
    python, triton = linked_installation(tmp_path)
    client = await opened(clients(python))
    assert "tensor<" in await hovered(client)
    library = triton / "_C" / "libtriton.so"
    kept = library.read_bytes()
    replace(library, b"no library")
    client.replace("broken.py", MENDED, 2)
    await client.until(lambda: client.states[-1] == "failed", "the failure")
    (status,) = said(client, "failed")
    assert "libtriton" in status["message"]
    assert "import triton" in status["message"], "the next step"
    assert "tensor<" in await hovered(client)
    replace(library, kept)
    await client.sees("broken.py", BOTH[1:], version=2)
    assert client.states[-1] in ("ready", "busy")


async def test_a_start_that_hangs_is_a_state_while_everything_else_answers(
    clients: Callable[..., RawClient], tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    once = f'if [ -p "{gate}" ]; then read _ < "{gate}"; rm "{gate}"; fi'
    client = clients(script(tmp_path / "python", f'{once}\nexec "{sys.executable}" "$@"'))
    await client.start()
    await client.initialize()
    client.open("broken.py", BROKEN.replace("def copied", "def copied("))
    await client.until(lambda: "starting" in client.states, "the start")
    await client.until(lambda: bool(client.shown("broken.py")), "what needs no compiler")
    assert [code for code, _ in client.shown("broken.py") or ()] == ["syntax-error"]
    assert await hovered(client) == "None"
    with await asyncio.to_thread(gate.open, "w") as stream:
        stream.write("go\n")
    await client.until(lambda: ("constexpr-global", 11) in (client.shown("broken.py") or ()), "the findings")


async def test_two_servers_and_a_terminal_share_a_cache(clients: Callable[..., RawClient], folder: Path) -> None:
    async def check() -> bytes:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kernel_ls", "check", "--output-format", "concise", "--python", sys.executable),
            *("--cache-dir", str(one.cache), str(folder)),
            stdout=asyncio.subprocess.PIPE,
        )
        return (await process.communicate())[0]

    one, other = clients(), clients()
    _, _, output, again = await asyncio.gather(opened(one), opened(other), check(), check())
    assert output == again
    assert b"constexpr-global" in output
    assert b"undefined-name" in output
    one.replace("broken.py", MENDED, 2)
    other.replace("broken.py", MENDED, 2)
    await one.sees("broken.py", BOTH[1:], version=2)
    await other.sees("broken.py", BOTH[1:], version=2)


async def test_a_cache_that_cannot_be_written_costs_nothing_that_is_shown(
    clients: Callable[..., RawClient], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    client = await opened(clients(cache=tmp_path / "file" / "cache"))
    assert "tensor<" in await hovered(client)
