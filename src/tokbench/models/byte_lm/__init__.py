"""Byte-level language model: trained on one split, it says how predictable every byte of another split is."""
