"""Export to ``tokenizer.json``, where Hugging Face's own models give the same ids as ours.

Pre-tokenizations in the ``tokenizers`` library: its ``Split`` by the same patterns, whose engine is Oniguruma.

The two engines agree on characters of Unicode 16; on later ones each goes by its own edition. Where a pattern means
something else to Oniguruma, what it cuts otherwise is found on text and nothing is exported.

Comparison of the sets of characters that a pattern names with those of another library.

Each engine has tables of its own edition of Unicode, and may give a set another meaning. The library is asked about
every code point of the planes that have characters, and about the ends of the other planes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.added_tokens import ids_of, special_ids, spellings, unused_name
from tokbench.adapters.forms import NativeTokenizer, NotNativeError
from tokbench.adapters.libraries import Sets, sets_of, told
from tokbench.adapters.probes import CHANGED, lines
from tokbench.adapters.same_ids import MOST_COMPARED, compare
from tokbench.errors import TokbenchError, shortened
from tokbench.kernels.pairs import pairs_of
from tokbench.kernels.trie import Trie
from tokbench.pretokenization import Pretokenization
from tokbench.pretokenization.patterns.automaton import Classes, classes_of
from tokbench.pretokenization.patterns.characters import contains, property_of
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokens import PretokenCounts
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CONTINUATION
from tokbench.vocabulary import Vocabulary, usable_scores

if TYPE_CHECKING:
    import tokenizers
    from tokenizers.pre_tokenizers import Split


MOST = 20_000
"""Pre-tokens that are put together to running text."""
TOGETHER = 50
"""Pre-tokens of one text."""
PROBES = (
    "I'LL pay 12345 now!!\n\n  ok",
    "\t a\u00a0\u3000b \u2028\r\n\r\n c  ",
    "naïve Straße e\u0301 'ſ ſ's 'ré $1,234.56",
    "東京タワー Жук مرحبا नमस्ते 각",
    "\x00\x7f <|x|> a_b--c ...//\n/",
    *(
        f"{sign} {sign}a{sign}1{sign}{sign}\n{sign}.{sign}A{sign}中"
        for sign in "¼²٣Ⅷ𝟙_·ªʰǅﬁßİıſK\u0301\u200d\u20dd\u2028\x85\x1c\xa0\u180e\u200b\ufeff\ufffd$—「€😀"
    ),
)
"""Texts on which engines may differ: blanks, cases, marks, numbers, scripts, and signs of every kind among others."""


def splits_of(scheme: Pretokenization) -> "list[Split] | str":
    """What cuts text as the scheme does, one after another; or why nothing does."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    if scheme.splits is None:
        return f"no regular expression cuts as pre-tokenization '{scheme.label}' does"
    try:
        return [Split(Regex(pattern), "isolated") for pattern in scheme.splits]
    except Exception as error:  # The library raises nothing more special.
        if may_be_short(error):
            raise
        return f"Hugging Face's engine does not take the pattern of '{scheme.label}' ({error})"


def cut_otherwise(scheme: Pretokenization, splits: "list[Split]", counts: PretokenCounts | None) -> str | None:
    """A text that ``splits`` do not cut as the scheme does, None where none is found."""
    from tokenizers.pre_tokenizers import Sequence

    theirs = Sequence(splits)
    for text in (*PROBES, *lines(), *_running(counts)):
        written = text.encode()
        pieces = [written[start:end] for start, end in pairwise(scheme.boundaries(written).tolist())]
        if pieces != [piece.encode() for piece, _ in theirs.pre_tokenize_str(text)]:
            return text
    return None


def why_not(scheme: Pretokenization, counts: PretokenCounts | None) -> str | None:
    """Why the library cannot cut as the scheme does, None where it can."""
    splits = splits_of(scheme)
    if isinstance(splits, str):
        return splits
    text = cut_otherwise(scheme, splits, counts)
    return None if text is None else f"Hugging Face's engine cuts '{shortened(text)}' otherwise than '{scheme.label}'"


def _running(counts: PretokenCounts | None) -> Iterator[str]:
    """Text made of frequent pre-tokens; what is no UTF-8 in them is left out."""
    pretokens = iter(()) if counts is None else (token for token, _ in islice(counts.items(), MOST))
    while together := list(islice(pretokens, TOGETHER)):
        yield b"".join(together).decode("utf-8", "ignore")


REJECTED = "not exported: "
"""How the record of a tokenizer begins that has no such file."""

BY_WORDPIECE = ("greedy", "longest_prefix")
"""Segmentations that Hugging Face's WordPiece model does."""

BY_BPE = ("merge", "whole_or_merge", "ranked")
"""Segmentations that its BPE model does."""

UNBOUNDED = 10**9
"""Longest word, in characters, that Hugging Face's WordPiece model may cut; its own 100 would make unknowns."""

LONGEST_WORD = 2000
"""Bytes of the longest pre-token that its WordPiece model cuts in good time, which grows with the length's cube."""


def to_hugging_face(tokenizer: Tokenizer) -> "tokenizers.Tokenizer | None":
    """The same tokenizer as an object of the ``tokenizers`` library, or None where that has no such model or cut.

    Merge, whole or merge and ranked become BPE, likelihood becomes Unigram, greedy and longest prefix become WordPiece
    without and with a continuation prefix. Ids are the same; end of text and padding follow the vocabulary. Special ids
    that a tokenizer has of its own are special tokens, and stand in the model, too: the library numbers what does not
    as it comes.
    """
    from tokenizers import AddedToken, decoders, pre_tokenizers
    from tokenizers import Tokenizer as HuggingFaceTokenizer

    special = special_ids(tokenizer)
    model, splits = _model(tokenizer, special), splits_of(tokenizer.scheme)
    if model is None or isinstance(splits, str):
        return None
    converted = HuggingFaceTokenizer(model)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    converted.pre_tokenizer = pre_tokenizers.Sequence([*splits, level])
    converted.decoder = decoders.Sequence([decoders.Replace(CONTINUATION, ""), decoders.ByteLevel()])
    names = sorted(special, key=special.__getitem__)
    converted.add_special_tokens([AddedToken(name, special=True) for name in names])
    return converted


def _model(tokenizer: Tokenizer, special: Mapping[str, int]) -> Any:
    from tokenizers import models

    vocabulary = tokenizer.vocabulary
    spelt = spellings(tokenizer)
    ids = dict(zip(spelt, ids_of(vocabulary), strict=True))
    if vocabulary.ids is not None:
        ids |= special
        taken = set(ids.values())
        ids |= {unused_name(one): one for one in range(max(taken)) if one not in taken}  # The library warns of holes.
    if tokenizer.segmentation in BY_BPE:
        pairs = [(spelt[left], spelt[right]) for left, right, _ in _merges(tokenizer).tolist()]
        return models.BPE(ids, pairs, ignore_merges=tokenizer.segmentation != "merge")
    if tokenizer.segmentation == "likelihood" and vocabulary.scores is not None:
        return models.Unigram(_scored(tokenizer, dict(zip(spelt, _finite(vocabulary), strict=True)), ids))
    if tokenizer.segmentation in BY_WORDPIECE:
        prefix = "" if vocabulary.continuation is None else CONTINUATION
        return models.WordPiece(
            ids, unk_token=spelt[0], max_input_chars_per_word=UNBOUNDED, continuing_subword_prefix=prefix
        )
    return None


def _merges(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Places of what is joined, in the order of ranks: of a segmentation by ranks every pair that makes a token."""
    vocabulary = tokenizer.vocabulary
    if tokenizer.segmentation != "ranked":
        assert vocabulary.merges is not None
        return vocabulary.merges
    data, offsets = vocabulary.flat()
    return pairs_of(Trie(data, offsets), Trie(data, offsets, backwards=True), data, offsets)


def _finite(vocabulary: Vocabulary) -> list[float]:
    """Scores as ``likelihood`` takes them, and for a token that is barred one that its bytes always exceed: JSON has no
    infinity."""
    assert vocabulary.scores is not None
    scores, usable = usable_scores(vocabulary.tokens, vocabulary.scores)
    below = 2 * min(float(scores.min()), -1.0)
    lengths = np.fromiter(map(len, vocabulary.tokens), np.int64, len(vocabulary))
    found: list[float] = np.where(usable, scores, below * lengths).tolist()
    return found


def _scored(tokenizer: Tokenizer, scores: Mapping[str, float], ids: Mapping[str, int]) -> list[tuple[str, float]]:
    """What Unigram numbers from 0 on: tokens with their scores; other ids by names that no text is spelt by."""
    if tokenizer.vocabulary.ids is None:
        return list(scores.items())
    lowest = min(scores.values())
    return [(name, scores.get(name, lowest)) for name in sorted(ids, key=ids.__getitem__)]


def export(tokenizer: Tokenizer, counts: PretokenCounts | None, folder: Path, most: int = MOST_COMPARED) -> str:
    """Write ``tokenizer.json`` if it gives the same ids on every pre-token that is text; say what was done.

    What is compared is what the file gives: the library may read a score otherwise than it wrote it.

    Args:
        tokenizer: what to export.
        counts: pre-tokens on which the two must agree; None compares nothing.
        folder: where the file goes.
        most: pre-tokens that are compared at the most, the most frequent ones.

    Returns:
        One sentence for the tokenizer's record.
    """
    if reason := why_not(tokenizer.scheme, counts):
        return f"{REJECTED}{reason}"
    converted = to_hugging_face(tokenizer)
    if converted is None:
        return f"{REJECTED}Hugging Face has no model for segmentation '{tokenizer.segmentation}'"
    longest = int(np.diff(counts.offsets).max(initial=0)) if counts is not None else 0
    if longest > LONGEST_WORD and tokenizer.segmentation in BY_WORDPIECE:
        return f"{REJECTED}Hugging Face's WordPiece takes too long on pre-tokens of up to {longest} bytes"
    if wrong := [name for name, number in special_ids(tokenizer).items() if converted.token_to_id(name) != number]:
        return f"{REJECTED}Hugging Face's model gives special tokens other ids, {wrong[0]} for one"
    read = converted if tokenizer.vocabulary.scores is None else type(converted).from_str(converted.to_str())
    told = compare(tokenizer, counts, lambda texts: _ids(read, texts), most)
    if told.differs is not None:
        return f"{REJECTED}Hugging Face's model gives other ids for {told.differs!r}"
    converted.save(str(folder / "tokenizer.json"), pretty=False)
    return f"tokenizer.json gives the same ids on {told}"


def _ids(converted: "tokenizers.Tokenizer", texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in converted.encode_batch_fast(texts, add_special_tokens=False)]


EDITIONS = {"14.0": 0x61D, "15.0": 0xCF3, "15.1": 0x2FFC, "16.0": 0x1C89, "17.0": 0x88F, "18.0": 0x558}
"""Editions of Unicode, each with a character that came with it."""
PLANES = (0, 1, 2, 3)
"""Planes of which every code point is compared."""
TAGS = range(0xE0000, 0xE1000)
ENDS = (0, 1, 0x7FFF, 0xFFFD, 0xFFFE, 0xFFFF)
"""Code points of the other planes that are compared."""


@dataclass(frozen=True)
class Differing:
    """The code points that are in other sets for a library.

    Attributes:
        codes: the code points.
        ours: the edition of Unicode of our tables; empty if there are no such code points.
        theirs: that of the library.
    """

    codes: frozenset[int]
    ours: str = ""
    theirs: str = ""

    def __str__(self) -> str:
        """Say how many there are and why; empty if there are none."""
        if not self.codes:
            return ""
        number, first = len(self.codes), min(self.codes)
        points = "code point that" if number == 1 else "code points that"
        editions = sorted((self.ours, self.theirs), key=list(EDITIONS).index)
        return (
            f"they may differ on {number:,} {points} Unicode assigned or changed after {editions[0]} "
            f"(the library has Unicode {self.theirs}, Tokbench {self.ours}; first: U+{first:04X})"
        )


def differing(native: NativeTokenizer, library: str) -> Differing:
    """Return the code points that are in other sets for a library because its edition of Unicode is another.

    Args:
        native: what our phases do in its place.
        library: its name.

    Raises:
        NotNativeError: a set has other characters, and Unicode's editions do not explain it.
    """
    theirs = sets_of(library)
    try:
        classes = classes_of(native.sets.values())
    except LanguageError:
        raise NotNativeError("its patterns name too many sets of characters") from None
    try:
        with told(f"{library} does not read a part of its pattern"):
            found = frozenset(_differing(native, classes, theirs))
    except TokbenchError as error:
        raise NotNativeError(str(error)) from None
    if not found:
        return Differing(found)
    ours = property_of("Cn") or ()
    unassigned = set(theirs.unmatched(r"\P{Cn}", "".join(map(chr, sorted(found)))))
    strange = {code for code in found - CHANGED if chr(code) not in unassigned and not contains(ours, code)}
    if strange:
        raise NotNativeError(
            f"{library} has other characters than we do in a set that its pattern names (U+{min(strange):04X}, for one)"
        )
    samples = "".join(map(chr, EDITIONS.values()))
    missing = theirs.unmatched(r"\P{Cn}", samples)
    return Differing(
        found,
        _edition({code for code in EDITIONS.values() if contains(ours, code)}),
        _edition(set(map(ord, missing))),
    )


def _edition(missing: set[int]) -> str:
    """Return the last edition before the first one whose character is missing."""
    found = next(iter(EDITIONS))
    for edition, code in EDITIONS.items():
        if code in missing:
            break
        found = edition
    return found


def _differing(native: NativeTokenizer, classes: Classes, theirs: Sets) -> Iterator[int]:
    for number, text in _by_class(classes):
        signs = {True: "?=", False: "?!"}
        looks = (
            f"({signs[bool(classes.members[ranges] >> number & 1)]}{part})" for part, ranges in native.sets.items()
        )
        yield from map(ord, theirs.unmatched("".join(looks) + r"[\s\S]", text))
    if native.steps:  # Only files of tokenizers have steps that are not regular expressions.
        from tokbench.adapters.libraries.hugging_face import isolated
    for step, ranges in native.steps.items():
        text = "".join(map(chr, _codes().tolist()))
        ours = {character for character in text if contains(ranges, ord(character))}
        yield from map(ord, ours ^ isolated(step, text))


def _by_class(classes: Classes) -> Iterator[tuple[int, str]]:
    """Yield the number of each class and its characters."""
    starts, numbers = np.array(classes.runs).T
    codes = _codes()
    of_codes = numbers[np.searchsorted(starts, codes, "right") - 1]
    for number in range(classes.count):
        yield number, codes[of_codes == number].astype("<u4").tobytes().decode("utf-32-le")


@cache
def _codes() -> NDArray[np.int64]:
    """Return the code points that are compared, ascending."""
    planes = [code for plane in PLANES for code in range(plane << 16, (plane + 1) << 16)]
    ends = [plane << 16 | end for plane in range(len(PLANES), 17) for end in ENDS]
    codes = np.unique([*planes, *ends, *TAGS])
    return codes[(codes < 0xD800) | (codes > 0xDFFF)]
