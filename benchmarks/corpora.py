"""Real kernels to check against: libraries from PyPI that ship working Triton code.

They are downloaded once into `.cache/corpora` beside the repository's files (ignored by git) and never committed. Every one ships code that
runs, so an error or a warning found there is a false alarm until someone shows that it is not.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "corpora"


@dataclass(frozen=True)
class Corpus:
    """One library: its name and version on PyPI, and whether only a source archive exists."""

    name: str
    version: str
    source_only: bool = False

    @property
    def folder(self) -> Path:
        """Where its files stand once fetched."""
        return CACHE / f"{self.name}-{self.version}"


CORPORA = (
    Corpus("fla-core", "0.6.0"),
    Corpus("liger-kernel", "0.8.5"),
    Corpus("torchao", "0.18.0"),
    Corpus("unsloth", "2026.10.9"),
    Corpus("conch-triton-kernels", "1.3"),
    Corpus("cut-cross-entropy", "25.1.1"),
    Corpus("gemlite", "0.6.0.post2", source_only=True),
    Corpus("flag-gems", "5.0.2"),
)


def named(names: list[str]) -> list[Corpus]:
    """The corpora of these names, all of them for an empty list.

    Raises:
        SystemExit: a name is not known.
    """
    by_name = {c.name: c for c in CORPORA}
    unknown = [n for n in names if n not in by_name]
    if unknown:
        raise SystemExit(f"no such corpus: {', '.join(unknown)} (there are: {', '.join(by_name)})")
    return [by_name[n] for n in names] or list(CORPORA)


def fetch(corpus: Corpus) -> Path:
    """The folder of a corpus' files, downloaded and unpacked when it is not there yet.

    Raises:
        subprocess.CalledProcessError: pip could not download it.
    """
    if corpus.folder.is_dir():
        return corpus.folder
    archives = CACHE / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(archives)]
    if corpus.source_only:
        # Building metadata of a source archive needs its build tools; they are in this environment already.
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "setuptools", "wheel"], check=True)
        command += ["--no-binary", corpus.name, "--no-build-isolation"]
    subprocess.run([*command, f"{corpus.name}=={corpus.version}"], check=True)
    stem = corpus.name.replace("-", "_")
    found = [p for p in archives.iterdir() if p.name.lower().replace("-", "_").startswith(stem.lower())]
    partial = corpus.folder.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    for archive in found:
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(partial)
        else:
            with tarfile.open(archive) as tarred:
                tarred.extractall(partial, filter="data")
    partial.rename(corpus.folder)
    return corpus.folder
