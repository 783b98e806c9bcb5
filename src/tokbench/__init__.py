"""Tokbench: a benchmark harness for tokenizers.

Importing this package makes ``transformers.AutoTokenizer`` open the folders of our tokenizers. That costs nothing
until ``transformers`` is used: the class is registered when its tokenizers are first imported.
"""

from tokbench import auto_tokenizer

__version__ = "0.1.0"

auto_tokenizer.register_when_imported()
