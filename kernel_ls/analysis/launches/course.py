"""The values of one course through host code, and its decisions: the part of the domain that operations stand on."""

from __future__ import annotations

from typing import Any

from kernel_ls.analysis.environment import EnvironmentDomain, InstanceValue, Workspace
from kernel_ls.pyeval import Unknown

from .arithmetic import key_of, statement
from .values import Context, Descriptor, Host, HostMethod, Launcher, Number, Predicate, Sizes, Symbol, Tensor
from .world import World


class CourseDomain(EnvironmentDomain):
    """Values of one course through host code. Every test has an answer: the world decides where the code does not tell."""

    def __init__(self, workspace: Workspace, world: World) -> None:
        super().__init__(workspace)
        self.world = world
        self.here: Any = None
        """The place of the expression that was evaluated last."""
        self.want: bool | None = None
        """What the test that is being evaluated should give for the code to go on."""
        self.depth = 0
        self._thawed: dict[int, tuple[Any, Any]] = {}
        self._lifted: dict[int, tuple[Any, Symbol]] = {}

    # ---------------------------------------------------------------------------------------------- values

    def lift(self, value: Any, text: str = "") -> Any:
        """A value as host code has it: what cannot be known is a symbol."""
        if not isinstance(value, Unknown):
            return value
        held = self._lifted.get(id(value))
        if held is None:
            held = self._lifted[id(value)] = (value, Symbol(self.world.fresh(), text or value.name))
        return held[1]

    def symbol(self, text: str, *key: Any) -> Symbol:
        """A symbol; the same one for the same key."""
        return Symbol(self.world.identity(*key) if key else self.world.fresh(), text)

    def flag(self, key: tuple[Any, ...], text: str) -> Any:
        """A bool of which nothing is known but what it is asked of."""
        return statement(self, Predicate(("flag", *key), False, "flag"), text)

    def as_tensor(self, value: Any, mark: bool = False) -> Tensor | None:
        """A value as a tensor, if it is one; `mark` says that it is used as one."""
        value = self.world.resolve(value)
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Symbol):
            if mark and value.id not in self.world.others:
                self.world.tensors.add(value.id)
                self.world.objects.add(value.id)
            if value.id in self.world.tensors:
                dtype = Symbol(self.world.identity("dtype", value.id), f"{value.text}.dtype")
                return Tensor(value.id, value.text, self.world.resolve(dtype))
        return None

    def rank(self, sizes: Sizes) -> int | None:
        """How many elements sizes have, if that is known."""
        known = self.world.ranks.get(sizes.rank_id)
        if known is None:
            bound = self.world.bound.get(self.world.identity("rank", sizes.rank_id))
            known = bound if type(bound) is int and 0 <= bound <= 16 else None
        return known

    def thaw(self, value: Any) -> Any:
        """A copy of what a module holds, so that host code which changes it changes nothing for others."""
        if type(value) in (list, dict, set) or (isinstance(value, InstanceValue) and not value.member):
            held = self._thawed.get(id(value))
            if held is None:
                held = self._thawed[id(value)] = (value, _copied(value))
                self._thawed[id(held[1])] = (held[1], held[1])
            return held[1]
        return value

    # ---------------------------------------------------------------------------------------------- decisions

    def truth(self, value: Any) -> bool | None:
        value = self.world.resolve(value)
        known = self.known_truth(value)
        if known is not None:
            return known
        if isinstance(value, Unknown):
            value = self.lift(value)
        if isinstance(value, Number) and value.predicate is not None:
            return self.world.decide(value.predicate, self.site(), self.want)
        subject = value if isinstance(value, Host) else None
        predicate = Predicate(("true", key_of(value)), False, "true", subject)
        return self.world.decide(predicate, self.site(), self.want)

    def known_truth(self, value: Any) -> bool | None:
        """Whether a value is true, if no decision is needed."""
        value = self.world.resolve(value)
        if isinstance(value, Number):
            return None if value.predicate is None else self.world.known(value.predicate)
        if isinstance(value, (Descriptor, Context, Launcher, HostMethod)):
            return True
        if isinstance(value, Host):
            return None
        if isinstance(value, Unknown):
            return None
        return super().truth(value)

    def site(self) -> Any:
        """The place of a decision."""
        node = self.here
        return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0), self.depth)


def _copied(value: Any, depth: int = 3) -> Any:
    if depth == 0:
        return value
    if type(value) is list:
        return [_copied(v, depth - 1) for v in value]
    if type(value) is dict:
        return {k: _copied(v, depth - 1) for k, v in value.items()}
    if type(value) is set:
        return set(value)
    if isinstance(value, InstanceValue) and not value.member:
        return InstanceValue(value.cls, {k: _copied(v, depth - 1) for k, v in value.fields.items()})
    return value
