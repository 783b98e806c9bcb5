"""Word lists: pre-token counts published as two files, the words and how often each occurs.

This is the form of the data of Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025): words as they
were cut there, a space spelt U+0120, which stays the two bytes C4 A0 that it is in their experiments.
"""

from pathlib import Path

from tokbench.allowance import RESERVE, require, resident
from tokbench.errors import TokbenchError
from tokbench.inputs.files import read_whole
from tokbench.inputs.numbers import LARGEST_BYTES, whole_number
from tokbench.pretokens import TOO_MUCH, PretokenCounts

REMEDY = "correct the path"
WORD_BYTES, COPIES = 340, 4
"""Held for each word, and for each of its bytes: 380 in all were measured of words of 12 bytes."""


def read_word_list(words: Path | str, counts: Path | str, megabytes: int | None = None) -> PretokenCounts:
    """Read words and their counts from two files, either of them plain or compressed.

    Args:
        words: the words in UTF-8, a single space between one and the next; other white space belongs to words.
        counts: an integer a line, in the order of the words.
        megabytes: memory that the process may take, of 10**6 bytes; whatever it takes where None.

    Raises:
        TokbenchError: the words would take more than that, a file cannot be read, a line is not a count, a word is
            empty or stands twice, or there are more of one than of the other; the message names file and record.
    """
    text = read_whole(Path(words), REMEDY)
    taken = resident() + RESERVE + WORD_BYTES * (text.count(b" ") + 1) + COPIES * len(text)
    require("this list of words", taken, megabytes, "give a table of Parquet, which is taken in pieces")
    spelt = text.split(b" ")
    numbers = read_whole(Path(counts), REMEDY).splitlines()
    if len(spelt) != len(numbers):
        raise TokbenchError(
            f"{words}: {len(spelt)} words, but {counts} has {len(numbers)} lines; give one count for each word"
        )
    pairs: dict[bytes, int] = {}
    for record, (word, line) in enumerate(zip(spelt, numbers, strict=True), 1):
        if not word or word in pairs:
            fault = "is empty" if not word else f"{word[:60].decode(errors='replace')!r} stands there before"
            raise TokbenchError(f"{words}: word {record} {fault}; give each word once, with one space between words")
        try:
            pairs[word] = whole_number(line.strip().decode(), 0, LARGEST_BYTES)
        except ValueError:
            shown = line[:60].decode(errors="replace")
            raise TokbenchError(f"{counts}:{record}: {shown!r} is not a count; correct it") from None
    try:
        return PretokenCounts.from_pairs(pairs.items())
    except OverflowError as error:
        raise TokbenchError(f"{counts}: {error}; {TOO_MUCH}") from None
