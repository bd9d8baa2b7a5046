"""`kernel-ls clean`: empties the cache."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kernel_ls.commands.common import settings_of
from kernel_ls.compile.cache import ResultCache
from kernel_ls.errors import InputError


def run(arguments: argparse.Namespace) -> int:
    """Empty the cache; the exit status.

    Raises:
        InputError: the cache cannot be opened.
    """
    settings = settings_of(arguments, Path.cwd())
    folder = settings.cache_folder
    if not folder.is_dir():
        sys.stdout.write(f"{folder}: there is no cache\n")
        return 0
    cache = ResultCache(folder)
    if cache.off:
        raise InputError(cache.off)
    removed = cache.clear()
    cache.close()
    sys.stdout.write(f"{folder}: {removed} result{'' if removed == 1 else 's'} removed\n")
    return 0
