"""The worker's main loop: one request at a time, answered in order, until the server closes the pipe.

A thread reads the frames so that a server that is gone ends the worker even while a job is running. Everything else
happens in the main thread. Nothing that a request asks for ends the loop: every exception becomes an error reply.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional  # noqa: F401

from .protocol import PROTOCOL, BadFrame, Channel, claim_descriptors

_EXIT_GRACE = 1.0
"""Seconds that a running job gets after the server has closed the pipe."""


_THRESHOLDS = (50_000, 20, 50)
"""When Python looks for garbage: a job leaves little of it, and makes many nodes and types that are looked at each time."""


class RequestError(Exception):
    """A request that is answered with an error of the given kind."""

    def __init__(self, kind: str, message: str, next_step: str = "", **more: Any) -> None:
        super().__init__(message)
        self.reply = {"kind": kind, "message": message, "next_step": next_step, **more}


class Worker:
    """The state of one worker: whether Triton was imported, and how to answer each method."""

    def __init__(self) -> None:
        self._methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "hello": self._hello,
            "ping": lambda params: params,
            "api": self._api,
            "check": self._check,
        }
        self._triton: Any | None = None
        self._settled = False

    def answer(self, frame: dict[str, Any]) -> dict[str, Any]:
        """The reply to one frame; never raises an `Exception`."""
        request = frame.get("id")
        if not isinstance(request, int) or isinstance(request, bool):
            return {"id": None, "error": {"kind": "bad-frame", "message": "a request has an integer id"}}
        method, params = frame.get("method"), frame.get("params", {})
        handler = self._methods.get(method) if isinstance(method, str) else None
        if handler is None or not isinstance(params, dict):
            what = f"unknown method {method!r}" if handler is None else "params are an object"
            return {"id": request, "error": {"kind": "bad-request", "message": what}}
        try:
            reply = {"id": request, "result": handler(params)}
        except RequestError as error:
            reply = {"id": request, "error": error.reply}
        except MemoryError:
            reply = {"id": request, "error": {"kind": "memory", "message": "the worker's memory ceiling was reached"}}
        except (Exception, SystemExit) as error:  # a defect of ours or of Triton's: say it, and go on
            text = traceback.format_exc(limit=-12)
            message = f"{type(error).__name__}: {error}"
            reply = {"id": request, "error": {"kind": "internal", "message": message, "traceback": text}}
        reply["rss"] = resident_bytes()
        return reply

    # ---------------------------------------------------------------------------------------- methods

    def _hello(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocol")
        if asked != PROTOCOL:
            raise RequestError("protocol", f"the server speaks protocol {asked}, this worker {PROTOCOL}")
        limit_memory(params.get("memory_limit"))
        triton = self._import_triton()
        folder = str(Path(triton.__file__).parent)
        return {
            **interpreter(),
            "protocol": PROTOCOL,
            "triton": getattr(triton, "__version__", "unknown"),
            "triton_path": folder,
            "targets": available_backends(),
        }

    def _api(self, _params: dict[str, Any]) -> Any:
        self._import_triton()
        from . import api  # noqa: PLC0415

        return api.manifest()

    def _check(self, params: dict[str, Any]) -> Any:
        self._import_triton()
        from . import frontend  # noqa: PLC0415

        if not self._settled:
            # What was imported stays: no collection has to look at it again (some 40 ms each).
            self._settled = True
            gc.collect()
            gc.freeze()
            gc.set_threshold(*_THRESHOLDS)
        return frontend.check(params)

    def _import_triton(self) -> Any:
        """Import Triton once; what goes wrong is said with a next step.

        Raises:
            RequestError: of kind `no-triton` or `broken-triton`.
        """
        if self._triton is not None:
            return self._triton
        try:
            import triton  # noqa: PLC0415

            if getattr(triton, "__file__", None) is None:
                raise self._namespace(triton)
            # With all that a job needs, so that what is broken is told now and not taken for a fault of a kernel.
            import triton.compiler.code_generator  # noqa: PLC0415
            import triton.language  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if error.name == "triton":
                raise RequestError(
                    "no-triton",
                    f"{sys.executable} has no Triton",
                    f"run `{sys.executable} -m pip install triton`, or choose the interpreter whose Triton you use",
                    **interpreter(),
                ) from None
            raise self._broken(error) from error
        except RequestError:
            raise
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        self._triton = triton
        return triton

    def _namespace(self, triton: Any) -> RequestError:
        # A folder that happens to be called `triton` on the path is a namespace package.
        return RequestError(
            "no-triton",
            f"`triton` of {sys.executable} is a folder without the package: {list(triton.__path__)}",
            "install triton there, or take the folder off the path",
            **interpreter(),
        )

    def _broken(self, error: BaseException) -> RequestError:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return RequestError(
            "broken-triton",
            f"the Triton of {sys.executable} cannot be imported: {type(error).__name__}: {error} "
            f"({where.filename}:{where.lineno})",
            f"run `{sys.executable} -c 'import triton'` to see it, then reinstall triton there",
            **interpreter(),
        )


def interpreter() -> dict[str, Any]:
    """What this Python is: part of every handshake, the failing ones too."""
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "path": [entry for entry in sys.path if entry],
    }


def available_backends() -> list[str]:
    """Names of the backends that the installed Triton brings, as they are spelt in a target: `cuda`, `hip`."""
    from triton.backends import backends  # noqa: PLC0415

    return sorted({"nvidia": "cuda", "amd": "hip"}.get(name, name) for name in backends)


def resident_bytes() -> int:
    """Resident memory of this process in bytes; 0 where the system does not say."""
    try:
        statm = Path("/proc/self/statm").read_bytes()
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        import resource  # noqa: PLC0415
    except ImportError:
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def limit_memory(limit: Any) -> None:
    """Set a ceiling in bytes on what this process may allocate, where the system can and `limit` is a number.

    Linux counts private writable memory, which is what a runaway expansion grows; elsewhere the server's check of the
    resident size after each job is all there is.
    """
    if not isinstance(limit, int) or limit <= 0 or not sys.platform.startswith("linux"):
        return
    import resource  # noqa: PLC0415

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _read_frames(channel: Channel, requests: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            frame = channel.read()
        except BadFrame as error:
            requests.put(error)
            continue
        except MemoryError:
            requests.put(BadFrame("a frame was too large for the memory that is left"))
            continue
        except (OSError, ValueError):
            frame = None
        requests.put(frame)
        if frame is None:
            break
    # The server is gone. A job that does not end by itself must not keep a process alive that nobody waits for.
    threading.Event().wait(_EXIT_GRACE)
    os._exit(0)


def serve(channel: Channel) -> int:
    """Answer requests until the stream ends; the exit status."""
    worker = Worker()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_frames, args=(channel, requests), daemon=True, name="frames").start()
    while True:
        item = requests.get()
        if item is None:
            return 0
        if isinstance(item, BadFrame):
            reply: dict[str, Any] = {"id": None, "error": {"kind": "bad-frame", "message": str(item)}}
        else:
            reply = worker.answer(item)
        try:
            channel.write(reply)
        except (TypeError, ValueError) as error:
            # A result that is no JSON is a defect of ours, and still has to be answered.
            message = f"the result of {item.get('method')!r} cannot be sent: {error}"
            channel.write({"id": item.get("id"), "error": {"kind": "internal", "message": message}})
        except OSError:
            return 0


def main() -> int:
    """Run the worker on this process's standard streams; the exit status."""
    return serve(claim_descriptors())
