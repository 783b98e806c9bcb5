"""Twenty kinds of perturbations of a text, as lists of edits that can be undone.

Each kind changes units of one type: words, single spaces between words, or numbers. A unit is drawn with a given
probability. A kind that cannot change a unit, such as a lower-case word in lower case, leaves it out.

The kinds are those of studies of typos and noise: letters exchanged, missing, doubled, replaced by a neighbour on the
keyboard or inserted (Belinkov and Bisk, "Synthetic and natural noise both break neural machine translation", 2018);
case, missing diacritics and spaces, and errors of optical character recognition (Wang and others, "TextFlint", 2021);
characters that are similar or invisible (Boucher and others, "Bad characters: imperceptible NLP attacks", 2022).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tokbench.errors import unknown

BYTES = 200_000
"""Default number of bytes of text."""
RATE = 0.1
"""Default probability that a unit is changed."""
Change = Callable[[str, Random], str]
"""Function from a unit to its new form. The unit unchanged means that there is no such change."""
WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
BLANKS = re.compile(r"(?<=\S) (?=\S)")
NUMBERS = re.compile(r"(?<![\w.,])[0-9]{1,9}(?![\w]|[.,][0-9])")
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
"""Rows of letters on a QWERTY keyboard."""
HOMOGLYPHS = str.maketrans("aceijopsxyABCEHIJKMOPSTXY", "асеіјорѕхуАВСЕНІЈКМОРЅТХУ")
"""Latin letters -> similar Cyrillic letters."""
MISREAD = {
    "rn": "m", "m": "rn", "cl": "d", "d": "cl", "vv": "w", "w": "vv", "l": "1", "I": "l", "O": "0", "e": "c", "h": "b",
    "S": "5", "B": "8", "g": "q", "ri": "n", "t": "f",
}  # fmt: skip
"""Letters -> letters for which optical character recognition takes them."""
SMALL = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ((10**6, "million"), (10**3, "thousand"), (100, "hundred"))


class Edit(NamedTuple):
    """Replacement in a text.

    Attributes:
        start: position in the original text, in characters.
        before: original characters.
        after: new characters.
    """

    start: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of perturbation.

    Attributes:
        units: pattern of the units that it changes.
        change: function to the new form of a unit.
        definition: the change of a unit, for tables.
    """

    units: re.Pattern[str]
    change: Change
    definition: str


def swap(word: str, draw: Random) -> str:
    """Exchange two neighbouring letters after the first one."""
    places = [place for place in range(1, len(word) - 1) if word[place] != word[place + 1]]
    if not places:
        return word
    place = draw.choice(places)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def drop(word: str, draw: Random) -> str:
    """Leave out a letter after the first one."""
    if len(word) < 2:
        return word
    place = draw.randrange(1, len(word))
    return word[:place] + word[place + 1 :]


def double(word: str, draw: Random) -> str:
    """Write a letter twice."""
    place = draw.randrange(len(word))
    return word[: place + 1] + word[place:]


def neighbours(letter: str) -> str:
    """Return the letters to the left and right of a lower-case ASCII letter on a QWERTY keyboard."""
    row = next(row for row in ROWS if letter in row)
    place = row.index(letter)
    return row[max(0, place - 1) : place] + row[place + 1 : place + 2]


def replace(word: str, draw: Random) -> str:
    """Replace a lower-case ASCII letter by a neighbour on a QWERTY keyboard."""
    places = [place for place, letter in enumerate(word) if "a" <= letter <= "z"]
    if not places:
        return word
    place = draw.choice(places)
    return word[:place] + draw.choice(neighbours(word[place])) + word[place + 1 :]


def insert(word: str, draw: Random) -> str:
    """Insert an ASCII letter after the first letter."""
    place = draw.randrange(1, len(word) + 1)
    return word[:place] + draw.choice("abcdefghijklmnopqrstuvwxyz") + word[place:]


def mixed_case(word: str, draw: Random) -> str:
    """Write each letter in upper or lower case, at random."""
    return "".join(draw.choice((letter.lower(), letter.upper())) for letter in word)


def without_diacritics(word: str, draw: Random) -> str:
    """Drop the marks of letters."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in decomposed if unicodedata.category(letter) != "Mn")


def full_width(word: str, draw: Random) -> str:
    """Write ASCII letters in full width."""
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in word)


def inside(inserted: str) -> Change:
    """Return a change that inserts a character between two letters."""

    def change(word: str, draw: Random) -> str:
        if len(word) < 2:
            return word
        place = draw.randrange(1, len(word))
        return word[:place] + inserted + word[place:]

    return change


def misread(word: str, draw: Random) -> str:
    """Replace one letter or pair of letters as optical character recognition misreads it."""
    places = [(place, part) for part in MISREAD for place in range(len(word)) if word.startswith(part, place)]
    if not places:
        return word
    place, part = draw.choice(places)
    return word[:place] + MISREAD[part] + word[place + len(part) :]


def spell_number(number: str, draw: Random) -> str:
    """Write an integer below 10^9 in English words; digits one by one after a leading zero."""
    if number[0] == "0" and len(number) > 1:
        return " ".join(SMALL[int(digit)] for digit in number)
    return in_words(int(number))


def in_words(number: int) -> str:
    """Return the English words of an integer from 0 to 10^9 - 1."""
    if number < 20:
        return SMALL[number]
    if number < 100:
        rest = number % 10
        return TENS[number // 10 - 2] + (f"-{SMALL[rest]}" if rest else "")
    scale, name = next((scale, name) for scale, name in SCALES if number >= scale)
    rest = number % scale
    return f"{in_words(number // scale)} {name}" + (f" {in_words(rest)}" if rest else "")


KINDS: dict[str, Kind] = {
    "swap": Kind(WORDS, swap, "two neighbouring letters exchanged, not the first"),
    "drop": Kind(WORDS, drop, "a letter missing, not the first"),
    "double": Kind(WORDS, double, "a letter written twice"),
    "replace": Kind(WORDS, replace, "a letter replaced by its neighbour on a QWERTY keyboard"),
    "insert": Kind(WORDS, insert, "a letter inserted, not before the first"),
    "lower": Kind(WORDS, lambda word, draw: word.lower(), "in lower case"),
    "upper": Kind(WORDS, lambda word, draw: word.upper(), "in upper case"),
    "title": Kind(WORDS, lambda word, draw: word[:1].upper() + word[1:], "the first letter in upper case"),
    "mixed_case": Kind(WORDS, mixed_case, "each letter in upper or lower case, at random"),
    "no_diacritics": Kind(WORDS, without_diacritics, "without diacritics"),
    "decomposed": Kind(
        WORDS, lambda word, draw: unicodedata.normalize("NFD", word), "diacritics as separate characters (NFD)"
    ),
    "full_width": Kind(WORDS, full_width, "ASCII letters in full width"),
    "zero_width": Kind(WORDS, inside("\u200b"), "a zero-width space between two letters"),
    "soft_hyphen": Kind(WORDS, inside("\u00ad"), "a soft hyphen between two letters"),
    "homoglyphs": Kind(
        WORDS, lambda word, draw: word.translate(HOMOGLYPHS), "Latin letters as similar Cyrillic letters"
    ),
    "misread": Kind(WORDS, misread, "a letter misread by optical character recognition"),
    "joined": Kind(BLANKS, lambda blank, draw: "", "the space between two words missing"),
    "doubled_space": Kind(BLANKS, lambda blank, draw: "  ", "two spaces between two words"),
    "no_break_space": Kind(BLANKS, lambda blank, draw: "\u00a0", "a no-break space between two words"),
    "spelt_number": Kind(NUMBERS, spell_number, "an integer in English words"),
}
"""Kinds of perturbations by name, in the order of tables."""


def known_kinds(names: Sequence[str]) -> Sequence[str]:
    """Return names of kinds, for the validation of options.

    Raises:
        ValueError: a kind is unknown.
    """
    for name in names:
        if name not in KINDS:
            raise ValueError(unknown(name, "kind of perturbation", KINDS))
    return names


def edits(text: str, kind: str, rate: float, draw: Random) -> Iterator[Edit]:
    """Yield the edits of one kind, from left to right.

    Args:
        text: the text.
        kind: name in :data:`KINDS`.
        rate: probability that a unit is drawn, 0 to 1.
        draw: random generator.
    """
    of = KINDS[kind]
    for unit in of.units.finditer(text):
        if draw.random() < rate:
            before = unit.group()
            after = of.change(before, draw)
            if after != before:
                yield Edit(unit.start(), before, after)


def perturb(text: str, changes: Sequence[Edit]) -> str:
    """Return the text after edits, which are in the order of their positions and do not overlap."""
    parts = []
    end = 0
    for edit in changes:
        parts += [text[end : edit.start], edit.after]
        end = edit.start + len(edit.before)
    return "".join([*parts, text[end:]])


def restore(text: str, changes: Sequence[Edit]) -> str:
    """Return the original of a text that :func:`perturb` returned."""
    shift = 0
    back = []
    for edit in changes:
        back.append(Edit(edit.start + shift, edit.after, edit.before))
        shift += len(edit.after) - len(edit.before)
    return perturb(text, back)
