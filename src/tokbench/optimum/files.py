"""Lower bounds on the tokens of a file of pre-token counts."""

from collections.abc import Callable
from typing import Any

from tokbench.candidates.initial import check_size
from tokbench.io.identity import TextDigest, made_from
from tokbench.optimum.bound import bound_text
from tokbench.optimum.certificate import write_certificate
from tokbench.optimum.search import BoundResult
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import check_stage, read_languages

STAGE = "bound"
"""Name of the memory estimate."""


def bound_file(
    path: str,
    size: int,
    *,
    gap: float,
    steps: int,
    longest: int | None,
    max_pretoken_bytes: int,
    threads: int = 1,
    megabytes: int | None = None,
    must: bool = False,
    certificate: str | None = None,
    report: Callable[[int, float, int], None] = lambda *_: None,
) -> dict[str, Any]:
    """Compute bounds on the tokens of a text, and of each of its languages if there are several.

    Args:
        path: file of pre-token counts.
        size: tokens of the vocabulary, including the 256 bytes.
        gap: stop when a vocabulary exceeds the bound by at most this fraction.
        steps: stop after this number of steps.
        longest: longest token that the bound covers, in bytes; None for no limit.
        max_pretoken_bytes: longest pre-token in bytes; longer ones are left out and counted.
        threads: number of threads; the result does not depend on it. Default: 1.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.
        must: see :func:`tokbench.optimum.bound.bound_text`. Default: False.
        certificate: file of the certificate of the full text. Default: None, it is not written.
        report: function that is called after each step with the number of steps, the bound, and the tokens of the
            best vocabulary. Default: nothing is reported.

    Returns:
        The items of :func:`tokbench.optimum.bound.bound_text`, and the digest of the text.

    Raises:
        TokbenchError: as :func:`tokbench.optimum.bound.bound_text`, or more memory is needed than allowed.
    """
    check_size(size)
    check_stage(STAGE, path, megabytes, longest=longest, max_pretoken_bytes=max_pretoken_bytes)
    counts, text = PretokenCounts.read(path), TextDigest()

    def keep(result: BoundResult) -> None:
        if certificate:
            covered, _ = counts.split_by_length(max_pretoken_bytes)
            write_certificate(certificate, covered, size, longest, max_pretoken_bytes, result.proof)

    languages = read_languages(path)
    text.add_counts(counts.data, counts.offsets, counts.counts)
    options = {
        "gap": gap,
        "steps": steps,
        "longest": longest,
        "max_pretoken_bytes": max_pretoken_bytes,
        "threads": threads,
    }
    bound = bound_text(counts, languages, size, must=must, report=report, keep=keep, **options)
    return bound | made_from(text=text.hexdigest())
