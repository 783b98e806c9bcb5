"""Mistral's Tekken: ranks with their pattern, after ids that are reserved for special tokens."""

import base64
import binascii
import json
from pathlib import Path
from typing import Any, TypeVar

from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import FolderSettings, special_to_add
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.adapters.forms.patterns import Pattern
from tokbench.adapters.forms.ranks import native_ranks
from tokbench.errors import TokbenchError
from tokbench.io.contents import REMEDY
from tokbench.io.json import parse_json
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.tokenizer.rank_lines import add_rank, checked_ranks

UNNAMED = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
"""Special tokens of a file that names none, by rank, as in ``mistral-common`` 1.13.1."""
Value = TypeVar("Value", int, str)


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a ``tekken.json``: ids are ranks after the special ones; entries beyond the given size are ignored.

    Raises:
        TokbenchError: the file is damaged.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: its pattern is in the file; leave --pattern out")
    # The file: sizes, pattern, ranks and special tokens.
    reason = ""
    try:
        values = parse_json(read_bounded(path), str(path), remedy=REMEDY)
        config, vocabulary = values["config"], values["vocab"]
        if not isinstance(config, dict) or not isinstance(vocabulary, list):
            raise ValueError("'config' is not an object, or 'vocab' not a list")
        shift, size = (_size(config, key) for key in ("default_num_special_tokens", "default_vocab_size"))
        expression = config["pattern"]
        if not isinstance(expression, str) or shift >= size:
            raise ValueError("its pattern is not text, or its sizes do not fit")
        ranks = _ranks(vocabulary, size - shift, str(path))
        special = _special(values.get("special_tokens"), shift)
    except KeyError as error:
        raise TokbenchError(f"{path}: not a file of Tekken (the key {error} is missing); {REMEDY}") from None
    except (TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise TokbenchError(f"{path}: not a file of Tekken ({error}); {REMEDY}") from None
    # Added tokens of the folder.
    names = {number + shift: token for token, number in ranks.items()} | special
    more, notes = special_to_add(settings, names, options.added, str(path))
    head = [f"{len(special):,} special tokens are text in texts", f"ids of tokens begin at {shift:,}"]
    head += [f"{len(more):,} added tokens are from {settings.source}"] if more else []
    special |= more
    # The tokenizer in our three phases, if its pattern is compiled.
    try:
        native, reason = native_ranks(ranks, Pattern(None, expression), special, options.segmentation, shift), ""
    except NotNativeError as error:
        native, reason = None, str(error)
    return ParsedTokenizer(
        native,
        reason=reason,
        library="tiktoken",
        content=b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()),
        settings={"pattern": expression, "shift": shift},
        special=special,
        ordinary=settings.ordinary,
        ends=settings.ends,
        tokens=len(ranks),
        ids=max([size - 1, *more]) + 1,
        notes=[*head, *notes],
    )


def _size(config: dict[str, Any], key: str) -> int:
    value = config[key]
    if type(value) is not int or not 0 <= value <= LARGEST_VOCABULARY:
        raise ValueError(f"{key} is not a size")
    return value


def _ranks(entries: list[dict[str, Any]], most: int, place: str) -> dict[bytes, int]:
    """Return the tokens of the entries in use, by rank."""
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
                raise ValueError(f"vocab[{number}].token_bytes is not base64") from None
            add_rank(ranks, token, rank, f"{place}: rank {rank}")
    return checked_ranks(ranks, place)


def _value(entry: Any, key: str, kind: type[Value], place: str) -> Value:
    """Return the value of a key of an entry.

    Raises:
        ValueError: the entry has no such key, or a value of another type.
    """
    if not isinstance(entry, dict) or key not in entry:
        raise ValueError(f"{place} has no {key}")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{place}.{key} is {json.dumps(value)[:40]}, not {'a number' if kind is int else 'text'}")
    return value


def _special(entries: list[dict[str, Any]] | None, most: int) -> dict[int, bytes]:
    """Return special tokens by id; those without a name in the file are named by their number.

    A file without the key has the default tokens of Mistral's library.

    Raises:
        ValueError: A rank is not that of a special token, or a rank or a name occurs twice.
    """
    if entries is None:
        named = {rank: name.encode() for rank, name in enumerate(UNNAMED[:most])}
    else:
        named = {}
        for number, entry in enumerate(entries):
            place = f"special_tokens[{number}]"
            rank, name = _value(entry, "rank", int, place), _value(entry, "token_str", str, place).encode()
            if not 0 <= rank < most:
                raise ValueError(f"{place}.rank is {rank}, and default_num_special_tokens is {most}")
            if rank in named or name in named.values():
                raise ValueError(f"{place} has the rank or the name of another special token")
            named[rank] = name
    return {rank: named.get(rank, b"<SPECIAL_%d>" % rank) for rank in range(most)}
