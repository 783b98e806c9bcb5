"""Causal effects of tokens, by regression discontinuity."""
