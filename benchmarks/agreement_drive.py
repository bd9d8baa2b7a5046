"""Calls functions of liger-kernel and fla on CPU tensors; run by `agreement.py` under `kernel-ls record --dry-run`.

    python agreement_drive.py liger-kernel|fla-core FOLDER

No kernel runs, so that every value is arbitrary and only the launches matter. A function is tried with a few layouts of its
arguments, forward and then backward; what still raises is counted and left out.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import pkgutil
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

B, T, H, D = 2, 64, 4, 64
N, V = 128, 512


def pretend() -> None:
    """Let libraries that ask for a GPU find one, on whose tensors nothing is ever computed."""

    class Device(contextlib.nullcontext):  # type: ignore[type-arg]
        def __init__(self, *_arguments: Any) -> None:
            super().__init__()

    properties = types.SimpleNamespace(
        multi_processor_count=132, major=9, minor=0, name="NVIDIA H100", total_memory=80 << 30, warp_size=32
    )
    names: dict[str, Any] = {
        "is_available": lambda: True,
        "device": Device,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "get_device_capability": lambda *_: (9, 0),
        "get_device_name": lambda *_: "NVIDIA H100",
        "get_device_properties": lambda *_: properties,
        "synchronize": lambda *_: None,
        "is_bf16_supported": lambda *_: True,
        "current_stream": lambda *_: types.SimpleNamespace(cuda_stream=0),
    }
    for name, value in names.items():
        setattr(torch.cuda, name, value)


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """An arbitrary tensor that wants a gradient where it can have one."""
    if not dtype.is_floating_point:
        return torch.randint(0, 2, shape, dtype=dtype)
    return torch.randn(shape).to(dtype).requires_grad_()


def backward(result: Any) -> None:
    """Run the backward pass of whatever a function gave."""
    results = result if isinstance(result, (tuple, list)) else [result]
    outputs = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(o) for o in outputs])


# ------------------------------------------------------------------------------------------------ liger-kernel


def liger() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls of liger-kernel's autograd functions."""
    for dtype in (torch.float32, torch.bfloat16):
        yield from _liger(dtype)


def _liger(dtype: torch.dtype) -> Iterator[tuple[str, Callable[[], Any]]]:
    def of(module: str, name: str, *arguments: Callable[[], Any]) -> tuple[str, Callable[[], Any]]:
        def call() -> Any:
            function = getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name)
            return function.apply(*(a() if callable(a) else a for a in arguments))

        return f"{module}.{name}", call

    def t(*shape: int) -> Callable[[], torch.Tensor]:
        return lambda: tensor(*shape, dtype=dtype)

    def labels() -> torch.Tensor:
        return torch.randint(0, V, (N,))

    yield of("rms_norm", "LigerRMSNormFunction", t(N, D), t(D), 1e-6, 0.0, "llama", True)
    yield of("rms_norm", "LigerRMSNormFunction", t(N, D), t(D), 1e-6, 1.0, "gemma", False)
    yield of("layer_norm", "LigerLayerNormFunction", t(N, D), t(D), t(D), 1e-6)
    yield of("group_norm", "LigerGroupNormFunction", t(B, 8, D), t(8), t(8), 8, 4, 1e-6)
    yield of("swiglu", "LigerSiLUMulFunction", t(N, D), t(N, D))
    yield of("geglu", "LigerGELUMulFunction", t(N, D), t(N, D))
    yield of("dyt", "LigerDyTFunction", t(N, D), t(1), t(D), t(D))
    yield of("softmax", "LigerSoftmaxFunction", t(N, D))
    yield of("sparsemax", "LigerSparsemaxFunction", t(N, D), -1)
    yield of("kl_div", "LigerKLDivLossFunction", t(N, V), t(N, V), "batchmean", False, 1e-10)
    yield of("jsd", "LigerJSDFunction", t(N, V), t(N, V), None, 0.5, -100)
    yield of("tvd", "LigerTVDLossFunction", t(N, V), t(N, V), None, "batchmean", -100)
    yield of("cross_entropy", "LigerCrossEntropyFunction", t(N, V), labels, None, -100, 0.0, 0.0, "mean", None, False)
    yield of("fused_add_rms_norm", "LigerFusedAddRMSNormFunction", t(N, D), t(N, D), t(D), 1e-6, 0.0, "llama", True)
    yield of(
        "fused_linear_cross_entropy",
        *("LigerFusedLinearCrossEntropyFunction", t(N, D), t(V, D), labels),
    )
    yield of("fused_linear_jsd", "LigerFusedLinearJSDFunction", t(N, D), t(V, D), t(N, D), t(V, D))
    yield of("rope", "LigerRopeFunction", t(B, H, T, D), t(B, H, T, D), t(1, T, D), t(1, T, D))
    yield of(
        "qwen2vl_mrope",
        *("LigerQwen2VLMRopeFunction", t(B, H, T, D), t(B, H, T, D), t(3, 1, T, D), t(3, 1, T, D), [16, 8, 8]),
    )
    yield of(
        "grpo_loss",
        "GrpoLossFunction",
        t(B, T + 1, V),
        None,
        None,
        lambda: torch.zeros(B, T, dtype=torch.int64),
        None,
        t(B),
        0.9,
    )
    yield of("multi_token_attention", "LigerMultiTokenAttentionFunction", t(B, H, T, T), t(H, H, 3, 3))
    yield of("llama4_rope", "LigerLlama4RopeFunction", t(B, T, H, D), t(B, T, H, D), t(T, D))
    yield of("experimental.embedding", "LigerEmbeddingFunction", t(V, D), labels)
    yield of("poly_norm", "LigerPolyNormFunction", t(N, D), t(3), t(1))
    yield of(
        "fused_neighborhood_attention",
        "LigerFusedNeighborhoodAttentionFunction",
        t(B, H, T, D),
        t(B, H, T, D),
        t(B, H, T, D),
    )


# ------------------------------------------------------------------------------------------------ fla

_LAYOUTS: dict[str, tuple[tuple[int, ...], ...]] = {
    "wide": ((B, T, H, D),),
    "narrow": ((B, T, H), (B, T, H, D), (H,), (H, D)),
}
_NARROW = frozenset(["g", "beta", "gk", "gv", "a", "alpha", "dt", "gate", "g_gamma", "A", "lambda_t", "eta", "theta"])
_FLOATS = frozenset(
    [
        "q",
        "k",
        "v",
        "w",
        "u",
        "kk",
        "r",
        "x",
        "h",
        "i",
        "f",
        "o",
        "s",
        "do",
        "ks",
        "kv",
        "dv",
        "g",
        "gk",
        "gv",
        "a",
        "b",
        "beta",
        "z",
        "alpha",
        "e",
        "l",
        "y",
        "xi",
    ]
)


def fla() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls of the functions that `fla.ops` exports, and of those in `fla.modules` that take tensors alone."""
    for package in ("fla.ops", "fla.modules"):
        module = importlib.import_module(package)
        for info in pkgutil.walk_packages(module.__path__, f"{package}."):
            with contextlib.suppress(Exception):
                importlib.import_module(info.name)
    seen: set[Any] = set()
    for name in sorted(n for n in sys.modules if n.startswith(("fla.ops.", "fla.modules."))):
        if any(part in name for part in ("ascend", "backends", "gluon", ".cp.")):
            continue
        for attribute, function in sorted(vars(sys.modules[name]).items()):
            public = not attribute.startswith("_") and getattr(function, "__module__", "") == name
            if public and inspect.isfunction(function) and function not in seen:
                seen.add(function)
                yield from _tries(f"{name}.{attribute}", function)


def _tries(name: str, function: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if not needed or not any(p.name in _FLOATS for p in needed):
        return
    for narrow, dtype in itertools.product(_LAYOUTS["narrow"], (torch.float32, torch.bfloat16)):

        def call(narrow: tuple[int, ...] = narrow, dtype: torch.dtype = dtype) -> Any:
            given: dict[str, Any] = {}
            for p in needed:
                if p.name in ("chunk_size", "BT", "block_size"):
                    given[p.name] = 16
                elif p.name in ("scale", "eps"):
                    given[p.name] = 0.5
                elif p.name.startswith(("output_", "use_", "is_", "reverse")):
                    given[p.name] = False
                elif p.name in ("cu_seqlens", "chunk_indices", "initial_state", "h0", "dht"):
                    given[p.name] = None
                else:
                    given[p.name] = tensor(*(narrow if p.name in _NARROW else _LAYOUTS["wide"][0]), dtype=dtype)
            return function(**given)

        yield name, call


def main() -> None:
    """Call everything; how many functions worked goes to standard error."""
    warnings.simplefilter("ignore")
    library, folder = sys.argv[1:]
    sys.path.insert(0, folder)
    pretend()
    torch.manual_seed(0)
    worked: set[str] = set()
    tried: set[str] = set()
    for name, call in (liger if library == "liger-kernel" else fla)():
        tried.add(name)
        try:
            result = call()
            worked.add(name)
            backward(result)
        except (Exception, SystemExit):
            continue
    sys.stderr.write(f"{library}: {len(worked)} of {len(tried)} functions ran\n")


if __name__ == "__main__":
    main()
