"""Lower bounds on the tokens of a text and of its languages."""

from collections.abc import Callable, Mapping
from typing import Any

from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.graph import TooManyPlacesError, graph_of
from tokbench.optimum.search import BoundResult, Report, search
from tokbench.pretokens import PretokenCounts


def bound_counts(
    counts: PretokenCounts,
    size: int,
    *,
    gap: float,
    steps: int,
    longest: int | None = None,
    max_pretoken_bytes: int | None = MAX_PRETOKEN_BYTES,
    threads: int = 1,
    report: Report = lambda *_: None,
    keep: Callable[[BoundResult], None] = lambda _: None,
) -> dict[str, Any]:
    """Compute a lower bound on the tokens of a text.

    Args:
        counts: pre-tokens of the text.
        size: tokens of the vocabulary, including the 256 bytes.
        gap: the search ends if a vocabulary exceeds the bound by at most this share.
        steps: largest number of steps of the search.
        longest: longest token, in bytes (default: None, no limit).
        max_pretoken_bytes: longest pre-token, in bytes (default: 256); longer ones are left out. None for no limit.
        threads: number of threads (default: 1); results do not depend on it.
        report: callback, see :func:`search` (default: none).
        keep: callback with the full result, including prices (default: none).

    Returns:
        ``bound``, ``tokens`` (of the best vocabulary result), ``gap``, ``relaxed``, ``unsettled``, ``unrounded`` (see
        :class:`BoundResult`), ``candidates``, ``threshold``, ``steps``. ``left_out`` describes pre-tokens longer than
        ``max_pretoken_bytes``: their occurrences (``pretokens``), their share of the text's bytes (``share``), and the
        count of each by its bytes in hexadecimal (``counts``).

    Raises:
        TooManyPlacesError: the pre-tokens are too long to enumerate their substrings.
        TokbenchError: the counts are too large.
    """
    short, long = counts.split_by_length(max_pretoken_bytes)
    graph = graph_of(short, size, longest, threads)
    result = search(graph, gap=gap, steps=steps, threads=threads, report=report)
    keep(result)
    return {
        "bound": result.proof.bound,
        "tokens": result.tokens,
        "gap": result.gap,
        "relaxed": result.relaxation,
        "unsettled": result.search_excess,
        "unrounded": result.rounding_excess,
        "candidates": graph.candidates,
        "threshold": result.proof.threshold,
        "steps": result.steps,
        "left_out": describe_left_out(long, counts.total_bytes),
    }


def describe_left_out(long: PretokenCounts, total_bytes: int) -> dict[str, Any]:
    """Describe the pre-tokens that a bound leaves out of a text with ``total_bytes`` bytes."""
    share = long.total_bytes / total_bytes if total_bytes else 0.0
    return {"pretokens": long.total, "share": share, "counts": {word.hex(): count for word, count in long.items()}}


def line_of_left_out(number: int, share: float, longest: int) -> str:
    """Return a line about pre-tokens that are left out: their number, share of the text, and the limit in bytes."""
    return f"{number:,} pre-tokens of more than {longest:,} bytes are left out, {share:.2%} of the text"


def bound_or_reason(counts: PretokenCounts, size: int, **options: Any) -> dict[str, Any]:
    """Return the result of :func:`bound_counts`, or ``bound`` None with a ``reason`` if pre-tokens are too long."""
    try:
        return bound_counts(counts, size, **options)
    except TooManyPlacesError as error:
        return {"bound": None, "reason": str(error)}


def bound_text(
    counts: PretokenCounts,
    by_language: Mapping[str, PretokenCounts],
    size: int,
    *,
    must: bool = False,
    report: Report = lambda *_: None,
    keep: Callable[[BoundResult], None] = lambda _: None,
    **options: Any,
) -> dict[str, Any]:
    """Compute bounds on the tokens of a text, and of each of its languages if there are several.

    Args:
        counts: pre-tokens of the text.
        by_language: pre-tokens of each of its languages.
        size: tokens of the vocabulary, including the 256 bytes.
        must: raise an error if pre-tokens are too long, instead of returning a ``reason`` (default: False).
        report: see :func:`bound_counts`; called only for the full text.
        keep: see :func:`bound_counts`; called only for the full text.
        **options: the other options of :func:`bound_counts`.

    Returns:
        The items of :func:`bound_or_reason` with ``size``, ``longest``, ``max_pretoken_bytes`` and ``scheme``, and
        bounds by language as ``languages``.

    Raises:
        TooManyPlacesError: the pre-tokens are too long to enumerate their substrings, and ``must`` is True.
        TokbenchError: the counts are too large.
    """
    bound = bound_counts if must else bound_or_reason
    result = bound(counts, size, **options, report=report, keep=keep)
    result |= {"size": size, "longest": options["longest"], "max_pretoken_bytes": options["max_pretoken_bytes"]}
    result["scheme"] = counts.scheme
    if len(by_language) > 1:
        result["languages"] = {
            language: bound_or_reason(part, size, **options) for language, part in by_language.items()
        }
    return result
