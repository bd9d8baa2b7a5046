"""Checks libraries that ship working kernels, with no configuration, and prints a row a library.

    python -m benchmarks.real_kernels [NAME ...] [--triton-python PATH] [--report FOLDER]

Every error or warning counted here is a false alarm until shown otherwise. `clean` counts kernels with neither;
`unknown` are kernels that could not be checked because of a name that no static evaluation can know.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, fetch, named


def check(folder: Path, python: str) -> tuple[dict[str, Any], float, str]:
    """The JSON report of one folder, the seconds it took, and what was said on stderr."""
    command = [sys.executable, "-m", "kernel_ls", "check", str(folder), "--output-format", "json", "--python", python]
    started = time.monotonic()
    done = subprocess.run([*command, "--no-cache", "--exit-zero"], capture_output=True, text=True, cwd=ROOT)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise SystemExit(f"kernel-ls check {folder.name} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout), seconds, done.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--triton-python", default=sys.executable, help="the interpreter whose Triton checks")
    parser.add_argument("--report", type=Path, help="keep each library's JSON report in this folder")
    arguments = parser.parse_args()
    print(
        "| library | kernels | clean | share | unknown | crashed | timeout | with false findings, by code | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for corpus in named(arguments.names):
        report, seconds, _ = check(fetch(corpus), arguments.triton_python)
        if arguments.report:
            arguments.report.mkdir(parents=True, exist_ok=True)
            (arguments.report / f"{corpus.name}.json").write_text(json.dumps(report, indent=1))
        status = collections.Counter(k["status"] for k in report["kernels"])
        codes = collections.Counter(f["code"] for f in report["findings"] if f["severity"] != "info")
        kernels = len(report["kernels"])
        share = f"{100 * status['clean'] / kernels:.1f} %" if kernels else "-"
        by_code = ", ".join(f"{code} {count}" for code, count in codes.most_common()) or "none"
        print(
            f"| {corpus.name} | {kernels} | {status['clean']} | {share} | {status['unknown']} | {status['crashed']} |"
            f" {status['timeout']} | {by_code} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
