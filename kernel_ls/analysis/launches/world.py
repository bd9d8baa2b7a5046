"""One course through host code: what is decided where the code does not tell, and what follows from that.

A run makes a decision at each test that it cannot evaluate, once for each statement about the same values, so that everything
that it sees belongs to one possible execution. `following` gives the plans of further runs that decide otherwise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_ls.analysis.environment import Opaque, Ref

from .values import Host, Kind, Number, Predicate, Sizes, Symbol

Site = Hashable


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided at a place, of how many possibilities."""

    site: Site
    outcome: int
    count: int


@dataclass
class World:
    """The decisions of one run and their consequences.

    Whether optional values are given is decided for all of them at once: callers pass them, or leave them out, in groups
    that the code does not tell, and a mixture that no caller makes would be a wrong fact.

    Attributes:
        plan: outcomes of the first decisions.
        contrary: whether later decisions take what is the less likely.
        absent: whether what may be None is None.
    """

    plan: tuple[int, ...] = ()
    contrary: bool = False
    absent: bool = False
    trace: list[Decision] = field(default_factory=list)
    bound: dict[int, Any] = field(default_factory=dict)
    """What a value was decided to be, by its identity."""
    ranks: dict[int, int] = field(default_factory=dict)
    tensors: set[int] = field(default_factory=set)
    """Symbols that are used as tensors."""
    objects: set[int] = field(default_factory=set)
    """Symbols that are not None."""
    contiguous: set[int] = field(default_factory=set)
    """Tensors that are contiguous."""
    parameters: set[int] = field(default_factory=set)
    """Parameters of the function that is followed, while its own code runs and not that of what it calls."""
    optional: set[int] = field(default_factory=set)
    """Symbols that may be None, as far as a default or an annotation says."""
    optional_tensors: set[int] = field(default_factory=set)
    """Symbols that are tensors or None."""
    others: set[int] = field(default_factory=set)
    """Symbols that are used as something that is no tensor."""
    _ids: dict[Hashable, int] = field(default_factory=dict)
    _decided: dict[Hashable, bool] = field(default_factory=dict)
    _settled: dict[Hashable, Any] = field(default_factory=dict)
    _count: int = 0

    def identity(self, *key: Hashable) -> int:
        """The identity of a computation: the same number for the same key."""
        return self._ids.setdefault(key, len(self._ids))

    def fresh(self) -> int:
        """An identity that nothing else has."""
        self._count += 1
        return self.identity("fresh", self._count)

    def resolve(self, value: Any) -> Any:
        """A value, or what it was decided to be."""
        while isinstance(value, Host) and value.id in self.bound:
            known = self.bound[value.id]
            if isinstance(known, Host) and known.id == value.id:
                return known
            value = known
        return value

    def choose(self, site: Site, count: int, likely: int = 0) -> int:
        """Decide between `count` possibilities."""
        at = len(self.trace)
        if at < len(self.plan):
            outcome = min(self.plan[at], count - 1)
        elif self.contrary and count == 2 and not is_parameter(site):
            outcome = 1 - likely
        else:
            outcome = likely
        self.trace.append(Decision(site, outcome, count))
        return outcome

    def settled(self, key: tuple[Any, ...], values: Sequence[Any]) -> Any:
        """One of several values that a name may have; the same one wherever it is read."""
        if key not in self._settled:
            self._settled[key] = values[self.choose(key, len(values))]
        return self._settled[key]

    def known(self, predicate: Predicate) -> bool | None:
        """Whether a statement holds, if that was decided."""
        holds = self._decided.get(predicate.key)
        return None if holds is None else holds != predicate.negated

    def decide(self, predicate: Predicate, site: Site, want: bool | None = None) -> bool:
        """Whether a statement holds. `want` is what the whole predicate should be, as far as one may choose."""
        holds = self._decided.get(predicate.key)
        if holds is None:
            if want is None and self._is_about_absence(predicate):
                holds = self.absent == (predicate.relation == "none")
                self._decided[predicate.key] = holds
                self._follow(predicate, holds, site)
                return holds != predicate.negated
            likely = _likely(predicate) if want is None else want != predicate.negated
            if want is None and not (predicate.relation == "tensor" and self._is_derived(predicate.subject)):
                outcome = self.choose(site, 2, 0 if likely else 1)
            else:
                # No matter of taste: the other course only leads to an error, or to a tensor that may be none.
                outcome = self._asked(site, 0 if likely else 1)
            holds = outcome == 0
            self._decided[predicate.key] = holds
            self._follow(predicate, holds, site)
        return holds != predicate.negated

    def _is_about_absence(self, predicate: Predicate) -> bool:
        if predicate.relation == "true":
            return isinstance(predicate.subject, Symbol) and predicate.subject.id in self.optional
        return predicate.relation == "none"

    def _equate(self, first: Any, second: Any) -> None:
        for one, two in ((first, second), (second, first)):
            if isinstance(one, Sizes) and isinstance(two, tuple):
                self.ranks[one.rank_id] = len(two)
                return
            if isinstance(one, Host) and is_constant(two):
                self.bound[one.id] = two
                return
        if isinstance(first, Host) and isinstance(second, Host) and first.id != second.id:
            # Of a number and anything, what is known to be a number stays.
            if isinstance(first, Symbol) or type(first) is type(second):
                self.bound[first.id] = second
            elif isinstance(second, Symbol):
                self.bound[second.id] = first

    def settle_kind(self, value: Symbol, kind: Kind) -> None:
        """A symbol is a number of a kind; it stays the same value."""
        decided = self._decided.get(("true", ("#", value.id)))
        if kind == "bool" and decided is not None:
            self.bound[value.id] = decided
        else:
            self.bound[value.id] = Number(value.id, value.text, kind)

    def truth_of(self, value: Symbol) -> bool | None:
        """Whether a symbol was decided to be true, where nothing else was asked of it but whether it is None."""
        for key in self._decided:
            if key[0] in ("Eq", "Is", "In", "Gt", "is") and ("#", value.id) in key[1:]:  # type: ignore[index]
                return None
        return self._decided.get(("true", ("#", value.id)))

    def is_object(self, id_: int) -> None:
        """A symbol is not None."""
        self.objects.add(id_)
        if id_ in self.optional_tensors:
            self.tensors.add(id_)

    def _is_derived(self, value: Any) -> bool:
        return not isinstance(value, Host) or value.id not in self.parameters

    def _asked(self, site: Site, likely: int) -> int:
        at = len(self.trace)
        outcome = self.plan[at] if at < len(self.plan) else likely
        # One possibility only: no further run is made for the other.
        self.trace.append(Decision(site, min(outcome, 1), 1))
        return min(outcome, 1)

    def _follow(self, predicate: Predicate, holds: bool, site: Site) -> None:
        subject, other = predicate.subject, predicate.object
        relation = predicate.relation
        if relation == "none" and isinstance(subject, Symbol):
            if holds:
                self.bound[subject.id] = None
            else:
                self.is_object(subject.id)
        elif relation == "true" and isinstance(subject, Number) and subject.kind == "bool":
            self.bound[subject.id] = holds
        elif relation == "true" and isinstance(subject, Symbol):
            if holds:
                self.is_object(subject.id)
            elif subject.id in self.optional and subject.id not in self.objects:
                self.bound[subject.id] = None
        elif relation == "tensor" and isinstance(subject, Symbol):
            (self.tensors if holds else self.others).add(subject.id)
        elif relation == "equal" and holds:
            self._equate(self.resolve(subject), self.resolve(other))
        elif relation == "flag" and holds and predicate.key[1] == "is_contiguous":
            self.contiguous.add(predicate.key[2])
        elif relation == "in" and holds and isinstance(subject, Host):
            elements = list(other)
            if elements and all(is_constant(e) for e in elements):
                self.bound[subject.id] = elements[self.choose((site, "in"), len(elements))]


def _likely(predicate: Predicate) -> bool:
    """Whether a statement rather holds. What equals a number is a special case; what equals a dtype is known better."""
    if predicate.relation == "equal":
        return any(
            isinstance(v, (Opaque, Ref, Host, tuple)) for v in (predicate.subject, predicate.object)
        ) and not any(isinstance(v, (bool, int, float, str)) for v in (predicate.subject, predicate.object))
    return predicate.relation not in ("none", "tensor")


def is_constant(value: Any) -> bool:
    """Whether a value is the same at every launch."""
    if isinstance(value, (tuple, list)):
        return all(is_constant(v) for v in value)
    return value is None or isinstance(value, (bool, int, float, str, Opaque, Ref))


def is_parameter(site: Site) -> bool:
    """Whether a decision is whether a parameter has its default."""
    return isinstance(site, tuple) and site[:1] == ("parameter",)


def following(world: World, tried: set[tuple[Site, int]]) -> Iterable[tuple[int, ...]]:
    """Plans of further runs: each decides one thing otherwise that no run has decided so before."""
    outcomes = [d.outcome for d in world.trace]
    for decision in world.trace:
        tried.add((decision.site, decision.outcome))
    for at in range(len(world.plan), len(world.trace)):
        decision = world.trace[at]
        for other in range(decision.count):
            if world.absent and is_parameter(decision.site):
                continue
            if decision.count > 1 and (decision.site, other) not in tried:
                tried.add((decision.site, other))
                yield (*outcomes[:at], other)
