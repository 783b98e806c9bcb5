"""Characters as an alphabet: which of them a text is worth, and the merges of bytes that make them.

Where no token may reach across: between scripts, before spaces, around digits and rare characters.

The rules are those that sentencepiece applies to pieces (``split_by_unicode_script``, ``split_by_number``,
``split_by_whitespace``, ``split_digits``, ``character_coverage``). Each depends on two neighbouring characters alone,
so that one mark between two bytes says whether a token may hold both.
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


def count_characters(counts: PretokenCounts) -> Counter[str]:
    """How often each character occurs, whatever its width; bytes that are not UTF-8 are none."""
    found: Counter[str] = Counter()
    for pretoken, count in counts.items():
        for character in pretoken.decode(errors="ignore"):
            found[character] += count
    return found


def covering_characters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """The most frequent characters of two bytes or more, just enough that a share of all occurrences is covered.

    Characters of one byte are covered by the bytes and count towards the share. Order: count descending, then bytes.
    """
    found = count_characters(counts)
    total = sum(found.values())
    covered = sum(count for character, count in found.items() if ord(character) < 128)
    wide = [(character.encode(), count) for character, count in found.items() if ord(character) >= 128]
    chosen = []
    for character, count in sorted(wide, key=lambda item: (-item[1], item[0])):
        if covered >= coverage * total:
            break
        chosen.append(character)
        covered += count
    return chosen


def frequent_characters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """The most frequent characters of any width, just enough to cover a share of all occurrences, as in sentencepiece.

    Order: count descending, then bytes.
    """
    found = count_characters(counts)
    total = sum(found.values())
    covered = 0
    chosen = []
    for character, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        if covered >= coverage * total:
            break
        chosen.append(character.encode())
        covered += count
    return chosen


def character_merges(counts: PretokenCounts, coverage: float) -> tuple[list[bytes], NDArray[np.int32]]:
    """The 256 bytes, then what merging from the left needs to make each character, the character last.

    Returns:
        The tokens, and int32 [tokens - 256, 2], the two ids from which each token beyond the bytes is made.
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
    """Pre-tokens in tokens, the longest from the left each time.

    Args:
        counts: the pre-tokens.
        tokens: each of the 256 bytes among them.
        continuation: bool [tokens], True for those that match inside a pre-token only, False for those that match at
            its start only; None where all match anywhere.

    Returns:
        int32 [n] ids end to end; int64 [pre-tokens + 1], where each pre-token starts.
    """
    data, offsets = Vocabulary(tuple(tokens), continuation=continuation).flat()
    if continuation is None:
        trie = Trie(data, offsets)
        segmenter = GreedySegmenter(trie, trie)
    else:
        segmenter = GreedySegmenter(Trie(data, offsets, ~continuation), Trie(data, offsets, continuation))
    ids, bounds = segmenter.segment(counts.data, counts.offsets)
    return ids, bounds


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
"""Scripts that tokens are kept within, by their codes of ISO 15924; Han, Hiragana and Katakana are one beside them."""

ANY = 0
"""Class of characters that go with every script."""

INHERITED = 1
"""Class of marks that take the script of what they stand on."""

COMMON = 1000
"""Class of what has no script of its own: punctuation, symbols and digits."""

CLASSES = regex.compile(
    r"([\p{Script=Zinh}])|([\p{Script=Hani}\p{Script=Hira}\p{Script=Kana}\u30fc])|"
    + "|".join(rf"(\p{{Script={code}}})" for code in SCRIPTS.split())
)
"""Group 1 for marks, then one group a script."""

DIGIT = regex.compile(r"[0-9\uff10-\uff19]")
"""The digits of sentencepiece."""


def script_class(character: str, split_by_number: bool) -> int:
    """The class that neighbours must share, or :data:`ANY`."""
    if character == " " or (not split_by_number and DIGIT.match(character)):
        return ANY
    found = CLASSES.match(character)
    return found.lastindex if found and found.lastindex else COMMON


def characters(counts: PretokenCounts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Code points, uint32 [n], and where each starts, int64 [n + 1]; a byte that is not UTF-8 is 0xDC00 + its value."""
    apart = np.insert(counts.data, counts.offsets[1:-1], 0x0A).tobytes().decode("utf-8", "surrogateescape")
    points = np.frombuffer(apart.encode("utf-32-le", "surrogatepass"), np.uint32)
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
    """Which bytes no token may hold together with the byte before.

    Args:
        counts: the pre-tokens.
        split_by_unicode_script: not those of two scripts. Common characters, such as punctuation, are one of them.
        split_by_number: digits are common characters; else they go with every script.
        split_by_whitespace: not a space after anything.
        split_digits: not a digit with anything.
        alphabet: characters that may be in tokens longer than themselves; None for all of them.

    Returns:
        bool [bytes].
    """
    points, starts = characters(counts)
    known, kinds = np.unique(points, return_inverse=True)
    spelt = [chr(point) for point in known.tolist()]
    after = np.zeros(len(points), np.bool_)
    result = np.zeros(len(counts.data), np.bool_)

    def are(chosen: list[bool]) -> NDArray[np.bool_]:
        return np.array(chosen, np.bool_)[kinds] if chosen else after

    if split_by_unicode_script:
        classes = np.array([script_class(character, split_by_number) for character in spelt] or [ANY])[kinds]
        first = np.isin(starts[:-1], counts.offsets)
        classes[first & (classes == INHERITED)] = ANY
        bearer = np.maximum.accumulate(np.where(classes == INHERITED, 0, np.arange(len(classes))))
        classes = classes[bearer]
        after[1:] |= (classes[1:] != classes[:-1]) & (classes[1:] != ANY) & (classes[:-1] != ANY)
    if split_by_whitespace:
        after |= are([character == " " for character in spelt])
    alone = are([split_digits and DIGIT.match(character) is not None for character in spelt])
    if alphabet is not None:
        rare = are([character.encode("utf-8", "surrogateescape") not in alphabet for character in spelt])
        alone = alone | rare
        lengths = np.diff(starts)
        inside = np.repeat(rare, lengths)
        inside[starts[:-1]] = False
        result |= inside
    after = after | alone
    after[1:] |= alone[:-1]
    result[starts[:-1][after]] = True
    return result
