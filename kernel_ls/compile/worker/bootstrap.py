"""The worker's first lines: its text is what the user's interpreter is started with (`PYTHON -c TEXT PACKAGE_FOLDER`).

It makes the package's folder importable under a private name without a new entry in `sys.path`, so that no module of the
user's is shadowed and none of theirs shadows ours. `kernel_ls/__init__.py` and `kernel_ls/compile/__init__.py` are not
run: the two are bare packages here, and `_kernel_ls_worker.compile.worker` and `_kernel_ls_worker.pyeval` are found in
their folders by the ordinary machinery. Keep this file free of anything newer than Python 3.6, so that an old
interpreter is told what it lacks instead of printing a SyntaxError.
"""

import sys


def _start(folder: str) -> None:
    # `python -c` puts the working folder first; frames may come from a folder that holds a `json.py`.
    sys.path[:] = [entry for entry in sys.path if entry]
    if sys.version_info < (3, 9):  # noqa: UP036
        sys.stderr.write("kernel_ls: unsupported Python %d.%d\n" % sys.version_info[:2])  # noqa: UP031
        sys.exit(64)

    import importlib  # noqa: PLC0415
    import os  # noqa: PLC0415
    import types  # noqa: PLC0415

    for name, parts in (("_kernel_ls_worker", ()), ("_kernel_ls_worker.compile", ("compile",))):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *parts)]  # noqa: PTH118
        sys.modules[name] = package
    sys.modules["_kernel_ls_worker"].compile = sys.modules["_kernel_ls_worker.compile"]  # type: ignore[attr-defined]
    loop = importlib.import_module("_kernel_ls_worker.compile.worker.loop")
    sys.exit(loop.main())


if __name__ == "__main__":
    _start(sys.argv[1])
