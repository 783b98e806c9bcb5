"""BPE over characters with byte fallback, as in Llama 2, Mistral 7B, Gemma and Phi-3.

These models have no pre-tokens, or split before spaces only. A space is spelled U+2581 in their tokens; here it is a
space, and a U+2581 in a text becomes one. A text without pre-tokens is split where no token can join the two sides, so
that pre-tokens exist, equal ones are segmented once, and the ids are the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.forms.added_tokens import BYTE, AddedTokenSettings
from tokbench.adapters.forms.kept_tokens import containing, kept_tokens, with_added_tokens
from tokbench.adapters.forms.parsed import NativeTokenizer, other_ids
from tokbench.errors import shortened
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.vocabulary import Vocabulary

BLANK = "\u2581"
CUTS = (r"\n| *[^ \n]+| +", r"\n+| *[^ \n]+| +", r" *[^ ]+| +")
"""Patterns whose borders follow from the two characters around them, those with the shortest pieces first."""
NORMALIZERS = "it normalises texts ({})"
Part = TypeVar("Part", str, bytes)


class CharacterTokens:
    """Tokens of a model by their bytes, with their ids.

    Args:
        pieces: Spelling of each id, without the names of bytes.
        byte_ids: Id of each of the 256 bytes.
        spaced: Whether U+2581 spells a space.
        kept: Added tokens with their ids, spaces as spaces.

    Attributes:
        ids: Id of each token. A byte that is also a character has the character's id.
        unused: Ids that no text gives, with the bytes that decoding returns.

    Raises:
        NotNativeError: A byte is missing, or no token is a space.
    """

    def __init__(
        self, pieces: Mapping[int, str], byte_ids: Mapping[int, int], spaced: bool, kept: Mapping[bytes, int]
    ) -> None:
        if len(byte_ids) < 256:
            raise NotNativeError(f"{256 - len(byte_ids)} of the 256 bytes are no tokens")
        self.spaced = spaced
        self.ids: dict[bytes, int] = {}
        self.unused: dict[int, bytes] = {}
        contains = containing(kept)
        for number, spelt in pieces.items():
            token = self.token(spelt)
            if token is None or (contains(token) and kept.get(token) != number):
                self.unused[number] = spelt.encode() if token is None else token
            else:
                self.ids[token] = number
        if spaced and b" " not in self.ids:
            raise NotNativeError("no token of its model is a space")
        self.ids |= kept
        for value, number in byte_ids.items():
            if self.ids.setdefault(bytes([value]), number) != number:
                self.unused[number] = bytes([value])

    def token(self, spelt: str) -> bytes | None:
        """Return the bytes of a spelling; None if no text gives it, as a space is spelled otherwise."""
        if not self.spaced:
            return spelt.encode()
        return None if " " in spelt else spelt.replace(BLANK, " ").encode()

    def without(self, tokens: Iterable[bytes]) -> None:
        """Move tokens to the unused ones."""
        for token in tokens:
            self.unused[self.ids.pop(token)] = token

    def vocabulary(self, special: Mapping[int, bytes], kept: Mapping[bytes, int], **more: Any) -> Vocabulary:
        """Return the vocabulary, with tokens in the order of ids."""
        tokens = sorted(self.ids, key=self.ids.__getitem__)
        ids: NDArray[np.int32] = np.array([self.ids[token] for token in tokens], np.int32)
        if len(set(self.ids.values())) < len(ids):
            raise NotNativeError("some of its tokens have one id")
        added = np.array([token in kept for token in tokens], np.bool_) if kept else None
        return Vocabulary(tuple(tokens), ids=ids, added=added, **other_ids(ids.tolist(), special, self.unused), **more)


def pairs_of(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the merges of a BPE model; of equal ones, the last one is used."""
    pairs = [pair.split(" ", 1) if isinstance(pair, str) else pair for pair in model["merges"]]
    return list(dict.fromkeys((left, right) for left, right in reversed(pairs)))[::-1]


def reject_marks(model: Mapping[str, Any]) -> None:
    """Reject a BPE model whose tokens have a mark of their place in a word.

    Raises:
        NotNativeError: it has one.
    """
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise NotNativeError(f"its tokens have a {key}")


def reachable(merges: Iterable[tuple[Part, Part, Part]], alphabet: Iterable[Part]) -> set[Part]:
    """Return an alphabet and the tokens that merges can make from it, in any order.

    Args:
        merges: Left part, right part and token of each merge.
        alphabet: Tokens that no merge makes.
    """
    made = set(alphabet)
    waiting: dict[Part, list[tuple[Part, Part, Part]]] = {}
    for merge in merges:
        stack = [merge]
        while stack:
            left, right, token = merge = stack.pop()
            missing = left if left not in made else right
            if missing not in made:
                waiting.setdefault(missing, []).append(merge)
            elif token not in made:
                made.add(token)
                stack += waiting.pop(token, [])
    return made


def cut_between(tokens: Iterable[bytes], kept: Mapping[bytes, int]) -> str | dict[str, Any]:
    """Return the setting that splits a text where no token can join the two sides, after its added tokens.

    Args:
        tokens: Tokens that are joined from others.
        kept: Added tokens that are recognised in a text.
    """
    known = list(tokens)
    for pattern in CUTS:
        setting = {"method": "regex", "pattern": pattern}
        scheme = pretokenization_of(setting)
        if all(len(scheme.boundaries(token)) == 2 for token in known):
            return with_added_tokens(setting, kept)
    return with_added_tokens("none", kept)


def native_characters(
    values: Mapping[str, Any],
    added: AddedTokenSettings,
    normalizers: Sequence[Mapping[str, Any]],
    segmentation: str | None,
) -> NativeTokenizer:
    """Return a ``tokenizer.json`` of BPE with byte fallback in Tokbench's three phases.

    Raises:
        NotNativeError: they are not equivalent; the message is the reason.
    """
    model, cut = values["model"], values.get("pre_tokenizer")
    reject_marks(model)
    if model.get("ignore_merges"):
        raise NotNativeError("it ignores merges")
    steps = normalization_of(normalizers, cut)
    if added.kept and steps[-1:] in (["space"], ["missing_space"]):
        raise NotNativeError("it puts a space before each part of a text between added tokens")
    # Added tokens that pre-tokenization isolates.
    spaced = "metaspace" in steps
    kept, between = kept_tokens(values["added_tokens"], added, "nfc" in steps)
    if between:
        steps[steps.index("nfc")] = "nfc_between"
    if wrong := next(
        (spelt_token for spelt_token in kept if spaced and {" ", BLANK} & set(spelt_token.decode())), None
    ):
        raise NotNativeError(f"the added token '{shortened(wrong.decode())}' has a space, which is spelled otherwise")
    # Tokens by their bytes, and merges of these.
    pieces = {number: spelt for spelt, number in model["vocab"].items() if not BYTE.fullmatch(spelt)}
    byte_ids = {int(spelt[3:-1], 16): number for spelt, number in model["vocab"].items() if BYTE.fullmatch(spelt)}
    tokens = CharacterTokens(pieces, byte_ids, spaced, kept)
    pairs = pairs_of(model)
    if name := next((part for pair in pairs for part in (*pair, "".join(pair)) if BYTE.fullmatch(part)), None):
        raise NotNativeError(f"a merge has {name}, the name of a byte")
    spelt = [tuple(map(tokens.token, (*pair, "".join(pair)))) for pair in pairs]
    contains = containing(kept)
    rows = [row for row in spelt if None not in row and not contains(row[2] or b"")]
    # Tokens that no merge makes from characters are unused.
    if segmentation is None:
        longer = {token for token in tokens.ids if len(token.decode("utf-8", "replace")) > 1}
        made = reachable([(row[0] or b"", row[1] or b"", row[2] or b"") for row in rows], tokens.ids.keys() - longer)
        rows = [row for row in rows if made.issuperset(row)]
        tokens.without(longer - made - kept.keys())
    # The text is split where no token crosses.
    joined = (row[2] for row in rows)
    splits = cut is not None and _splits(cut)
    setting = with_added_tokens("metaspace", kept) if splits else cut_between(filter(None, joined), kept)
    vocabulary = tokens.vocabulary(added.special, kept)
    places = {token: place for place, token in enumerate(vocabulary.tokens)}
    merges = np.array([[places[part or b""] for part in row] for row in rows], np.int32).reshape(-1, 3)
    vocabulary = tokens.vocabulary(added.special, kept, merges=merges)
    return NativeTokenizer(vocabulary, setting, segmentation or "merge_characters", normalization=steps)


def normalization_of(normalizers: Sequence[Mapping[str, Any]], cut: Mapping[str, Any] | None) -> list[str]:
    """Return the steps of normalization of a ``tokenizer.json``: its normalizers, and a ``Metaspace`` step.

    Raises:
        NotNativeError: a step is of another kind, or the text is split otherwise.
    """
    steps: list[str] = []
    kinds = [normalizer["type"] for normalizer in normalizers]
    for normalizer in normalizers:
        if normalizer["type"] == "NFC" and not steps:
            steps.append("nfc")
        elif normalizer["type"] == "Prepend" and normalizer["prepend"] == BLANK:
            steps.append("space")
        elif (
            normalizer["type"] == "Replace"
            and normalizer["pattern"] == {"String": " "}
            and normalizer["content"] == BLANK
        ):
            steps.append("metaspace")
        else:
            raise NotNativeError(NORMALIZERS.format(", ".join(kinds)))
    if len(set(steps)) < len(steps) or ("space" in steps and "metaspace" not in steps):
        raise NotNativeError(NORMALIZERS.format(", ".join(kinds)))
    steps.sort(key=["nfc", "metaspace", "space"].index)
    if cut is None or (_splits_at_spaces(cut) and "metaspace" in steps):
        return steps
    if cut["type"] != "Metaspace" or cut.get("replacement", BLANK) != BLANK:
        raise NotNativeError(f"it cuts by {cut['type']}")
    prepended = cut.get("prepend_scheme", "always" if cut.get("add_prefix_space", True) else "never") != "never"
    if "space" in steps and prepended:
        prepended = False  # The text begins with a space already.
    return [*steps, *(["metaspace"] if "metaspace" not in steps else []), *(["missing_space"] if prepended else [])]


def _splits(cut: Mapping[str, Any]) -> bool:
    return cut["type"] == "Metaspace" and bool(cut.get("split", True))


def _splits_at_spaces(cut: Mapping[str, Any]) -> bool:
    """Return whether a step splits at spaces, of which there are none after the normalizer."""
    return cut["type"] == "Split" and cut["pattern"] == {"String": " "} and not cut.get("invert")
