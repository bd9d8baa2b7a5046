"""Frames: whatever bytes arrive, the worker answers or ends; it never dies of them and never loses the next frame."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kernel_ls
from kernel_ls.compile.worker.loop import Worker
from kernel_ls.compile.worker.protocol import MAX_FRAME, BadFrame, Channel

PACKAGE = Path(kernel_ls.__file__).parent
BOOTSTRAP = (PACKAGE / "compile" / "worker" / "bootstrap.py").read_text("utf-8")


def frame(value: Any) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"%d\n%s" % (len(body), body)


def replies(data: bytes) -> list[dict[str, Any]]:
    channel = Channel(io.BytesIO(data), io.BytesIO())
    found = []
    while (reply := channel.read()) is not None:
        found.append(reply)
    return found


def talk(data: bytes) -> list[dict[str, Any]]:
    """What a real worker answers to these bytes, its pipe closed after them."""
    done = subprocess.run(
        [sys.executable, "-c", BOOTSTRAP, str(PACKAGE)], input=data, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return replies(done.stdout)


PING = {"id": 9, "method": "ping", "params": {"n": 1}}


@pytest.mark.parametrize(
    "bad",
    [
        b"hello\n",
        b"\n",
        b"-5\n",
        b"%d\n" % (MAX_FRAME + 1),
        b"9" * 5000 + b"\n",
        b"x" * 100_000 + b"\n",
        frame(b"{"),
        frame(b"\xff\xfe"),
        frame(b"[" * 100_000),
        frame([1, 2]),
        frame({"id": "one", "method": "ping"}),
        frame({"method": "ping"}),
        frame({"id": True, "method": "ping"}),
    ],
)
def test_a_bad_frame_is_answered_and_the_next_is_read(bad: bytes) -> None:
    first, second = talk(bad + frame(PING))
    assert first["id"] is None
    assert first["error"]["kind"] == "bad-frame"
    assert second["result"] == {"n": 1}


def test_a_bad_request_is_answered_under_its_id() -> None:
    answers = talk(
        frame({"id": 1, "method": "fly"})
        + frame({"id": 2, "method": ["ping"]})
        + frame({"id": 3, "method": "check", "params": []})
        + frame({"id": 4, "method": "hello", "params": {"protocol": 999}})
        + frame({"id": 5, "method": "hello"})
    )
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4, 5]
    assert [answer["error"]["kind"] for answer in answers] == ["bad-request"] * 3 + ["protocol"] * 2


def test_a_frame_that_is_cut_short_ends_the_worker() -> None:
    assert talk(frame(PING) + b"500\n{") == [talk(frame(PING))[0] | {"rss": pytest.approx(0, abs=1 << 40)}]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(st.binary(max_size=80), st.just(frame(PING)), st.binary(max_size=40).map(frame)), max_size=8))
def test_no_bytes_break_the_reader(parts: list[bytes]) -> None:
    channel = Channel(io.BytesIO(b"".join(parts)), io.BytesIO())
    for _ in range(1000):
        try:
            if channel.read() is None:
                return
        except BadFrame:
            continue
    pytest.fail("the reader does not get on")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        {}, optional={"id": _JSON, "method": st.sampled_from(["ping", "x", 3, None]), "params": _JSON}
    )
)
def test_every_object_has_one_answer(request: dict[str, Any]) -> None:
    answer = Worker().answer(request)
    assert ("result" in answer) != ("error" in answer)
    json.dumps(answer)


def test_the_worker_adds_no_folder_and_runs_no_package_code(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the user module was imported')")
    code = BOOTSTRAP.replace(
        "sys.exit(loop.main())", "print(sorted(m for m in sys.modules if 'kernel_ls' in m), sys.path)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(PACKAGE)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    assert "kernel_ls'" not in done.stdout.replace("_kernel_ls_worker", "")
    assert "''" not in done.stdout
    assert "_kernel_ls_worker.compile.worker.loop" in done.stdout
