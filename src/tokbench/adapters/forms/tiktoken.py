"""``tiktoken``: a line a token, in base64, with its rank, which is its id."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tokbench.adapters.forms import Found, NotNativeError, ReadOptions
from tokbench.adapters.forms.beside_ranks import Beside, beside, read_beside
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import FolderSettings
from tokbench.adapters.forms.patterns import Pattern, expressed, named_pattern
from tokbench.adapters.forms.published_encodings import encoding_of, special_tokens_of
from tokbench.adapters.forms.ranks import native_ranks, parse_ranks
from tokbench.adapters.forms.special_tokens import check_apart, check_special
from tokbench.errors import TokbenchError

GIVEN = "special tokens"


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> Found:
    """A file of ranks, with the pattern that is named for it and its special tokens, which are text in texts.

    Neither is in the file. Special tokens are those that are given, or else those of the file that our export writes
    beside ranks, the added tokens of the folder's settings, or those that are published for the very ranks.

    Raises:
        TokbenchError: a file is damaged, no pattern is named, or a special token has an id that is taken.
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
    found = Found(
        None,
        reason=f"{counted} {are} cut out of a text before it is cut into pre-tokens",
        library="tiktoken" if pattern.expression is not None else None,
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
    try:
        native, reason = native_ranks(ranks, pattern, names, options.segmentation), ""
    except NotNativeError as error:
        native, reason = None, str(error)
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
        return named_pattern(options.pattern, "--pattern")
    if known is None:
        raise TokbenchError(
            f"{path}: a file of ranks does not say how texts are cut; name the pattern, as in --pattern cl100k"
        )
    return expressed(known.pattern, f"{place}: pat_str")


def _special(
    ranks: Mapping[bytes, int], options: ReadOptions, known: Beside | None, settings: FolderSettings
) -> tuple[dict[str, int], str]:
    """Special tokens with their ids, and whose they are."""
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
