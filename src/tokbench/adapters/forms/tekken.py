"""Mistral's Tekken: ranks with their pattern, after ids that are kept for special tokens."""

import base64
import binascii
import json
from pathlib import Path
from typing import Any, TypeVar

from tokbench.adapters.forms import REMEDY, Found, NotNativeError, ReadOptions
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.patterns import Pattern
from tokbench.adapters.forms.ranks import add_rank, checked_ranks, native_ranks
from tokbench.errors import TokbenchError
from tokbench.inputs.json import parse_json
from tokbench.inputs.numbers import LARGEST_VOCABULARY

Value = TypeVar("Value", int, str)


def read(path: Path, options: ReadOptions) -> Found:
    """A ``tekken.json``: ids are ranks after the special ones, and only as many entries count as the size says.

    Raises:
        TokbenchError: the file is damaged.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: its pattern is in the file; leave --pattern out")
    reason = ""
    try:
        values = parse_json(read_bounded(path), str(path), remedy=REMEDY)
        config, vocabulary = values["config"], values["vocab"]
        if not isinstance(config, dict) or not isinstance(vocabulary, list):
            raise ValueError("'config' is no object, or 'vocab' no list")
        shift, size = (_size(config, key) for key in ("default_num_special_tokens", "default_vocab_size"))
        expression = config["pattern"]
        if not isinstance(expression, str) or shift >= size:
            raise ValueError("its pattern is no text, or its sizes do not fit")
        ranks = _ranks(vocabulary, size - shift, str(path))
        special = _special(values.get("special_tokens") or [], shift)
        native = native_ranks(ranks, Pattern(None, expression), special, options.segmentation, shift)
    except NotNativeError as error:
        native, reason = None, str(error)
    except KeyError as error:
        raise TokbenchError(f"{path}: not a file of Tekken (the key {error} is missing); {REMEDY}") from None
    except (TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise TokbenchError(f"{path}: not a file of Tekken ({error}); {REMEDY}") from None
    return Found(
        native,
        reason,
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
    for number, entry in enumerate(entries):
        rank = _value(entry, "rank", int, f"vocab[{number}]")
        if rank < 0:
            raise ValueError(f"vocab[{number}].rank is {rank}")
        if rank < most:
            spelt = _value(entry, "token_bytes", str, f"vocab[{number}]")
            try:
                token = base64.b64decode(spelt, validate=True)
            except (ValueError, binascii.Error):
                raise ValueError(f"vocab[{number}].token_bytes is no base64") from None
            add_rank(ranks, token, rank, f"{place}: rank {rank}")
    return checked_ranks(ranks, place)


def _value(entry: Any, key: str, kind: type[Value], place: str) -> Value:
    """What an entry has under a key.

    Raises:
        ValueError: it has no such key, or something else there.
    """
    if not isinstance(entry, dict) or key not in entry:
        raise ValueError(f"{place} has no {key}")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{place}.{key} is {json.dumps(value)[:40]} and no {'number' if kind is int else 'text'}")
    return value


def _special(entries: list[dict[str, Any]], most: int) -> dict[int, bytes]:
    """Special tokens by id; those that a file does not name are spelt by their number."""
    named = {
        _value(entry, "rank", int, f"special_tokens[{number}]"): _value(
            entry, "token_str", str, f"special_tokens[{number}]"
        ).encode()
        for number, entry in enumerate(entries)
    }
    return {rank: named.get(rank, b"<SPECIAL_%d>" % rank) for rank in range(most)}
