"""The worker's replies as the model's data: the one place that reads them.

A reply comes from a process that may run another version of Triton than any we know, so nothing in it is trusted to be
of the agreed form: what is not raises `ProtocolError` instead of surfacing as a `KeyError` in a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any, Literal

from kernel_ls.errors import ProtocolError
from kernel_ls.model import CompileResult, Fault, Json, Note, Status, UnitSpan

_PHASES: dict[str, Literal["setup", "generate", "verify"]] = {
    "setup": "setup",
    "generate": "generate",
    "verify": "verify",
}


def decode_result(reply: Json) -> CompileResult:
    """Read the `result` of a `check` request (ARCHITECTURE.md, "Results").

    Raises:
        ProtocolError: the reply is not of the agreed form; the message names the part.
    """
    fields = _mapping(reply, "result")
    try:
        return CompileResult(
            status=Status.DONE,
            faults=tuple(_fault(fault) for fault in fields.get("faults", ())),
            notes=tuple(_note(note) for note in fields.get("notes", ())),
            types=_types(fields.get("types", {})),
            reached=_mapping(fields.get("reached", {}), "reached"),
            lost=_mapping(fields.get("lost", {}), "lost"),
            ttir=_text(fields.get("ttir", "") or "", "ttir"),
            seconds=float(fields.get("seconds", 0.0)),
            truncated=_text(fields.get("truncated", "") or "", "truncated"),
        )
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"the worker's result is not of the agreed form: {error}") from error


def _types(value: Json) -> Mapping[str, Any]:
    """The types of values, as tuples that share what they have in common: a session keeps some hundred thousand of them."""
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = {}
    for unit, rows in _mapping(value, "types").items():
        found[unit] = [(*place, shared.setdefault(key := tuple(map(intern, types)), key)) for *place, types in rows]
    return found


def encode_result(result: CompileResult) -> Json:
    """The inverse of `decode_result` for a result whose status is `DONE`: what the cache keeps."""
    if result.status is not Status.DONE:
        raise ValueError(f"a result of status {result.status.value} says nothing about the job")
    return {
        "faults": [
            {
                "span": _wire_span(fault.span),
                "exception": fault.exception,
                "text": fault.text,
                "node": fault.node,
                "phase": fault.phase,
                "path": [_wire_span(span) for span in fault.path],
                "facts": dict(fault.facts),
            }
            for fault in result.faults
        ],
        "notes": [
            {
                "span": _wire_span(note.span),
                "kind": note.kind,
                "text": note.text,
                "path": [_wire_span(span) for span in note.path],
            }
            for note in result.notes
        ],
        "types": dict(result.types),
        "reached": dict(result.reached),
        "lost": dict(result.lost),
        "ttir": result.ttir,
        "seconds": result.seconds,
        "truncated": result.truncated,
    }


def _fault(wire: Json) -> Fault:
    fields = _mapping(wire, "fault")
    phase = _PHASES.get(fields.get("phase", "generate"))
    if phase is None:
        raise ProtocolError(f"the worker's result has a fault of phase {fields['phase']!r}")
    return Fault(
        span=_span(fields.get("span")),
        exception=_text(fields.get("exception", ""), "exception"),
        text=_text(fields.get("text", ""), "text"),
        node=_text(fields.get("node", "") or "", "node"),
        phase=phase,
        path=tuple(_span(span) for span in fields.get("path", ())),
        facts=_mapping(fields.get("facts", {}), "facts"),
    )


def _note(wire: Json) -> Note:
    fields = _mapping(wire, "note")
    kind = fields.get("kind")
    if kind not in ("warning", "print"):
        raise ProtocolError(f"the worker's result has a note of kind {kind!r}")
    return Note(
        span=_span(fields.get("span")),
        kind=kind,
        text=_text(fields.get("text", ""), "text"),
        path=tuple(_span(span) for span in fields.get("path", ())),
    )


def _span(wire: Json) -> UnitSpan:
    match wire:
        case [str(unit), int(line), int(column), int(end_line), int(end_column)]:
            return UnitSpan(unit, line, column, end_line, end_column)
    raise ProtocolError(f"the worker's result has the span {wire!r}")


def _wire_span(span: UnitSpan) -> list[Any]:
    return [span.unit, span.line, span.column, span.end_line, span.end_column]


def _mapping(wire: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(wire, dict):
        raise ProtocolError(f"the worker's result has a {what} that is a {type(wire).__name__}")
    return wire


def _text(wire: Json, what: str) -> str:
    if not isinstance(wire, str):
        raise ProtocolError(f"the worker's result has a {what} that is a {type(wire).__name__}")
    return wire
