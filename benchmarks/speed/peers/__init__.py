"""Tasks in other libraries, one module per package, with the name of the package.

Each function accepts a ``Job`` and returns the number of tokens. Before the clock starts, it loads the vocabulary, and
the text if the library accepts text from memory. Encoders also make a first call on :data:`FIRST`, in which several
libraries import NumPy or build tables. The timed work is within ``job.timed()``. If a library offers several ways, the
fastest and the one with the least memory have separate functions.
"""

FIRST = b"Hello world 123."
"""Text of the first call of every encoder, before the clock starts."""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""Pre-tokenization pattern of all libraries."""
