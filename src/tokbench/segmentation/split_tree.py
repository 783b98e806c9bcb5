"""Split tree: ToaST's segmentation, the topmost tokens of a tree that does not depend on the vocabulary.

Schmidt and others, "Tokenization with Split Trees" (2026).

Reference: :mod:`tokbench.reference.toast`.
"""

from tokbench.errors import TokbenchError
from tokbench.kernels.split_tree import SplitTreeSegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


@segmentation("split_tree", needs="substring_counts", cites=("schmidt2026",))
def split_tree(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Split each pre-token in two, recursively, until a part is a token.

    A part is split where the rarer of its two parts is most frequent in the text of the construction; ties: the
    shortest left part. If no split has two known parts, the left part is the longest known one. Known parts are
    ``vocabulary.substring_counts``.

    Raises:
        TokbenchError: the vocabulary has continuation forms or no substring counts, or these lack a byte.
    """
    name = "split_tree"
    reject_continuation(vocabulary, name)
    if vocabulary.substring_counts is None:
        raise TokbenchError(
            f"segmentation '{name}': the vocabulary has no substring counts; use 'greedy' or 'shortest_path', "
            "or a vocabulary by toast"
        )
    data, offsets, counts = vocabulary.substring_counts
    try:
        return SplitTreeSegmenter(
            Trie(*vocabulary.flat()), Trie(data, offsets), Trie(data, offsets, backwards=True), counts
        )
    except ValueError as error:
        raise TokbenchError(f"segmentation '{name}': the substring counts cannot be used ({error})") from None
