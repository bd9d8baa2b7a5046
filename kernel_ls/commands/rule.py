"""`kernel-ls rule`: the manual pages of finding codes."""

from __future__ import annotations

import argparse
import difflib
import json
import sys

from kernel_ls.analysis import rules
from kernel_ls.analysis.rules import manual
from kernel_ls.errors import UsageError
from kernel_ls.report import url


def run(arguments: argparse.Namespace) -> int:
    """Print the pages; the exit status.

    Raises:
        UsageError: there is no such code.
    """
    registry = rules.registry()
    if arguments.code is not None and arguments.code not in registry:
        near = difflib.get_close_matches(arguments.code, registry, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`kernel-ls rule --all` lists them"
        raise UsageError(f"there is no finding code {arguments.code!r}", hint)
    codes = sorted(registry) if arguments.all else [arguments.code]
    if arguments.format == "json":
        pages = [
            {
                "code": code,
                "summary": registry[code].summary,
                "severity": registry[code].severity.value,
                "text": manual.markdown(registry[code]),
                "url": url(code),
            }
            for code in codes
        ]
        sys.stdout.write(json.dumps(pages if arguments.all else pages[0], indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(manual.markdown(registry[code]) for code in codes))
    return 0
