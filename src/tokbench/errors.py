"""Mistakes in the input: how they are raised, and how a name that is not known is told."""

from collections.abc import Iterable, Sequence
from pathlib import Path

SHOWN = 40
"""Characters of a wrong value that a message repeats."""

LISTED = 200
"""Characters of the names that a message lists."""

FILES = 3
"""Files that a message names."""


class TokbenchError(Exception):
    """A mistake in the input, told in one line that names the key, file or record and the remedy.

    Pieces of the input may be quoted as they are: what a terminal would obey, or could not show, becomes ``?``.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in message))


def shortened(text: str, most: int = SHOWN) -> str:
    """A text for a message: on one line, and cut where it is long."""
    plain = on_one_line(text[: most + 1])
    return plain if len(plain) <= most else f"{plain[:most]}..."


def on_one_line(text: str) -> str:
    """A text with escapes in place of what would end a line, or could not be shown."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def listed(names: Iterable[str]) -> str:
    """Names that come from a file, for a message: on one line, and cut where they are many."""
    return shortened(", ".join(names), LISTED)


def listed_files(files: Sequence[Path]) -> str:
    """Return the first paths of a list in full, and how many more there are: ``a.txt, b.txt, c.txt and 4 more``."""
    more = f" and {len(files) - FILES:,} more" if len(files) > FILES else ""
    return ", ".join(on_one_line(str(file)) for file in files[:FILES]) + more


def joined(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def nearest(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` for the closest known name, or nothing when none is close."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


def unknown(name: str, kind: str, known: Iterable[str]) -> str:
    """The one-line message for a name that is not among the known ones."""
    known = sorted(known)
    article = "an" if kind[0] in "aeiou" else "a"
    names = ", ".join(known) or "there is none"
    return f"'{shortened(name)}' is not {article} {kind} ({names}).{nearest(name, known)}"
