"""Corpora: sources, splits, shards, parallel corpora."""
