"""One job: generate a kernel with the recovering generator, verify what came out clean, answer in the wire form."""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from . import diagnostics, environment, quicker, recovery, reports, spans, versions
from .recorder import Halted, Recorder, Stopped
from .unknown import Poisoned

_BUDGET = 10.0
_FRAMES = 4000
"""Python frames that nested expressions and calls may take; the recovery adds some to each of Triton's."""


def check(job: Mapping[str, Any]) -> dict[str, Any]:
    """Generate a job's kernel and say everything that is wrong with it.

    Args:
        job: `Job.wire()`.

    Returns:
        The wire result of ARCHITECTURE.md, "Results". What goes wrong in the checker itself is a fault too, so that it
        is seen and does not end the worker.
    """
    started = time.monotonic()
    collect = list(job.get("collect") or ())
    budget = float(job.get("budget") or _BUDGET)
    try:
        built = environment.build(job)
    except environment.BuildError as error:
        return _not_built(job, error, started)
    recorder = Recorder(built, budget, collect)
    ttir = ""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        ttir = _generate(built, job, recorder)
    except (Halted, Stopped, Poisoned):
        pass
    except MemoryError:
        # Of the machine, not of the kernel: the loop says so, and nothing of it is kept as a result.
        raise
    except Exception as error:
        _setup_fault(job, recorder, error)
    finally:
        sys.setrecursionlimit(limit)
    result = recorder.result("" if recorder.faults else ttir)
    result["seconds"] = time.monotonic() - started
    return result


def _not_built(job: Mapping[str, Any], error: environment.BuildError, started: float) -> dict[str, Any]:
    unit = error.unit or str(job.get("kernel", ""))
    lines = str((job.get("units") or {}).get(unit, {}).get("source", "")).split("\n")
    line = min(max(error.line, 1), len(lines))
    fault = {
        "span": [unit, line, error.column, line, max(len(lines[line - 1].encode()), error.column)],
        "exception": error.exception,
        "text": error.text,
        "node": "FunctionDef",
        "phase": "setup",
        "path": [],
        "facts": {"event": "setup", "operands": [], "callee": ""},
    }
    seconds = time.monotonic() - started
    return {
        "faults": [fault],
        "notes": [],
        "types": {},
        "reached": {},
        "lost": {},
        "ttir": "",
        "seconds": seconds,
        "truncated": "",
    }


def _setup_fault(job: Mapping[str, Any], recorder: Recorder, error: Exception) -> None:
    cause = reports.innermost(error)
    if isinstance(cause, Poisoned):
        return
    unit = str(job["kernel"])
    phase = "generate" if recorder.generators or recorder.faults else "setup"
    facts = {"event": "setup", "operands": [], "callee": ""}
    span = diagnostics.first_line(recorder, unit)
    recorder.fault(span, type(cause).__name__, reports.text_of(cause), "FunctionDef", facts, phase)


def _generate(built: environment.Built, job: Mapping[str, Any], recorder: Recorder) -> str:
    target = GPUTarget(*job["target"])
    with warnings.catch_warnings():
        # What Triton says of a target or an option concerns no line of the kernel.
        warnings.simplefilter("ignore")
        backend = make_backend(target)
        options = backend.parse_options({k: v for k, v in built.options.items() if v is not None})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = versions.source_of(built.kernel, built.signature, built.constants, built.attrs)
    implementation, module_map = backend.get_codegen_implementation(options), backend.get_module_map()
    module = None
    with contextlib.ExitStack() as around:
        written = around.enter_context(diagnostics.captured())
        around.enter_context(contextlib.redirect_stdout(io.StringIO()))
        around.enter_context(_noted(recorder))
        around.enter_context(quicker.installed())
        around.enter_context(recovery.installed(recorder))
        try:
            module = versions.make_ir(source, target, options, implementation, module_map, context)
        except RuntimeError as error:
            if "error encountered during parsing" not in str(error):
                raise
    if module is None:
        diagnostics.record(recorder, written(), str(job["kernel"]), versions.first_column(built.kernel))
        return ""
    return str(module) if recorder.wants_ttir else ""


@contextlib.contextmanager
def _noted(recorder: Recorder) -> Iterator[None]:
    """Python warnings that the generator gives become notes at the node that it visits."""

    def show(message: Any, category: Any, *_where: Any, **_more: Any) -> None:
        if not recorder.generators or issubclass(category, (DeprecationWarning, PendingDeprecationWarning)):
            return
        generator = recorder.generators[-1]
        node = next((n for n in reversed(generator.nodes) if spans.has_place(n)), generator.function)
        recorder.note(spans.of(generator.unit, node), "warning", str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
