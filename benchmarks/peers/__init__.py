"""What users would pick instead, one module a package, named as the package is.

A function takes a :class:`job.Job`, prepares what is not to be timed (reading the text where the library takes it from
memory, loading the vocabulary), does the work within ``job.timed()`` and returns the number of tokens. Where a library
offers several ways, those that were fastest or leanest have a function each.
"""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pre-tokenization that all are given."""
