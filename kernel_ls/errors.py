"""Every exception that kernel_ls raises on purpose.

    KernelLsError                      message for a person, and what to do next
    ├── UsageError                     a bad argument or option                       (exit status 2)
    │   ├── TargetError                a target that is not of the form BACKEND:ARCH, or that this Triton lacks
    │   └── SettingsError              a setting of pyproject.toml or the client with a bad value
    ├── InputError                     a file that cannot be read, or is not text in its declared encoding
    ├── InterpreterError               the Python whose Triton is asked for is of no use
    │   ├── InterpreterNotFound        no such executable, or none could be found
    │   ├── InterpreterBroken          it does not start, or is too old
    │   ├── TritonMissing              it starts, and has no Triton
    │   └── TritonBroken               its Triton is there and cannot be imported
    └── WorkerError                    the worker process let us down
        ├── WorkerStartError           it did not answer the handshake in time
        ├── WorkerCrashed              it ended in the middle of a request
        └── ProtocolError              it answered something that is not understood

`str(error)` is one sentence without a traceback; `next_step` is what the user can do about it, or empty. A fault in a
*kernel* is never an exception: it is a `Fault` or a `Finding` (model.py).
"""

from __future__ import annotations


class KernelLsError(Exception):
    """The base of the tree.

    Args:
        message: what is wrong, in a sentence for the user.
        next_step: what the user can do about it; empty if there is nothing.
    """

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message}: {self.next_step}" if self.next_step else self.message


class UsageError(KernelLsError):
    """An argument or option that cannot be meant."""


class TargetError(UsageError):
    """A target that is not of the form BACKEND:ARCH, or that the installed Triton has no backend for."""


class SettingsError(UsageError):
    """A setting with a value that is not allowed. Its reader reports it and goes on with the default."""


class InputError(KernelLsError):
    """A file that cannot be read, or is not text."""


class InterpreterError(KernelLsError):
    """The Python interpreter whose Triton is asked for is of no use.

    Attributes:
        python: path of the interpreter, or empty where none was found.
    """

    def __init__(self, message: str, next_step: str = "", *, python: str = "") -> None:
        super().__init__(message, next_step)
        self.python = python


class InterpreterNotFound(InterpreterError):
    """The named interpreter is not there, or no interpreter could be found."""


class InterpreterBroken(InterpreterError):
    """The interpreter does not start, or its version is not supported."""


class TritonMissing(InterpreterError):
    """The interpreter works and has no Triton."""


class TritonBroken(InterpreterError):
    """The interpreter's Triton is there and cannot be imported."""


class WorkerError(KernelLsError):
    """The worker process let us down."""


class WorkerStartError(WorkerError):
    """The worker did not answer the handshake before its deadline."""


class WorkerKilled(WorkerStartError):
    """Something else ended the worker while it started: the system, for want of memory, or a person."""


class WorkerCrashed(WorkerError):
    """The worker ended in the middle of a request.

    Attributes:
        returncode: its exit status; negative for a signal, as `subprocess` has it.
        stderr: the last lines it wrote.
    """

    def __init__(self, message: str, *, returncode: int | None, stderr: str = "") -> None:
        super().__init__(message)
        self.returncode = returncode
        self.stderr = stderr


class ProtocolError(WorkerError):
    """The worker sent bytes that are not a frame, or a reply that is not of the agreed form."""
