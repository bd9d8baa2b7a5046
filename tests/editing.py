"""Random edits of a kernel's file, as people make them: typing, deleting, pasting, moving, renaming, taking back."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

SNIPPETS = (
    *(
        "    x = x + 1.0\n",
        "    offs = tl.arange(0, BLOCK)\n",
        "    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n",
    ),
    *("    tl.store(x_ptr + offs, x, mask=offs < n)\n", "    for i in range(0, n, BLOCK):\n        x += i\n"),
    *("    if BLOCK > 32:\n        y = x\n    else:\n        y = 0\n", "    x = tl.zeros([BLOCK], dtype=tl.float32)\n"),
    *("    acc = tl.dot(a, b, acc)\n", "    return x\n", "    tl.static_print(x)\n", "    x = tl.sum(x, axis=0)\n"),
    *(
        "    while x > 0:\n        x -= 1\n",
        "SCALE = 0.5\n",
        "import math\n",
        "    é = '漢😀'\n",
        "\t\tx\n",
        "\r\n",
        "\f\n",
    ),
    "\n\n@triton.jit\ndef added(x_ptr, n, BLOCK: tl.constexpr):\n    o = tl.arange(0, BLOCK)\n    tl.store(x_ptr + o, o + nothing)\n",
    "# kernel-ls: spec x_ptr=*fp16 n=i32 BLOCK=64\n",
)
"""What is typed and pasted: right, wrong, and not Python at all."""

HALVES = (
    "tl.load(",
    "for i in ",
    '"""',
    "x = [1, 2",
    "def f(",
    "if ",
    "@",
    "x.",
    "tl.",
    "\\",
    "'",
    "lambda x: ",
    "    else:\n",
)
"""What stands in a file while someone types."""

TOKENS = (
    *("x", "BLOCK", "0", "1.5", "tl.float16", "+", "*", "==", "and", "not", "None", "True", "[", ")", ":", ",", "**2"),
    *("tl.constexpr", "n", "-1", "[:, None]", ".to(tl.int32)", "1 << 40", "'s'", "x_ptr", "nothing"),
)


@dataclass(frozen=True)
class Change:
    """A replacement of `text[start:end]`, in code points."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """The text after it."""
        return text[: self.start] + self.text + text[self.end :]


@dataclass
class Typist:
    """Makes edits of one document. Each is a list of changes, applied one after the other.

    `original` is where the text goes back to at times, so that it does not end as noise.
    """

    original: str
    random: random.Random
    text: str = ""
    history: list[str] = field(default_factory=list)
    _typing: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        self.text = self.original

    def edit(self) -> list[Change]:
        """The next edit, which `text` has by then."""
        if self._typing is not None:
            changes = self._type()
        else:
            ways = (
                *((self._begin_typing, 30), (self._delete, 10), (self._paste, 8), (self._delete_lines, 5)),
                *((self._replace_token, 14), (self._half, 5), (self._move, 5), (self._rename, 4), (self._undo, 14)),
                (self._back, 5),
            )
            way = self.random.choices([w for w, _ in ways], [n for _, n in ways])[0]
            changes = way()
        before = self.text
        for index, change in enumerate(changes):
            start, end = self._off_line_ends(change.start), self._off_line_ends(change.end)
            changes[index] = Change(start, max(start, end), change.text)
            self.text = changes[index].apply(self.text)
        if self.text != before:
            self.history.append(before)
            del self.history[:-30]
        return changes

    def _off_line_ends(self, place: int) -> int:
        """Between CR and LF the protocol has no position: such a place is before both."""
        return place - 1 if self.text[max(0, place - 1) : place + 1] == "\r\n" else place

    def _place(self) -> int:
        """Somewhere in the text, more often inside of a function."""
        bodies = [m.start() for m in re.finditer(r"^    ", self.text, re.MULTILINE)]
        if bodies and self.random.random() < 0.8:
            return min(len(self.text), self.random.choice(bodies) + self.random.randrange(40))
        return self.random.randrange(len(self.text) + 1)

    def _line(self) -> int:
        """The beginning of some line."""
        return self.text.rfind("\n", 0, self._place()) + 1

    def _begin_typing(self) -> list[Change]:
        self._typing = (self._line(), self.random.choice(SNIPPETS))
        return self._type()

    def _type(self) -> list[Change]:
        assert self._typing is not None
        place, rest = self._typing
        place = min(place, len(self.text))
        count = self.random.choice((1, 1, 1, 2, 3, 8))
        typed, rest = rest[:count], rest[count:]
        # Some never finish their line.
        self._typing = (place + len(typed), rest) if rest and self.random.random() < 0.97 else None
        return [Change(place, place, typed)]

    def _delete(self) -> list[Change]:
        start = self._place()
        return [Change(start, min(len(self.text), start + self.random.choice((1, 1, 2, 5, 30))), "")]

    def _delete_lines(self) -> list[Change]:
        start = end = self._line()
        for _ in range(self.random.choice((1, 1, 2, 4))):
            end = self.text.find("\n", end) + 1 or len(self.text)
        return [Change(start, end, "")]

    def _paste(self) -> list[Change]:
        place = self._line()
        lines = self.original.splitlines(keepends=True) or [""]
        first = self.random.randrange(len(lines))
        pasted = "".join(lines[first : first + self.random.randrange(1, 8)])
        return [Change(place, place, self.random.choice((pasted, self.random.choice(SNIPPETS))))]

    def _replace_token(self) -> list[Change]:
        place = self._place()
        match = re.compile(r"[A-Za-z_]\w*|\d+|[^\s\w]").search(self.text, place)
        return [Change(*match.span(), self.random.choice(TOKENS))] if match else []

    def _half(self) -> list[Change]:
        place = self._place()
        return [Change(place, place, self.random.choice(HALVES))]

    def _move(self) -> list[Change]:
        starts = [m.start() for m in re.finditer(r"^@", self.text, re.MULTILINE)] or [0]
        start = self.random.choice(starts)
        end = min((s for s in (*starts, len(self.text)) if s > start), default=len(self.text))
        moved = self.text[start:end]
        target = self.random.choice([0, *starts, len(self.text)])
        target = target if target <= start else max(start, target - len(moved))
        return [Change(start, end, ""), Change(target, target, moved)]

    def _rename(self) -> list[Change]:
        names = re.findall(r"\bdef (\w+)|\b(\w+) = ", self.text)
        flat = [a or b for a, b in names]
        if not flat:
            return []
        old = self.random.choice(flat)
        new = self.random.choice((f"{old}_renamed", old.removesuffix("_renamed"), "x"))
        # From the end, so that earlier places stay where they are.
        return [Change(*m.span(), new) for m in reversed(list(re.finditer(rf"\b{re.escape(old)}\b", self.text)))][:40]

    def _undo(self) -> list[Change]:
        return self.to(self.history.pop()) if self.history else []

    def _back(self) -> list[Change]:
        return self.to(self.original)

    def to(self, text: str) -> list[Change]:
        """The change that makes another text of this one: what lies between what they have in common."""
        self._typing = None
        old = self.text
        start = 0
        while start < min(len(old), len(text)) and old[start] == text[start]:
            start += 1
        back = 0
        while back < min(len(old), len(text)) - start and old[-1 - back] == text[-1 - back]:
            back += 1
        return [Change(start, len(old) - back, text[start : len(text) - back])]


def lsp_changes(text: str, changes: Sequence[Change]) -> list[dict[str, object]]:
    """Changes as `contentChanges` of a notification, positions in UTF-16 units."""
    found: list[dict[str, object]] = []
    for change in changes:
        span = {"start": _position(text, change.start), "end": _position(text, change.end)}
        found.append({"range": span, "text": change.text})
        text = change.apply(text)
    return found


def _position(text: str, offset: int) -> dict[str, int]:
    before = text[:offset]
    ends = list(re.finditer(r"\r\n|\r|\n", before))
    start = ends[-1].end() if ends else 0
    return {"line": len(ends), "character": len(before[start:].encode("utf-16-le")) // 2}
