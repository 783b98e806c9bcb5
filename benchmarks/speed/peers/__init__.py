"""Other libraries for the same work, one module for each package, named like the package.

Each function takes a ``Job`` and returns the number of tokens. Before the clock starts it reads the text, if
the library accepts text from memory, and loads the vocabulary. An encoder also makes a first call, on :data:`FIRST`:
several libraries import NumPy or build tables then. The work itself is done within ``job.timed()``. Where a library
offers several ways, the fastest and the leanest have a function each.
"""

FIRST = b"Hello world 123."
"""The text of the call that every encoder makes before the clock starts, ours included."""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pre-tokenization that all are given."""
