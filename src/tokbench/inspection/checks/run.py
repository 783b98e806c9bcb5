"""All checks in order of display; runs them and formats the results as text and as JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tokbench.examples.cut import visible
from tokbench.inspection.checks import agreement, reach, round_trip, vocabulary
from tokbench.inspection.checks.finding import Check, Example, Finding, Result
from tokbench.inspection.checks.subject import EncodeError, TokenizerUnderTest

GROUPS: dict[str, tuple[Check, ...]] = {
    "Round trip": (*round_trip.CHECKS, *round_trip.KEPT_CHECKS),
    "Agreement": (*agreement.CHECKS, *agreement.EXPORTS_CHECKS, *vocabulary.NORMALISER_CHECKS),
    "Vocabulary": (*vocabulary.CHECKS, *reach.CHECKS),
    "Information": (*vocabulary.DIGITS_CHECKS, *agreement.SPEED_CHECKS),
}


MOST_BYTES = 60
"""Maximum number of bytes of an example that are shown."""
SIGNS: dict[Result, str] = {"passed": "ok", "failure": "FAIL", "warning": "warn", "told": "info", "not applicable": "-"}
COUNTED: dict[Result, str] = {
    "passed": "passed",
    "failure": "failed",
    "warning": "warned",
    "told": "reported",
    "not applicable": "not applicable",
}  # fmt: skip


@dataclass(frozen=True)
class CheckResult:
    """A check with its group and finding."""

    group: str
    check: Check
    finding: Finding

    @property
    def result(self) -> Result:
        """Result of the check."""
        return self.check.result(self.finding)


def checked(subject: TokenizerUnderTest, before: Callable[[Check], None] = lambda check: None) -> list[CheckResult]:
    """Run every check.

    Args:
        subject: the tokenizer.
        before: called with each check before it runs. Default: nothing.
    """
    done = []
    for group, checks in GROUPS.items():
        for check in checks:
            before(check)
            try:
                finding = check.run(subject)
            except EncodeError as error:
                finding = Finding(False, f"the tokenizer raised an error: {error}")
            done.append(CheckResult(group, check, finding))
    return done


def fit(done: list[CheckResult]) -> bool:
    """Return True if no check failed."""
    return all(outcome.result != "failure" for outcome in done)


def counts(done: list[CheckResult]) -> dict[Result, int]:
    """Return the number of checks by result."""
    return {result: sum(outcome.result == result for outcome in done) for result in COUNTED}


def as_text(about: str, done: list[CheckResult], style: Callable[[str, Result], str]) -> str:
    """Format one line per check with its examples below; ``style`` may colour the first word of a line."""
    seen = counts(done)
    lines = [
        about,
        f"{'valid' if fit(done) else 'invalid'}: "
        + ", ".join(f"{seen[outcome]} {COUNTED[outcome]}" for outcome in seen),
    ]
    width = max(len(outcome.check.name) for outcome in done)
    for group in GROUPS:
        lines += ["", group]
        for outcome in (outcome for outcome in done if outcome.group == group):
            sign = style(SIGNS[outcome.result].ljust(4), outcome.result)
            lines.append(f"  {sign}  {outcome.check.name.ljust(width)}  {outcome.finding.sentence}")
            if outcome.result in ("failure", "warning"):
                lines.append(f"{' ' * (width + 10)}expected: {outcome.check.means}")
            lines += [f"{' ' * (width + 10)}{_example(example)}" for example in outcome.finding.examples]
    return "\n".join(lines) + "\n"


def _example(example: Example) -> str:
    line = _text_and_hex(example.data)
    if example.gave is not None:
        line += f" becomes {_text_and_hex(example.gave)}"
    return line + (f": {example.what}" if example.what else "")


def _text_and_hex(data: bytes) -> str:
    """Return bytes as visible text and in hexadecimal."""
    if not data:
        return "nothing"
    more = f" and {len(data) - MOST_BYTES:,} bytes" if len(data) > MOST_BYTES else ""
    return f"{visible(data[:MOST_BYTES])} ({data[:MOST_BYTES].hex(' ')}){more}"


def as_json(about: Mapping[str, Any], done: list[CheckResult]) -> dict[str, Any]:
    """Return all results as a JSON object, with complete examples."""
    return {
        **about,
        "fit": fit(done),
        "counts": counts(done),
        "checks": [
            {
                "name": outcome.check.name,
                "group": outcome.group,
                "means": outcome.check.means,
                "kind": outcome.check.kind,
                "tokeval": outcome.check.also or None,
                "result": outcome.result,
                "told": outcome.finding.sentence,
                "numbers": dict(outcome.finding.numbers),
                "examples": [_plain(example) for example in outcome.finding.examples],
            }
            for outcome in done
        ],
    }


def _plain(example: Example) -> dict[str, Any]:
    gave = {} if example.gave is None else {"gave": example.gave.hex(), "gave_shown": visible(example.gave)}
    return {"hex": example.data.hex(), "shown": visible(example.data), "what": example.what, **gave}
