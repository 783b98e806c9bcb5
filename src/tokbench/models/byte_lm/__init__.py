"""Byte-level language models: trained on one split, they score how predictable every byte of another split is."""
