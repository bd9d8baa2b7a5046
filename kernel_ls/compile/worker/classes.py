"""Class objects for the class units of a program, made from plain data: no class body is run."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import keyword
from collections.abc import Callable, Mapping
from typing import Any

import triton.language as tl

from .functions import BuildError
from .references import attribute_allowed
from .stand_ins import Opaque, Unknown

Decode = Callable[[Any, str], Any]
"""Makes the object of a wire value; the second argument names it for messages."""

_ENUM_BASES = {
    name: getattr(enum, name) for name in ("Enum", "IntEnum", "Flag", "IntFlag", "StrEnum") if hasattr(enum, name)
}


def make_class(unit: str, wire: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]) -> Any:
    """The class of a unit (ARCHITECTURE.md, "Units").

    Args:
        unit: its id.
        wire: its wire form.
        decode: makes values.
        methods: function objects by name.

    Raises:
        BuildError: Python or Triton rejects the class.
    """
    name = str(wire.get("name") or "")
    details = wire.get("class") or {}
    if not name.isidentifier() or keyword.iskeyword(name):
        raise BuildError(unit, "SyntaxError", f"{name!r} is no class name")
    make = _MAKERS.get(str(details.get("kind")), _plain)
    try:
        made = make(name, wire, details, decode, methods)
    except BuildError:
        raise
    except Exception as error:
        raise BuildError(unit, type(error).__name__, str(error)) from error
    for attribute, value in (("__module__", wire.get("module")), ("__qualname__", wire.get("qualname"))):
        if isinstance(value, str) and isinstance(made, type):
            setattr(made, attribute, value)
    return made


def _fields(details: Mapping[str, Any], decode: Decode, scope: Mapping[str, Any]) -> list[tuple[str, Any, Any, bool]]:
    """Name, annotation, default and whether there is one, of each field in order."""
    found = []
    for name, annotation, default in details.get("fields", ()):
        if not str(name).isidentifier() or keyword.iskeyword(name):
            raise SyntaxError(f"{name!r} is no field name")
        kind = decode(annotation, name) if annotation is not None else Opaque("typing.Any")
        if isinstance(kind, str):
            kind = _named(kind, scope, decode)
        value = decode(default, name) if default is not None else None
        found.append((name, kind, value, default is not None))
    return found


def _named(text: str, scope: Mapping[str, Any], decode: Decode) -> Any:
    """What a string annotation names, if it is a dotted name. `typing` would evaluate the text, so it never sees it."""
    first, *rest = text.strip().split(".")
    if first not in scope or not all(part.isidentifier() and attribute_allowed(part) for part in rest):
        return Opaque(text)
    value = decode(scope[first], first)
    for part in rest:
        try:
            value = getattr(value, part)
        except Exception:
            return Opaque(text)
    return Opaque(text) if isinstance(value, str) else value


def _namespace(details: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]) -> dict[str, Any]:
    members = {
        str(name): decode(value, name)
        for name, value in (details.get("members") or {}).items()
        if attribute_allowed(str(name))
    }
    return {**members, **methods}


def _bases(details: Mapping[str, Any], decode: Decode) -> tuple[type, ...]:
    decoded = (decode(base, "base class") for base in details.get("bases") or ())
    return tuple(base for base in decoded if isinstance(base, type) and not _is_system_class(base))


def _is_system_class(base: type) -> bool:
    return base is object or base.__module__ in ("builtins", "typing", "enum")


def _namedtuple(
    name: str, wire: Mapping[str, Any], details: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]
) -> Any:
    fields = _fields(details, decode, wire.get("globals") or {})
    defaults = [value for _, _, value, given in fields if given]
    made = collections.namedtuple(name, [field for field, *_ in fields], defaults=defaults)  # type: ignore[misc]
    made.__annotations__ = {field: kind for field, kind, *_ in fields}
    extra = _namespace(details, decode, methods)
    # `typing.NamedTuple` puts methods on the tuple class itself, so that the class stays a direct subclass of tuple.
    for attribute, value in extra.items():
        if attribute not in made._fields and attribute not in ("__new__", "_make", "_replace", "_asdict"):
            setattr(made, attribute, value)
    return made


def _enum(
    name: str, wire: Mapping[str, Any], details: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]
) -> Any:
    base: Any = enum.Enum
    for value in details.get("bases") or ():
        base = _ENUM_BASES.get(_base_name(value), base)
    if base is enum.Enum and any(_base_name(value) == "int" for value in details.get("bases") or ()):
        base = enum.IntEnum
    members = [(str(key), decode(value, key)) for key, value in (details.get("members") or {}).items()]
    for member, value in members:
        if isinstance(value, Unknown) and base is not enum.Enum:
            raise TypeError(f"the value of {name}.{member} is not known")
    made = base(name, members, module=str(wire.get("module") or "__main__"))
    for attribute, value in methods.items():
        if not attribute.startswith("_") and attribute not in made.__members__:
            setattr(made, attribute, value)
    return made


def _base_name(value: Any) -> str:
    """The last part of the dotted name of a base that is named, whether or not its module is read."""
    text = value.get("path") or value.get("name") or "" if isinstance(value, dict) else ""
    return str(text).rpartition(".")[2]


def _dataclass(
    name: str, wire: Mapping[str, Any], details: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]
) -> Any:
    specified: list[Any] = []
    for field, kind, value, given in _fields(details, decode, wire.get("globals") or {}):
        if not given:
            specified.append((field, kind))
        elif type(value).__hash__ is None:
            specified.append((field, kind, dataclasses.field(default_factory=_copier(value))))
        else:
            specified.append((field, kind, dataclasses.field(default=value)))
    extra = _namespace(details, decode, methods)
    for field in specified:
        extra.pop(field[0], None)
    return dataclasses.make_dataclass(name, specified, bases=_bases(details, decode), namespace=extra)


def _copier(value: Any) -> Callable[[], Any]:
    return lambda: copy.copy(value)


def _aggregate(
    name: str, wire: Mapping[str, Any], details: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]
) -> Any:
    decorator: Any | None = getattr(tl.core, "_aggregate", None)
    if decorator is None:
        raise AttributeError("module 'triton.language.core' has no attribute '_aggregate'")
    namespace = _namespace(details, decode, methods)
    annotations = {}
    for field, kind, value, given in _fields(details, decode, wire.get("globals") or {}):
        annotations[field] = kind
        if given:
            namespace[field] = value
    bare = type(name, _bases(details, decode), namespace)
    # Set afterwards, where it works alike before and after Python 3.14's deferred annotations.
    bare.__annotations__ = annotations
    bare.__module__ = str(wire.get("module") or "__main__")
    bare.__qualname__ = str(wire.get("qualname") or name)
    return decorator(bare)


def _plain(
    name: str, _wire: Mapping[str, Any], details: Mapping[str, Any], decode: Decode, methods: Mapping[str, Any]
) -> Any:
    return type(name, _bases(details, decode), _namespace(details, decode, methods))


_MAKERS = {"namedtuple": _namedtuple, "enum": _enum, "dataclass": _dataclass, "aggregate": _aggregate, "plain": _plain}


def make_instance(made: Any, args: list[Any], kwargs: Mapping[str, Any], fields: Mapping[str, Any] | None) -> Any:
    """An instance of a class of the program from its constructor's arguments or, for one that is built, its fields."""
    if fields is None:
        return made(*args, **kwargs)
    if isinstance(made, type) and issubclass(made, tuple):
        return made(**fields)
    instance = object.__new__(made)
    for name, value in fields.items():
        if attribute_allowed(name):
            object.__setattr__(instance, name, value)
    return instance
