"""What a check is, and what it finds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tokbench.fitness.subject import Subject

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
    run: Callable[["Subject"], Finding]
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
