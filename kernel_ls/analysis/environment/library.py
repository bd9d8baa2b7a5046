"""What the evaluator knows of Triton's host API, the standard library and torch: a table of names, nothing imported.

Names that are not in a table stay names: `Ref` for what a kernel may hold, `Opaque` for the rest.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import decorators
from kernel_ls.analysis.environment.classes import FieldDefault, made_namedtuple
from kernel_ls.analysis.environment.torch_names import opaque_value
from kernel_ls.analysis.environment.values import (
    Abstract,
    ConfigValue,
    Constexpr,
    FunctionValue,
    HostFunction,
    InstanceValue,
    Namespace,
    Opaque,
    Partial,
    Ref,
)
from kernel_ls.analysis.environment.versions import Version, parse_version
from kernel_ls.pyeval import MISSING, Evaluator, Raised, Unknown
from kernel_ls.pyeval.limits import float_limits, integer_limits

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.workspace import Workspace

REF_MODULES = frozenset(("math", "operator", "functools", "builtins"))
"""Standard modules whose objects a kernel may hold (ARCHITECTURE.md, "Values")."""

_VERSIONS = frozenset(("triton.__version__",))

Call = Callable[[Sequence[Any], Mapping[str, Any], Evaluator], Any]

# ------------------------------------------------------------------------------------------------- names


_BITS = {"int1": 1, "void": 0, "float8e4nv": 8, "float8e5": 8, "float8e4b8": 8, "float8e4b15": 8, "float8e5b16": 8}


def ref_attribute(ref: Ref, name: str, workspace: Workspace) -> Any:
    """`ref.name`."""
    path = f"{ref.path}.{name}"
    root = ref.path.partition(".")[0]
    if root == "math":
        value = getattr(math, name, None) if not name.startswith("_") else None
        if isinstance(value, float):
            return value
        if value is None and ref.path == "math":
            raise Raised("AttributeError", f"module 'math' has no attribute {name!r}")
        return Ref(path)
    if root != "triton":
        return Ref(path)
    if path in _VERSIONS:
        return workspace.api.version or Unknown("which Triton is installed is not known yet")
    dtype = _dtype_attribute(ref.path, name, workspace)
    if dtype is not MISSING:
        return dtype
    if ref_exists(ref, name, workspace) is False:
        raise Raised("AttributeError", f"Triton {workspace.api.version} has no {path!r}")
    value = workspace.api.value(path)
    return Ref(path) if value is MISSING else value


def _dtype_attribute(path: str, name: str, workspace: Workspace) -> Any:
    last = path.rpartition(".")[2]
    if workspace.api.kind(path) != "dtype" and last not in DTYPES:
        return MISSING
    bits = _BITS.get(last) or int("".join(c for c in last if c.isdigit()) or 0)
    if name == "primitive_bitwidth":
        return bits
    if name == "itemsize":
        return bits // 8
    return MISSING


DTYPES = frozenset(
    "void int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "float8e5 float8e5b16 float8e4nv float8e4b8 float8e4b15".split()
)


def ref_exists(ref: Ref, name: str, workspace: Workspace) -> bool | None:
    """Whether `ref.name` exists."""
    if ref.path == "math":
        return hasattr(math, name)
    if ref.path == "triton" and name == "__version__":
        return True
    return workspace.api.exists(f"{ref.path}.{name}") if ref.path.startswith("triton") else None


def opaque_attribute(value: Opaque, name: str, workspace: Workspace) -> Any:
    """`value.name`."""
    path = f"{value.name}.{name}"
    known = opaque_value(path, workspace.target)
    if known is not MISSING:
        return known
    return Opaque(_TORCH_ALIASES.get(path, path), value.reason)


def opaque_has(value: Opaque, name: str, workspace: Workspace) -> bool | None:
    """Whether `value.name` exists."""
    path = f"{value.name}.{name}"
    if opaque_value(path, workspace.target) is not MISSING or path in TORCH_DTYPES or path in _CALLS:
        return True
    return None


def opaque_subscript(value: Opaque, index: Any) -> Any:
    """`value[index]`: a generic type stays what it is."""
    if value.name.startswith(("typing.", "collections.abc.")):
        return value
    if value.name == "os.environ":
        return Unknown(f"the environment variable {index!r} is read when the code runs")
    return Unknown(f"an element of `{value.name}` is not known")


_TORCH_ALIASES = {
    f"torch.{alias}": f"torch.{name}"
    for alias, name in {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "short": "int16",
        "int": "int32",
        "long": "int64",
    }.items()
}
TORCH_DTYPES = frozenset(
    f"torch.{name}"
    for name in "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
)


def compare_names(op: str, left: Abstract, right: Abstract, workspace: Workspace) -> Any:
    """`==`, `is` and their negations between two names of objects."""
    if op not in ("Eq", "NotEq", "Is", "IsNot"):
        return Unknown("an order of objects that are not evaluated")
    same: bool | None = None
    if isinstance(left, Ref) and isinstance(right, Ref):
        a, b = workspace.api.canonical(left.path), workspace.api.canonical(right.path)
        if a == b:
            same = True
        elif a.rpartition(".")[2] in DTYPES and b.rpartition(".")[2] in DTYPES:
            same = a.rpartition(".")[2] == b.rpartition(".")[2]
        elif workspace.api.entry(a) and workspace.api.entry(b):
            same = False
    elif isinstance(left, Opaque) and isinstance(right, Opaque):
        if left.name == right.name:
            same = True
        elif left.name in TORCH_DTYPES and right.name in TORCH_DTYPES:
            same = False
    else:
        same = False
    if same is None:
        return Unknown("whether two names stand for one object is not known")
    return same == (op in ("Eq", "Is"))


# ------------------------------------------------------------------------------------------------- calls


def call_ref(
    ref: Ref,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    evaluator: Evaluator,
    workspace: Workspace,
    node: ast.AST | None,
) -> Any:
    """A call of one of Triton's or the standard modules' objects from host code."""
    path = workspace.api.canonical(ref.path)
    if path.endswith(".get_current_target"):
        target = workspace.target
        return Namespace("target", {"backend": target.backend, "arch": target.arch, "warp_size": target.warp_size})
    if path.endswith((".get_active_torch_device", ".get_current_device")):
        return Unknown("the device is asked for when the code runs")
    module = workspace.module_of_node(node)
    if path in ("triton.jit", "triton.experimental.gluon.jit"):
        return decorators.jit("gluon" if "gluon" in path else "jit", args, kwargs)
    if path == "triton.constexpr_function":
        return decorators.jit("constexpr_function", args, kwargs)
    if path == "triton.autotune":
        return decorators.autotune(args, kwargs, module, node)
    if path == "triton.heuristics":
        return decorators.heuristics(args, kwargs, module, node)
    if path == "triton.Config":
        options = dict(kwargs)
        values = args[0] if args else options.pop("kwargs", {})
        options.update(zip(("num_warps", "num_stages", "num_ctas"), args[1:], strict=False))
        return ConfigValue(values, options, decorators.location_of(node, module) if module is not None else None)
    if path in _REF_CALLS:
        return _REF_CALLS[path](args, kwargs, evaluator)
    root, _, name = path.partition(".")
    if root == "math":
        return _call_math(name, args)
    if root == "operator":
        return _call_operator(name, args, evaluator)
    if len(args) == 1 and not kwargs and isinstance(args[0], FunctionValue):
        return args[0]  # one of Triton's own markers around a function
    return Unknown(f"what `{ref.path}` returns is not known", ref.path)


def call_opaque(
    function: Opaque, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, workspace: Workspace
) -> Any:
    """A call of an object of a package that is not read."""
    if function.name in _CALLS:
        return _CALLS[function.name](args, kwargs, evaluator)
    if function.name in ("dataclasses.dataclass", "attrs.define"):
        return Opaque(f"{function.name}()") if not args else args[0]
    if function.name == "enum.auto":
        return Opaque("enum.auto()")
    known = opaque_value(f"{function.name}()", workspace.target)
    if known is not MISSING:
        return known
    return Unknown(f"what `{function.name}(...)` returns is not known", function.name)


def _number(value: Any) -> Any:
    return value.value if isinstance(value, Constexpr) else value


def _cdiv(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    numbers = [*args, *(kwargs[k] for k in ("x", "y") if k in kwargs)]
    if len(numbers) != 2:
        return Unknown("`cdiv` of something that is not known")
    domain, budget = evaluator.domain, evaluator.budget
    total = domain.binary("Sub", domain.binary("Add", numbers[0], numbers[1], budget), 1, budget)
    return domain.binary("FloorDiv", total, numbers[1], budget)


def _next_power_of_2(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    value = _number(args[0] if args else kwargs.get("n"))
    if not isinstance(value, int):
        return value if isinstance(value, Unknown) else Unknown("a power of two of something that is not known")
    return 1 << (value - 1).bit_length() if value > 0 else 0


def _constexpr(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    value = args[0] if args else kwargs.get("value")
    return value if isinstance(value, (Constexpr, Unknown)) else Constexpr(value)


def _partial(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return Partial(args[0], tuple(args[1:]), dict(kwargs)) if args else Unknown("a partial function")


def _same(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    """A decorator that changes nothing that is seen here, used bare or called first."""
    if len(args) == 1 and isinstance(args[0], Abstract):
        return args[0]
    return HostFunction("decorator", lambda more, _k, _e: more[0] if more else None)


def _wraps(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return HostFunction("functools.wraps", lambda more, _k, _e: more[0] if more else None)


def _reduce(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    elements = evaluator.elements(args[1]) if len(args) > 1 else Unknown("a reduction")
    if isinstance(elements, Unknown):
        return elements
    items = [*args[2:3], *elements]
    if not items:
        raise Raised("TypeError", "reduce() of nothing")
    total = items[0]
    for item in items[1:]:
        total = evaluator.call(args[0], (total, item), {})
    return total


_REF_CALLS: dict[str, Call] = {
    "triton.cdiv": _cdiv,
    "triton.language.cdiv": _cdiv,
    "triton.next_power_of_2": _next_power_of_2,
    "triton.language.constexpr": _constexpr,
    "functools.partial": _partial,
    "functools.lru_cache": _same,
    "functools.cache": _same,
    "functools.wraps": _wraps,
    "functools.reduce": _reduce,
}


def _call_math(name: str, args: Sequence[Any]) -> Any:
    numbers = [_number(a) for a in args]
    for number in numbers:
        if isinstance(number, Unknown):
            return number
    function = getattr(math, name, None)
    if function is None or name in ("factorial", "comb", "perm", "prod", "fsum", "pow", "ldexp", "dist", "hypot"):
        if name == "prod" and numbers and isinstance(numbers[0], (list, tuple)):
            if len(numbers[0]) <= 64 and all(isinstance(n, (int, float)) for n in numbers[0]):
                return math.prod(numbers[0])
        elif name in ("pow", "hypot", "ldexp") and all(isinstance(n, float | int) for n in numbers):
            return _guarded(function, [float(numbers[0]), *numbers[1:]]) if function else Unknown(name)
        return Unknown(f"`math.{name}` is not evaluated")
    if not all(type(n) in (int, float, bool) for n in numbers):
        return Unknown(f"`math.{name}` of something that is not known")
    return _guarded(function, numbers)


def _guarded(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    try:
        return function(*args)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Raised(type(error).__name__, str(error)) from None


_OPERATORS = {
    operator.add: "Add",
    operator.sub: "Sub",
    operator.mul: "Mult",
    operator.truediv: "Div",
    operator.floordiv: "FloorDiv",
    operator.mod: "Mod",
}
_COMPARISONS = {
    operator.eq: "Eq",
    operator.ne: "NotEq",
    operator.lt: "Lt",
    operator.le: "LtE",
    operator.gt: "Gt",
    operator.ge: "GtE",
}


def _call_operator(name: str, args: Sequence[Any], evaluator: Evaluator) -> Any:
    function = getattr(operator, name, None)
    if len(args) == 2 and function in _OPERATORS:
        return evaluator.domain.binary(_OPERATORS[function], args[0], args[1], evaluator.budget)
    if len(args) == 2 and function in _COMPARISONS:
        return evaluator.domain.compare(_COMPARISONS[function], args[0], args[1])
    if len(args) == 2 and function is operator.getitem:
        return evaluator.domain.subscript(args[0], args[1])
    return Unknown(f"`operator.{name}` is not evaluated")


# ------------------------------------------------------------------------------------------------- standard library


def _environment_variable(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    # What the user's shell will hold is not known; unset is what most people run with.
    return args[1] if len(args) > 1 else kwargs.get("default")


def _product(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    columns = [evaluator.elements(a) for a in args]
    for column in columns:
        if isinstance(column, Unknown):
            return column
    repeat = kwargs.get("repeat", 1)
    if not isinstance(repeat, int) or repeat > 16:
        return Unknown("a product repeated too often")
    evaluator.budget.grow(math.prod(len(c) for c in columns) ** max(repeat, 0))
    return list(itertools.product(*columns, repeat=repeat))


def _chain(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    result: list[Any] = []
    for arg in args:
        elements = evaluator.elements(arg)
        if isinstance(elements, Unknown):
            return elements
        evaluator.budget.grow(len(result) + len(elements))
        result.extend(elements)
    return result


def _chain_from(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    elements = evaluator.elements(args[0])
    return elements if isinstance(elements, Unknown) else _chain(elements, {}, evaluator)


def _namedtuple(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    name = args[0] if args else kwargs.get("typename")
    fields = args[1] if len(args) > 1 else kwargs.get("field_names")
    if isinstance(fields, str):
        fields = fields.replace(",", " ").split()
    elements = evaluator.elements(fields)
    defaults = evaluator.elements(kwargs.get("defaults") or ())
    module = getattr(evaluator.domain, "workspace").current_module()  # noqa: B009 - the domain of the environment has one
    if not isinstance(name, str) or isinstance(elements, Unknown) or isinstance(defaults, Unknown) or module is None:
        return Unknown("a named tuple whose fields are not known")
    names = [e[0] if isinstance(e, tuple) and e else e for e in elements]
    if not all(isinstance(n, str) for n in names):
        return Unknown("a named tuple whose fields are not known")
    return made_namedtuple(module, name, names, list(defaults))


def _dict_of(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return evaluator.domain.call(evaluator.domain.builtin("dict"), args, dict(kwargs), evaluator, None)


def _copy(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return copied(args[0], deep=False) if args else Unknown("a copy of nothing")


def _deepcopy(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return copied(args[0], deep=True) if args else Unknown("a copy of nothing")


def copied(value: Any, deep: bool, depth: int = 16) -> Any:
    """A copy of plain containers; other values are shared."""
    if depth == 0:
        return value

    def inner(item: Any) -> Any:
        return copied(item, deep, depth - 1) if deep else item

    if type(value) is dict:
        return {k: inner(v) for k, v in value.items()}
    if type(value) is list:
        return [inner(v) for v in value]
    if type(value) is set:
        return set(value)
    if type(value) is tuple:
        return tuple(inner(v) for v in value)
    if isinstance(value, ConfigValue):
        return replace(value, kwargs=copied(value.kwargs, deep), options=dict(value.options))
    return value


def _cast(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return args[1] if len(args) > 1 else Unknown("a cast")


def _field(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return FieldDefault(kwargs.get("default"), kwargs.get("default_factory"), "default" in kwargs)


def _replace(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    if args and isinstance(args[0], InstanceValue):
        return InstanceValue(args[0].cls, {**args[0].fields, **kwargs})
    return Unknown("a copy with other fields")


def _version(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    value = args[0] if args else Unknown("a version")
    if isinstance(value, str):
        parsed = parse_version(value)
        return parsed if parsed is not None else Unknown("a version that cannot be read")
    return value if isinstance(value, (Unknown, Version)) else Unknown("a version that is not known")


def _float_limits(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    """`torch.finfo(dtype)`."""
    members = float_limits(_dtype_name(args[0] if args else Opaque("torch.float32")))
    if members is None:
        return Unknown("the limits of an element type that is not known")
    return Namespace("torch.finfo(...)", members)


def _integer_limits(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    """`torch.iinfo(dtype)`."""
    members = integer_limits(_dtype_name(args[0])) if args else None
    if members is None:
        return Unknown("the limits of an element type that is not known")
    return Namespace("torch.iinfo(...)", members)


def _dtype_name(value: Any) -> str:
    return value.name.rpartition(".")[2] if isinstance(value, Opaque) else ""


def _nothing(args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator) -> Any:
    return None


_CALLS: dict[str, Call] = {
    "torch.finfo": _float_limits,
    "torch.iinfo": _integer_limits,
    "numpy.finfo": _float_limits,
    "numpy.iinfo": _integer_limits,
    "os.getenv": _environment_variable,
    "os.environ.get": _environment_variable,
    "itertools.product": _product,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from,
    "collections.namedtuple": _namedtuple,
    "typing.NamedTuple": _namedtuple,
    "collections.OrderedDict": _dict_of,
    "types.MappingProxyType": _dict_of,
    "copy.copy": _copy,
    "copy.deepcopy": _deepcopy,
    "typing.cast": _cast,
    "dataclasses.field": _field,
    "dataclasses.replace": _replace,
    "packaging.version.parse": _version,
    "packaging.version.Version": _version,
    "distutils.version.LooseVersion": _version,
    "distutils.version.StrictVersion": _version,
    "warnings.warn": _nothing,
    "warnings.filterwarnings": _nothing,
    "atexit.register": _nothing,
}


__all__ = [
    "DTYPES",
    "REF_MODULES",
    "TORCH_DTYPES",
    "call_opaque",
    "call_ref",
    "compare_names",
    "opaque_attribute",
    "ref_attribute",
]
