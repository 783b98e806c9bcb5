"""What is told of a text: the bound on its tokens, the vocabulary that came near it, and whose the gap between is."""

from collections.abc import Callable, Mapping
from typing import Any

from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.graph import TooManyPlacesError, graph_of
from tokbench.optimum.search import Found, Report, search
from tokbench.pretokens import PretokenCounts


def bounded(
    counts: PretokenCounts,
    size: int,
    *,
    gap: float,
    steps: int,
    longest: int | None = None,
    max_pretoken_bytes: int | None = MAX_PRETOKEN_BYTES,
    threads: int = 1,
    report: Report = lambda *_: None,
    keep: Callable[[Found], None] = lambda _: None,
) -> dict[str, Any]:
    """Bound the tokens of a text.

    Args:
        counts: its pre-tokens.
        size: tokens of the vocabulary, the 256 bytes included.
        gap: the search ends where a vocabulary exceeds the bound by this share at most.
        steps: most steps of the search.
        longest: longest token, in bytes; no limit when None.
        max_pretoken_bytes: longest pre-token; longer ones are left out. No limit when None.
        threads: threads to use; they do not show.
        report: see :func:`tokbench.optimum.search.search`.
        keep: given what was found, prices and all.

    Returns:
        ``bound``, ``tokens`` (of the best vocabulary found), ``gap``, ``relaxed``, ``unsettled``, ``unrounded`` (see
        :class:`tokbench.optimum.search.Found`), ``candidates``, ``threshold``, ``steps``; ``left_out``, the pre-tokens
        that are longer than ``max_pretoken_bytes``: their occurrences (``pretokens``), the share of the text's bytes
        (``share``), and the count of each in hexadecimal (``counts``).

    Raises:
        TooManyPlacesError: the pre-tokens are too long to look at every substring.
        TokbenchError: the counts are too great.
    """
    kept, long = counts.split_by_length(max_pretoken_bytes)
    graph = graph_of(kept, size, longest, threads)
    found = search(graph, gap=gap, steps=steps, threads=threads, report=report)
    keep(found)
    return {
        "bound": found.proven.bound,
        "tokens": found.tokens,
        "gap": found.gap,
        "relaxed": found.relaxed,
        "unsettled": found.unsettled,
        "unrounded": found.unrounded,
        "candidates": graph.candidates,
        "threshold": found.proven.threshold,
        "steps": found.steps,
        "left_out": left_out(long, counts.total_bytes),
    }


def left_out(long: PretokenCounts, total_bytes: int) -> dict[str, Any]:
    """Describe the pre-tokens that a bound leaves out of a text with this number of bytes."""
    share = long.total_bytes / total_bytes if total_bytes else 0.0
    return {"pretokens": long.total, "share": share, "counts": {word.hex(): count for word, count in long.items()}}


def bounded_or_why(counts: PretokenCounts, size: int, **options: Any) -> dict[str, Any]:
    """The same; where pre-tokens are too long, ``bound`` is None and ``reason`` says so."""
    try:
        return bounded(counts, size, **options)
    except TooManyPlacesError as error:
        return {"bound": None, "reason": str(error)}


def bound_text(
    counts: PretokenCounts,
    by_language: Mapping[str, PretokenCounts],
    size: int,
    *,
    must: bool = False,
    report: Report = lambda *_: None,
    keep: Callable[[Found], None] = lambda _: None,
    **options: Any,
) -> dict[str, Any]:
    """Bound the tokens of a text, and of each of its languages where there are several.

    Args:
        counts: the pre-tokens of the text.
        by_language: those of each of its languages.
        size: tokens of the vocabulary, the 256 bytes included.
        must: fail where pre-tokens are too long, in place of a ``reason``.
        report: as for :func:`bounded`, of the text.
        keep: likewise.
        **options: the other options of :func:`bounded`.

    Returns:
        As :func:`bounded_or_why`, with ``size``, ``longest``, ``max_pretoken_bytes`` and ``scheme``, and bounds by
        language under ``languages``.

    Raises:
        TooManyPlacesError: the pre-tokens are too long to look at every substring, and ``must`` is true.
        TokbenchError: the counts are too great.
    """
    made = bounded if must else bounded_or_why
    found = made(counts, size, **options, report=report, keep=keep)
    found |= {"size": size, "longest": options["longest"], "max_pretoken_bytes": options["max_pretoken_bytes"]}
    found["scheme"] = counts.scheme
    if len(by_language) > 1:
        found["languages"] = {language: bounded_or_why(part, size, **options) for language, part in by_language.items()}
    return found
