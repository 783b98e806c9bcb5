"""Mistral's Tekken: ranks with their pattern, after ids that are kept for special tokens."""

import base64
import binascii
from pathlib import Path
from typing import Any

from tokbench.adapters.forms import REMEDY, Found, ReadOptions
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.patterns import Pattern, setting_of
from tokbench.adapters.forms.ranks import add_rank, checked_ranks, native_ranks
from tokbench.errors import TokbenchError
from tokbench.inputs.json import parse_json
from tokbench.inputs.numbers import LARGEST_VOCABULARY


def read(path: Path, options: ReadOptions) -> Found:
    """A ``tekken.json``: ids are ranks after the special ones, and only as many entries count as the size says.

    Raises:
        TokbenchError: the file is damaged.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: its pattern is in the file; leave --pattern out")
    try:
        values = parse_json(read_bounded(path), str(path), remedy=REMEDY)
        shift, size = (_size(values["config"], key) for key in ("default_num_special_tokens", "default_vocab_size"))
        expression = values["config"]["pattern"]
        if not isinstance(expression, str) or shift >= size:
            raise ValueError("its pattern is no text, or its sizes do not fit")
        ranks = _ranks(values["vocab"], size - shift, str(path))
        special = _special(values.get("special_tokens") or [], shift)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise TokbenchError(f"{path}: not a file of Tekken ({type(error).__name__}: {error}); {REMEDY}") from None
    return Found(
        native_ranks(ranks, Pattern(setting_of([expression]), expression), special, options.segmentation, shift),
        library="tiktoken",
        content=b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()),
        settings={"pattern": expression, "shift": shift},
        special=special,
        tokens=len(ranks),
        ids=size,
        told=[f"{len(special):,} special tokens are text in texts", f"ids of tokens begin at {shift:,}"],
    )


def _size(config: dict[str, Any], key: str) -> int:
    value = config[key]
    if type(value) is not int or not 0 <= value <= LARGEST_VOCABULARY:
        raise ValueError(f"{key} is no size")
    return value


def _ranks(entries: list[dict[str, Any]], most: int, place: str) -> dict[bytes, int]:
    """The tokens of the entries that count, by rank."""
    ranks: dict[bytes, int] = {}
    for entry in entries:
        rank = entry["rank"]
        if type(rank) is not int or rank < 0:
            raise ValueError(f"rank {rank!r:.40}")
        if rank < most:
            add_rank(ranks, base64.b64decode(entry["token_bytes"], validate=True), rank, f"{place}: rank {rank}")
    return checked_ranks(ranks, place)


def _special(entries: list[dict[str, Any]], most: int) -> dict[int, bytes]:
    """Special tokens by id; those that a file does not name are spelt by their number."""
    named = {entry["rank"]: str(entry["token_str"]).encode() for entry in entries}
    if any(type(rank) is not int for rank in named):
        raise ValueError("the rank of a special token is no number")
    return {rank: named.get(rank, b"<SPECIAL_%d>" % rank) for rank in range(most)}
