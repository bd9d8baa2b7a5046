"""What editors show of kernels, as pure functions on a snapshot of what one check knows.

snapshot.py                    a file's text and, for each of its kernels, what the generator said; nothing of it ever changes
trail.py, view.py              a snapshot's places in the text as it is now, through the edits made since; all that a request needs
notation.py, names.py          types in text, and the types of names that the generator does not say by itself
places.py, nodes.py            the syntax at a place
context.py, scope.py           what stands around a cursor in text that need not parse
library.py, instances.py       Triton's functions as its manifest has them; how helpers were called
lines.py                       which rows of TTIR a line of a kernel became
hover.py, hints.py, inactive.py, lenses.py, completion.py, signature.py    one feature each
navigation.py                  definitions, references, calls: these read the workspace as well
stubs.py                       type stubs of the installed Triton
"""
