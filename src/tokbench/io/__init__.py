"""Readers of numbers, YAML, JSON, paths and other input, one module each, and atomic writers of output.

Errors are one line, a ``TokbenchError`` that names the key, the file or the record and the remedy.
"""
