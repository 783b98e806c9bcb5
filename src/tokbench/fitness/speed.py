"""How fast a tokenizer encodes, told without a verdict."""

from time import process_time

from tokbench.fitness.finding import Check, Finding, not_applicable
from tokbench.fitness.subject import Rejection, Subject
from tokbench.memory import may_be_short

ENOUGH = 0.5
"""Seconds of processor time after which a measurement ends."""
FIRST, MOST = 50_000, 16_000_000
"""Bytes encoded at first, and at most."""


def speed(subject: Subject) -> Finding:
    """Bytes of the documents, or of Python's own documentation, a second of processor time, in one thread."""
    text, what = b"\n".join(subject.documents), "the documents"
    if len(text) < FIRST:
        from pydoc_data.topics import topics

        text, what = "\n".join(topics[name] for name in sorted(topics)).encode(), "the documentation of Python"
    size, best = min(FIRST, len(text)), 0.0
    while True:
        begun = process_time()
        try:
            subject.tokenizer.encode(text[:size])
        except Exception as error:
            if may_be_short(error):
                raise
            return not_applicable(str(Rejection(error)))
        took = process_time() - begun
        best = max(best, size / max(took, 1e-9))
        if took > ENOUGH or size >= min(MOST, len(text)):
            break
        size = min(size * 4, MOST, len(text))
    told = f"{best / 1e6:,.1f} MB/s of one thread's processor time on {what} ({size:,} bytes)"
    return Finding(True, told, numbers={"bytes_per_second": best, "bytes": size})


CHECKS = (Check("speed", "how fast it encodes", "told", speed),)
