"""Comparison of two tokenizers, and of the results of two or more experiments."""
