"""Cold encoding speed of a tokenizer, reported without a verdict."""

from tokbench.encoding_speed import LEAST_BYTES, TOO_SHORT, Sample, cold_speed
from tokbench.fitness.finding import Check, Finding, not_applicable
from tokbench.fitness.subject import Rejection, Subject
from tokbench.memory import may_be_short


def speed(subject: Subject) -> Finding:
    """Measure the cold encoding speed on the documents, or on Python's own documentation where they are short."""
    texts, what = Sample(subject.documents).texts, "the documents"
    if sum(map(len, texts)) < LEAST_BYTES:
        from pydoc_data.topics import topics

        texts, what = Sample(topics[name].encode() for name in sorted(topics)).texts, "the documentation of Python"
    try:
        found = cold_speed(subject.tokenizer, texts)
    except Exception as error:
        if may_be_short(error):
            raise
        return not_applicable(str(Rejection(error)))
    if found is None:
        return not_applicable(TOO_SHORT)
    told = (
        f"{found.megabytes_per_second:,.1f} MB/s cold: first pass of a fresh tokenizer over {what} "
        f"({found.bytes:,} bytes), one thread's processor time, median of {found.rounds} rounds"
    )
    numbers = {"bytes_per_second": found.bytes / found.seconds, "bytes": found.bytes, "rounds": found.rounds}
    return Finding(True, told, numbers=numbers)


CHECKS = (Check("speed", "how fast it encodes text that it has not met (cold)", "told", speed),)
