"""Autotuners and heuristics around a kernel: what they set, what they read, and where that is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernel_ls.analysis.environment import Autotune, ConfigValue, FunctionValue, Heuristics
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.positions import span_of
from kernel_ls.model import Location

CONFIG_OPTIONS = ("num_warps", "num_stages", "num_ctas")
"""Options that a `triton.Config` passes at every launch, whether or not they are written."""

LAUNCH_OPTIONS = frozenset(
    (
        # What a launch may pass beside a kernel's parameters: fields of the options of Triton's own backends.
        *("num_warps", "num_stages", "num_ctas", "warp_size", "maxnreg", "cluster_dims", "ptx_version", "ptx_options"),
        *("ir_override", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "supported_fp8_dtypes"),
        *("deprecated_fp8_dot_operand_dtypes", "default_dot_input_precision", "allowed_dot_input_precisions"),
        *("max_num_imprecise_acc_default", "extern_libs", "debug", "backend_name", "sanitize_overflow", "arch"),
        *("instrumentation_mode", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "allow_flush_denorm"),
        *("schedule_hint", "instruction_sched_variant", "num_buffers_warp_spec", "num_consumer_groups"),
        *("reg_dec_producer", "reg_inc_consumer", "fpsan_homomorphic_casts", "optimize_epilogue", "enable_warp_specialization"),
        *("early_ttir", "bulk_async", "enable_reflect_ftz", "ctas_per_cga", "cluster_size"),
        # Of other backends that kernels are written for.
        *("grf_mode", "threads_per_warp", "split_barriers_scope", "generate_native_code", "one_matrix_per_load_for_bt"),
        *("multibuffer", "unit_flag", "limit_auto_multi_buffer_only_for_local_buffer"),
    )
)  # fmt: skip

RUN_ARGUMENTS = frozenset(("grid", "warmup"))
"""What a heuristic sees among its arguments beside those of the launch."""


def accepts_anything(function: JitFunction) -> bool:
    """Whether a kernel has `*args` or `**kwargs`, so that its parameters' names say little."""
    return function.node.args.vararg is not None or function.node.args.kwarg is not None


def parameter_names(function: JitFunction) -> tuple[str, ...]:
    """The names of a kernel's parameters."""
    return tuple(p.name for p in function.parameters)


# ------------------------------------------------------------------------------------------------- autotuners


def configs_of(layer: Autotune) -> tuple[ConfigValue, ...] | None:
    """An autotuner's configurations, each with known names; None where they are not all known."""
    if not isinstance(layer.configs, (list, tuple)):
        return None
    found = tuple(c for c in layer.configs if isinstance(c, ConfigValue) and names_of(c) is not None)
    return found if len(found) == len(layer.configs) else None


def names_of(config: ConfigValue) -> frozenset[str] | None:
    """The parameters that a configuration gives a value; None where they are not known."""
    if not isinstance(config.kwargs, Mapping) or not all(isinstance(k, str) for k in config.kwargs):
        return None
    return frozenset(config.kwargs)


def tuned_names(layer: Autotune) -> frozenset[str]:
    """The parameters that every configuration gives a value, as far as that is known."""
    configs = configs_of(layer)
    if not configs:
        return frozenset()
    return frozenset.intersection(*(names_of(c) or frozenset() for c in configs))


# ------------------------------------------------------------------------------------------------- heuristics


@dataclass(frozen=True, slots=True)
class Read:
    """An argument that a heuristic reads by name. `always` tells that it does so at every call."""

    name: str
    always: bool
    location: Location | None


@dataclass(frozen=True, slots=True)
class Heuristic:
    """One value that heuristics compute, and what it is computed by."""

    name: str
    value: Any
    reads: tuple[Read, ...] = ()


def heuristics_of(layer: Heuristics) -> tuple[Heuristic, ...]:
    """What heuristics compute, in order; nothing where that is not known."""
    if not isinstance(layer.values, Mapping):
        return ()
    return tuple(
        Heuristic(name, value, tuple(reads(value))) for name, value in layer.values.items() if isinstance(name, str)
    )


def reads(value: Any) -> Iterator[Read]:
    """The arguments that a function reads as `args["name"]`, where it is a lambda or a single `return`."""
    if not isinstance(value, FunctionValue):
        return
    node = value.node
    parameters = [*node.args.posonlyargs, *node.args.args]
    if len(parameters) != 1:
        return
    name = parameters[0].arg
    body: ast.expr | None = node.body if isinstance(node, ast.Lambda) else None
    if isinstance(node, ast.FunctionDef) and len(node.body) == 1 and isinstance(node.body[0], ast.Return):
        body = node.body[0].value
    if body is None:
        return
    document = value.module.document
    for inner, always in _evaluated(body, True):
        if (
            isinstance(inner, ast.Subscript)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == name
            and isinstance(inner.slice, ast.Constant)
            and isinstance(inner.slice.value, str)
        ):
            yield Read(inner.slice.value, always, Location(document.path, span_of(inner.slice, document.lines)))


def _evaluated(node: ast.AST, always: bool) -> Iterator[tuple[ast.AST, bool]]:
    """A node and what is below it, each with whether it is evaluated whenever the node is."""
    yield node, always
    conditional: list[ast.AST] = []
    if isinstance(node, ast.BoolOp):
        conditional = list(node.values[1:])
    elif isinstance(node, ast.IfExp):
        conditional = [node.body, node.orelse]
    elif isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
        conditional = list(ast.iter_child_nodes(node))
    for child in ast.iter_child_nodes(node):
        yield from _evaluated(child, always and child not in conditional)
