"""Not a test: a worker whose code generator is replaced by one that hangs, crashes or prints as its job asks.

It is started as the real one is (`PYTHON -c BOOTSTRAP PACKAGE`), through a script that puts this file before `-c`. All
but the generator is real: the loop, the frames, the descriptors, and the handshake with Triton's import.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any

_sink = -1


def check(job: dict[str, Any]) -> dict[str, Any]:
    kernel = job["kernel"]
    unit = job["units"][kernel]
    if kernel == "print":
        print("on Python's stdout", flush=True)
        os.write(1, b"12\non descriptor 1")
        os.system("echo from a child")
    if kernel == "read":
        return {"ttir": sys.stdin.read()}
    if kernel == "abort":
        os.write(2, b"LLVM ERROR: out of registers\n")
        os.abort()
    if kernel == "abort-once":
        _once(unit["mark"], lambda: os.kill(os.getpid(), signal.SIGKILL))
    if kernel == "exit":
        os._exit(3)
    if kernel == "raise":
        raise ValueError("a defect")
    if kernel == "sys.exit":
        sys.exit(7)
    if kernel == "hang":
        Path(unit["mark"]).write_text(str(os.getpid()))
        while True:
            time.sleep(0.01)
    if kernel == "wait":
        # A gate: the test removes the file.
        Path(unit["mark"]).write_text(str(os.getpid()))
        while Path(unit["mark"]).exists():
            time.sleep(0.002)
    if kernel == "wait-once":
        _once(unit["mark"], lambda: time.sleep(600))
    if kernel == "close-stdout":
        os.close(_sink)
        time.sleep(600)
    if kernel == "unsendable":
        return {"ttir": object()}
    if kernel == "odd":
        return {"faults": [{"span": "everywhere"}]}
    if kernel == "grow":
        globals()["_kept"] = bytearray(unit["bytes"])
        globals()["_kept"][::4096] = b"x" * len(globals()["_kept"][::4096])
    return {"ttir": f"{kernel} {os.getpid()}", "seconds": 0.25}


def _once(mark: str, action: Any) -> None:
    path = Path(mark)
    if not path.exists():
        path.write_text(str(os.getpid()))
        action()


def main() -> None:
    folder = sys.argv[-1]
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    for name, parts in (("_kernel_ls_worker", ()), ("_kernel_ls_worker.compile", ("compile",))):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *parts)]  # noqa: PTH118
        sys.modules[name] = package
    loop = importlib.import_module("_kernel_ls_worker.compile.worker.loop")
    package = importlib.import_module("_kernel_ls_worker.compile.worker")
    frontend = types.ModuleType("_kernel_ls_worker.compile.worker.frontend")
    frontend.check = check
    package.frontend = sys.modules[frontend.__name__] = frontend
    protocol = importlib.import_module("_kernel_ls_worker.compile.worker.protocol")
    global _sink  # noqa: PLW0603
    channel = protocol.claim_descriptors()
    _sink = channel._sink.fileno()
    sys.exit(loop.serve(channel))


if __name__ == "__main__":
    main()
