"""Whether a tokenizer is fit: checks that any object can take which encodes and decodes.

A check is a function of a :class:`~tokbench.fitness.subject.Subject`; :mod:`tokbench.fitness.every` lists them all.
"""
