"""Checks of what stands before the vocabulary: the normaliser that is declared, and the pre-tokens."""

import unicodedata
from itertools import pairwise

from tokbench.fitness.finding import Check, Example, Finding, not_applicable, of
from tokbench.fitness.probes import EVERY_PROBE, PROBES, blocks, emoji_sequences, invalid_utf8, white_space
from tokbench.fitness.subject import Subject

LEAST_COVERED = 0.999
"""Share of the bytes that are no blanks that pre-tokens must hold."""


def applied(subject: Subject) -> Finding:
    """Composed and decomposed forms that are one after the declared normaliser have the same ids."""
    normalized = subject.traits.normalized
    if normalized is None:
        return not_applicable("it declares no normaliser")
    pairs = [
        (unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text))
        for group in ("normal forms", "marks")
        for text in PROBES[group]
    ]
    same = [pair for pair in pairs if normalized(pair[0]) == normalized(pair[1])]
    wrong = [pair for pair in same if subject.encode(pair[0].encode()) != subject.encode(pair[1].encode())]
    if not wrong:
        alike = f"the same ids for all {len(same):,} that it makes one" if same else "it makes none of them one"
        return Finding(True, f"of {len(pairs):,} pairs tried: {alike}")
    examples = [Example(decomposed.encode(), "other ids than its composed form") for _, decomposed in wrong[:1]]
    return Finding(False, f"other ids for {of(len(wrong), len(same), 'pairs')} that it makes one", examples)


def covered(subject: Subject) -> Finding:
    """Pre-tokens that lie end to end and hold every byte."""
    boundaries = subject.traits.boundaries
    if boundaries is None:
        return not_applicable("it does not tell its pre-tokens")
    texts = [b"", *EVERY_PROBE, *white_space(), *emoji_sequences(), *invalid_utf8(), *blocks()]
    whole = held = 0
    wrong: list[bytes] = []
    for text in texts:
        bounds = boundaries(text).tolist()
        ascending = all(start < end for start, end in pairwise(bounds))
        end_to_end = ascending and (bounds[0], bounds[-1]) == (0, len(text))
        size = len(b"".join(text.split()))
        whole, held = whole + size, held + size * end_to_end
        if not end_to_end:
            wrong.append(text)
    told = f"{held:,} of {whole:,} bytes that are no blanks lie in pre-tokens"
    examples = [Example(min(wrong, key=len))] if wrong else []
    return Finding(held >= LEAST_COVERED * whole and not wrong, told, examples, {"bytes": whole, "held": held})


CHECKS = (
    Check("normaliser", "the normaliser that is declared is applied", "failure", applied, "C4"),
    Check("pretokens", "pre-tokens hold all of a text", "failure", covered, "C10"),
)
