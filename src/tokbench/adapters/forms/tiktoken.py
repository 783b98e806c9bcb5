"""``tiktoken``: one token in base64 a line, with its rank, which is its id.

Published files are recognised by their ranks, for their pattern and special tokens, which no file of ranks has.
"""

from dataclasses import replace
from pathlib import Path

from tokbench.adapters.forms.encodings import encoding_of, pattern_of_encoding, special_tokens_of
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import FolderSettings
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions, check_distinct, check_special
from tokbench.adapters.forms.patterns import Pattern, check_expression, named_pattern
from tokbench.adapters.forms.ranks import Sidecar, native_ranks, read_sidecar, sidecar_of
from tokbench.adapters.probes import probes
from tokbench.errors import TokbenchError, shortened
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.tokenizer.libraries import open_library
from tokbench.tokenizer.rank_lines import parse_ranks

GIVEN = "special tokens"
LIBRARY = "tiktoken"


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a file of ranks, with a pattern and special tokens, which are plain text in texts.

    The file has neither. The pattern is the one that is given, otherwise that of the file that Tokbench's export writes
    with ranks, or the one published for the same ranks. Special tokens are those that are given, otherwise those of the
    export's file, the added tokens of the folder's settings, or those published for the same ranks.

    Raises:
        TokbenchError: a file is damaged, no pattern is given, or a special token has an id that is taken.
    """
    place = sidecar_of(path) if options.pattern is None or options.special_tokens is None else None
    known = None if place is None else read_sidecar(place)
    # Ranks, their pattern and their special tokens.
    content = read_bounded(path)
    ranks = parse_ranks(content, str(path))
    encoding = encoding_of(ranks, options.pattern)
    pattern, of_pattern = _pattern(path, content, options, place, known, encoding)
    special, whose = _special(encoding, options, known, settings)
    check_distinct(special, ranks, GIVEN)
    names = {number: name.encode() for name, number in sorted(special.items(), key=lambda item: item[1])}
    plural = len(special) != 1
    counted, are = f"{len(special):,} special token{'s' * plural}", "are" if plural else "is"
    # As the library reads it, with special tokens recognised in texts.
    parsed = ParsedTokenizer(
        None,
        reason=f"{counted} {are} cut out of a text before it is cut into pre-tokens",
        library=LIBRARY if pattern.expression is not None else None,
        content=content,
        settings={"pattern": pattern.expression, "special": special},
        added=names,
        ends=settings.ends,
        tokens=len(ranks) + len(special),
        ids=max([*ranks.values(), *names]) + 1,
        notes=[*of_pattern, f"{counted} {whose} {are} cut out of texts first"],
    )
    if special and options.added == "tokens":
        return parsed
    # With special tokens as text, it may be native.
    none = "special tokens are not in the file: in texts they are text"
    native, reason = None, ""
    try:
        native = native_ranks(ranks, pattern, names, options.segmentation)
    except NotNativeError as error:
        reason = str(error)
    return replace(
        parsed,
        native=native,
        reason=reason,
        settings={"pattern": pattern.expression},
        special=names,
        added={},
        tokens=len(ranks),
        notes=[*of_pattern, f"{counted} {whose} {are} text in texts" if special else none],
    )


def pattern_of_ranks(path: Path) -> str | None:
    """Return the name of the pattern of a published file; None if it is not known, or the file is damaged."""
    try:
        return pattern_of_encoding(encoding_of(parse_ranks(read_bounded(path), str(path)), None))
    except TokbenchError:
        return None


def _pattern(
    path: Path, content: bytes, options: ReadOptions, place: Path | None, known: Sidecar | None, encoding: str | None
) -> tuple[Pattern, list[str]]:
    """Return the pattern, and a note if it is that of known ranks."""
    if options.pattern is not None:
        pattern = named_pattern(options.pattern, "--pattern", LIBRARY)
        _check_pattern(path, content, pattern, options.pattern, encoding)
        return pattern, []
    if known is not None:
        check_expression(known.pattern, f"{place}: pat_str", LIBRARY)
        return Pattern(None, known.pattern), []
    if (name := pattern_of_encoding(encoding)) is not None:
        return named_pattern(name, "--pattern", LIBRARY), [f"the pattern is that of {encoding}, which has these ranks"]
    code = ", ".join(sorted(file.name for file in path.parent.glob("tokenization_*.py")))
    reason = f" (it is in the code of {code}, which is not run)" if code else ""
    raise TokbenchError(
        f"{path}: a file of ranks has no pre-tokenization pattern{reason}; name it, as in --pattern cl100k"
    )


def _check_pattern(path: Path, content: bytes, pattern: Pattern, given: str, encoding: str | None) -> None:
    """Reject a pattern with which known ranks give other ids than with their own, on the probes.

    Raises:
        TokbenchError: it does; the message names the pattern of the ranks.
    """
    name = pattern_of_encoding(encoding)
    own = None if name is None else named_pattern(name, "--pattern", LIBRARY).expression
    if own is None or pattern.expression == own:
        return
    if pattern.expression is not None:
        both = [
            open_library(LIBRARY, content, {"pattern": expression}, str(path))
            for expression in (own, pattern.expression)
        ]
        if all(both[0].encode(text.decode()) == both[1].encode(text.decode()) for text in probes()):
            return
    raise TokbenchError(
        f"{path}: --pattern {shortened(given)} is not that of {encoding}, which has these ranks, and gives other ids; "
        f"leave --pattern out, or name {name}"
    )


def _special(
    encoding: str | None, options: ReadOptions, known: Sidecar | None, settings: FolderSettings
) -> tuple[dict[str, int], str]:
    """Return special tokens with their ids, and their source."""
    if options.special_tokens is not None:
        check_special(options.special_tokens, GIVEN)
        return options.special_tokens, f"given in place of those of {encoding}" if encoding else "given"
    if known is not None:
        return dict(known.special), "of the file next to it"
    if settings.added:
        special = {entry["content"]: entry["id"] for entry in settings.added}
        check_special(special, settings.source)
        return special, f"of {settings.source}"
    return (special_tokens_of(encoding), f"of {encoding}, which has these ranks,") if encoding else ({}, "")
