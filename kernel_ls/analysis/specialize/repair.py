"""Other guesses, where the generator rejected the first: a bounded search over guessed facts alone, led by the faults."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_ls.model import Argument, EvidenceKind, Fault, Specialization, UnitSpan

from . import heuristics
from .assemble import descriptor, element_of
from .guesses import NONE, POINTEES, Candidate
from .plan import Plan
from .settings import Fact
from .usage import Usage, Use

_FIRST = 3
"""Other values of one parameter that are tried before changes of several parameters at once."""

# What is wrong whatever the arguments are: no other guess makes it right, and one that avoids the place hides it.
_OF_THE_TEXT = frozenset({"UnsupportedLanguageConstruct", "IgnoredFilter", "LoopVariableAfterLoop", "OpaqueUse"})
_IN_THE_TEXT = re.compile(
    r"unexpected keyword argument|missing \d+ required|positional arguments? but|multiple values for argument|"
    r"missing a required argument|too many positional arguments|"
    r"'(?:MatMult|In|NotIn)' object has no attribute '__name__'|operator '\w+' is not \(currently\) implemented(?! on)|"
    r"module '?[\w.]+'? has no attribute|simultaneous multiple comparison|only tuple comprehensions"
)

_POINTER_ALONE = re.compile(r"Unsupported ptr type|Pointer argument of|to be a pointer type")

_COMPOUND = frozenset({"For", "While", "If", "With", "FunctionDef", "Module"})


def hangs_on_guess(fault: Fault, specialization: Specialization, usage: Usage) -> tuple[str, ...]:
    """Names of guessed parameters that a fault depends on: by the types, shapes and constants of what takes part in it."""
    guessed = specialization.assumed
    if not guessed:
        return ()
    event = str(fault.facts.get("event") or "")
    # A function that calls itself is a KeyError of Triton's.
    if (
        event in ("global", "call")
        or fault.exception in (*_OF_THE_TEXT, "KeyError", "RecursionError")
        or _IN_THE_TEXT.search(fault.text)
    ):
        return ()
    if event == "setup" or (event in ("verify", "budget") and not _spans(fault)):
        return guessed
    params = usage.hangs_on(_spans(fault))
    return tuple(n for n in guessed if n in params)


def _spans(fault: Fault) -> list[UnitSpan]:
    """The places whose types, shapes and constants take part in a fault."""
    facts = fault.facts
    event = str(facts.get("event") or "")
    found: list[UnitSpan] = []
    if event == "name":
        # A name that is unbound is so whatever the types are; only the tests above its assignment matter.
        return _listed(facts.get("bound_under"))
    for key in ("initial_span", "then_span", "else_span"):
        found += _listed([facts.get(key)])
    found += _listed(facts.get("assign_spans")) + _listed(facts.get("spans"))
    operands = [o for o in facts.get("operands") or () if isinstance(o, Mapping)]
    if _POINTER_ALONE.search(fault.text):
        # The masks and values of the access have no part in it.
        addresses = [o for o in operands if o.get("role") in ("pointer", "ptr", "base", "arg0")]
        if addresses:
            return [s for o in addresses for s in _listed([o.get("span")])]
    for operand in operands:
        found += _listed([operand.get("span")])
        origin = operand.get("origin")
        if isinstance(origin, Mapping):
            found += _listed([origin.get("span")])
    if fault.node not in _COMPOUND:
        found.append(fault.span)
    elif not found:
        found.append(replace(fault.span, end_line=fault.span.line, end_column=1 << 20))
    return found


def _listed(spans: object) -> list[UnitSpan]:
    if not isinstance(spans, (list, tuple)):
        return []
    return [
        UnitSpan(str(s[0]), int(s[1]), int(s[2]), int(s[3]), int(s[4]))
        for s in spans
        if isinstance(s, (list, tuple)) and len(s) == 5
    ]


def repair(
    plan: Plan, specialization: Specialization, faults: Sequence[Fault], tried: Collection[str]
) -> Specialization | None:
    """The next specialization worth a try, or None where every guess that the faults hang on has been tried.

    Args:
        plan: the kernel's plan.
        specialization: the best attempt so far.
        faults: what the generator said of that attempt.
        tried: keys (`Specialization.key`) of what was compiled already.
    """
    for changes in _moves(plan, specialization, faults):
        changed = apply(plan, specialization, changes)
        if changed.key not in tried:
            return changed
    return None


def apply(plan: Plan, specialization: Specialization, changes: Mapping[str, Candidate]) -> Specialization:
    """A specialization with other guesses. What is no guess stays."""
    arguments = []
    for argument in specialization.arguments:
        candidate = changes.get(argument.name)
        if candidate is None or not argument.guessed:
            arguments.append(argument)
            continue
        evidence = replace(plan.kernel.evidence(candidate), kind=EvidenceKind.REPAIR)
        if candidate.dims is not None:
            held = {a.name: Fact(a.type, a.evidence, a.value) for a in specialization.arguments}
            arguments.append(Argument(argument.name, descriptor(candidate, held), evidence))
            continue
        pointer = isinstance(candidate.type, str) and candidate.type.startswith("*")
        arguments.append(Argument(argument.name, candidate.type, evidence, candidate.value, pointer))
    return replace(specialization, arguments=_computed(plan, arguments, changes))


@dataclass(frozen=True, slots=True)
class Learned:
    """A guessed argument of a specialization that compiles: as it was planned, and as it is after all repairs."""

    planned: Argument
    compiled: Argument


def learned(planned: Specialization, compiled: Specialization) -> Mapping[str, Learned]:
    """What a trial taught, by parameter."""
    first = {a.name: a for a in planned.arguments}
    return {a.name: Learned(first.get(a.name, a), a) for a in compiled.arguments if a.guessed}


def carry(plan: Plan, taught: Mapping[str, Learned], planned: Specialization) -> Specialization:
    """A planned specialization with its guesses replaced by those that were seen to compile.

    Flags and what is None stay: they are what makes this specialization another one. A number that was planned for the
    other as well is replaced by the one that the other compiled with.
    """
    changed: list[Argument] = []
    numbers = set()
    for argument in planned.arguments:
        lesson = taught.get(argument.name) if argument.guessed else None
        if lesson is not None and "constexpr" not in (argument.type, lesson.compiled.type):
            argument = lesson.compiled
        elif lesson is not None and _numbers(lesson) and _value(argument) == _value(lesson.planned):
            numbers.add(argument.name)
            argument = lesson.compiled
        changed.append(argument)
    return replace(planned, arguments=_computed(plan, changed, numbers))


def _value(argument: Argument) -> object:
    return argument.value.get("v") if isinstance(argument.value, dict) else None


def _numbers(lesson: Learned) -> bool:
    values = (_value(lesson.planned), _value(lesson.compiled))
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _computed(plan: Plan, arguments: Sequence[Argument], changes: Collection[str]) -> tuple[Argument, ...]:
    """The arguments with what heuristics compute of them computed again."""
    kernel = plan.kernel
    if not kernel.layers or not changes:
        return tuple(arguments)
    held = {
        a.name: Fact(a.type, a.evidence, a.value) for a in arguments if a.evidence.kind is not EvidenceKind.HEURISTIC
    }
    again = heuristics.compute(kernel.layers, held, kernel.workspace)
    return tuple(
        replace(a, value=again[a.name].value) if a.evidence.kind is EvidenceKind.HEURISTIC and a.name in again else a
        for a in arguments
    )


def _moves(plan: Plan, specialization: Specialization, faults: Sequence[Fault]) -> Iterator[dict[str, Candidate]]:
    """Changes of guesses in the order of their promise."""
    counted: Counter[str] = Counter()
    for fault in faults:
        for name in hangs_on_guess(fault, specialization, plan.usage):
            counted[name] += 1
    held = {a.name: a for a in specialization.arguments}
    relevant = sorted(counted, key=lambda n: (-counted[n], list(held).index(n)))
    if not relevant:
        return
    others = {name: _others(plan, held[name]) for name in relevant}
    yield from _instead_of_none(held, others, faults)
    yield from _fitting(held, relevant, faults)
    yield from ({name: candidate} for name in relevant for candidate in others[name][:1])
    yield from _together(specialization, relevant)
    for index in range(1, _FIRST):
        for name in relevant:
            if index < len(others[name]):
                yield {name: others[name][index]}
    for first in relevant[:4]:
        for second in relevant[:4]:
            if first < second and others[first] and others[second]:
                yield {first: others[first][0], second: others[second][0]}
    for name in relevant:
        yield from ({name: candidate} for candidate in others[name][_FIRST:])


_OF_NONE = re.compile(r"\bNoneType\b")


def _instead_of_none(
    held: Mapping[str, Argument], others: Mapping[str, Sequence[Candidate]], faults: Sequence[Fault]
) -> Iterator[dict[str, Candidate]]:
    """What fails because something is None fails because of an argument that is."""
    if not any(_OF_NONE.search(fault.text) for fault in faults):
        return
    absent = [name for name in others if _is_none(held[name])]
    for index in range(_FIRST):
        yield from ({name: others[name][index]} for name in absent if index < len(others[name]))


def _is_none(argument: Argument) -> bool:
    return argument.type == "constexpr" and argument.value == NONE.value


_TOTAL = re.compile(r"cannot change total number|total elements mismatch")
_BLOCK = re.compile(r"^tensor<((?:\d+x)+)")


def _fitting(
    held: Mapping[str, Argument], relevant: Sequence[str], faults: Sequence[Fault]
) -> Iterator[dict[str, Candidate]]:
    """A block that is given a shape with another number of elements: one guessed size more or less makes them equal."""
    for fault in faults:
        if not _TOTAL.search(fault.text):
            continue
        operands = [o for o in fault.facts.get("operands") or () if isinstance(o, Mapping)]
        blocks = [m for o in operands if (m := _BLOCK.match(str(o.get("type") or "")))]
        shapes = [
            re.findall(r"\d+", str(o.get("value") or "")) for o in operands if str(o.get("value") or "")[:1] in "(["
        ]
        sizes = [int(n) for n in (shapes[0] if shapes else ())]
        if not blocks or not sizes:
            continue
        has, wants = math.prod(int(n) for n in blocks[0].group(1).split("x") if n), math.prod(sizes)
        for name in relevant:
            value = _value(held[name])
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0 or not has or not wants:
                continue
            for up, down in ((has, wants), (wants, has)):
                fit, rest = divmod(value * up, down)
                if not rest and fit > 0 and fit != value:
                    fitted = Candidate("constexpr", {"k": "lit", "v": fit}, detail="so that shapes go together")
                    yield {name: fitted}


def _others(plan: Plan, argument: Argument) -> tuple[Candidate, ...]:
    """The other candidates of a guessed argument."""
    domain = plan.kernel.domains.get(argument.name, ())
    now = (str(argument.type), repr(argument.value))
    if _is_none(argument):
        # What may be None instead of a tensor may be a number instead: the likeliest of each first, then the rest.
        pointers = [c for c in domain if isinstance(c.type, str) and c.type.startswith("*")]
        numbers = [c for c in domain if c not in pointers]
        first, second = numbers, pointers
        if Use.ADDRESS in plan.usage.uses(argument.name):
            first, second = pointers, numbers
        domain = (*first[:1], *second[:1], *first[1:], *second[1:])
    return tuple(c for c in domain if (str(c.type), repr(c.value)) != now)


def _together(specialization: Specialization, relevant: Sequence[str]) -> Iterator[dict[str, Candidate]]:
    """Changes of one kind for all parameters of a sort: one element type for all, one size for all."""
    pointers = [a for a in specialization.arguments if a.guessed and element_of(a.type) in POINTEES["float"]]
    if any(a.name in relevant for a in pointers):
        for element in (*POINTEES["float"][:3], "i8"):
            yield {
                a.name: Candidate(f"*{element}", detail="one element type for all")
                for a in pointers
                if isinstance(a.type, str) and a.type.startswith("*")
            }
    integers = [a for a in specialization.arguments if a.guessed and element_of(a.type) in ("i32", "i64")]
    if any(a.name in relevant for a in integers):
        for element in ("i64", "i32"):
            yield {a.name: Candidate(f"*{element}", detail="one element type for all") for a in integers}
    sizes = [a for a in specialization.arguments if a.guessed and a.type == "constexpr" and _is_size(a)]
    if any(a.name in relevant for a in sizes):
        for size in (64, 16, 128):
            yield {
                a.name: Candidate("constexpr", {"k": "lit", "v": size}, detail="one size for all blocks") for a in sizes
            }


def _is_size(argument: Argument) -> bool:
    value = _value(argument)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 8
