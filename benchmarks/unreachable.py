"""What pyright says inside of jit functions, without and with the stubs of `kernel-ls stubs`.

    python -m benchmarks.unreachable [NAME ...] --pyright PATH [--triton-python PATH] [--list]

`--pyright` is the executable of PyPI's `pyright`. Counted are the lines of jit functions that it takes for unreachable
(rule reportUnreachable), and its errors there.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, fetch, named


def jit_lines(path: Path) -> set[int]:
    """The 0-based lines of a file's jit functions."""
    found: set[int] = set()
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list):
            body = node.body[0].lineno - 1
            found.update(range(body, node.end_lineno or node.lineno))
    return found


def rest_of_block(path: Path, line: int) -> set[int]:
    """The 0-based lines from a statement on to the end of its block: pyright points to the first of them alone."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                for statement in block:
                    if statement.lineno - 1 <= line < (statement.end_lineno or 0) and not hasattr(statement, "body"):
                        return set(range(line, block[-1].end_lineno or line + 1))
                    if statement.lineno - 1 == line:
                        return set(range(line, block[-1].end_lineno or line + 1))
    return {line}


def diagnostics(pyright: str, code: Path, files: list[str], python: str, stubs: Path | None) -> list[dict[str, Any]]:
    """What pyright reports of some files of a folder."""
    config = {
        "include": files,
        "reportUnreachable": "warning",
        "typeCheckingMode": "basic",
        "stubPath": str(stubs) if stubs else "none",
    }
    (code / "pyrightconfig.json").write_text(json.dumps(config))
    command = [pyright, "--project", str(code), "--pythonpath", python, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True)
    report = json.loads(done.stdout)
    if report["summary"]["filesAnalyzed"] < len(files):
        raise SystemExit(f"pyright looked at {report['summary']['filesAnalyzed']} files of {len(files)}: {done.stderr}")
    found: list[dict[str, Any]] = report["generalDiagnostics"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pyright", default="pyright")
    parser.add_argument("--triton-python", default=sys.executable)
    parser.add_argument("--list", action="store_true", help="list what is unreachable with the stubs")
    arguments = parser.parse_args()
    print(
        "| code | lines in jit functions | unreachable before | after | errors there before | after |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kernel_ls", "stubs", f"{folder}/typings", "--python", arguments.triton_python]
        subprocess.run(command, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        for name in arguments.names or ["fla-core", "liger-kernel", "unsloth", "torchao", "examples"]:
            root = ROOT / "examples" if name == "examples" else fetch(named([name])[0])
            # Pyright looks into no folder whose name begins with a dot, and the corpora lie in one.
            code = Path(folder) / name
            shutil.copytree(root, code)
            files = [p for p in sorted(code.rglob("*.py")) if "triton" in p.read_text("utf-8", "replace")]
            lines = {str(f): inside for f in files if (inside := jit_lines(f))}
            relative = [str(Path(f).relative_to(code)) for f in lines]
            total = sum(map(len, lines.values()))
            row = [f"{name} ({len(lines)} files)", str(total)]
            counts: list[tuple[int, int]] = []
            for stubs in (None, Path(folder) / "typings"):
                said = diagnostics(arguments.pyright, code, relative, arguments.triton_python, stubs)
                unreachable: set[tuple[str, int]] = set()
                errors = 0
                for found in said:
                    inside = lines.get(found["file"], set())
                    first = found["range"]["start"]["line"]
                    if first not in inside:
                        continue
                    if found.get("rule") == "reportUnreachable":
                        block = rest_of_block(Path(found["file"]), first)
                        unreachable |= {(found["file"], n) for n in block & inside}
                    elif found["severity"] == "error":
                        errors += 1
                        if arguments.list and stubs is not None:
                            print(f"  {Path(found['file']).relative_to(code)}:{first + 1} {found['message'][:150]!r}")
                counts.append((len(unreachable), errors))
                if arguments.list and stubs is not None:
                    for file, line in sorted(unreachable)[:40]:
                        print(f"  {Path(file).relative_to(code)}:{line + 1} is unreachable")
            row += [f"{counts[0][0]} ({100 * counts[0][0] / max(1, total):.0f} %)", str(counts[1][0])]
            row += [str(counts[0][1]), str(counts[1][1])]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
