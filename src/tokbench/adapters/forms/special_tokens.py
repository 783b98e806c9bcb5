"""Special tokens that are given for a file without any: names and ids that can be those of tokens."""

from collections.abc import Mapping

from tokbench.errors import TokbenchError, shortened
from tokbench.inputs.numbers import LARGEST_VOCABULARY


def check_special(special: Mapping[str, int], key: str) -> None:
    """Reject special tokens whose names or ids are none, or of which two have one id.

    Raises:
        TokbenchError: the message begins with ``key``.
    """
    named: dict[int, str] = {}
    for name, number in special.items():
        if not name or any(0xD800 <= ord(sign) < 0xE000 for sign in name):
            raise TokbenchError(f"{key}: {name!a:.40} is no name of a token; give it one that is text")
        if type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise TokbenchError(
                f"{key}: '{shortened(name)}' has the id {number!r:.20}; ids are 0 to {LARGEST_VOCABULARY - 1}"
            )
        if (other := named.setdefault(number, name)) != name:
            raise TokbenchError(
                f"{key}: '{shortened(other)}' and '{shortened(name)}' have one id, {number}; give each its own"
            )


def check_apart(special: Mapping[str, int], ranks: Mapping[bytes, int], key: str) -> None:
    """Reject special tokens that have the id of a rank.

    Raises:
        TokbenchError: the message begins with ``key`` and names the first.
    """
    taken = set(ranks.values())
    for name, number in special.items():
        if number in taken:
            raise TokbenchError(
                f"{key}: '{shortened(name)}' has the id {number}, which is a rank of the file; give it another"
            )
