"""Whether a tokenizer is fit: checks that any object can take which encodes and decodes.

A check is a function of a :class:`~tokbench.inspection.checks.subject.TokenizerUnderTest`;
:mod:`tokbench.inspection.checks.run` lists them all.
"""
