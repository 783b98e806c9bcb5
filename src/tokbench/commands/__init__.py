"""Command line: one module for each group of commands.

A module imports only click and its parameter types. Each command imports everything else in its function, so that help
and usage errors are fast.
"""
