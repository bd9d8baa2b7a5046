"""The process that runs under the user's Python and drives the real Triton.

Only the standard library, Triton and `pyeval` may be imported here, and Python 3.9 must be able to read it. The server
never imports a module of this package; it starts `bootstrap.py`'s text with the user's interpreter.
"""
