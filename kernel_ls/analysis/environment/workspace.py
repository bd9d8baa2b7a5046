"""The user's modules as one body of code: found, read, evaluated on demand, forgotten when a file changes."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from sys import stdlib_module_names
from typing import Any

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument, parse
from kernel_ls.analysis.environment import closure, kept_programs, library
from kernel_ls.analysis.environment.assumed import of_wire
from kernel_ls.analysis.environment.domain import EnvironmentDomain
from kernel_ls.analysis.environment.kept_programs import KeptProgram
from kernel_ls.analysis.environment.modules import Module, Standing
from kernel_ls.analysis.environment.provider import OverlayProvider, SourceProvider
from kernel_ls.analysis.environment.reads import Reads
from kernel_ls.analysis.environment.scopes import locate_function
from kernel_ls.analysis.environment.triton_api import TritonApi
from kernel_ls.analysis.environment.values import (
    Autotune,
    FunctionValue,
    Heuristics,
    ModuleValue,
    Opaque,
    Ref,
    carried_kernel,
)
from kernel_ls.analysis.host_text import host_text
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.learnt import Learnt
from kernel_ls.analysis.node_memo import once_for_text
from kernel_ls.model import DEFAULT_TARGET, Json, Program, Target
from kernel_ls.pyeval import MISSING, Budget, BudgetExceeded, Evaluator, Frame, Raised, Undecided, Unknown
from kernel_ls.pyeval.nodes import walk

OPAQUE_PACKAGES = frozenset(
    "torch torchvision torchaudio numpy jax jaxlib flax cupy tensorflow scipy pandas transformers diffusers accelerate datasets "
    "sklearn matplotlib einops sympy packaging pytest setuptools pip numba tqdm requests yaml deepspeed xformers vllm "
    "flash_attn apex".split()
)
"""Packages whose objects kernels cannot use and which are too large, or too dynamic, to be read for their values."""

_READ_AS_UNKNOWN = ("torch._inductor", "flash_attn", "xformers", "vllm", "apex")
"""Of those, what may hold kernel functions: a use of them is not known, rather than a fault."""


_HOST_DECORATORS = (
    *(
        "functools.",
        "contextlib.",
        "typing.",
        "abc.",
        "torch.",
        "pytest.",
        "dataclasses.",
        "staticmethod",
        "classmethod",
    ),
    *("property", "override", "overload", "unittest."),
)
"""Beginnings of decorators that no kernel stands under, so that their functions need not be evaluated to tell."""


@dataclass(frozen=True)
class ResolvedFunction:
    """A jit function of a file with its decorators resolved.

    Attributes:
        jit: the function as its document has it.
        value: what its name stands for.
    """

    jit: JitFunction
    value: FunctionValue

    @property
    def autotune(self) -> Autotune | None:
        """The autotuner around it, its configurations evaluated."""
        return self.value.autotune

    @property
    def heuristics(self) -> tuple[Heuristics, ...]:
        """The heuristics around it, their functions as values."""
        return self.value.heuristics


class Workspace:
    """Everything that can be known of the user's code without running it.

    Args:
        provider: where texts come from.
        api: what the installed Triton has.
        target: the device that host code is taken to run on.
        steps: how many steps the evaluation of one name may take.
    """

    def __init__(
        self,
        provider: SourceProvider,
        api: TritonApi | None = None,
        target: Target = DEFAULT_TARGET,
        steps: int = 60_000,
    ) -> None:
        self.provider = provider
        self.api = api or TritonApi()
        self.target = target
        self.steps = steps
        self.domain = EnvironmentDomain(self)
        self._modules: dict[str, Module | None] = {}
        self.reads = Reads()
        """Which files were read for which."""
        self._documents: dict[str, tuple[str, ParsedDocument]] = {}
        self._before: dict[str, ParsedDocument] = {}
        """The last documents of files whose text has changed."""
        self._definitions: dict[str, dict[tuple[int, int], JitFunction]] = {}
        self._kernels: dict[str, dict[tuple[int, int], FunctionValue]] = {}
        self._functions: dict[str, tuple[ResolvedFunction, ...]] = {}
        self._values: dict[tuple[str, str], FunctionValue] = {}
        self._programs: dict[tuple[str, str], Program] = {}
        self._programs_kept: dict[tuple[str, str], KeptProgram] = {}
        self._calls: dict[str, frozenset[str]] = {}
        self._calls_kept: dict[str, tuple[int, dict[str, str], frozenset[str]]] = {}
        """What `calls` answered last: the epoch, and what of each file it rests on."""
        self._learnt: dict[str, Learnt] = {}
        self.epoch = 0
        """Counts what may change anything that was evaluated, whatever files it was read from: whoever keeps results over
        `invalidate` drops them with it."""
        self._found: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._missing: set[str] = set()
        """Files and folders (with a final `/`) that imports looked for in vain."""
        self._reading: list[Module] = []
        self._imported: dict[str, Mapping[str, Any]] = {}

    def configure(self, api: TritonApi | None = None, target: Target | None = None) -> None:
        """Answer for another Triton or target from now on; everything evaluated before is forgotten."""
        self.api = api or self.api
        self.target = target or self.target
        self.epoch += 1
        self._forget(set(self._modules))

    def assume(self, path: str, values: Mapping[str, Json]) -> None:
        """Take some names of a file to hold these wire values wherever reading does not tell what they hold."""
        self.epoch += 1
        self._imported[path] = {name: of_wire(value) for name, value in values.items()}
        self._forget({path} | self.dependents(path))

    def assumed(self, path: str, name: str) -> Any:
        """What a name is taken to hold, or MISSING."""
        return self._imported.get(path, {}).get(name, MISSING)

    def with_texts(self, texts: Mapping[str, str]) -> Workspace:
        """A workspace of its own in which some files have another text. This one does not change."""
        other = Workspace(OverlayProvider(self.provider, texts), self.api, self.target, self.steps)
        other._documents = dict(self._documents)
        other._imported = dict(self._imported)
        return other

    # ---------------------------------------------------------------------------------------------- files

    def document(self, path: str) -> ParsedDocument | None:
        """The parsed current text of a file, or None where it cannot be read."""
        text = self.provider.read(path)
        if text is None:
            return None
        known = self._documents.get(path)
        if known is None or known[0] != text:
            if known is not None:
                self.invalidate(path)
            known = self._documents[path] = (text, parse(text, path, self._before.pop(path, None)))
        return known[1]

    def module(self, path: str) -> Module | None:
        """The module of a file, or None where it cannot be read."""
        if path not in self._modules:
            document = self.document(path)
            self._modules[path] = (
                None if document is None else Module(self, document, self.module_name(path), _is_init(path))
            )
            self.reads.add(path)
        return self._modules[path]

    def lookup(self, path: str, name: str) -> Any:
        """The value of a module's name; MISSING where the module does not bind it, Unknown where it is not readable."""
        module = self.module(path)
        return Unknown(f"`{path}` cannot be read") if module is None else module.get(name, MISSING)

    def invalidate(self, path: str) -> None:
        """Forget what was evaluated from a file, directly or through imports. Call it when its text changed."""
        stale = {path} | self.dependents(path)
        if path in self._missing or any(path.startswith(folder) for folder in self._missing if folder.endswith("/")):
            # A new file may be what an import that failed, or found another file, was looking for.
            stale = set(self._modules) | set(self._calls) | {path}
            self._missing.clear()
            self.epoch += 1
        if path in self._documents:
            self._before[path] = self._documents.pop(path)[1]
        self._definitions.pop(path, None)
        self._forget(stale)

    def _forget(self, stale: set[str]) -> None:
        self._found.clear()
        self.reads.forget(stale)
        for known in stale:
            self._modules.pop(known, None)
            self._kernels.pop(known, None)
            self._functions.pop(known, None)
            self._calls.pop(known, None)
            self._learnt.pop(known, None)
        self._values = {k: v for k, v in self._values.items() if k[0] not in stale}
        self._programs = {k: v for k, v in self._programs.items() if k[0] not in stale}

    def read_for(self, path: str, files: Iterable[str]) -> None:
        """Take some files to have been read for another, as they were when what is kept of it was found."""
        self.reads.add(path, files)

    def dependencies(self, path: str) -> set[str]:
        """The files that were read to evaluate a file, itself included."""
        return self.reads.dependencies(path)

    def dependents(self, path: str) -> set[str]:
        """The files whose evaluation read a file."""
        return self.reads.dependents(path)

    # ---------------------------------------------------------------------------------------------- modules

    def module_name(self, path: str) -> str:
        """The dotted name under which a file would be imported."""
        folder, file = posixpath.split(path)
        parts = [] if file in ("__init__.py", "") else [file.removesuffix(".py")]
        while folder not in ("", "/") and self.provider.is_file(f"{folder}/__init__.py"):
            folder, name = posixpath.split(folder)
            parts.insert(0, name)
        return ".".join(parts) or posixpath.basename(posixpath.dirname(path))

    def root_of(self, path: str) -> str:
        """The folder in which the top package of a file lies."""
        folder = posixpath.dirname(path)
        while folder not in ("", "/") and self.provider.is_file(f"{folder}/__init__.py"):
            folder = posixpath.dirname(folder)
        return folder

    def import_module(self, name: str, importer: Module) -> Any:
        """What `import name` leads to, as a value.

        Raises:
            Raised: a ModuleNotFoundError.
        """
        parts = tuple(name.split("."))
        root = parts[0]
        if root == "triton":
            return self._import_triton(name)
        if name in library.REF_MODULES:
            return Ref(name)
        root_folder = self.root_of(importer.path)
        key = (root_folder, parts)
        if key not in self._found:
            self._found[key] = self._find_absolute(parts, root_folder)
        found = self._found[key]
        if found is None:
            raise Raised("ModuleNotFoundError", f"No module named {name!r}")
        if isinstance(found, str):
            return self._module_value(found, importer)
        return found

    def _find_absolute(self, parts: tuple[str, ...], root_folder: str) -> Any:
        """A path, a value for what is not read, or None where there is no such module."""
        name = ".".join(parts)
        root = parts[0]
        if root in stdlib_module_names:
            return Opaque(name)
        if any(name == u or name.startswith(u + ".") for u in _READ_AS_UNKNOWN):
            return Unknown(f"module `{name}` is not read", name)
        if root in OPAQUE_PACKAGES:
            return Opaque(name)
        folders = [root_folder, *self.provider.search_path()]
        for folder in folders:
            path = self._find_in(folder, parts)
            if path is not None:
                return path
        if any(self._find_in(folder, parts[:1]) for folder in folders):
            return None
        return None

    def _import_triton(self, name: str) -> Any:
        if self.api.exists(name) is False:
            raise Raised("ModuleNotFoundError", f"No module named {name!r}")
        return Ref(name)

    def import_relative(self, importer: Module, level: int, name: str) -> Any:
        """What `from ..name import` leads to.

        Raises:
            Raised: an ImportError or ModuleNotFoundError.
        """
        folder = importer.folder()
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        if not name:
            for candidate in (f"{folder}/__init__.py", f"{folder}/"):
                if self.provider.is_file(candidate) or candidate.endswith("/"):
                    return self._module_value(candidate, importer)
        path = self._find_in(folder, tuple(name.split(".")))
        if path is None:
            raise Raised("ModuleNotFoundError", f"No module named {name!r} in {folder!r}")
        return self._module_value(path, importer)

    def submodule(self, package: Module, name: str) -> Module | None:
        """The module `name` of a package, or None."""
        path = self._find_in(package.folder(), (name,))
        return None if path is None else self._module_at(path)

    def _find_in(self, folder: str, parts: Sequence[str]) -> str | None:
        """The file of a module below a folder; a folder's name with a final `/` for a package without `__init__`."""
        base = "/".join([folder.rstrip("/"), *parts])
        for candidate in (f"{base}/__init__.py", f"{base}.py"):
            if self.provider.is_file(candidate):
                return candidate
            self._missing.add(candidate)
        if self.provider.is_folder(base):
            return f"{base}/"
        self._missing.add(f"{base}/")
        return None

    def _module_at(self, path: str) -> Module | None:
        if path.endswith("/"):
            if path not in self._modules:
                name = self.module_name(path + "__init__.py")
                self._modules[path] = Module(self, parse("", path), name, True)
            return self._modules[path]
        return self.module(path)

    def _module_value(self, path: str, importer: Module) -> Any:
        self.reads.add(importer.path, (path,))
        module = self._module_at(path)
        return Unknown(f"`{path}` cannot be read") if module is None else ModuleValue(module)

    # ---------------------------------------------------------------------------------------------- evaluation

    def evaluator(self, domain: EnvironmentDomain | None = None) -> Evaluator:
        """An evaluator with a fresh budget, over this workspace's domain or one that extends it."""
        return Evaluator(domain or self.domain, Budget(steps=self.steps))

    @contextmanager
    def evaluating(self, module: Module) -> Iterator[None]:
        """Mark that code of a module is being evaluated."""
        if len(self._reading) > 150:
            raise RecursionError
        self._reading.append(module)
        try:
            yield
        finally:
            self._reading.pop()

    def current_module(self) -> Module | None:
        """The module whose code is being evaluated."""
        return self._reading[-1] if self._reading else None

    def module_of_node(self, node: ast.AST | None) -> Module | None:
        """The module that a node being evaluated belongs to: the innermost whose text reaches to its line."""
        return self.current_module() if node is not None else None

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a value; what it raises, and what cannot be known, is Unknown."""
        try:
            return self.evaluator().call(function, args, dict(kwargs))
        except (Raised, Undecided, BudgetExceeded) as stop:
            return Unknown(stop.reason)
        except RecursionError:
            return Unknown("it is nested too deeply to evaluate")

    def run_statement(self, node: ast.stmt, frame: Frame, in_try: bool) -> Raised | Unknown | None:
        """Execute a module's statement; what stopped it. A module that is not found is an error in a `try` only."""
        evaluator = self.evaluator()
        try:
            evaluator.run([node], frame)
        except Raised as raised:
            missing = raised.kind == "ModuleNotFoundError" and isinstance(node, (ast.Import, ast.ImportFrom))
            if missing and not in_try:
                return Unknown(f"{raised.message[:1].lower()}{raised.message[1:]} was found")
            return raised
        except (Undecided, BudgetExceeded) as stop:
            return Unknown(stop.reason)
        except RecursionError:
            return Unknown("it is nested too deeply to evaluate")
        except Exception as signal:  # control flow out of place: `return` at the top of a module
            if type(signal).__name__ in ("ReturnSignal", "BreakSignal", "ContinueSignal"):
                return Unknown("control leaves the module")
            raise
        return None

    @staticmethod
    def handler(handlers: list[ast.ExceptHandler], raised: Raised) -> ast.ExceptHandler | None:
        """The handler that catches an exception, or None."""
        return Evaluator._handler(handlers, raised)

    # ---------------------------------------------------------------------------------------------- functions

    def note_kernel(self, function: FunctionValue) -> None:
        """Remember that a function was made a jit function, wherever that was done."""
        if isinstance(function.node, ast.FunctionDef):
            known = self._kernels.setdefault(function.module.path, {})
            known.setdefault((function.node.lineno, function.node.col_offset), function)

    def definitions(self, path: str) -> dict[tuple[int, int], JitFunction]:
        """Every function of a file by the place of its `def`."""
        if path not in self._definitions:
            document = self.document(path)
            found = kernels.functions(document) if document is not None else ()
            self._definitions[path] = {(f.node.lineno, f.node.col_offset): f for f in found}
        return self._definitions[path]

    def resolve_function(self, value: Any) -> JitFunction | None:
        """The function that a value stands for: itself, or the kernel that a wrapper carries."""
        function = carried_kernel(value) or (value if isinstance(value, FunctionValue) else None)
        if function is None:
            return None
        return self.definitions(function.module.path).get((function.node.lineno, function.node.col_offset))

    def functions(self, path: str) -> tuple[ResolvedFunction, ...]:
        """All jit functions of a file, in order of the text, with their decorators resolved."""
        if path not in self._functions:
            found = []
            for jit in self._candidates(path):
                value = self.function_value(jit)
                if value is not None and value.is_kernel_code:
                    found.append(ResolvedFunction(jit, value))
            self._functions[path] = tuple(found)
        return self._functions[path]

    def _candidates(self, path: str) -> Iterator[JitFunction]:
        """The functions of a file that may be jit functions: by a decorator, or by a call that takes them."""
        document = self.document(path)
        if document is None:
            return
        passed = {
            name
            for statement in document.tree.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
            for name in once_for_text(statement, "names", partial(_names, statement.value))
        }
        for jit in self.definitions(path).values():
            called = not jit.scopes and jit.name in passed
            other = any(d.kind == "other" and not d.resolved.startswith(_HOST_DECORATORS) for d in jit.decorators)
            if jit.is_jit or called or other:
                yield jit

    def function_value(self, jit: JitFunction) -> FunctionValue | None:
        """What a function's name stands for, its decorators applied; None where its module cannot be read."""
        key = (jit.path, jit.key)
        if key not in self._values:
            value = locate_function(self, jit)
            if value is None:
                return None
            self._values[key] = value
        return self._values[key]

    def calls(self, path: str) -> frozenset[str]:
        """The units that the jit functions of a file reach beside themselves."""
        if path not in self._calls:
            kept = self._calls_kept.get(path)
            if kept is not None and self._still(kept[0], kept[1]):
                self.read_for(path, kept[1])
                self._calls[path] = kept[2]
                return kept[2]
            found: set[str] = set()
            for function in self.functions(path):
                program = self.program(function.jit)
                found.update(unit for unit in program.units if unit != program.kernel)
            self._calls[path] = frozenset(found)
            reaches = {name: self._reach(name) for name in self.dependencies(path)}
            self._calls_kept[path] = (self.epoch, reaches, self._calls[path])
        return self._calls[path]

    def knows_calls(self, path: str) -> bool:
        """Whether what `calls` answers for a file is at hand, and the file among the `dependents` of what it calls."""
        return path in self._calls

    def take_learnt(self, path: str, learnt: Learnt) -> None:
        """Take what an earlier run learnt from a file, whose texts are as they were then, until one of them changes."""
        self.read_for(path, learnt.texts)
        self._calls[path] = learnt.calls
        self._learnt[path] = learnt

    def learnt(self, path: str) -> Learnt | None:
        """What an earlier run learnt from a file, if that was taken and holds."""
        return self._learnt.get(path)

    def _still(self, epoch: int, reaches: Mapping[str, str]) -> bool:
        return epoch == self.epoch and all(self._reach(name) == reach for name, reach in reaches.items())

    def _reach(self, path: str) -> str:
        document = self.document(path)
        return host_text(document).reach if document is not None else ""

    def standing(self, jit: JitFunction) -> Standing:
        """Whether a function's definition is the one that its module has when it is loaded here."""
        module = self.module(jit.path)
        if module is None or jit.scopes or any(statement is jit.node for statement in module.tree.body):
            return Standing.LIVE
        return module.standing(jit.node, jit.document.parents)

    def program(self, jit: JitFunction) -> Program:
        """The closed program of a kernel: its text and everything it reads (ARCHITECTURE.md, "Units")."""
        key = (jit.path, jit.key)
        if key not in self._programs:
            known = self._programs_kept.get(key)
            program = known.now(self.epoch, self.document) if known is not None else None
            if known is not None and program is not None:
                self.read_for(jit.path, known.files)
            else:
                program = closure.build(self, jit)
                found = kept_programs.kept(program, self.epoch, self.dependencies(jit.path), self.document)
                if found is not None:
                    self._programs_kept[key] = found
            self._programs[key] = program
        return self._programs[key]


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(inner.id for inner in walk(node) if isinstance(inner, ast.Name))


def _is_init(path: str) -> bool:
    return posixpath.basename(path) == "__init__.py"
