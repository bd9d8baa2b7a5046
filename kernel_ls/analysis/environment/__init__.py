"""What a kernel sees, without running any of the user's code.

provider.py       where texts come from
workspace.py      modules found and evaluated on demand; programs; what depends on what
modules.py        the names of one module        scopes.py      functions nested in functions and classes
domain.py         operations on values.py        classes.py     class statements and instances
decorators.py     what decorators make of a function
library.py, torch_names.py, versions.py, triton_api.py    what is known of code that is not read
free_names.py, closure.py    a kernel and all it reads as a closed `Program`
"""

from kernel_ls.analysis.environment.domain import EnvironmentDomain
from kernel_ls.analysis.environment.modules import Module
from kernel_ls.analysis.environment.provider import MemoryProvider, SourceProvider
from kernel_ls.analysis.environment.triton_api import TritonApi
from kernel_ls.analysis.environment.values import (
    Abstract,
    Autotune,
    BoundMethod,
    ClassValue,
    ConfigValue,
    Constexpr,
    FunctionValue,
    Heuristics,
    InstanceValue,
    ModuleValue,
    Opaque,
    Partial,
    Ref,
    carried_kernel,
)
from kernel_ls.analysis.environment.workspace import ResolvedFunction, Workspace

__all__ = [
    "Abstract",
    "Autotune",
    "BoundMethod",
    "ClassValue",
    "ConfigValue",
    "Constexpr",
    "EnvironmentDomain",
    "FunctionValue",
    "Heuristics",
    "InstanceValue",
    "MemoryProvider",
    "Module",
    "ModuleValue",
    "Opaque",
    "Partial",
    "Ref",
    "ResolvedFunction",
    "SourceProvider",
    "TritonApi",
    "Workspace",
    "carried_kernel",
]
