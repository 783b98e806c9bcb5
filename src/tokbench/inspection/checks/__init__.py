"""Sanity checks for any object that encodes and decodes.

Each check is a function that accepts a :class:`~tokbench.inspection.checks.subject.TokenizerUnderTest`;
:mod:`tokbench.inspection.checks.run` lists all checks.
"""
