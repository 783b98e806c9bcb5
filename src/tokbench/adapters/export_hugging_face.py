"""Export to ``tokenizer.json``, if Hugging Face's models return the same ids as ours.

Pre-tokenizations become ``Split`` of the ``tokenizers`` library with the same patterns, whose engine is Oniguruma. The
two engines agree on characters of Unicode 16; for later characters each has its own version of Unicode. If Oniguruma
interprets a pattern differently, a comparison on text detects it and nothing is exported.

For imports, the module compares the sets of characters in a pattern with those of another library (:func:`differing`).
Each engine has tables of its own version of Unicode, and may interpret a set differently. All code points of the planes
with characters are compared, and the ends of the other planes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.forms.parsed import NativeTokenizer
from tokbench.adapters.names import ids_of, special_ids, spellings, unused_name
from tokbench.adapters.probes import CHANGED, lines
from tokbench.adapters.same_ids import MOST_COMPARED, compare
from tokbench.errors import TokbenchError, shortened
from tokbench.kernels.pairs import pairs_of
from tokbench.kernels.trie import Trie
from tokbench.pretokenization import Pretokenization
from tokbench.pretokenization.patterns.automaton import Classes, classes_of
from tokbench.pretokenization.patterns.characters import contains, property_of
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokens import PretokenCounts
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CONTINUATION
from tokbench.tokenizer.libraries import Sets, library_errors, sets_of
from tokbench.vocabulary import UNITS, Vocabulary, costs_of, usable_scores

if TYPE_CHECKING:
    import tokenizers
    from tokenizers.pre_tokenizers import Split


MOST = 20_000
"""Maximum number of pre-tokens that are concatenated to running text."""
PRETOKENS_PER_TEXT = 50
"""Number of pre-tokens in one text."""
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
"""Texts on which engines may differ: whitespace, cases, marks, numbers, scripts, and signs of every kind in context."""
REJECTED = "not exported: "
"""Beginning of the record if there is no such file."""
BY_WORDPIECE = ("greedy", "longest_prefix")
"""Segmentations that Hugging Face's WordPiece model implements."""
BY_BPE = ("merge", "whole_or_merge", "ranked")
"""Segmentations that its BPE model implements."""
BY_UNIGRAM = ("likelihood", "likeliest_shortest_path")
"""Segmentations that its Unigram model implements."""
PER_TOKEN = 2.0**19
"""Nats that each token costs in addition where the fewest tokens are wanted, more than all scores of a pre-token. Sums
of such scores in units of 1/512 nat are exact in double precision."""
UNBOUNDED = 10**9
"""Longest word in characters for Hugging Face's WordPiece model; longer ones than its default, 100, would be
unknown."""
LONGEST_WORD = 2000
"""Longest pre-token in bytes for its WordPiece model, whose time grows with the cube of the length."""
EDITIONS = {"14.0": 0x61D, "15.0": 0xCF3, "15.1": 0x2FFC, "16.0": 0x1C89, "17.0": 0x88F, "18.0": 0x558}
"""Versions of Unicode, each with a character that it added."""
PLANES = (0, 1, 2, 3)
"""Planes of which all code points are compared."""
TAGS = range(0xE0000, 0xE1000)
ENDS = (0, 1, 0x7FFF, 0xFFFD, 0xFFFE, 0xFFFF)
"""Code points of the other planes that are compared."""


def splits_of(scheme: Pretokenization) -> "list[Split] | str":
    """Return equivalent steps of the library for a scheme, applied in turn; or the reason why there are none."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    if scheme.splits is None:
        return f"no regular expression cuts as pre-tokenization '{scheme.label}' does"
    try:
        return [Split(Regex(pattern), "isolated") for pattern in scheme.splits]
    except Exception as error:  # The library raises no subclass.
        if may_be_short(error):
            raise
        return f"Hugging Face's engine does not take the pattern of '{scheme.label}' ({error})"


def unequal_split(scheme: Pretokenization, splits: "list[Split]", counts: PretokenCounts | None) -> str | None:
    """Return a text that ``splits`` divide differently from the scheme, None if none is found."""
    from tokenizers.pre_tokenizers import Sequence

    theirs = Sequence(splits)
    for text in (*PROBES, *lines(), *_running_texts(counts)):
        written = text.encode()
        pieces = [written[start:end] for start, end in pairwise(scheme.boundaries(written).tolist())]
        if pieces != [piece.encode() for piece, _ in theirs.pre_tokenize_str(text)]:
            return text
    return None


def split_obstacle(scheme: Pretokenization, counts: PretokenCounts | None) -> str | None:
    """Return the reason why the library cannot split as the scheme does, None if it can."""
    splits = splits_of(scheme)
    if isinstance(splits, str):
        return splits
    text = unequal_split(scheme, splits, counts)
    return None if text is None else f"Hugging Face's engine cuts '{shortened(text)}' otherwise than '{scheme.label}'"


def _running_texts(counts: PretokenCounts | None) -> Iterator[str]:
    """Yield text made of frequent pre-tokens, without bytes that are not UTF-8."""
    pretokens = iter(()) if counts is None else (token for token, _ in islice(counts.items(), MOST))
    while together := list(islice(pretokens, PRETOKENS_PER_TEXT)):
        yield b"".join(together).decode("utf-8", "ignore")


def joins_pretokens(tokenizer: Tokenizer) -> str:
    """Return the reason that no other library has a tokenizer whose tokens span pre-tokens."""
    return (
        f"segmentation '{tokenizer.segmentation}' joins adjacent pre-tokens that are one token each, "
        "and other libraries segment every pre-token independently"
    )


def to_hugging_face(tokenizer: Tokenizer) -> "tokenizers.Tokenizer | None":
    """Return the same tokenizer as an object of the ``tokenizers`` library, or None if that has no such model or split.

    Merge, whole or merge and ranked become BPE. Likelihood and likeliest shortest path become Unigram. Greedy and
    longest prefix become WordPiece, without and with a continuation prefix. Ids are equal; end of text and padding
    follow the vocabulary. Special ids of an external tokenizer are special tokens and also part of the model, as the
    library renumbers tokens outside it.
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
        ids |= {
            unused_name(number): number for number in range(max(taken)) if number not in taken
        }  # The library warns of holes.
    if tokenizer.segmentation in BY_BPE:
        pairs = [(spelt[left], spelt[right]) for left, right, _ in _merges(tokenizer).tolist()]
        return models.BPE(ids, pairs, ignore_merges=tokenizer.segmentation != "merge")
    if tokenizer.segmentation in BY_UNIGRAM and vocabulary.scores is not None:
        scores = _finite(vocabulary) if tokenizer.segmentation == "likelihood" else _per_token(vocabulary)
        return models.Unigram(_scored(tokenizer, dict(zip(spelt, scores, strict=True)), ids))
    if tokenizer.segmentation in BY_WORDPIECE:
        prefix = "" if vocabulary.continuation is None else CONTINUATION
        return models.WordPiece(
            ids, unk_token=spelt[0], max_input_chars_per_word=UNBOUNDED, continuing_subword_prefix=prefix
        )
    return None


def _merges(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Return merges as places in the vocabulary, in order of rank; for ``ranked``, every pair that makes a token."""
    vocabulary = tokenizer.vocabulary
    if tokenizer.segmentation != "ranked":
        assert vocabulary.merges is not None
        return vocabulary.merges
    data, offsets = vocabulary.flat()
    return pairs_of(Trie(data, offsets), Trie(data, offsets, backwards=True), data, offsets)


def _finite(vocabulary: Vocabulary) -> list[float]:
    """Return scores as ``likelihood`` reads them; barred tokens get a finite one that their bytes always exceed.

    JSON has no infinity.
    """
    assert vocabulary.scores is not None
    scores, usable = usable_scores(vocabulary.tokens, vocabulary.scores)
    below = 2 * min(float(scores.min()), -1.0)
    lengths = np.fromiter(map(len, vocabulary.tokens), np.int64, len(vocabulary))
    finite: list[float] = np.where(usable, scores, below * lengths).tolist()
    return finite


def _per_token(vocabulary: Vocabulary) -> list[float]:
    """Return scores whose greatest sum is that of the fewest tokens, and of these the likeliest."""
    assert vocabulary.scores is not None
    scores, usable = usable_scores(vocabulary.tokens, vocabulary.scores)
    lengths = np.fromiter(map(len, vocabulary.tokens), np.int64, len(vocabulary))
    per_token: list[float] = np.where(usable, costs_of(scores) / -UNITS - PER_TOKEN, -2 * PER_TOKEN * lengths).tolist()
    return per_token


def _scored(tokenizer: Tokenizer, scores: Mapping[str, float], ids: Mapping[str, int]) -> list[tuple[str, float]]:
    """Return the entries of Unigram by id: tokens with their scores, and other ids with names that spell no text."""
    if tokenizer.vocabulary.ids is None:
        return list(scores.items())
    lowest = min(scores.values())
    return [(name, scores.get(name, lowest)) for name in sorted(ids, key=ids.__getitem__)]


def export(tokenizer: Tokenizer, counts: PretokenCounts | None, folder: Path, most: int = MOST_COMPARED) -> str:
    """Write ``tokenizer.json`` if it returns the same ids on every pre-token that is text; return a message.

    The written file is compared, as the library may read a score with another value than it wrote.

    Args:
        tokenizer: tokenizer to export.
        counts: pre-tokens to compare ids on; None compares nothing.
        folder: output folder.
        most: maximum number of pre-tokens to compare, the most frequent ones.

    Returns:
        One sentence for the tokenizer's record.
    """
    if reason := split_obstacle(tokenizer.scheme, counts):
        return f"{REJECTED}{reason}"
    if tokenizer.segments_documents:
        return f"{REJECTED}{joins_pretokens(tokenizer)}"
    converted = to_hugging_face(tokenizer)
    if converted is None:
        return f"{REJECTED}Hugging Face has no model for segmentation '{tokenizer.segmentation}'"
    longest = int(np.diff(counts.offsets).max(initial=0)) if counts is not None else 0
    if longest > LONGEST_WORD and tokenizer.segmentation in BY_WORDPIECE:
        return f"{REJECTED}Hugging Face's WordPiece takes too long on pre-tokens of up to {longest} bytes"
    if wrong := [name for name, number in special_ids(tokenizer).items() if converted.token_to_id(name) != number]:
        return f"{REJECTED}Hugging Face's model gives special tokens other ids, {wrong[0]} for one"
    read = converted if tokenizer.vocabulary.scores is None else type(converted).from_str(converted.to_str())
    comparison = compare(tokenizer, counts, lambda texts: _ids(read, texts), most)
    if comparison.differs is not None:
        return f"{REJECTED}Hugging Face's model gives other ids for {comparison.differs!r}"
    converted.save(str(folder / "tokenizer.json"), pretty=False)
    return f"tokenizer.json gives the same ids on {comparison}"


def _ids(converted: "tokenizers.Tokenizer", texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in converted.encode_batch_fast(texts, add_special_tokens=False)]


@dataclass(frozen=True)
class Differing:
    """Code points that are in other sets for a library.

    Attributes:
        codes: the code points.
        ours: version of Unicode of our tables; empty if there are no such code points.
        theirs: version of Unicode of the library.
    """

    codes: frozenset[int]
    ours: str = ""
    theirs: str = ""

    def __str__(self) -> str:
        """Return a message with their number and the reason; empty if there are none."""
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
    """Return the code points that are in other sets for a library because it has another version of Unicode.

    Args:
        native: the tokenizer in Tokbench's three phases.
        library: name of the library.

    Raises:
        NotNativeError: a set has other characters, and the versions of Unicode do not explain it.
    """
    if not native.sets and not native.steps:
        return Differing(frozenset())
    # Code points that stand in other sets than ours, class by class.
    theirs = sets_of(library)
    try:
        classes = classes_of(native.sets.values())
    except LanguageError:
        raise NotNativeError("its patterns name too many sets of characters") from None
    try:
        with library_errors(f"{library} does not read a part of its pattern"):
            codes = frozenset(_differing(native, classes, theirs))
    except TokbenchError as error:
        raise NotNativeError(str(error)) from None
    if not codes:
        return Differing(codes)
    # Versions of Unicode explain a code point that one of the two does not assign.
    ours = property_of("Cn") or ()
    unassigned = set(theirs.unmatched(r"\P{Cn}", "".join(map(chr, sorted(codes)))))
    strange = {code for code in codes - CHANGED if chr(code) not in unassigned and not contains(ours, code)}
    if strange:
        raise NotNativeError(
            f"{library} has other characters than we do in a set that its pattern names (U+{min(strange):04X}, for one)"
        )
    # The versions of both, from characters that each version added.
    samples = "".join(map(chr, EDITIONS.values()))
    missing = theirs.unmatched(r"\P{Cn}", samples)
    return Differing(
        codes,
        _edition({code for code in EDITIONS.values() if contains(ours, code)}),
        _edition(set(map(ord, missing))),
    )


def _edition(missing: set[int]) -> str:
    """Return the last version before the first one whose character is missing."""
    latest = next(iter(EDITIONS))
    for edition, code in EDITIONS.items():
        if code in missing:
            break
        latest = edition
    return latest


def _differing(native: NativeTokenizer, classes: Classes, theirs: Sets) -> Iterator[int]:
    for number, text in _by_class(classes):
        signs = {True: "?=", False: "?!"}
        looks = (
            f"({signs[bool(classes.members[ranges] >> number & 1)]}{part})" for part, ranges in native.sets.items()
        )
        yield from map(ord, theirs.unmatched("".join(looks) + r"[\s\S]", text))
    if native.steps:  # Only tokenizer.json files have steps that are not regular expressions.
        from tokbench.tokenizer.libraries.hugging_face import isolated
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
    """Return the code points to compare, ascending."""
    planes = [code for plane in PLANES for code in range(plane << 16, (plane + 1) << 16)]
    ends = [plane << 16 | end for plane in range(len(PLANES), 17) for end in ENDS]
    codes = np.unique([*planes, *ends, *TAGS])
    return codes[(codes < 0xD800) | (codes > 0xDFFF)]
