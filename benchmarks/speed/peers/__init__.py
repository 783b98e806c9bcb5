"""Libraries that do the same work, one module each, named like the package that Python imports.

An encoder's module has some of these functions; ``tokenizer`` is the result of ``load``:

- ``load(folder, name)`` reads a tokenizer, ``own`` or one of OpenAI's, from the files of :mod:`benchmarks.speed.texts`.
- ``encode(tokenizer, text)`` returns ids in the library's most compact form: an array, bytes of uint32 or a list.
- ``encode_short(tokenizer, text)`` is ``encode`` for a text of a sentence, if another function is faster for it.
- ``encode_batch(tokenizer, texts, threads)`` returns the ids of several texts as one array, or one per text.
- ``decode(tokenizer, ids)`` returns bytes or str.

``TEXT`` is the type of text that it accepts, ``bytes`` if it accepts both; ``DECODES_ARRAYS`` is true if ``decode``
accepts an array. A trainer's module has functions
``train_METHOD(path, documents, size)``, which return the number of tokens, and ``count(text)``, the number of different
pre-tokens. A first call on :func:`benchmarks.speed.worker.before_clock` precedes every clock, so that a library that
imports NumPy or Awkward in its first call does so before it.
"""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""Pre-tokenization of the tokenizer ``own`` and of all trainers."""

ENCODING = {"cl100k": "cl100k_base", "o200k": "o200k_base"}
"""OpenAI's names of the external tokenizers."""
