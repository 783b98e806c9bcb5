r"""Compilation of pre-tokenization patterns (regular expressions) to scanners.

:func:`~tokbench.pretokenization.patterns.scanner.compile_scanner` is the entry point. A pattern is parsed (``parse``
defines the language) and translated to an automaton over classes of characters (``automaton``). The automaton finds the
same match as a backtracking search, in one pass. Some borders follow from two neighbouring characters in any context;
they are derived from the automaton's states (``borders``). They define where a text may be divided, and a program that
splits ASCII 64 bytes at a time (``masks``). A pattern that needs more than linear time for some text gets no scanner
(``is_linear`` in ``borders``). The kernel is :mod:`tokbench.kernels.pattern`.

A scanner agrees with the ``regex`` package on ``text.decode("utf-8", "surrogateescape")``: a byte outside valid UTF-8
is one character, neither letter, number nor whitespace. Its pieces are the matches and the text between them.
"""
