"""``tiktoken``: one token in base64 a line, with its rank, which is its id.

Encodings published by OpenAI are recognised by their ranks, for their special tokens, which no file of ranks has. Ids
and checksums are those in its package ``tiktoken`` 0.14. A pattern is not sufficient: ranks of others use the same
patterns.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tokbench.adapters.forms import (
    NotNativeError,
    ParsedTokenizer,
    ReadOptions,
    check_apart,
    check_special,
    read_bounded,
)
from tokbench.adapters.forms.folder_settings import FolderSettings
from tokbench.adapters.forms.patterns import Pattern, check_expression, named_pattern
from tokbench.adapters.forms.ranks import Beside, beside, native_ranks, parse_ranks, read_beside
from tokbench.errors import TokbenchError

END, PROMPT = "<|endoftext|>", "<|endofprompt|>"
FILL = "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"


class Ranks(NamedTuple):
    """A file of ranks.

    Attributes:
        size: number of ranks.
        sha256: checksum of its lines.
    """

    size: int
    sha256: str


R50K = Ranks(50256, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
P50K = Ranks(50280, "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
CL100K = Ranks(100256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7")
O200K = Ranks(199998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
RANKS = {
    "gpt2": R50K,
    "r50k_base": R50K,
    "p50k_base": P50K,
    "p50k_edit": P50K,
    "cl100k_base": CL100K,
    "o200k_base": O200K,
    "o200k_harmony": O200K,
}
"""Encodings by name; of those with equal ranks, the first one has the special tokens that all have."""


def special_tokens_of(encoding: str) -> dict[str, int]:
    """Return the special tokens of an encoding, with their ids."""
    names = {
        "gpt2": {50256: END},
        "r50k_base": {50256: END},
        "p50k_base": {50256: END},
        "p50k_edit": {50256: END, **dict(enumerate(FILL, 50281))},
        "cl100k_base": {100257: END, **dict(enumerate(FILL, 100258)), 100276: PROMPT},
        "o200k_base": {199999: END, 200018: PROMPT},
        "o200k_harmony": _harmony(),
    }
    return {name: number for number, name in names[encoding].items()}


def _harmony() -> dict[int, str]:
    """Return the special tokens of gpt-oss; ids without a meaning are reserved."""
    told = {199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain", 200005: "channel"}
    told |= {200006: "start", 200007: "end", 200008: "message", 200012: "call", 200018: "endofprompt"}
    return {one: f"<|{told.get(one, f'reserved_{one}')}|>" for one in range(199998, 201088)}


def encoding_of(ranks: Mapping[bytes, int], pattern: str | None) -> str | None:
    """Return the encoding with these ranks; None if they are not known.

    Args:
        ranks: tokens with their ranks, by rank.
        pattern: name of a pattern, which selects among encodings of equal ranks.
    """
    if len(ranks) not in {known.size for known in RANKS.values()}:
        return None
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    found = Ranks(len(ranks), hashlib.sha256(lines).hexdigest())
    names = [name for name, known in RANKS.items() if known == found]
    return pattern if pattern in names else next(iter(names), None)


GIVEN = "special tokens"
LIBRARY = "tiktoken"


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a file of ranks, with a given pattern and special tokens, which are plain text in texts.

    The file has neither. Special tokens are those that are given, otherwise those of the file that Tokbench's export
    writes with ranks, the added tokens of the folder's settings, or those published for the same ranks.

    Raises:
        TokbenchError: a file is damaged, no pattern is given, or a special token has an id that is taken.
    """
    place = beside(path) if options.pattern is None or options.special_tokens is None else None
    known = None if place is None else read_beside(place)
    pattern = _pattern(path, options, place, known)
    content = read_bounded(path)
    ranks = parse_ranks(content, str(path))
    special, whose = _special(ranks, options, known, settings)
    check_apart(special, ranks, GIVEN)
    names = {number: name.encode() for name, number in sorted(special.items(), key=lambda one: one[1])}
    plural = len(special) != 1
    counted, are = f"{len(special):,} special token{'s' * plural}", "are" if plural else "is"
    found = ParsedTokenizer(
        None,
        reason=f"{counted} {are} cut out of a text before it is cut into pre-tokens",
        library=LIBRARY if pattern.expression is not None else None,
        content=content,
        settings={"pattern": pattern.expression, "special": special},
        added=names,
        ends=settings.ends,
        tokens=len(ranks) + len(special),
        ids=max([*ranks.values(), *names]) + 1,
        told=[f"{counted} {whose} {are} cut out of texts first"],
    )
    if special and options.added == "tokens":
        return found
    none = "special tokens are not in the file: in texts they are text"
    native, reason = None, ""
    try:
        native = native_ranks(ranks, pattern, names, options.segmentation)
    except NotNativeError as error:
        reason = str(error)
    return replace(
        found,
        native=native,
        reason=reason,
        settings={"pattern": pattern.expression},
        special=names,
        added={},
        tokens=len(ranks),
        told=[f"{counted} {whose} {are} text in texts" if special else none],
    )


def _pattern(path: Path, options: ReadOptions, place: Path | None, known: Beside | None) -> Pattern:
    if options.pattern is not None:
        return named_pattern(options.pattern, "--pattern", LIBRARY)
    if known is None:
        raise TokbenchError(f"{path}: a file of ranks has no pre-tokenization pattern; name it, as in --pattern cl100k")
    check_expression(known.pattern, f"{place}: pat_str", LIBRARY)
    return Pattern(None, known.pattern)


def _special(
    ranks: Mapping[bytes, int], options: ReadOptions, known: Beside | None, settings: FolderSettings
) -> tuple[dict[str, int], str]:
    """Return special tokens with their ids, and their source."""
    encoding = encoding_of(ranks, options.pattern)
    if options.special_tokens is not None:
        check_special(options.special_tokens, GIVEN)
        return options.special_tokens, f"given in place of those of {encoding}" if encoding else "given"
    if known is not None:
        return dict(known.special), "of the file beside it"
    if settings.added:
        special = {entry["content"]: entry["id"] for entry in settings.added}
        check_special(special, settings.source)
        return special, f"of {settings.source}"
    return (special_tokens_of(encoding), f"of {encoding}, which has these ranks,") if encoding else ({}, "")
