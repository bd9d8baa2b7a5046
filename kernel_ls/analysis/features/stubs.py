"""Type stubs of the installed Triton, made from its manifest, so that general type checkers stop misreading kernels.

Triton's own annotations mislead them: a jit function called from another is taken to never return (`JITFunction.__call__`
raises, outside of kernels), so that the rest of the caller counts as unreachable; operators of tensors, launches and
`constexpr` parameters do not type-check. The stubs say what holds inside of kernels. What they do not list is accepted:
whether a name exists is told by checking against Triton itself.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from typing import Any

Names = Mapping[str, Mapping[str, Any]]

_HEAD = "# Made by `kernel-ls stubs` from Triton {version}.\n"
_OPEN_END = "\ndef __getattr__(name: str) -> Any: ...\n"

# A class would refuse `BLOCK: tl.constexpr = 64`, a variable is no annotation. What a module gives by `__getattr__` is both.
_LEFT_OPEN = frozenset({"constexpr", "const", "constexpr_type"})

_NOTHING = frozenset(
    {
        *("store", "static_assert", "static_print", "device_print", "device_assert", "debug_barrier", "assume"),
        *("store_tensor_descriptor", "atomic_fence"),
    }
)
_OPEN = frozenset(
    {
        *(
            "reduce",
            "associative_scan",
            "map_elementwise",
            "inline_asm_elementwise",
            "max",
            "min",
            "cdiv",
            "argmax",
            "argmin",
        ),
        *("philox", "philox_impl", "randint4x", "rand4x", "randn4x", "pair_uniform_to_normal", "to_tensor", "umulhi"),
        *(
            "add",
            "sub",
            "mul",
            "maximum",
            "minimum",
            "advance",
            "swizzle2d",
            "num_programs",
            "tuple",
            "must_use_result",
        ),
    }
)
_TENSOR_OPERATORS = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod"),
    *("and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift", "matmul", "pow"),
    *("lt", "le", "gt", "ge", "eq", "ne"),
)

_RUNTIME = '''\
_F = TypeVar("_F")

class KernelInterface(Generic[_F]):
    def __getitem__(self, grid: Any) -> Callable[..., Any]: ...
    def run(self, *args: Any, **kwargs: Any) -> Any: ...
    def warmup(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

class JITFunction(KernelInterface[_F]):
    """A jit function: launched as `kernel[grid](...)`, called by other jit functions."""

    fn: Callable[..., Any]
    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Autotuner(JITFunction[Any]):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Heuristics(JITFunction[Any]):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

@overload
def jit(fn: Callable[..., Any]) -> JITFunction[Any]: ...
@overload
def jit(fn: None = None, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], JITFunction[Any]]: ...
def autotune(configs: Any, key: Any, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Autotuner]: ...
def heuristics(values: Any) -> Callable[[Callable[..., Any]], Heuristics]: ...
def constexpr_function(f: Callable[..., Any]) -> Callable[..., Any]: ...
'''
_BY_HAND = frozenset(
    {"KernelInterface", "JITFunction", "Autotuner", "Heuristics", "jit", "autotune", "heuristics", "constexpr_function"}
)


def stubs(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files of a stub package, by their path inside of it (`triton/language/__init__.pyi`)."""
    names: Names = manifest.get("names", {})
    modules = sorted(name for name, entry in names.items() if entry.get("kind") == "module" and _is_plain(name))
    packages = {name.rpartition(".")[0] for name in modules}
    missing = sorted(packages - set(modules) - {""})
    found = {}
    for module in [*modules, *missing]:
        path = module.replace(".", "/") + ("/__init__.pyi" if module in packages else ".pyi")
        found[path] = _module(module, names, str(manifest.get("triton", "")), modules)
    return found


def _is_plain(name: str) -> bool:
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


def _module(module: str, names: Names, version: str, modules: list[str]) -> str:
    alias = names.get(module, {}).get("alias")
    head = _HEAD.format(version=version)
    if alias:
        return f"{head}from {alias} import *\nfrom typing import Any\n{_OPEN_END}"
    body: list[str] = []
    imports: list[str] = []
    by_hand = module == "triton"
    if by_hand:
        body.append(_RUNTIME)
    inside = f"{module}."
    for name in sorted(n for n in names if n.startswith(inside) and "." not in n[len(inside) :]):
        short = name[len(inside) :]
        entry = names[name]
        if short in _LEFT_OPEN or not _is_plain(short) or (short in _BY_HAND and by_hand):
            continue
        if entry.get("kind") == "module":
            imports.append(f"from . import {short} as {short}" if name in modules else f"{short}: Any")
            continue
        target = str(entry.get("alias") or "")
        if short in _BY_HAND:
            imports.append(f"from triton import {short} as {short}")
        elif target:
            owner, _, other = target.rpartition(".")
            if other not in _LEFT_OPEN and owner in names and names[owner].get("kind") == "module":
                imports.append(f"from {owner} import {other} as {short}")
        else:
            body += _entry(name, short, entry, names)
    typing = "from typing import Any, Callable, Generic, Iterator, TypeVar, overload"
    tensor = [] if module == "triton.language" else ["from triton.language import tensor as _tensor"]
    if module == "triton.language":
        body.append("_tensor = tensor")
    return "\n".join([head + typing, *tensor, *imports, "", *body]) + "\n" + _OPEN_END


def _entry(name: str, short: str, entry: Mapping[str, Any], names: Names) -> Iterator[str]:
    kind = entry.get("kind")
    if kind == "class":
        yield from _class(name, short, entry, names)
    elif kind == "dtype":
        yield f"{short}: {'dtype' if name == f'triton.language.{short}' else 'Any'}"
    elif kind == "constexpr":
        yield f"{short}: Any"
    elif "signature" in entry:
        yield f"def {short}({_parameters(entry['signature'])}) -> {_returned(name, short, kind)}: ..."
    else:
        kind_of = str(entry.get("type", ""))
        yield f"{short}: {kind_of if kind_of in ('int', 'str', 'bool') else 'Any'}"


def _returned(name: str, short: str, kind: object) -> str:
    if short in _NOTHING:
        return "None"
    if not name.startswith("triton.language.") or short in _OPEN or kind not in ("builtin", "jit"):
        return "Any"
    if ".extra." in name or name.count(".") > 2:
        return "Any"
    special = {"split": "Any", "make_tensor_descriptor": "tensor_descriptor"}
    return special.get(short, "_tensor")


def _parameters(signature: list[list[Any]], *, method: bool = False) -> str:
    shown = ["self"] if method else []
    keywords = optional = False
    for name, default, kind in signature:
        if kind == "keyword" and not keywords:
            shown.append("*")
            keywords = True
        if kind == "*":
            shown.append(f"*{name}: Any")
            keywords = True
        elif kind == "**":
            shown.append(f"**{name}: Any")
        elif keyword.iskeyword(name) or not name.isidentifier():
            return "self, *args: Any, **kwargs: Any" if method else "*args: Any, **kwargs: Any"
        else:
            optional = optional or default is not None
            shown.append(f"{name}: Any = ..." if optional and (default is not None or not keywords) else f"{name}: Any")
    return ", ".join(shown)


def _class(name: str, short: str, entry: Mapping[str, Any], names: Names) -> Iterator[str]:
    base = "(Exception)" if short.endswith(("Error", "Exception")) or short == "OutOfResources" else ""
    yield f"class {short}{base}:"
    if base:
        yield "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."
    else:
        yield f"    def __init__({_parameters(entry.get('signature', []), method=True)}) -> None: ..."
    inside = f"{name}."
    tensor = name == "triton.language.tensor"
    for member in sorted(n for n in names if n.startswith(inside) and "." not in n[len(inside) :]):
        said = names[member]
        plain = member[len(inside) :]
        if not _is_plain(plain) or said.get("kind") == "class":
            continue
        if "signature" not in said:
            yield f"    {plain}: Any"
            continue
        signature = said["signature"]
        if said.get("kind") == "jit" and signature:
            signature = signature[1:]  # the tensor itself
        returned = "tensor" if tensor and plain not in _OPEN and plain != "split" else "Any"
        yield f"    def {plain}({_parameters(signature, method=True)}) -> {'None' if plain in _NOTHING else returned}: ..."
    if tensor:
        yield "    dtype: Any"
        yield "    shape: Any"
        yield from (_operator(operator) for operator in _TENSOR_OPERATORS)
        yield from (f"    def __{unary}__(self) -> tensor: ..." for unary in ("neg", "invert", "pos", "abs"))
        yield "    def __getitem__(self, slices: Any) -> tensor: ..."
        yield "    def __bool__(self) -> bool: ..."
        yield "    def __index__(self) -> int: ..."
        yield "    def __int__(self) -> int: ..."
        yield "    def __iter__(self) -> Iterator[Any]: ..."
    elif name == "triton.language.dtype":
        # `tl.float32(x)` converts.
        yield "    def __call__(self, *args: Any, **kwargs: Any) -> Any: ..."
    elif short in ("range", "static_range"):
        yield "    def __iter__(self) -> Iterator[Any]: ..."
    yield "    def __getattr__(self, name: str) -> Any: ..."
    yield ""


def _operator(name: str) -> str:
    override = "  # type: ignore[override]" if name in ("eq", "ne") else ""
    return f"    def __{name}__(self, other: Any) -> tensor: ...{override}"
