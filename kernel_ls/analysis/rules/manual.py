"""The manual page of a rule, read from the docstring of its class.

A docstring has a sentence, then six headings in a fixed order, each with an indented text. What stands under `Example` is
code; what stands under `Instead` is code where Python can read it, else a sentence.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernel_ls.analysis.rules.base import Rule

HEADINGS = (
    "What it finds",
    "Why it is a fault",
    "Example",
    "Instead",
    "Triton versions",
    "Fix and its safety",
)

PAGES = "docs/rules/"
"""Where the pages lie, below `HOST`."""

HOST = ""
"""The address under which the repository's files can be read, with a final `/`; without one, links are relative to it."""


class ManualError(ValueError):
    """A rule's docstring is not written as manual pages are."""


@dataclass(frozen=True, slots=True)
class Page:
    """A rule's manual: its first sentence, and the text under each heading."""

    code: str
    title: str
    sections: dict[str, str]

    @property
    def example(self) -> str:
        """What the rule finds, as code."""
        return self.sections["Example"]

    @property
    def instead(self) -> str:
        """What to write in its place, as code; empty where it is a sentence."""
        return self.sections["Instead"] if is_code(self.sections["Instead"]) else ""


def url(code: str) -> str:
    """The address of a finding code's page, relative to the repository unless there is a `HOST`."""
    return f"{HOST}{PAGES}{code}.md"


@lru_cache(maxsize=256)
def absolute_url(code: str) -> str:
    """The address of a code's page for those who need it in full; empty where there is none.

    Without a `HOST` that is the page's file, where the package lies in its repository.
    """
    if HOST:
        return url(code)
    file = Path(__file__).resolve().parents[3] / PAGES / f"{code}.md"
    return file.as_uri() if file.is_file() else ""


def page(rule: Rule) -> Page:
    """Read a rule's docstring.

    Raises:
        ManualError: a heading is missing, unknown or out of order.
    """
    title, *blocks = re.split(r"^(\S[^\n]*):$\n", inspect.cleandoc(type(rule).__doc__ or ""), flags=re.MULTILINE)
    headings, texts = tuple(blocks[::2]), blocks[1::2]
    if headings != HEADINGS:
        raise ManualError(
            f"{rule.code}: the headings are {', '.join(headings) or 'missing'}; not {', '.join(HEADINGS)}"
        )
    sections = {h: textwrap.dedent(t).strip("\n") for h, t in zip(headings, texts, strict=True)}
    empty = [h for h, t in sections.items() if not t.strip()]
    if empty or not title.strip():
        raise ManualError(f"{rule.code}: nothing is said under {', '.join(empty) or 'its title'}")
    return Page(rule.code, " ".join(title.split()), sections)


def markdown(rule: Rule) -> str:
    """A rule's page, as `kernel-ls rule` prints it and docs/rules holds it."""
    read = page(rule)
    lines = [f"# {rule.code}", "", f"*{rule.severity.value}:* {rule.summary}", "", read.title]
    for heading, text in read.sections.items():
        lines += ["", f"## {heading}", ""]
        if heading in ("Example", "Instead") and is_code(text, heading == "Example"):
            lines += ["```python", text, "```"]
        else:
            lines.append(text)
    return "\n".join(lines) + "\n"


def index(rules: Iterable[Rule]) -> str:
    """The list of all pages, by severity."""
    lines = ["# Finding codes", ""]
    lines.append("Generated from the rules; `kernel-ls rule CODE` prints a page. Its severity is a code's usual one.")
    by_severity: dict[str, list[Rule]] = {}
    for rule in rules:
        by_severity.setdefault(rule.severity.value, []).append(rule)
    for severity in ("error", "warning", "info"):
        lines += ["", f"## {severity.capitalize()}", "", "| code | finds |", "| --- | --- |"]
        # A bar would end the cell, in code too.
        rows = [(r.code, r.summary.replace("|", "\\|")) for r in by_severity.get(severity, [])]
        lines += [f"| [{code}]({code}.md) | {summary} |" for code, summary in sorted(rows)]
    return "\n".join(lines) + "\n"


def is_code(text: str, wanted: bool = False) -> bool:
    """Whether a text is code rather than a sentence. `wanted` tells that it should be, though Python may not read it."""
    try:
        return bool(ast.parse(text).body)
    except SyntaxError:
        # A code that is about broken text shows broken text; a sentence has a full stop.
        return wanted and not text.rstrip().endswith(".")
