"""Measurement of tokenizers on text and on gold data."""
