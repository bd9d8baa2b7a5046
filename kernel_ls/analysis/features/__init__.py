"""What editors show of kernels, as pure functions on a snapshot of what one check knows.

snapshot.py             a file's text and, for each of its kernels, what the generator said; nothing of it ever changes
trail.py                places of a snapshot's text in the text as it is now, through the edits made since
notation.py, names.py   types in text, and the types of names that the generator does not say by itself
nodes.py                the syntax at a place
hover.py, hints.py, inactive.py, lenses.py, completion.py, signature.py    one feature each
navigation.py, calls.py these read the workspace as well
lines.py                which lines of TTIR a line of a kernel became
"""
