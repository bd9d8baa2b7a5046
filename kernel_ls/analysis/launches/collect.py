"""From launches as they were met to `Launch`es: values as they are known in the end, one case for each distinct set."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment import Constexpr, Workspace
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.positions import span_of
from kernel_ls.model import Location
from kernel_ls.pyeval import Unknown

from . import dtypes
from .evaluator import HostEvaluator
from .model import DescriptorOf, Launch, LaunchArgument, NumberOf, TensorOf, TypeOf
from .notes import Given, Noted
from .values import Descriptor, Host, Number, Symbol, Tensor

_CASES = 8
"""How many cases of one call are kept."""


class Collector:
    """Gathers the launches of one document over all the courses that were followed."""

    def __init__(self, workspace: Workspace, document: ParsedDocument) -> None:
        self.workspace = workspace
        self.document = document
        self._found: dict[tuple[Any, ...], dict[str, Launch]] = {}
        self._kernels: dict[tuple[str, int, int], JitFunction | None] = {}

    def add(self, evaluator: HostEvaluator) -> None:
        """Take the launches of one course."""
        for noted in evaluator.noted:
            if self.document.path in (noted.path, noted.kernel.module.path):
                self._add(noted, evaluator)

    def _add(self, noted: Noted, evaluator: HostEvaluator) -> None:
        key = noted.kernel.key
        if key not in self._kernels:
            self._kernels[key] = self.workspace.resolve_function(noted.kernel)
        kernel = self._kernels[key]
        if kernel is None or not hasattr(noted.node, "lineno"):
            return
        assert noted.node is not None
        launch = self._launch(noted, kernel, evaluator)
        place = (noted.path, noted.node.lineno, noted.node.col_offset)  # type: ignore[attr-defined]
        cases = self._found.setdefault((*place, kernel.path, kernel.key), {})
        cases.setdefault(_signature(launch), launch)

    def launches(self) -> tuple[Launch, ...]:
        """All of them, in order of the text; the cases of one call with the most known first."""
        result: list[Launch] = []
        for key in sorted(self._found, key=lambda k: k[:3]):
            cases = sorted(self._found[key].values(), key=lambda launch: -_weight(launch))
            result += [replace(c, case=i) for i, c in enumerate(cases[:_CASES])]
        return tuple(result)

    # ---------------------------------------------------------------------------------------------- one launch

    def _location(self, noted: Noted, node: ast.AST | None) -> Location:
        document = self.workspace.document(noted.path) or self.document
        return Location(document.path, span_of(node or noted.node, document.lines))  # type: ignore[arg-type]

    def _launch(self, noted: Noted, kernel: JitFunction, evaluator: HostEvaluator) -> Launch:
        assert noted.node is not None
        arguments: list[LaunchArgument] = []
        options: dict[str, Any] = {}
        if noted.style == "ASTSource":
            arguments = list(self._stated(noted, kernel, evaluator))
        else:
            parameters = [p.name for p in kernel.parameters]
            for index, given in enumerate(noted.args):
                name = parameters[index] if index < min(noted.known_args, len(parameters)) else None
                arguments.append(self._argument(kernel, name, given, noted, evaluator, False))
            for name, given in noted.kwargs.items():
                if name in parameters:
                    arguments.append(self._argument(kernel, name, given, noted, evaluator, True))
                else:
                    options[name] = final(given.value, evaluator)
        return Launch(
            kernel=kernel,
            location=self._location(noted, noted.node),
            style=noted.style,  # type: ignore[arg-type]
            grid=self._location(noted, noted.grid) if noted.grid is not None else None,
            arguments=tuple(arguments),
            options=options,
            function=noted.function,
            incomplete=noted.incomplete,
        )

    def _argument(
        self,
        kernel: JitFunction,
        name: str | None,
        given: Given,
        noted: Noted,
        evaluator: HostEvaluator,
        keyword: bool,
    ) -> LaunchArgument:
        parameter = kernel.parameter(name) if name is not None else None
        value = final(given.value, evaluator)
        if isinstance(value, Unknown) and parameter is not None and parameter.is_constexpr:
            # A constant that host code asks for its truth and nothing else is a flag.
            flag = evaluator.domain.world.resolve(given.value)
            truth = evaluator.domain.world.truth_of(flag) if isinstance(flag, Symbol) else None
            value = value if truth is None else truth
        node = given.node or noted.node
        assert node is not None
        source = ast.unparse(given.node) if given.node is not None else ""
        return LaunchArgument(name, value, self._location(noted, node), keyword, source)

    def _stated(self, noted: Noted, kernel: JitFunction, evaluator: HostEvaluator) -> list[LaunchArgument]:
        parameters = [p.name for p in kernel.parameters]
        found: dict[str, LaunchArgument] = {}
        for what in ("signature", "constexprs"):
            given = noted.kwargs.get(what)
            values = final(given.value, evaluator) if given is not None else None
            if not isinstance(values, dict):
                continue
            node = given.node if given is not None and given.node is not None else noted.node
            assert node is not None
            for key, value in values.items():
                if isinstance(key, tuple) and len(key) == 1:
                    key = key[0]
                if isinstance(key, int) and 0 <= key < len(parameters):
                    key = parameters[key]
                if not isinstance(key, str) or key not in parameters:
                    continue
                if what == "signature":
                    value = TypeOf(value) if isinstance(value, str) else Unknown("a type that is not known")
                found[key] = LaunchArgument(key, value, self._location(noted, node), True, str(key))
        return list(found.values())


def final(value: Any, evaluator: HostEvaluator) -> Any:
    """A value as it is known at the end of the course."""
    domain = evaluator.domain
    value = domain.world.resolve(value)
    if isinstance(value, Constexpr):
        return final(value.value, evaluator)
    if isinstance(value, Symbol):
        tensor = domain.as_tensor(value)
        if tensor is None or value.id in domain.world.others:
            return Unknown(f"what `{value.text}` is, is not known" if value.text else "it is not known")
        value = tensor
    if isinstance(value, Tensor):
        return TensorOf(dtypes.element_of(domain.world.resolve(value.dtype)))
    if isinstance(value, Number):
        if value.predicate is not None:
            known = domain.world.known(value.predicate)
            if known is not None:
                return known
        return NumberOf(value.kind, value.wide)
    if isinstance(value, Descriptor):
        block = domain.world.resolve(value.block)
        sizes = [final(b, evaluator) for b in block] if isinstance(block, (list, tuple)) else [None]
        numbers = tuple(s for s in sizes if type(s) is int)
        element = dtypes.element_of(domain.world.resolve(value.dtype))
        return DescriptorOf(element, numbers if len(numbers) == len(sizes) else None)
    if isinstance(value, Host):
        return Unknown(f"what `{value.text}` is, is not known" if value.text else "it is not known")
    if isinstance(value, tuple):
        return tuple(final(v, evaluator) for v in value)
    if isinstance(value, list):
        return [final(v, evaluator) for v in value]
    if isinstance(value, dict):
        return {k: final(v, evaluator) for k, v in value.items() if not isinstance(k, Host)}
    return value


def _signature(launch: Launch) -> str:
    """What tells two cases of one call apart."""
    shown = [(a.name, _shown(a.value)) for a in launch.arguments]
    return repr((shown, sorted((k, _shown(v)) for k, v in launch.options.items()), launch.incomplete))


def _shown(value: Any) -> str:
    return "?" if isinstance(value, Unknown) else repr(value)


def _weight(launch: Launch) -> float:
    """How much is known: constants and dtypes weigh more than that something is a number."""
    total = 0.0
    for argument in launch.arguments:
        value = argument.value
        if isinstance(value, Unknown):
            continue
        total += 1 if isinstance(value, TensorOf) and value.element else 0.5 if isinstance(value, TensorOf) else 0.8
        if value is None:
            # Of two courses that are known as well, the one that passes more comes first.
            total -= 0.45
    return total
