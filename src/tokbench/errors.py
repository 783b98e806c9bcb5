"""Exception for invalid input, and helpers to format its messages."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

SHOWN = 40
"""Maximum number of characters of a value in a message."""

LISTED = 200
"""Maximum number of characters of a list of names in a message."""

FILES = 3
"""Maximum number of files named in a message."""


class TokbenchError(Exception):
    """Invalid input; the message is one line that names the key, file or record, and the remedy.

    Messages may quote input. Control characters, and others that cannot be printed, become ``?``.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in message))


def shortened(text: str, most: int = SHOWN) -> str:
    """Return a text on one line, truncated to ``most`` characters (default: 40), for a message."""
    plain = on_one_line(text[: most + 1])
    return plain if len(plain) <= most else f"{plain[:most]}..."


def on_one_line(text: str) -> str:
    """Return a text with escapes for characters that cannot be printed, such as line ends."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def listed(names: Iterable[str]) -> str:
    """Return names on one line, truncated to 200 characters, for a message."""
    return shortened(", ".join(names), LISTED)


def listed_files(files: Sequence[Path]) -> str:
    """Return the first three paths, and the number of others: ``a.txt, b.txt, c.txt and 4 more``."""
    more = f" and {len(files) - FILES:,} more" if len(files) > FILES else ""
    return ", ".join(on_one_line(str(file)) for file in files[:FILES]) + more


def joined(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the closest known name; empty if none is close."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


def unknown(name: str, kind: str, known: Iterable[str]) -> str:
    """Return a one-line message for an unknown name, with the known names."""
    known = sorted(known)
    article = "an" if kind[0] in "aeiou" else "a"
    names = ", ".join(known) or "there is none"
    return f"'{shortened(name)}' is not {article} {kind} ({names}).{nearest(name, known)}"


def check_once(place: Path | str, names: Sequence[str], wanted: Iterable[str]) -> None:
    """Reject a table with two columns of one name.

    Raises:
        TokbenchError: a column of ``wanted`` is among ``names`` more than once.
    """
    for name in wanted:
        if names.count(name) > 1:
            raise TokbenchError(f"{place}: two columns are named '{name}'; rename one of them")


def unknown_names(key: str, kind: str, names: Iterable[str], there: Iterable[str]) -> Iterator[str]:
    """Yield one line for each name that is not in ``there``."""
    for name in names:
        if name not in there:
            yield f"{key}: {unknown(name, kind, there)}"
