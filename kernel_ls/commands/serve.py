"""`kernel-ls server`: the language server on standard input and output, or on a socket."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Mapping
from typing import Any

from kernel_ls import connection
from kernel_ls.commands.common import OPTIONS
from kernel_ls.errors import UsageError
from kernel_ls.settings import COMMAND_LINE, Source, checked, combine


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client goes; the exit status.

    Raises:
        UsageError: an option has a value that is not allowed.
    """
    given: Mapping[str, Any] = {name: getattr(arguments, name, None) for name in OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    checked(combine([Source(COMMAND_LINE, given)]))
    if arguments.tcp:
        if arguments.stdio:
            raise UsageError("--tcp and --stdio exclude each other")
        host, port = address(arguments.tcp, allow_remote=arguments.allow_remote)
        return connection.serve_tcp(host, port, given)
    return connection.serve_stdio(given)


def address(text: str, *, allow_remote: bool) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT` or `:PORT`.

    Raises:
        UsageError: it is not of that form, or not on the loopback interface though it has to be.
    """
    host, colon, port_text = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not colon or not port_text.isdigit() or int(port_text) > 65535:
        raise UsageError(f"--tcp {text!r} is not of the form HOST:PORT")
    if not allow_remote and not _is_loopback(host):
        raise UsageError(
            f"--tcp {text!r} would let other machines in",
            "say --allow-remote if that is meant; nothing authenticates them",
        )
    return host, int(port_text)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
