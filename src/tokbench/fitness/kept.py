"""Checks of what a tokenizer keeps of a text where it does not keep all: white space, and what it has tokens for."""

from collections.abc import Sequence
from unicodedata import category

from tokbench.fitness.finding import Check, Example, Finding, not_applicable
from tokbench.fitness.probes import PROBES
from tokbench.fitness.subject import Rejection, Subject

MOST_UNKNOWN = 0.01
"""Unknown tokens of a script above which a person should look."""


def white_space_kept(subject: Subject) -> Finding:
    """White characters of twelve texts in a longest common subsequence of most white ones, over all."""
    kept = whole = 0
    worst: Example | None = None
    for text in PROBES["white space"]:
        try:
            back = subject.back(text.encode()).decode("utf-8", "replace")
        except Rejection:
            back = ""
        share, count = _common(text, back), sum(map(_white, text))
        kept, whole = kept + share, whole + count
        if share < count and (worst is None or len(text.encode()) < len(worst.data)):
            worst = Example(text.encode(), gave=back.encode())
    told = f"{kept} of {whole} white-space characters are kept"
    return Finding(kept == whole, told, [worst] if worst else [], {"kept": kept, "white": whole})


def _white(character: str) -> bool:
    return character in " \t\n\r" or category(character) == "Zs"


def _common(a: str, b: str) -> int:
    """White characters in the longest common subsequence that has most of them."""
    before: list[tuple[int, int]] = [(0, 0)] * (len(b) + 1)
    for one in a:
        row = [(0, 0)]
        for place, other in enumerate(b):
            length, white = before[place]
            joined = (length + 1, white + _white(one)) if one == other else (0, 0)
            row.append(max(joined, before[place + 1], row[-1]))
        before = row
    return before[-1][1]


def unknown_by_script(subject: Subject) -> Finding:
    """The share of unknown tokens in a text of each script."""
    unknown = subject.traits.unknown_id
    if unknown is None:
        return not_applicable("it has no unknown token")
    shares = {text: _share(subject, text.encode(), unknown) for text in PROBES["scripts"]}
    worst = sorted((text for text, share in shares.items() if share > MOST_UNKNOWN), key=shares.__getitem__)[::-1]
    told = f"more than {MOST_UNKNOWN:.0%} of unknown tokens in {len(worst)} of {len(shares)} scripts"
    examples = [Example(text.encode(), f"{shares[text]:.0%} unknown") for text in worst]
    return Finding(not worst, told, examples, {"shares": shares})


def _share(subject: Subject, text: bytes, unknown: int) -> float:
    try:
        ids: Sequence[int] = subject.encode(text)
    except Rejection:
        return 1.0
    return ids.count(unknown) / len(ids) if ids else 0.0


CHECKS = (
    Check("white_space_kept", "white-space characters of twelve texts are kept", "warning", white_space_kept, "C5"),
    Check("unknown_tokens", "few unknown tokens in every script", "warning", unknown_by_script, "C13"),
)
