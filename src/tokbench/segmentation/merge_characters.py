"""Merge characters: byte-pair encoding over characters with byte fallback, as in Llama 2, Mistral 7B and Gemma.

A character that is a token is one symbol; any other character is the symbols of its bytes. Symbols are then joined by
merges, as in BPE models of Hugging Face's ``tokenizers`` with byte fallback.

Reference: ``merge_characters`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.characters import CharacterSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.merge import byte_ids, joined_bytes, replay_merges
from tokbench.vocabulary import Vocabulary


@segmentation("merge_characters", needs="merges", cites=("huggingface_tokenizers",))
def merge_characters(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Join the adjacent pair of the lowest rank, the leftmost first, beginning with the characters that are tokens.

    The rank of a pair is the index of its first occurrence in ``vocabulary.merges``. Time is O(n log n) in the length
    of a pre-token, even for a pre-token that is a full document.

    Raises:
        TokbenchError: as ``merge`` does.
    """
    merges, _, _ = replay_merges(vocabulary, "merge_characters")
    return segmenter_of(vocabulary, merges, np.arange(len(merges), dtype=np.int32))


def segmenter_of(vocabulary: Vocabulary, pairs: NDArray[np.int32], ranks: NDArray[np.int32]) -> CharacterSegmenter:
    """Return the segmenter of pairs, int32 [m, 3] (left id, right id, resulting id), with ranks, int32 [m]."""
    single = np.fromiter(map(_is_character, vocabulary.tokens), np.bool_, len(vocabulary))
    characters = Trie(*vocabulary.flat(), single)
    return CharacterSegmenter(pairs, ranks, characters, byte_ids(vocabulary), joined_bytes(vocabulary))


def _is_character(token: bytes) -> bool:
    """Return whether a token is one UTF-8 character of one byte or more."""
    try:
        return len(token) <= 4 and len(token.decode()) == 1
    except UnicodeDecodeError:
        return False
