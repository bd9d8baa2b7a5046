"""What is known of torch, the platform and the interpreter without running anything: answered from the target.

A kernel is checked for a target, so the machine that host code asks about is taken to have that target's device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernel_ls.analysis.environment.values import Namespace
from kernel_ls.model import Target
from kernel_ls.pyeval import MISSING, Unknown


def opaque_value(path: str, target: Target) -> Any:
    """The value of an attribute, or of a call where `path` ends in `()`; MISSING where nothing is known of it."""
    answer = _ANSWERS.get(path)
    return MISSING if answer is None else answer(target)


def _is_cuda(target: Target) -> bool:
    return target.backend == "cuda"


def _capability(target: Target) -> Any:
    if isinstance(target.arch, int):
        return divmod(target.arch, 10)
    digits = str(target.arch).removeprefix("gfx")
    return (
        (int(digits[0]), 0) if digits[:1].isdigit() and digits[:2] not in ("10", "11", "12") else (int(digits[:2]), 0)
    )


def _properties(target: Target) -> Any:
    major, minor = _capability(target)
    members: Mapping[str, Any] = {
        "major": major,
        "minor": minor,
        "warp_size": target.warp_size,
        "multi_processor_count": Unknown("how many multiprocessors the device has is asked when the code runs"),
        "gcnArchName": target.arch if target.backend == "hip" else Unknown("the name of the device"),
    }
    return Namespace("torch.cuda.get_device_properties(...)", members)


def _hip_version(target: Target) -> Any:
    return None if target.backend != "hip" else Unknown("the version of ROCm is asked when the code runs")


def _cuda_version(target: Target) -> Any:
    return None if not _is_cuda(target) else Unknown("the version of CUDA is asked when the code runs")


def _always(value: Any) -> Callable[[Target], Any]:
    return lambda _target: value


_ANSWERS: Mapping[str, Callable[[Target], Any]] = {
    "torch.version.hip": _hip_version,
    "torch.version.cuda": _cuda_version,
    "torch.cuda.is_available()": lambda target: target.backend in ("cuda", "hip"),
    "torch.cuda.get_device_capability()": _capability,
    "torch.cuda.get_device_properties()": _properties,
    "torch.cuda.current_device()": _always(0),
    "torch.xpu.is_available()": lambda target: target.backend == "xpu",
    "torch.npu.is_available()": lambda target: target.backend == "npu",
    "torch.musa.is_available()": lambda target: target.backend == "musa",
    "torch.mlu.is_available()": lambda target: target.backend == "mlu",
    "torch.backends.mps.is_available()": _always(False),
    "typing.TYPE_CHECKING": _always(False),
    "os.name": _always("posix"),
    "sys.platform": _always("linux"),
    "platform.system()": _always("Linux"),
    "platform.machine()": _always("x86_64"),
    "sys.version_info": _always((3, 11, 0)),
    "sys.maxsize": _always(2**63 - 1),
}
