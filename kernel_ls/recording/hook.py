"""The hook: once Triton is imported, every launch of a jit function is written down, and in a dry run nothing else happens.

What a launch is, is what Triton's own binder makes of it: the type of each argument, what became a constant, which values
are divisible by 16. A launch is one line of JSON, appended in one write, so that processes do not disturb each other and a
program that is killed leaves what it recorded. The same launch is written once.

Nothing here may touch the program: whatever goes wrong is one line on standard error, once.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import inspect
import json
import math
import os
import sys
from typing import Any

VERSION = 1
MOST = 20_000
"""Launches that one process writes down."""

_told: set[str] = set()
_written: set[str] = set()


def install() -> None:
    """Wait for Triton. Settings come from the environment: `KERNEL_LS_RECORD` is the file, `KERNEL_LS_DRY_RUN` the target."""
    if os.environ.get("KERNEL_LS_RECORD"):
        sys.meta_path.insert(0, _Finder())


def _say(message: str) -> None:
    if message not in _told:
        _told.add(message)
        sys.stderr.write(f"kernel-ls: {message}\n")


# ------------------------------------------------------------------------------------------------ imports


class _Finder(importlib.abc.MetaPathFinder):
    """Lets every import be, and changes some modules of Triton's right after they were executed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        change = _CHANGES.get(name)
        if change is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, change)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    def __init__(self, inner: Any, change: Any) -> None:
        self._inner = inner
        self._change = change

    def create_module(self, spec: Any) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._inner.exec_module(module)
        try:
            self._change(module)
        except Exception as error:
            _say(f"launches are not recorded: {type(error).__name__}: {error}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _change_jit(module: Any) -> None:
    stock = module.JITFunction.run
    dry = os.environ.get("KERNEL_LS_DRY_RUN")

    @functools.wraps(stock)
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if dry:
            for hook in self.pre_run_hooks:
                hook(*args, **kwargs)
            # What does not bind is the program's mistake, and is raised as Triton raises it.
            bound = _bind(self, args, kwargs)
            _note(self, bound, grid, warmup, kwargs)
            return _Compiled()
        try:
            _note(self, _bind(self, args, kwargs), grid, warmup, kwargs)
        except Exception as error:
            _say(f"a launch of {_name(self)} could not be recorded: {type(error).__name__}: {error}")
        return stock(self, *args, grid=grid, warmup=warmup, **kwargs)

    module.JITFunction.run = run


def _change_driver(module: Any) -> None:
    target = os.environ.get("KERNEL_LS_DRY_RUN")
    if target:
        module.driver.set_active(_Driver(target))


def _change_testing(module: Any) -> None:
    if os.environ.get("KERNEL_LS_DRY_RUN"):
        for name in ("do_bench", "do_bench_cudagraph"):
            if hasattr(module, name):
                setattr(module, name, _bench)


_CHANGES = {
    "triton.runtime.jit": _change_jit,
    "triton.runtime.driver": _change_driver,
    "triton.testing": _change_testing,
}


# ------------------------------------------------------------------------------------------------ a dry run


def _bench(call: Any, *_arguments: Any, quantiles: Any = None, **_options: Any) -> Any:
    """Call once, measure nothing: every configuration is bound and recorded, and all are equally fast."""
    call()
    return [1.0] * len(quantiles) if quantiles else 1.0


class _Anything:
    """The result of what was not done: whatever is asked of it is 0, and it can be called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 0

    def __getitem__(self, _key: Any) -> Any:
        return lambda *_arguments, **_options: None


class _Compiled(_Anything):
    """Stands for the compiled kernel that a launch returns."""

    metadata = _Anything()
    asm: dict[str, str] = {}

    def result(self) -> Any:
        return self

    def run(self, *_arguments: Any, **_options: Any) -> None:
        return None


class _Utils:
    def get_device_properties(self, _device: Any) -> dict[str, int]:
        # Those of an H100 or an MI300: what programs ask to choose sizes.
        return {
            "max_shared_mem": 232_448,
            "max_num_regs": 65_536,
            "multiprocessor_count": 132,
            "warpSize": 32,
            "warp_size": 32,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5_120,
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_options: 0


class _Driver:
    """A driver without a device: launches are bound for the target and go no further."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.utils = _Utils()

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget  # noqa: PLC0415

        backend, arch, warp = self._target.split(":")
        return GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(warp))

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, _device: Any) -> None:
        return None

    def get_current_stream(self, _device: Any = None) -> int:
        return 0

    def get_device_capability(self, *_device: Any) -> tuple[int, int]:
        arch = self._target.split(":")[1]
        return (int(arch) // 10, int(arch) % 10) if arch.isdigit() else (9, 4)

    def get_active_torch_device(self) -> Any:
        import torch  # type: ignore[import-not-found]  # noqa: PLC0415

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch  # noqa: PLC0415

        return torch.cpu

    def get_benchmarker(self) -> Any:
        return _bench

    def get_empty_cache_for_benchmark(self) -> Any:
        return None

    def clear_cache(self, _cache: Any) -> None:
        return None

    def assemble_tensormap_to_arg(self, _maps: Any, arguments: Any) -> Any:
        return arguments

    @classmethod
    def is_active(cls) -> bool:
        return True


# ------------------------------------------------------------------------------------------------ a launch


def _bind(function: Any, args: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[Any], Any]:
    """What Triton's binder makes of the arguments: values by parameter, (type, specialization) of each, the backend."""
    from triton.runtime.driver import driver  # noqa: PLC0415

    device = driver.active.get_current_device()
    backend, binder = function.device_caches[device][-2:]
    options = {"debug": function.debug, **kwargs}
    bound, specialization, _ = binder(*args, **options)
    return bound, specialization, backend


def _note(function: Any, bound: Any, grid: Any, warmup: bool, kwargs: dict[str, Any]) -> None:
    values, specialization, backend = bound
    names = [parameter.name for parameter in function.params]
    arguments, tensors = [], {}
    for name, (type_, detail) in zip(names, specialization):  # noqa: B905 - Python 3.9 has no `strict`
        value = values[name]
        arguments.append([name, *_argument(type_, detail, value, backend)])
        if hasattr(value, "data_ptr") and hasattr(value, "shape"):
            tensors[name] = _tensor(value)
    record = {
        "v": VERSION,
        "file": _file(function),
        "module": getattr(function.fn, "__module__", ""),
        "kernel": _name(function),
        "args": arguments,
        "options": {k: v for k, v in kwargs.items() if k not in names and isinstance(v, (bool, int, str))},
    }
    key = json.dumps(record, sort_keys=True)
    if key in _written or len(_written) >= MOST:
        return
    _written.add(key)
    record["grid"] = _grid(grid, values) if not warmup else None
    record["tensors"] = tensors
    _write(json.dumps(record))


def _argument(type_: Any, detail: Any, value: Any, backend: Any) -> list[Any]:
    """Type, constant value or None, divisibility by 16: `["*fp32", null, true]`."""
    if isinstance(type_, (list, tuple)):
        details = detail if isinstance(detail, (list, tuple)) else [None] * len(type_)
        inner = [_argument(t, d, v, backend) for t, d, v in zip(type_, details, value)]  # noqa: B905
        return [[i[0] for i in inner], [i[1] for i in inner], False]
    if type_ == "constexpr":
        return ["constexpr", _constant(value), False]
    divisible = isinstance(detail, str) and any(a[0] == "tt.divisibility" for a in backend.parse_attr(detail))
    return [str(type_), None, divisible]


def _constant(value: Any) -> Any:
    """A constant as plain data, in the form of the checker's own values; None for what has none."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, (bool, int, str)):
        return {"k": "lit", "v": value}
    if isinstance(value, float):
        return {"k": "lit", "v": value} if math.isfinite(value) else {"k": "float", "v": str(value)}
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton."):
        return {"k": "ref", "path": f"triton.language.{_DTYPES.get(str(value), str(value))}"}
    if isinstance(value, (tuple, list)):
        items = [_constant(item) for item in value]
        return None if None in items else {"k": "tuple", "items": items}
    return None


_DTYPES = {
    **{f"fp{n}": f"float{n}" for n in (16, 32, 64)},
    "bf16": "bfloat16",
    **{f"i{n}": f"int{n}" for n in (1, 8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    "fp8e4nv": "float8e4nv",
    "fp8e5": "float8e5",
    "fp8e4b8": "float8e4b8",
    "fp8e5b16": "float8e5b16",
    "fp8e4b15": "float8e4b15",
}


def _tensor(value: Any) -> dict[str, Any]:
    strides = value.stride() if callable(getattr(value, "stride", None)) else getattr(value, "strides", ())
    return {
        "shape": [int(n) for n in value.shape],
        "strides": [int(n) for n in strides or ()],
        "dtype": str(getattr(value, "dtype", "")),
    }


def _grid(grid: Any, values: dict[str, Any]) -> list[int] | None:
    made = grid(values) if callable(grid) else grid
    try:
        return [int(n) for n in made]
    except TypeError:
        return None


def _name(function: Any) -> str:
    return str(getattr(function.fn, "__qualname__", getattr(function, "__name__", "")))


def _file(function: Any) -> str:
    try:
        return os.path.realpath(inspect.getsourcefile(function.fn) or "")
    except TypeError:
        return ""


def _write(line: str) -> None:
    data = (line + "\n").encode()
    path = os.environ["KERNEL_LS_RECORD"]
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        _say(f"launches cannot be written to {path}: {error.strerror}")
