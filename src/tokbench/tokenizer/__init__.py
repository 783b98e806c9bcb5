"""Tokenizers: a pre-tokenization, a vocabulary and a segmentation, or a tokenizer of another library."""

from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.folder import SETTINGS
from tokbench.tokenizer.tokenizer import MEASURE, Tokenizer

__all__ = ["MEASURE", "SETTINGS", "AdaptedTokenizer", "Tokenizer"]
