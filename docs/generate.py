"""Writes what is generated from code: docs/settings.md, docs/rules/, and the settings in the VS Code extension's package.json.

    python docs/generate.py [--check]

With `--check` nothing is written; the exit status is 1 if something is out of date, or a page in docs/rules is of no rule.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What is generated comes from this work tree, whatever is installed.
sys.path.insert(0, str(ROOT))

from kernel_ls import settings  # noqa: E402
from kernel_ls.analysis import rules  # noqa: E402
from kernel_ls.analysis.rules import manual  # noqa: E402

PACKAGE = ROOT / "editors" / "vscode" / "package.json"
PAGES = ROOT / manual.PAGES


def generated() -> dict[Path, str]:
    """The text that each generated file should have."""
    registry = rules.registry()
    pages = {PAGES / f"{code}.md": manual.markdown(rule) for code, rule in registry.items()}
    return {
        ROOT / "docs" / "settings.md": settings.markdown(),
        PACKAGE: package_json(PACKAGE.read_text("utf-8")),
        PAGES / "README.md": manual.index(registry.values()),
        **pages,
    }


def package_json(present: str) -> str:
    """The extension's package.json with the server's settings; the editor's own (its command) are kept as they stand."""
    package = json.loads(present)
    ours = settings.client_properties()
    properties = package["contributes"]["configuration"]["properties"]
    kept = {name: value for name, value in properties.items() if name in EDITOR_SETTINGS}
    combined = {**kept, **ours}
    if properties == combined:
        return present
    package["contributes"]["configuration"]["properties"] = combined
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


EDITOR_SETTINGS = frozenset({"kernelLs.serverCommand"})
"""Settings of the extension itself, which the server does not know."""


def main() -> int:
    """Write or compare; the exit status."""
    check = "--check" in sys.argv[1:]
    texts = generated()
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]
    left = [path for path in sorted(PAGES.glob("*.md")) if path not in texts]
    for path in [*stale, *left]:
        name = path.relative_to(ROOT)
        if check:
            sys.stderr.write(f"{name} is out of date; run scripts/docs\n")
        elif path in texts:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], "utf-8")
            sys.stderr.write(f"wrote {name}\n")
        else:
            path.unlink()
            sys.stderr.write(f"removed {name}\n")
    return 1 if check and (stale or left) else 0


if __name__ == "__main__":
    sys.exit(main())
