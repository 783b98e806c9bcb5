from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class LongestSuffixSegmenter(PretokenSegmenter):
    """Takes the longest token that the text ends with, and goes on before it."""

    def __init__(self, suffixes: Trie) -> None: ...
