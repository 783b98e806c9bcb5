"""Alphabets of characters or grapheme clusters: choice by coverage, byte merges, and boundaries inside no token.

Boundaries are between scripts, before spaces, and around digits and rare characters. The rules are those that
sentencepiece applies to pieces (``split_by_unicode_script``, ``split_by_number``, ``split_by_whitespace``,
``split_digits``, ``character_coverage``). Each depends only on two neighbouring characters. One mark between two bytes
is therefore enough.
"""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from tokbench.kernels.greedy import GreedySegmenter
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

SCRIPTS = """
    Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo Brah Brai Bugi Buhd Cakm Cans Cari
    Cham Cher Copt Cprt Cyrl Deva Dogr Dsrt Dupl Egyp Elba Elym Ethi Geor Glag Gong Gonm Goth Gran Grek Gujr
    Guru Hang Hano Hatr Hebr Hluw Hmng Hmnp Hung Ital Java Jurc Kali Khar Khmr Khoj Knda Kthi Lana Laoo Latn
    Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Miao Mlym Modi Mong Mroo
    Mtei Mult Mymr Nand Narb Nbat Newa Nkoo Nshu Ogam Olck Orkh Orya Osge Osma Palm Pauc Pcun Perm Phag Phli
    Phlp Phnx Prti Rjng Rohg Runr Samr Sarb Saur Seal Sgnw Shaw Shrd Sidd Sind Sinh Sogd Sogo Sora Soyo Sund
    Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Tnsa Ugar Vaii Wara Wcho
    Xpeo Xsux Yiii
"""
"""ISO 15924 codes of the scripts that tokens may not cross. Han, Hiragana and Katakana are one further script."""
ANY = 0
"""Class of characters that match every script."""
INHERITED = 1
"""Class of marks, which have the script of their base character."""
COMMON = 1000
"""Class of characters without a script: punctuation, symbols and digits."""
CLASSES = regex.compile(
    r"([\p{Script=Zinh}])|([\p{Script=Hani}\p{Script=Hira}\p{Script=Kana}\u30fc])|"
    + "|".join(rf"(\p{{Script={code}}})" for code in SCRIPTS.split())
)
"""Pattern with group 1 for marks, then one group per script."""
DIGIT = regex.compile(r"[0-9\uff10-\uff19]")
"""Digits, as sentencepiece defines them."""
CLUSTER = regex.compile(r"\X")
"""Extended grapheme cluster of Unicode Standard Annex 29. A lone surrogate, for a byte that is not UTF-8, is one."""


def count_characters(counts: PretokenCounts) -> Counter[str]:
    """Count each character of any width. Bytes that are not UTF-8 are ignored."""
    occurrences: Counter[str] = Counter()
    for pretoken, count in counts.items():
        for character in pretoken.decode(errors="ignore"):
            occurrences[character] += count
    return occurrences


def count_clusters(counts: PretokenCounts) -> Counter[str]:
    """Count each extended grapheme cluster (Unicode Standard Annex 29). Bytes that are not UTF-8 are ignored."""
    occurrences: Counter[str] = Counter()
    for pretoken, count in counts.items():
        for cluster in CLUSTER.findall(pretoken.decode(errors="surrogateescape")):
            occurrences[cluster] += count
    for byte in range(0x80, 0x100):
        del occurrences[bytes([byte]).decode(errors="surrogateescape")]
    return occurrences


def covering_characters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """Return the most frequent characters of two or more bytes, just enough to cover a share of all occurrences.

    Characters of one byte are covered by the bytes and count towards the share. Order: descending count, then bytes.
    """
    return _covering(count_characters(counts), coverage)


def covering_clusters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """Return the most frequent grapheme clusters of two or more bytes, by the rule of :func:`covering_characters`."""
    return _covering(count_clusters(counts), coverage)


def _covering(occurrences: Counter[str], coverage: float) -> list[bytes]:
    total = occurrences.total()
    symbols = {symbol.encode(): count for symbol, count in occurrences.items()}
    covered = sum(count for symbol, count in symbols.items() if len(symbol) == 1)
    covering = []
    for symbol, count in sorted(symbols.items(), key=lambda item: (-item[1], item[0])):
        if len(symbol) == 1:
            continue
        if covered >= coverage * total:
            break
        covering.append(symbol)
        covered += count
    return covering


def frequent_characters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """Return the most frequent characters of any width, just enough to cover a share of all occurrences.

    The rule is that of sentencepiece. Order: descending count, then bytes.
    """
    occurrences = count_characters(counts)
    total = sum(occurrences.values())
    covered = 0
    frequent = []
    for character, count in sorted(occurrences.items(), key=lambda item: (-item[1], item[0])):
        if covered >= coverage * total:
            break
        frequent.append(character.encode())
        covered += count
    return frequent


def character_merges(counts: PretokenCounts, coverage: float) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the 256 bytes, then the tokens that merge each character from the left, ending with the character.

    Returns:
        The tokens, and int32 [tokens - 256, 2], the two ids that each token beyond the bytes is merged from.
    """
    tokens = list(BYTES)
    ids = {token: index for index, token in enumerate(tokens)}
    merges = []
    for character in covering_characters(counts, coverage):
        for end in range(2, len(character) + 1):
            part = character[:end]
            if part not in ids:
                merges.append((ids[part[:-1]], part[-1]))
                ids[part] = len(tokens)
                tokens.append(part)
    return tokens, np.array(merges, np.int32).reshape(-1, 2)


def cut_by_longest_match(
    counts: PretokenCounts, tokens: Sequence[bytes], continuation: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Split pre-tokens into tokens, from the left, by the longest match.

    Args:
        counts: the pre-tokens.
        tokens: tokens, including each of the 256 bytes.
        continuation: bool [tokens], True for tokens that match only inside a pre-token, False for those that match only
            at its start. None (default) if all match anywhere.

    Returns:
        int32 [n], concatenated ids, and int64 [pre-tokens + 1], start of each pre-token in them.
    """
    data, offsets = Vocabulary(tuple(tokens), continuation=continuation).flat()
    if continuation is None:
        trie = Trie(data, offsets)
        segmenter = GreedySegmenter(trie, trie)
    else:
        segmenter = GreedySegmenter(Trie(data, offsets, ~continuation), Trie(data, offsets, continuation))
    ids, bounds = segmenter.segment(counts.data, counts.offsets)
    return ids, bounds


def script_class(character: str, split_by_number: bool) -> int:
    """Return the class that neighbours must share, or :data:`ANY`."""
    if character == " " or (not split_by_number and DIGIT.match(character)):
        return ANY
    match = CLASSES.match(character)
    return match.lastindex if match and match.lastindex else COMMON


def characters(counts: PretokenCounts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return code points, uint32 [n], and the start of each, int64 [n + 1].

    A byte that is not UTF-8 has the code point 0xDC00 + its value.
    """
    text = np.insert(counts.data, counts.offsets[1:-1], 0x0A).tobytes().decode("utf-8", "surrogateescape")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    widths = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    widths[(points >= 0xDC00) & (points < 0xE000)] = 1
    separators = np.isin(np.cumsum(widths) - widths, counts.offsets[1:-1] + np.arange(len(counts) - 1))
    points, widths = points[~separators], widths[~separators]
    starts = np.zeros(len(points) + 1, np.int64)
    np.cumsum(widths, out=starts[1:])
    return points, starts


def token_boundaries(
    counts: PretokenCounts,
    *,
    split_by_unicode_script: bool = False,
    split_by_number: bool = True,
    split_by_whitespace: bool = False,
    split_digits: bool = False,
    alphabet: Collection[bytes] | None = None,
) -> NDArray[np.bool_]:
    """Mark the bytes that no token may contain together with the preceding byte.

    Args:
        counts: the pre-tokens.
        split_by_unicode_script: split between two scripts. Common characters, such as punctuation, are a script.
            Default: False.
        split_by_number: digits are common characters. If False they match every script. Default: True.
        split_by_whitespace: split before spaces. Default: False.
        split_digits: split around each digit. Default: False.
        alphabet: characters that may occur in longer tokens. Default: None, all of them.

    Returns:
        bool [bytes].
    """
    # Rules are evaluated once for each distinct character, and mapped to all characters.
    points, starts = characters(counts)
    distinct, kinds = np.unique(points, return_inverse=True)
    symbols = [chr(point) for point in distinct.tolist()]
    after = np.zeros(len(points), np.bool_)
    result = np.zeros(len(counts.data), np.bool_)

    def flags_of(by_symbol: list[bool]) -> NDArray[np.bool_]:
        return np.array(by_symbol, np.bool_)[kinds] if by_symbol else after

    # Combining marks have the script of the preceding character.
    if split_by_unicode_script:
        classes = np.array([script_class(character, split_by_number) for character in symbols] or [ANY])[kinds]
        first = np.isin(starts[:-1], counts.offsets)
        classes[first & (classes == INHERITED)] = ANY
        bearer = np.maximum.accumulate(np.where(classes == INHERITED, 0, np.arange(len(classes))))
        classes = classes[bearer]
        after[1:] |= (classes[1:] != classes[:-1]) & (classes[1:] != ANY) & (classes[:-1] != ANY)
    if split_by_whitespace:
        after |= flags_of([character == " " for character in symbols])
    single = flags_of([split_digits and DIGIT.match(character) is not None for character in symbols])
    # Rare characters are single, and their bytes are not joined.
    if alphabet is not None:
        rare = flags_of([character.encode("utf-8", "surrogateescape") not in alphabet for character in symbols])
        single = single | rare
        lengths = np.diff(starts)
        inside = np.repeat(rare, lengths)
        inside[starts[:-1]] = False
        result |= inside
    # From characters to bytes.
    after = after | single
    after[1:] |= single[:-1]
    result[starts[:-1][after]] = True
    return result
