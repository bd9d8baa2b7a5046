from __future__ import annotations

from collections.abc import Sequence

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Severity, UnitSpan


class AssumedSpecialization(Rule):
    """A kernel was checked under guesses alone.

    What it finds:
        A kernel of which no launch, pin, annotation or default tells what its arguments are, and for which no guess
        was found under which it compiles.

    Why it is a fault:
        It is none: the guesses may be wrong rather than the kernel.

    Example:
        @triton.jit
        def kernel(a, b, c): ...       # launched from nowhere

    Instead:
        # kernel-ls: spec a=*fp16 b=*fp16 c=i32
        @triton.jit
        def kernel(a, b, c): ...

    Triton versions:
        All.

    Fix and its safety:
        None.
    """

    code = "assumed-specialization"
    summary = "a kernel was checked under guesses alone"
    severity = Severity.INFO
    priority = 95

    def about(self, names: Sequence[str], context: RuleContext) -> Match:
        """The finding for a kernel whose arguments `names` had to be guessed, at the kernel's name."""
        tree = context.tree(context.program.kernel)
        function = tree.function
        place = UnitSpan(context.program.kernel, 1, 0, 1, 0)
        if function is not None:
            line = tree.lines[function.lineno - 1]
            start = line.find(function.name.encode(), function.col_offset)
            place = UnitSpan(tree.unit, function.lineno, start, function.lineno, start + len(function.name.encode()))
        listed = ", ".join(f"`{n}`" for n in names)
        return Match(
            place,
            f"What {listed} {'is' if len(names) == 1 else 'are'} was guessed, and no guess compiles. "
            f"Pin the types with `# kernel-ls: spec` above the kernel.",
        )
