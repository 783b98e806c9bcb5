"""Pre-token counts of each language of a text, the input of constructions that balance languages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tokbench.errors import TokbenchError, listed, shortened
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import merge_counts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LanguageCounts(PretokenCounts):
    """Pre-tokens of a text, in total and by language.

    Other constructions read only the total.

    Attributes:
        by_language: counts of each language. The total is their sum.
        development: counts of the same text in each language, by which a construction compares languages; None if
            there is no such text.

    Examples:
        >>> from tokbench.pretokens.by_language import LanguageCounts
        >>> LanguageCounts.of({"en": tokbench.count("the cat"), "de": tokbench.count("die Katze")})
        LanguageCounts(2 languages, 4 unique, 4 in all, gpt2)
    """

    by_language: Mapping[str, PretokenCounts] = field(default_factory=dict)
    development: Mapping[str, PretokenCounts] | None = None

    def __repr__(self) -> str:
        languages = f"{len(self.by_language)} language{'s' * (len(self.by_language) != 1)}"
        pretokenization = "pre-tokenization not known" if self.scheme is None else shortened(self.scheme)
        return f"LanguageCounts({languages}, {len(self):,} unique, {self.total:,} in all, {pretokenization})"

    @classmethod
    def of(
        cls, by_language: Mapping[str, PretokenCounts], development: Mapping[str, PretokenCounts] | None = None
    ) -> Self:
        """Build from the counts of each language.

        Args:
            by_language: counts of each language; the order is that of ties.
            development: counts of parallel text in each language. Default: None.

        Raises:
            TokbenchError: there is no language, or pre-tokenizations differ.
        """
        parts = [*by_language.values(), *(development or {}).values()]
        if not by_language or not all(isinstance(part, PretokenCounts) for part in parts):
            raise TokbenchError(
                "by_language: pass a mapping of languages to counts, as in {'en': tokbench.count(texts)}"
            )
        schemes = sorted({part.scheme for part in parts if part.scheme is not None})
        if len(schemes) > 1:
            raise TokbenchError(f"by_language: pre-tokenizations differ ({listed(schemes)}); use one for all counts")
        total = merge_counts(by_language.values())
        scheme = schemes[0] if schemes else None
        return cls(
            total.data, total.offsets, total.counts, scheme, dict(by_language), development and dict(development)
        )


def read_language_counts(
    path: Path | str, development: Path | str | None, total: PretokenCounts, least: int = 1
) -> LanguageCounts:
    """Read the counts of each language of a text.

    Args:
        path: file of counts. Without a column for the language it is one language, whose tag is empty.
        development: file of counts of parallel text; None if there is none.
        total: pre-tokens of the text that occur ``least`` times or more, with their pre-tokenization.
        least: minimum count in all languages together; rarer pre-tokens are dropped. Default: 1.

    Raises:
        TokbenchError: a file cannot be read, or pre-tokenizations differ.
    """
    from tokbench.pretokens.files import read_languages

    parts = {language: _name_scheme(counts, total.scheme) for language, counts in read_languages(path).items()}
    if least > 1:
        frequent = {pretoken for pretoken, _ in total.items()}
        parts = {language: _select(counts, frequent) for language, counts in parts.items()}
    tests = None
    if development is not None:
        tests = {
            language: _name_scheme(counts, total.scheme) for language, counts in read_languages(development).items()
        }
    return LanguageCounts.of(parts, tests)


def _name_scheme(counts: PretokenCounts, scheme: str | None) -> PretokenCounts:
    """Return counts with a pre-tokenization, if they do not name theirs."""
    return PretokenCounts(counts.data, counts.offsets, counts.counts, counts.scheme or scheme)


def _select(counts: PretokenCounts, frequent: set[bytes]) -> PretokenCounts:
    """Return the pre-tokens that are in a set."""
    pairs = [(pretoken, count) for pretoken, count in counts.items() if pretoken in frequent]
    return PretokenCounts.from_pairs(pairs, counts.scheme)
