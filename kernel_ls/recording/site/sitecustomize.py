"""Found by Python at its start, before the `sitecustomize` of the environment, which is run as well.

Keep this file free of anything newer than Python 3.8, and let nothing that goes wrong here touch the program.
"""

# ruff: noqa: PLC0415, PTH100, PTH118, PTH120, UP031
# mypy: ignore-errors
import sys


def _start():
    import importlib.machinery
    import importlib.util
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    # The folder is on the path of child processes by the environment; in this one nothing else is to be found there.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    try:
        spec = importlib.util.spec_from_file_location("_kernel_ls_hook", os.path.join(os.path.dirname(here), "hook.py"))
        hook = importlib.util.module_from_spec(spec)
        sys.modules["_kernel_ls_hook"] = hook
        spec.loader.exec_module(hook)
        hook.install()
    except Exception as error:
        sys.stderr.write("kernel-ls: launches are not recorded: %s: %s\n" % (type(error).__name__, error))
    own = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if own is not None and own.loader is not None:
        module = importlib.util.module_from_spec(own)
        sys.modules["sitecustomize"] = module
        own.loader.exec_module(module)


_start()
