"""Recording launches in the user's own process: nothing but Triton and the standard library is needed there.

`site/` is put on the path of the process; its `sitecustomize` loads `hook.py`, which waits for Triton to be imported.
"""
