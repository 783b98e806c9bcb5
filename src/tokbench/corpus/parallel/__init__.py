"""Parallel text: pairs of a sentence and its translation, read, cleaned, split and kept aligned."""
