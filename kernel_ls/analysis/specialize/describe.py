"""Plans as rows for a person: what was decided for each parameter, and on whose evidence."""

from __future__ import annotations

from typing import Any

from kernel_ls.model import Json, Location, Specialization

from .plan import Plan


def value_text(value: Json) -> str:
    """A wire value as its author would write it."""
    if not isinstance(value, dict):
        return repr(value)
    kind = value.get("k")
    if kind == "lit":
        return repr(value.get("v"))
    if kind == "float":
        return f"float('{value.get('v')}')"
    if kind == "ref":
        path = str(value.get("path", ""))
        return "tl." + path.removeprefix("triton.language.") if path.startswith("triton.language.") else path
    if kind in ("tuple", "list", "set"):
        items = ", ".join(value_text(v) for v in value.get("items", ()))
        opening, closing = {"tuple": ("(", ")"), "list": ("[", "]"), "set": ("{", "}")}[str(kind)]
        return f"{opening}{items}{',' if kind == 'tuple' and len(value.get('items', ())) == 1 else ''}{closing}"
    if kind == "constexpr":
        return value_text(value.get("v"))
    if kind in ("fn", "class", "instance"):
        return str(value.get("unit", "")).rpartition(":")[2]
    return "not known" if kind == "unknown" else str(value.get("name", kind))


def type_text(type_: Any) -> str:
    """A type in Triton's signature notation, a tuple in parentheses."""
    if isinstance(type_, (tuple, list)):
        return "(" + ", ".join(type_text(t) for t in type_) + ")"
    return str(type_)


def describe(plan: Plan) -> Json:
    """A plan as plain data: a list of specializations, each with its options and a row a parameter."""
    return [_specialization(s) for s in (*plan.specializations, *plan.variants)]


def _specialization(specialization: Specialization) -> Json:
    return {
        "tier": specialization.tier,
        "origin": specialization.origin.detail or specialization.origin.kind.value,
        "options": dict(specialization.options),
        "parameters": [
            {
                "name": a.name,
                "type": type_text(a.type),
                "value": value_text(a.value) if a.type == "constexpr" else None,
                "divisible": a.divisible is True,
                "guessed": a.guessed,
                "evidence": a.evidence.kind.value,
                "detail": a.evidence.detail,
                "location": _location(a.evidence.location),
            }
            for a in specialization.arguments
        ],
    }


def _location(location: Location | None) -> Json:
    if location is None:
        return None
    start = location.span.start
    return {"filename": location.path, "row": start.line + 1, "column": start.column + 1}
