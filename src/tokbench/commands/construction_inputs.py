"""What ``tokbench build`` gives a construction: counts, scores, documents, an initial vocabulary."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from tokbench.building import read_counts, read_running, read_scored
from tokbench.commands.pretokenization_option import FLAG
from tokbench.construction import Construction
from tokbench.errors import TokbenchError
from tokbench.frequent import LeftOut
from tokbench.needs import Profile, require
from tokbench.pretoken_files import read_parts
from tokbench.pretokens import PretokenCounts

if TYPE_CHECKING:
    from tokbench.building import Source


def check_read(construction: Construction, given: Mapping[str, Any]) -> None:
    """Reject what the construction would not look at.

    Raises:
        TokbenchError: something of it is named.
    """
    reads = {"--" + str(construction.source), "--initial" if construction.initial else ""}
    for flag, value in given.items():
        if value and flag not in reads:
            raise TokbenchError(f"{flag}: '{construction.name}' does not read it; leave the option out")


def check_needs(construction: Construction, options: Any, path: str, least: int, megabytes: int, initial: bool) -> None:
    """End where building would take more memory than allowed, before anything of the text is held.

    Args:
        construction: the method.
        options: its options.
        path: the file of counts.
        least: the count that pre-tokens have at least.
        megabytes: what is allowed.
        initial: whether the vocabulary to start from is there already.

    Raises:
        TokbenchError: it needs more.
    """
    names = [construction.name, *([options.initial] if construction.initial and not initial else [])]
    _, parts = read_parts(path)
    longest, longest_pretoken = (getattr(options, key, None) for key in ("max_token_bytes", "max_pretoken_bytes"))
    batches = ((np.diff(offsets), counts) for _, (_, offsets, counts) in parts)
    profile = Profile.of(batches, least, longest, longest_pretoken)
    require(names, profile, least, megabytes)


def counts_of(path: str, scheme: str | None, least: int) -> tuple[PretokenCounts, LeftOut | None]:
    """The pre-tokens of at least that count, and what is left out where that is more than 1."""
    counts, left_out = read_counts(path, scheme, least)
    if left_out is not None:
        click.echo(left_out.line(), err=True)
    if not scheme and not read_parts(path)[0]:
        click.echo(f"{path} does not say its pre-tokenization: taking 'none'; name it with {FLAG}", err=True)
    return counts, left_out


def source_of(
    construction: Construction,
    counts: PretokenCounts | None,
    scores: tuple[str, ...],
    documents: tuple[str, ...],
    scheme: str | None,
) -> "Source":
    """What the construction reads.

    Raises:
        TokbenchError: it is not named, or there is nothing in it.
    """
    known = scheme or (counts.scheme if counts else None) or "gpt2"
    match construction.source:
        case "scores":
            if not scores:
                raise TokbenchError(f"'{construction.name}' reads byte scores; name them with --scores")
            return read_scored(scores, known)
        case "documents":
            if not documents:
                raise TokbenchError(f"'{construction.name}' reads documents; name a corpus with --documents")
            return read_running(documents, known)
    if counts is None:
        raise TokbenchError(f"'{construction.name}' reads pre-token counts; name them with --counts")
    if not len(counts):
        raise TokbenchError("the counts hold no pre-token; count a text that is not empty")
    return counts
