"""The file that our export writes beside ranks: the arguments of ``tiktoken.Encoding`` that no file of ranks holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.special_tokens import check_special
from tokbench.errors import TokbenchError
from tokbench.inputs.endings import COMPRESSED, plain_name
from tokbench.inputs.json import parse_json

RANKS = "tokenizer.tiktoken"
SETTINGS = "tiktoken.json"
AGAIN = "export the tokenizer again, or name both the pattern and the special tokens"


@dataclass(frozen=True)
class Beside:
    """What the file says.

    Attributes:
        pattern: the regular expression that cuts texts.
        special: special tokens with their ids.
    """

    pattern: str
    special: Mapping[str, int]


def beside(path: Path) -> Path | None:
    """The file that stands beside ranks; None where there is none, or the ranks have not the name of our export's."""
    if plain_name(path.name) != RANKS:
        return None
    places = (path.with_name(f"{SETTINGS}{suffix}") for suffix in ("", *COMPRESSED))
    return next((place for place in places if place.is_file()), None)


def read_beside(path: Path) -> Beside:
    """What such a file says.

    Raises:
        TokbenchError: it is damaged.
    """
    values = parse_json(read_bounded(path), str(path), remedy=AGAIN)
    pattern, special = (values.get(key) if isinstance(values, dict) else None for key in ("pat_str", "special_tokens"))
    if not isinstance(pattern, str) or not isinstance(special, dict):
        raise TokbenchError(f"{path}: 'pat_str' is no text, or 'special_tokens' no object; {AGAIN}")
    check_special(special, f"{path}: special_tokens")
    return Beside(pattern, special)
