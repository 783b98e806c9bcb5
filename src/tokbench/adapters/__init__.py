"""Tokenizers of other libraries: external tokenizers are opened, ours are exported."""
