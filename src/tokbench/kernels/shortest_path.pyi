from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class ShortestPathSegmenter(PretokenSegmenter):
    """Cuts into the fewest tokens possible."""

    def __init__(self, suffixes: Trie, random: bool = False, seed: int = 0, placed: bool = False) -> None: ...
