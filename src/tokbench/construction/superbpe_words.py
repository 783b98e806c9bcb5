"""SuperBPE on pre-tokens: byte-pair encoding, then merges of adjacent pre-tokens that are one token each.

"SuperBPE: Space Travel for Language Models" (Liu and others, 2025) as in the released code of "Faster Superword
Tokenization" (Schmidt, Tanner and Pinter, 2026): stage 2 joins only complete pre-tokens. In the construction
``superbpe``, any adjacent tokens may join.

Reference: ``superbpe_words`` in :mod:`tokbench.reference.superwords`.
"""

from typing import TYPE_CHECKING

from tokbench.candidates.superwords import SuperwordOptions, begin, next_supermerge
from tokbench.construction import construction
from tokbench.construction.superbpe import StageOptions, stage_1_size
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents


class SuperbpeWordsOptions(StageOptions, SuperwordOptions):
    pass


@construction(
    "superbpe_words",
    options=SuperbpeWordsOptions,
    segmentation="superwords",
    source="documents",
    cites=("liu2025", "schmidt2026b"),
)
def build(
    documents: "Documents", size: int, options: SuperbpeWordsOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge inside pre-tokens until stage 1 is full, then merge adjacent pre-tokens until there are ``size`` tokens.

    Args:
        documents: running text. The result does not depend on the order of the documents.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge. If that is so in stage 1,
            supermerges add more tokens, with a warning; the released code ends there.
        options: size of stage 1; removals, rules of pairs, pre-tokens that may join, and splitting of runs.
        seed: not used; nothing is random.
        threads: number of threads that segment documents; the result does not depend on it.

    Returns:
        All tokens of stage 1, then the others in order of creation, with the events and the supermerges.

    Raises:
        TokbenchError: ``size`` is below 256 or below the size of stage 1, the unique pre-tokens have 2 GiB or more, or
            the documents are unreadable.
    """
    _, words, training = begin(documents, stage_1_size(size, options), options, threads, "superbpe_words")
    present = dict.fromkeys(words.tokens)
    supermerges: dict[tuple[bytes, bytes], None] = {}
    while len(present) < size and (best := next_supermerge(training)) is not None:
        supermerges[best[0]] = None
        present.setdefault(b"".join(best[0]))
        training.merge()
    return Vocabulary(tuple(present), events=words.events, supermerges=tuple(supermerges))
