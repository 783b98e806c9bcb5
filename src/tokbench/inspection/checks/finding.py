"""Definition of a check, its finding, and a search for the shortest failing input."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tokbench.inspection.checks.subject import TokenizerUnderTest


Kind = Literal["failure", "warning", "told"]
"""Severity of a check that does not pass: error, warning, or information only."""
Result = Literal["passed", "failure", "warning", "told", "not applicable"]
MOST_TRIALS = 3000
"""Default maximum number of inputs tried by :func:`shortest`."""


@dataclass(frozen=True)
class Example:
    """An input or a token that illustrates a finding.

    Attributes:
        data: its bytes.
        what: result in words. Default: empty.
        gave: bytes after a round trip. Default: None.
    """

    data: bytes
    what: str = ""
    gave: bytes | None = None


@dataclass(frozen=True)
class Finding:
    """Outcome of a check.

    Attributes:
        passes: True if the check passes; None if it is not applicable.
        sentence: one sentence with the numbers.
        examples: a few examples, shortest first.
        numbers: the numbers of the sentence, for JSON.
    """

    passes: bool | None
    sentence: str
    examples: Sequence[Example] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: its name.
        means: the expected behaviour, in one line.
        kind: severity if it does not pass.
        run: function that runs the check.
        also: name of the same check in TokEval; empty if it has none.
    """

    name: str
    means: str
    kind: Kind
    run: Callable[["TokenizerUnderTest"], Finding]
    also: str = ""

    def result(self, finding: Finding) -> Result:
        """Return the result for a finding of this check."""
        if finding.passes is None:
            return "not applicable"
        return self.kind if self.kind == "told" or not finding.passes else "passed"


def not_applicable(why: str) -> Finding:
    """Return the finding of a check that does not apply, with the reason."""
    return Finding(None, why)


def of(count: int, total: int, things: str) -> str:
    """Return a text such as ``3 of 12 texts``."""
    return f"{count:,} of {total:,} {things}"


def shortest(text: bytes, shows: Callable[[bytes], bool], most: int = MOST_TRIALS) -> bytes:
    """Shrink a failing input: remove halves, then shorter and shorter runs of characters.

    Valid UTF-8 stays valid. In other inputs, single bytes are removed, too. No single character (or byte) of the result
    can be removed, unless the limit of trials is reached.

    Args:
        text: an input that fails.
        shows: function that returns True if an input still fails.
        most: maximum number of inputs to try. Default: 3,000.
    """
    left = most

    def shows_again(units: list[bytes]) -> bool:
        nonlocal left
        left -= 1
        return bool(units) and left >= 0 and shows(b"".join(units))

    for cut in (_characters,) if _is_text(text) else (_characters, _bytes):
        kept = cut(text)
        size = max(1, len(kept) // 2)
        while size:
            before = len(kept)
            kept = _without_runs(kept, size, shows_again)
            size = size // 2 if size > 1 or len(kept) == before else 1
        text = b"".join(kept)
    return text


def _without_runs(kept: list[bytes], size: int, shows: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Remove every run of a size that is not needed, from left to right."""
    start = 0
    while start < len(kept):
        fewer = kept[:start] + kept[start + size :]
        if shows(fewer):
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
    return [character.encode("utf-8", "surrogateescape") for character in text.decode("utf-8", "surrogateescape")]


def _bytes(text: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in text]
