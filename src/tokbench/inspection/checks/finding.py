"""What a check is, and what it finds.

The shortest input that still shows a fault.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tokbench.inspection.checks.subject import TokenizerUnderTest


Kind = Literal["failure", "warning", "told"]
"""What it is if a check does not pass: the tokenizer is unfit, a person should look, or it is a fact and no more."""
Result = Literal["passed", "failure", "warning", "told", "not applicable"]


@dataclass(frozen=True)
class Example:
    """An input or a token that shows what was found.

    Attributes:
        data: its bytes.
        what: what came of it, in words; empty where the bytes say enough.
        gave: what it came back as, where that is the matter.
    """

    data: bytes
    what: str = ""
    gave: bytes | None = None


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        passes: whether all is well; None where the check is not applicable.
        told: one sentence, with the numbers.
        examples: the shortest first; a few, not all.
        numbers: what the sentence rests on, for programs.
    """

    passes: bool | None
    told: str
    examples: Sequence[Example] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: what it is called.
        means: what it looks at, and why that matters, in one line.
        kind: what it is if it does not pass.
        run: the check.
        also: its name in the sanity checks of TokEval, where it is one of those.
    """

    name: str
    means: str
    kind: Kind
    run: Callable[["TokenizerUnderTest"], Finding]
    also: str = ""

    def result(self, found: Finding) -> Result:
        """What a finding of this check comes to."""
        if found.passes is None:
            return "not applicable"
        return self.kind if self.kind == "told" or not found.passes else "passed"


def not_applicable(why: str) -> Finding:
    """The finding of a check that has nothing to look at."""
    return Finding(None, why)


def of(count: int, total: int, things: str) -> str:
    """``3 of 12 texts``."""
    return f"{count:,} of {total:,} {things}"


MOST_TRIALS = 3000
"""Inputs that are tried at most; what is found by then is short enough to read."""


def shortest(text: bytes, shows: Callable[[bytes], bool], most: int = MOST_TRIALS) -> bytes:
    """Leave out of a text what it shows its fault without: halves, then ever smaller runs of characters.

    Of what is no UTF-8, bytes are left out then; what is stays so, as its fault is not that of broken characters. None
    of what is returned can be left out by itself, unless the trials ran out.

    Args:
        text: an input that shows a fault.
        shows: whether another does.
        most: inputs to try.
    """
    left = most

    def still(units: list[bytes]) -> bool:
        nonlocal left
        left -= 1
        return bool(units) and left >= 0 and shows(b"".join(units))

    for cut in (_characters,) if _is_text(text) else (_characters, _bytes):
        kept = cut(text)
        size = max(1, len(kept) // 2)
        while size:
            before = len(kept)
            kept = _without_runs(kept, size, still)
            size = size // 2 if size > 1 or len(kept) == before else 1
        text = b"".join(kept)
    return text


def _without_runs(kept: list[bytes], size: int, still: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Units less every run of a size that can be left out, from left to right."""
    start = 0
    while start < len(kept):
        fewer = kept[:start] + kept[start + size :]
        if still(fewer):
            kept = fewer
        else:
            start += size
    return kept


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _characters(text: bytes) -> list[bytes]:
    return [one.encode("utf-8", "surrogateescape") for one in text.decode("utf-8", "surrogateescape")]


def _bytes(text: bytes) -> list[bytes]:
    return [bytes([one]) for one in text]
