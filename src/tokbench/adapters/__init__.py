"""Interoperability with other libraries: reading of external tokenizers, and export of ours."""
