"""Launches of kernels, found in host code and followed through it without running any of it.

index.py       `LaunchIndex`: the launches of each file, kept until something that they rest on changes
model.py       `Launch` and what is known of its arguments
sites.py       which functions of a text may launch, by syntax
runs.py        follows each of them along several courses          collect.py   notes -> `Launch`
evaluator.py, notes.py, domain.py, course.py, world.py    one course: every test is decided, consistently
values.py, arithmetic.py, tensors.py, shapes.py, torch_calls.py, builtin_calls.py, dtypes.py, hints.py    values of host code
"""

from kernel_ls.analysis.launches.index import LaunchIndex
from kernel_ls.analysis.launches.model import (
    DescriptorOf,
    Launch,
    LaunchArgument,
    NumberOf,
    Style,
    TensorOf,
    TypeOf,
)

__all__ = [
    "DescriptorOf",
    "Launch",
    "LaunchArgument",
    "LaunchIndex",
    "NumberOf",
    "Style",
    "TensorOf",
    "TypeOf",
]
