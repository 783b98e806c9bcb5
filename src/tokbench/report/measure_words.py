"""Words and number formats of the main measures, for sentences, tables and figures of the report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokbench.report.wording import fitting_decimals, format_value
from tokbench.statistics.comparisons.families import ACCURACY, ALIGNMENT, BITS, GAP, NGRAM, TOKENS

if TYPE_CHECKING:
    from tokbench.tabulation.table import Kind


@dataclass(frozen=True)
class MeasureWords:
    """Words for one measure. Texts may name ``{best}``, ``{corpus}``, ``{model}`` and ``{suite}`` of a claim.

    Attributes:
        lower: verb of a difference below zero; ``{}`` is the number.
        higher: verb of a difference above zero.
        equal: verb of no difference.
        setting: language model of a comparison.
        name: heading of values that are not ranked.
        heading: heading of the best value.
        clause: clause on the best tokenizer.
        values: phrase for values that are not ranked.
        source: text after a value: its unit, model or data.
        behind: clause on the difference of the worst from the best; ``{}`` is the number.
        caption: phrase for captions.
        axis: label of an axis of differences.
        kind: number format of values.
        unit: unit of a printed difference.
        noun: the measure after a difference from the baseline.
        detectable: unit of a detectable difference.
        percent: True if differences are printed in percent.
        highest: True if the highest value is the best.
    """

    lower: str = "has a value that is {} lower than that of"
    higher: str = "has a value that is {} higher than that of"
    equal: str = "has the same value as"
    setting: str = " with the language model {model} on {suite}"
    name: str = ""
    heading: str = ""
    clause: str = ""
    values: str = ""
    source: str = ""
    behind: str = ""
    caption: str = ""
    axis: str = ""
    kind: "Kind" = "real"
    unit: str = ""
    noun: str = ""
    detectable: str = " bits per byte"
    percent: bool = False
    highest: bool = False

    @property
    def sign(self) -> int:
        """1 if low values are better, -1 if high ones are."""
        return -1 if self.highest else 1

    @property
    def difference_kind(self) -> "Kind":
        """Number format of differences."""
        return "percent" if self.percent else "real"

    @property
    def decimals(self) -> int:
        """Decimals of differences in short texts."""
        return 1 if self.percent else 3

    @property
    def end_unit(self) -> str:
        """Unit of the ends of an interval: points are named only once."""
        return self.unit.replace(" points", "")


_BITS = MeasureWords(
    lower="needs {} fewer bits per byte than",
    higher="needs {} more bits per byte than",
    equal="needs as many bits per byte as",
    name="Bits per byte",
    heading="Fewest bits per byte",
    behind="needs {} bits per byte more",
    axis="difference in bits per byte",
    noun=" bits per byte",
    setting=" with the language model {model}",
    clause="with the language model “{model}”, {best} has the fewest bits per byte",
    values="bits per byte with the language model “{model}”",
    source=" with the language model {model}",
    caption="in bits per byte of {model} on the evaluation split of {corpus}",
)
MEASURES: Mapping[str, MeasureWords] = {
    TOKENS: MeasureWords(
        lower="needs {} fewer tokens than",
        higher="needs {} more tokens than",
        equal="needs the same number of tokens as",
        name="Tokens",
        heading="Fewest tokens",
        clause="{best} needs the fewest tokens for {corpus}",
        source=" tokens",
        behind="needs {} % more",
        caption="in tokens of the evaluation split of {corpus}",
        axis="difference in tokens (%)",
        kind="count",
        unit=" %",
        detectable=" % of tokens",
        percent=True,
    ),
    BITS: _BITS,
    NGRAM: replace(
        _BITS,
        setting=" with token n-gram models",
        clause="with token n-gram models of {corpus}, {best} has the fewest bits per byte",
        values="",
        source=" with token n-gram models",
        caption="in bits per byte of n-gram models on the evaluation split of {corpus}",
    ),
    ACCURACY: MeasureWords(
        lower="has an accuracy that is {} lower than that of",
        higher="has an accuracy that is {} higher than that of",
        name="Accuracy",
        heading="Highest accuracy",
        clause="with the language model “{model}”, {best} has the highest accuracy on the suite “{suite}”",
        values="accuracy of the language model “{model}” on the suite “{suite}”",
        source=" with {model} on {suite}",
        behind="is {} points lower",
        caption="in average accuracy of {model} on {suite}",
        axis="difference in accuracy (points)",
        kind="percent",
        unit=" points",
        detectable=" points of accuracy",
        percent=True,
        highest=True,
    ),
    ALIGNMENT: MeasureWords(
        lower="has an F1 that is {} lower than that of",
        higher="has an F1 that is {} higher than that of",
        name="Alignment",
        heading="Closest to morphemes",
        clause="{best} has the best alignment with the morphemes of {corpus}",
        source=" (F1) on gold data",
        behind="has an F1 that is {} lower",
        caption="in alignment with morphemes, each on the words for which it has a score",
        axis="difference in F1",
        noun=" of F1",
        detectable=" of alignment (F1)",
        highest=True,
    ),
    GAP: MeasureWords(
        lower="is {} nearer to the optimum than",
        higher="is {} further from the optimum than",
        kind="percent",
        unit=" points",
        percent=True,
    ),
}
"""Words by measure."""
CLAIMED = tuple(measure for measure, words in MEASURES.items() if words.clause)
"""Measures of claims, in their order."""
_OTHER = MeasureWords()


def words_of(measure: str) -> MeasureWords:
    """Return the words for a measure; general ones for a measure that is not a main one."""
    return MEASURES.get(measure, _OTHER)


def value_text(measure: str, value: float, decimals: int | None = None) -> str:
    """Return a value of a measure in print, in its unit.

    Args:
        measure: measure of the scoreboard.
        value: the value.
        decimals: digits after the point of measures that are not a count or a share (default: fitted to the value).
    """
    kind = words_of(measure).kind
    if kind == "real":
        return format_value(value, kind, fitting_decimals([value]) if decimals is None else decimals)
    return format_value(value, kind, 1) + " %" * (kind == "percent")
