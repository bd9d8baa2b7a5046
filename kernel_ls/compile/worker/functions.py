"""Function objects for the units of a program, made without any of the user's byte code.

Triton reads a jit function's *text*; from the Python function it takes the signature, names and globals. So each function
object made here has the parameters of the user's and an empty body. Functions that Triton calls while generating
(`constexpr_function`, and plain ones of other modules) get a body that hands the call to the bounded evaluator.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Mapping
from typing import Any

import triton
from triton.runtime.jit import JITFunction

from . import evaluation
from .quicker import TREES, tree_of
from .stand_ins import Opaque, Unknown

NAME_PREFIX, NAME_SUFFIX = "<", ">"


class BuildError(Exception):
    """A unit that cannot be made; what Python or Triton says when such a module is imported.

    Attributes:
        unit: id of the unit.
        exception: name of the exception's type.
        text: its message.
        line, column: where, in unit coordinates (1-based line, 0-based byte column).
    """

    def __init__(self, unit: str, exception: str, text: str, line: int = 1, column: int = 0) -> None:
        super().__init__(f"{unit}: {exception}: {text}")
        self.unit = unit
        self.exception = exception
        self.text = text
        self.line = line
        self.column = column


def file_name(unit: str) -> str:
    """The name under which Triton knows the file of a unit: positions in it are unit coordinates."""
    return f"{NAME_PREFIX}{unit}{NAME_SUFFIX}"


def unit_of_file(name: str) -> str | None:
    """The unit of such a name; None for the name of a real file."""
    if name.startswith(NAME_PREFIX) and name.endswith(NAME_SUFFIX):
        return name[len(NAME_PREFIX) : -len(NAME_SUFFIX)]
    return None


def parse_unit(unit: str, source: str) -> ast.FunctionDef:
    """The `def` that is a unit's text, checked as Python's compiler checks a function before it runs.

    Raises:
        BuildError: the text is not one function, or this interpreter's Python rejects it.
    """
    try:
        return _checked(source)
    except _OtherText as error:
        raise BuildError(unit, "SyntaxError", f"a unit is one function, not {error}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _syntax_error(unit, source, error) from None


class _OtherText(Exception):
    """A text that is something else than one function; says what."""


@functools.lru_cache(maxsize=TREES)
def _checked(source: str) -> ast.FunctionDef:
    tree = tree_of(source)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise _OtherText(type(tree.body[0]).__name__ if tree.body else "nothing")
    node = tree.body[0]
    # Only for what the parser does not see (`nonlocal`, a `return` or `break` out of place); the code is thrown away.
    compile(_bare(node, node.body), "<unit>", "exec", dont_inherit=True)
    return node


def _syntax_error(unit: str, source: str, error: BaseException) -> BuildError:
    if not isinstance(error, SyntaxError):
        return BuildError(unit, type(error).__name__, str(error))
    line = min(max(error.lineno or 1, 1), source.count("\n") + 1)
    text = source.split("\n")[line - 1]
    column = len(text[: max((error.offset or 1) - 1, 0)].encode("utf-8", "surrogatepass"))
    return BuildError(unit, type(error).__name__, error.msg or "invalid syntax", line, column)


def _bare(node: ast.FunctionDef, body: list[ast.stmt]) -> ast.Module:
    """The function without decorators, annotations and default values: what is left runs nothing when defined."""
    arguments = node.args

    def plain(argument: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(arg=argument.arg, annotation=None), argument)

    bare_arguments = ast.arguments(
        posonlyargs=[plain(argument) for argument in arguments.posonlyargs],
        args=[plain(argument) for argument in arguments.args],
        vararg=plain(arguments.vararg) if arguments.vararg else None,
        kwonlyargs=[plain(argument) for argument in arguments.kwonlyargs],
        kw_defaults=[None] * len(arguments.kwonlyargs),
        kwarg=plain(arguments.kwarg) if arguments.kwarg else None,
        defaults=[],
    )
    bare = ast.FunctionDef(name=node.name, args=bare_arguments, body=body, decorator_list=[], returns=None)
    if "type_params" in ast.FunctionDef._fields:
        setattr(bare, "type_params", [])  # noqa: B010 - a field of newer Pythons
    return ast.Module(body=[ast.copy_location(bare, node)], type_ignores=[])


def _code_of(module: types.CodeType) -> types.CodeType:
    return next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))


def hollow_function(
    unit: str,
    wire: Mapping[str, Any],
    node: ast.FunctionDef,
    *,
    defaults: Mapping[str, Any],
    annotations: Mapping[str, Any],
    scope: dict[str, Any],
) -> types.FunctionType:
    """A function with the signature and names of the user's and nothing in it.

    A default that is not among `defaults` is `Unknown`; an annotation that is not among `annotations` is its text, as
    under `from __future__ import annotations`.
    """
    nothing = ast.copy_location(ast.Pass(), node)
    code = _code_of(compile(_bare(node, [nothing]), file_name(unit), "exec", dont_inherit=True))
    function = types.FunctionType(code, scope, node.name)
    _dress(function, unit, wire, node, defaults=defaults, annotations=annotations)
    return function


def evaluated_function(
    unit: str,
    wire: Mapping[str, Any],
    node: ast.FunctionDef,
    *,
    defaults: Mapping[str, Any],
    annotations: Mapping[str, Any],
    scope: dict[str, Any],
) -> types.FunctionType:
    """A function that looks like the user's and whose calls run in the bounded evaluator."""
    hollow = hollow_function(unit, wire, node, defaults=defaults, annotations=annotations, scope=scope)

    def call(*args: Any, **kwargs: Any) -> Any:
        return evaluation.call(node, args, kwargs, scope, hollow)

    # Positions are found by the code object's file, parameters by the signature.
    call.__code__ = call.__code__.replace(co_filename=file_name(unit), co_firstlineno=1, co_name=node.name)
    call.__signature__ = inspect.signature(hollow)  # type: ignore[attr-defined]
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(call, name, getattr(hollow, name))
    call.__annotations__ = hollow.__annotations__
    setattr(call, evaluation.BODY, (node, scope, hollow))
    return call  # type: ignore[return-value]


def _dress(
    function: types.FunctionType,
    unit: str,
    wire: Mapping[str, Any],
    node: ast.FunctionDef,
    *,
    defaults: Mapping[str, Any],
    annotations: Mapping[str, Any],
) -> None:
    def default(name: str) -> Any:
        return defaults[name] if name in defaults else Unknown(name, "its default was not evaluated")

    positional = [*node.args.posonlyargs, *node.args.args]
    with_default = positional[len(positional) - len(node.args.defaults) :]
    function.__defaults__ = tuple(default(argument.arg) for argument in with_default) or None
    function.__kwdefaults__ = {
        argument.arg: default(argument.arg)
        for argument, given in zip(node.args.kwonlyargs, node.args.kw_defaults)  # noqa: B905 - Python 3.9
        if given is not None
    }
    annotated = {}
    for argument in (*positional, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg):
        if argument is not None and argument.annotation is not None:
            value = annotations.get(argument.arg)
            known = argument.arg in annotations and not isinstance(value, (Unknown, Opaque))
            annotated[argument.arg] = value if known else ast.unparse(argument.annotation)
    function.__annotations__ = annotated
    function.__module__ = str(wire.get("module", "__main__"))
    # A second function of the same name in one module must not be taken for the first when names are mangled.
    _, _, number = unit.rpartition("#")
    again = f"__{number}" if "#" in unit and number.isdigit() else ""
    function.__qualname__ = str(wire.get("qualname") or node.name) + again
    function.__doc__ = ast.get_docstring(node, clean=False)


def jit_function(unit: str, source: str, function: types.FunctionType, options: Mapping[str, Any], gluon: bool) -> Any:
    """What `@triton.jit(**options)` or `@gluon.jit(**options)` makes of the function.

    Raises:
        BuildError: Triton rejects it, in its words.
    """
    with _Source(source):
        try:
            if gluon:
                from triton.experimental import gluon as gluon_module  # noqa: PLC0415

                made = gluon_module.jit(function, **options)
            else:
                made = triton.jit(function, **options)
        except ImportError as error:
            raise BuildError(unit, "ImportError", str(error)) from None
        except Exception as error:
            raise BuildError(unit, type(error).__name__, str(error)) from error
    # Triton hashes what a function refers to when it is first called. The worker has no use for that hash, and the
    # walk over the globals would meet values that are not there; any text that is unique will do.
    if isinstance(made, JITFunction):
        made.hash = f"{unit}@{id(made):x}"
    return made


def constexpr_function(unit: str, source: str, function: types.FunctionType) -> Any:
    """What `@triton.constexpr_function` makes of the function.

    Raises:
        BuildError: Triton rejects it, in its words.
    """
    decorator = getattr(triton, "constexpr_function", None) or getattr(triton.runtime.jit, "constexpr_function", None)
    if decorator is None:
        return _constexpr_stand_in(function)
    with _Source(source):
        try:
            made = decorator(function)
        except Exception as error:
            raise BuildError(unit, type(error).__name__, str(error)) from error
    if hasattr(made, "hash"):
        made.hash = f"{unit}@{id(made):x}"
    return made


def _constexpr_stand_in(function: types.FunctionType) -> Any:
    """A Triton without the decorator: a builtin that takes plain values and gives a constexpr, as the decorator does."""
    import triton.language as tl  # noqa: PLC0415

    def call(*args: Any, _semantic: Any = None, _builder: Any = None, **kwargs: Any) -> Any:
        plain = [tl.core._constexpr_to_value(argument) for argument in args]
        result = function(*plain, **{key: tl.core._constexpr_to_value(value) for key, value in kwargs.items()})
        return result if _semantic is None and _builder is None else tl.constexpr(result)

    call.__name__, call.__qualname__, call.__module__ = function.__name__, function.__qualname__, function.__module__
    call.__triton_builtin__ = True  # type: ignore[attr-defined]
    return call


class _Source:
    """Gives `inspect` a unit's text while Triton makes a function of it; Triton keeps its own copy.

    `inspect` would take it from `linecache` as well, after a search through all modules and a tokenizer in Python that
    looks for the function's end, which is most of the time that a large kernel takes to build. The worker makes one
    function at a time, in one thread, so that nobody else meets the replacement.
    """

    def __init__(self, source: str) -> None:
        # As a file's lines are read: a form feed or an exotic separator within a line ends none.
        self._lines = [line + "\n" for line in source.rstrip("\n").split("\n")]
        self._original = inspect.getsourcelines

    def __enter__(self) -> None:
        inspect.getsourcelines = lambda _object: (list(self._lines), 1)  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        inspect.getsourcelines = self._original
