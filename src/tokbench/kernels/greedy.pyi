from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class GreedySegmenter(PretokenSegmenter):
    """Takes the longest token that the text starts with, and goes on after it."""

    def __init__(self, first: Trie, rest: Trie) -> None: ...
