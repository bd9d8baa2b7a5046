from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kernel_ls.analysis.environment import Autotune, ConfigValue
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.rules.base import Explanation, Rule, finding_at
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.layers import (
    CONFIG_OPTIONS,
    LAUNCH_OPTIONS,
    accepts_anything,
    configs_of,
    names_of,
    parameter_names,
)
from kernel_ls.analysis.rules.surroundings import elements, given, is_open, removal
from kernel_ls.model import Edit, Fix, Location, Severity, Span
from kernel_ls.pyeval import Unknown
from kernel_ls.pyeval.nodes import walk

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.rules.surroundings import Surroundings, Tuned

_CHECKED_NAMES = (3, 9)
"""From this Triton on, an autotuner refuses names that are no parameters."""


class AutotuneConfig(Rule):
    """An autotuner's configuration does not fit its kernel.

    What it finds:
        A configuration that sets something that is no parameter of the kernel, or leaves out what the others set; a `key`,
        `reset_to_zero` or `restore_value` that names no parameter; `num_warps` among the values of a configuration, where
        it is overwritten; configurations that are written twice; an empty list of them.

    Why it is a fault:
        Values of a configuration are passed to the kernel by name, and one that it does not have is an error when it is
        launched. A `key` that names no parameter is dropped in silence: the kernel is tuned once and for all. A
        configuration that is written twice is measured twice.

    Example:
        @triton.autotune(
            configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOK": 128})],
            key=["size"],
        )
        @triton.jit
        def kernel(x_ptr, n, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, BLOCK), n)

    Instead:
        @triton.autotune(
            configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
            key=["n"],
        )
        @triton.jit
        def kernel(x_ptr, n, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, BLOCK), n)

    Triton versions:
        A `key` that names no parameter is dropped up to 3.8 (a warning) and refused from 3.9 on (an error); so are
        `reset_to_zero` and `restore_value`, which before that fail when the kernel is tuned.

    Fix and its safety:
        Renames to the nearest parameter, which is a guess at what was meant; else removes the name, or the configuration
        that is there twice, which changes nothing that Triton does.
    """

    code = "autotune-config"
    summary = "an autotuner's configuration does not fit its kernel"
    priority = 10

    def check(self, document: ParsedDocument, surroundings: Surroundings) -> Iterable[Explanation]:
        for tuned in surroundings.tuned:
            if not accepts_anything(tuned.function.jit):
                checks = _Checks(self, document, surroundings, tuned)
                yield from checks.arguments()
                yield from checks.configs()
                yield from checks.names()


class _Checks:
    """The checks of one autotuner."""

    def __init__(self, rule: Rule, document: ParsedDocument, surroundings: Surroundings, tuned: Tuned) -> None:
        self.rule = rule
        self.document = document
        self.surroundings = surroundings
        self.function: JitFunction = tuned.function.jit
        self.layer: Autotune = tuned.layer
        self.parameters = parameter_names(self.function)
        self.heuristic = {name for h in tuned.function.heuristics if isinstance(h.values, Mapping) for name in h.values}
        call = surroundings.call_at(tuned.layer.location)
        assert call is not None
        assert tuned.layer.location is not None
        self.call = call
        self.home = surroundings.workspace.document(tuned.layer.location.path) or document
        self.place = tuned.layer.location if self.home is document else Location(document.path, self.function.name_span)

    def found(
        self,
        place: Location,
        message: str,
        *,
        severity: Severity | None = None,
        fixes: Sequence[Fix | None] = (),
        related: Sequence[tuple[str, Location]] = (),
    ) -> Explanation:
        """A finding, at the kernel where its place is in another file."""
        if place.path != self.document.path:
            related = [*related, ("written here", place)]
            place, fixes = self.place, ()
        made = finding_at(self.rule, place, message, severity=severity, related=related, kernel=self.function.qualname)
        return Explanation(made, fixes=tuple(f for f in fixes if f is not None))

    # ---------------------------------------------------------------------------------------------- the call

    def arguments(self) -> Iterator[Explanation]:
        """What the call of `autotune` itself passes."""
        signature = (self.surroundings.workspace.api.entry("triton.autotune") or {}).get("signature")
        known = {row[0] for row in signature} if isinstance(signature, list) else set()
        for keyword in self.call.keywords:
            if keyword.arg is not None and known and keyword.arg not in known:
                near = nearest(keyword.arg, known)
                hint = f"; did you mean `{near}`?" if near else "."
                yield self.found(self._at(keyword), f"`autotune` takes no argument `{keyword.arg}`{hint}")
        if not is_open(self.call) and given(self.call, "key", 1) is None:
            yield self.found(
                self.place, "`autotune` needs a `key`: the arguments whose change tunes anew, `[]` for none."
            )
        if isinstance(self.layer.configs, ConfigValue):
            node = given(self.call, "configs", 0)
            yield self.found(
                self._at(node) if node is not None else self.place, "`configs` is one configuration; make it a list."
            )

    def _at(self, node: ast.AST) -> Location:
        return self.surroundings.location(self.home, node)

    # ---------------------------------------------------------------------------------------------- configurations

    def configs(self) -> Iterator[Explanation]:
        """What the configurations set."""
        node = given(self.call, "configs", 0)
        if isinstance(node, (ast.List, ast.Tuple)) and not node.elts:
            yield self.found(
                self._at(node),
                "No configurations: Triton launches with its defaults and tunes nothing.",
                severity=Severity.WARNING,
            )
        configs = self.layer.known_configs()
        for config in configs:
            yield from self._unknown(config)
            yield from self._overwritten(config)
        yield from self._uneven()
        yield from self._twice(node)

    def _unknown(self, config: ConfigValue) -> Iterator[Explanation]:
        call = self._call(config)
        if call is not None and config.location is not None and config.location.path == self.document.path:
            yield from self._unknown_options(call)
        for name in names_of(config) or ():
            if name in self.parameters or name in LAUNCH_OPTIONS or self._prunes():
                continue
            near = nearest(name, [p for p in self.parameters if p not in config.kwargs])
            hint = f"; did you mean `{near}`?" if near else "."
            key = self._key_node(config, name)
            message = f"`{name}` is no parameter of `{self.function.name}`{hint}"
            place = self._config(config, name)
            fixes = []
            if key is not None and near:
                fixes.append(Fix(f"Rename to `{near}`", (Edit(place, f'"{near}"'),)))
            if key is not None:
                fixes += self._without(config, name)
            yield self.found(place, message, fixes=fixes, related=[("the kernel", self.function.name_location)])

    def _unknown_options(self, call: ast.Call) -> Iterator[Explanation]:
        signature = (self.surroundings.workspace.api.entry("triton.Config") or {}).get("signature")
        options = {row[0] for row in signature} if isinstance(signature, list) else set()
        for keyword in call.keywords:
            if keyword.arg is None or not options or keyword.arg in options:
                continue
            near = nearest(keyword.arg, options)
            message = f"`triton.Config` takes no argument `{keyword.arg}`" + (
                f"; did you mean `{near}`?" if near else "."
            )
            if keyword.arg in self.parameters:
                message = (
                    f"`triton.Config` takes no argument `{keyword.arg}`; values of parameters go into its dictionary."
                )
            yield self.found(self.surroundings.location(self.document, keyword), message)

    def _overwritten(self, config: ConfigValue) -> Iterator[Explanation]:
        for name in names_of(config) or ():
            if name not in CONFIG_OPTIONS:
                continue
            effective = config.attribute(name)
            written = config.kwargs[name]
            if isinstance(written, Unknown) or isinstance(effective, Unknown) or written == effective:
                continue
            yield self.found(
                self._config(config, name),
                f"`{name}` here is overwritten by `triton.Config`'s own `{name}={effective}`; pass it beside the dictionary.",
                severity=Severity.WARNING,
            )

    def _uneven(self) -> Iterator[Explanation]:
        configs = configs_of(self.layer)
        if configs is None or len(configs) < 2 or self._prunes():
            return
        everywhere: set[str] = set().union(*(names_of(c) or () for c in configs))
        for config in configs:
            names = names_of(config) or frozenset()
            if any(n not in self.parameters and n not in LAUNCH_OPTIONS for n in names):
                continue  # What it leaves out is what that misspells.
            for name in sorted(everywhere - names):
                parameter = self.function.parameter(name)
                if parameter is None or parameter.default is not None or name in self.heuristic:
                    continue
                other = next(c for c in configs if name in (names_of(c) or ()))
                yield self.found(
                    self._config(config),
                    f"This configuration leaves out `{name}`, which others set: either it or they cannot be launched.",
                    related=[(f"`{name}` is set here", self._config(other))],
                )

    def _prunes(self) -> bool:
        """Whether a function of the user's chooses among the configurations, and may make others of them."""
        return self.layer.arguments.get("prune_configs_by") is not None or len(self.call.args) > 2

    def _twice(self, node: ast.expr | None) -> Iterator[Explanation]:
        seen: dict[str, ast.expr] = {}
        for element in elements(node):
            if not isinstance(element, ast.Call):
                continue
            text = ast.dump(element)
            first = seen.setdefault(text, element)
            # A call may give another value each time; what is written out gives the same.
            if first is element or any(isinstance(n, ast.Call) for n in walk(element) if n is not element):
                continue
            yield self.found(
                self._at(element),
                "This configuration is there twice, and is measured twice.",
                severity=Severity.WARNING,
                fixes=[removal(self.home, element, "Remove the repeated configuration")],
                related=[("the same", self._at(first))],
            )

    def _call(self, config: ConfigValue) -> ast.Call | None:
        """The call that made a configuration; None where it is not where it is said to be."""
        call = self.surroundings.call_at(config.location)
        return call if call is not None and self.surroundings.is_tritons(config.location, "triton.Config") else None

    def _config(self, config: ConfigValue, name: str = "") -> Location:
        """Where a configuration stands, or in it a name."""
        call, document = self._call(config), self._document(config)
        if call is None or document is None:
            return self.place
        return self.surroundings.location(document, self._key_node(config, name) or call)

    def _document(self, config: ConfigValue) -> ParsedDocument | None:
        return self.surroundings.workspace.document(config.location.path) if config.location is not None else None

    def _key_node(self, config: ConfigValue, name: str) -> ast.expr | None:
        call = self._call(config)
        values = given(call, "kwargs", 0) if call is not None else None
        if isinstance(values, ast.Dict):
            return next((k for k in values.keys if isinstance(k, ast.Constant) and k.value == name), None)
        return None

    def _without(self, config: ConfigValue, name: str) -> Iterator[Fix]:
        call, document = self._call(config), self._document(config)
        values = given(call, "kwargs", 0) if call is not None else None
        if isinstance(values, ast.Dict) and document is not None:
            for key, value in zip(values.keys, values.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield removal(document, key, f"Remove `{name}`", value)

    # ---------------------------------------------------------------------------------------------- names

    def names(self) -> Iterator[Explanation]:
        """The arguments that name parameters."""
        refused = self.surroundings.triton >= _CHECKED_NAMES
        for argument, position in (("key", 1), ("reset_to_zero", 3), ("restore_value", 4)):
            value = self.layer.key if argument == "key" else self.layer.arguments.get(argument)
            node = given(self.call, argument, position)
            if isinstance(value, str):
                if any(letter not in self.parameters for letter in value):
                    yield self.found(
                        self._at(node) if node is not None else self.place,
                        f"`{argument}` is read letter by letter; make it a list.",
                        severity=None if refused or argument != "key" else Severity.WARNING,
                        fixes=[_in_list(self._at(node))] if node is not None else (),
                    )
                continue
            if not isinstance(value, (list, tuple)):
                continue
            configs = configs_of(self.layer)
            if argument != "key" and not refused and configs is not None and len(configs) < 2:
                continue  # Nothing is tuned, so that nobody looks.
            for name in value:
                if isinstance(name, str) and name not in self.parameters:
                    yield self._unknown_name(argument, name, node, refused)
                elif isinstance(name, str) and argument == "key":
                    yield from self._unseen(name, node)

    def _unknown_name(self, argument: str, name: str, node: ast.expr | None, refused: bool) -> Explanation:
        element = _element(node, name)
        place = self._at(element or node) if (element or node) is not None else self.place  # type: ignore[arg-type]
        listed = {e.value for e in elements(node) if isinstance(e, ast.Constant)}
        near = nearest(name, [p for p in self.parameters if p not in listed])
        hint = f"; did you mean `{near}`?" if near else ""
        tuning = argument == "key" and not refused
        message = f"`{name}` is no parameter of `{self.function.name}`{hint or '.'}"
        if tuning:
            message = f"`{name}` is no parameter of `{self.function.name}`, so that this Triton ignores it{hint or '.'}"
        fixes = []
        if element is not None:
            if near:
                fixes.append(Fix(f"Rename to `{near}`", (Edit(place, f'"{near}"'),)))
            fixes.append(removal(self.home, element, f"Remove `{name}`"))
        return self.found(
            place,
            message,
            severity=Severity.WARNING if tuning else None,
            fixes=fixes,
            related=[("the kernel", self.function.name_location)],
        )

    def _unseen(self, name: str, node: ast.expr | None) -> Iterator[Explanation]:
        configs = configs_of(self.layer)
        if not configs or len(configs) < 2 or not all(name in (names_of(c) or ()) for c in configs):
            return
        element = _element(node, name)
        yield self.found(
            self._at(element) if element is not None else self.place,
            f"`{name}` is what the autotuner chooses, and says nothing as a `key`.",
            severity=Severity.INFO,
            fixes=[removal(self.home, element, f"Remove `{name}`")] if element is not None else (),
        )


def _element(node: ast.expr | None, name: str) -> ast.expr | None:
    return next((e for e in elements(node) if isinstance(e, ast.Constant) and e.value == name), None)


def _in_list(place: Location) -> Fix:
    start, end = (Location(place.path, Span(p, p)) for p in (place.span.start, place.span.end))
    return Fix("Make it a list", (Edit(start, "["), Edit(end, "]")))
