"""Arithmetic and memory of transformers by formula, and peak speeds of devices."""
