"""Generator of docs/measured/coverage.md from the shares of simulate.py."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from textwrap import fill

from benchmarks.coverage.cases import Kind
from benchmarks.coverage.simulate import Share
from benchmarks.speed.page import table

LOW, HIGH = 0.93, 0.97
"""Coverage that a nominal 95 % interval should have."""
MOST = 0.06
"""Family-wise error that tests at level 0.05 should have at most."""
FLAGGED = 2.0
"""Standard errors beyond which a share is outside."""
FROM_UNITS = 6
ERRORS = " (errors)"


@dataclass(frozen=True)
class Section:
    """A table of the page.

    Attributes:
        name: name of the table in the cases.
        title: heading.
        text: the simulated data.
        rows: headings of the row labels.
        column: heading of the column labels.
        kind: meaning of the shares.
    """

    name: str
    title: str
    text: str
    rows: tuple[str, ...]
    column: str
    kind: Kind = "coverage"


SECTIONS = (
    Section(
        "units",
        "Units alone",
        "A difference in bits per byte over documents or authors (`ratio` of "
        "`tokbench.statistics.significance.estimate`): token n-gram models, robustness, one training. Differences are "
        "proportional to the size of a unit, as measured ones are.",
        ("difference of a unit", "sizes"),
        "units",
    ),
    Section(
        "token counts",
        "Token counts",
        "Tokens of one tokenizer / tokens of another - 1 (`relative_difference`). The counts of a unit vary by 4 %, "
        "those of the first tokenizer with the distribution named. More: true difference.",
        ("counts of a unit", "sizes", "more"),
        "units",
    ),
    Section(
        "seeds and units",
        "Seeds and units",
        "A difference in bits per byte of language models (`ratio` with several seeds). Sources: variance of the mean "
        "from seeds and from single units in single seeds, in multiples of that from units. small: 0.05 and 0.05; all "
        "residual: 0.05 and 5; equal: 1 and 1; large: 10 and 0.2; large, residual: 10 and 1.",
        ("difference of a unit", "sizes", "seeds", "sources"),
        "units",
    ),
    Section(
        "families",
        "Family-wise error",
        "Share of experiments with equal tokenizers in which Holm's procedure calls at least one pair different, in "
        "percent. Columns: pairs of 2, 5 and 9 tokenizers × units. Seeds –: no trained model.",
        ("difference of a unit", "sizes", "seeds", "sources"),
        "pairs × units",
        "error",
    ),
    Section(
        "power",
        "Power",
        "Share of experiments in which a true difference is significant, in percent; normal differences, equal sizes. "
        "The difference is given in its true standard errors. The family has 1 or 36 pairs.",
        ("seeds", "sources", "difference"),
        "pairs × units",
        "power",
    ),
    Section(
        "tasks",
        "Accuracy and other measures of answers",
        "Difference of two equal tokenizers in accuracy, a mean over tasks (`estimate_mean`). Questions of a cluster "
        "are correlated.",
        ("design",),
        "seeds",
    ),
    Section(
        "alignment",
        "Alignment with morphemes",
        "Difference of two tokenizers in F1 of boundaries (`apart`), over words of each resource; a tenth of the words "
        "is not scored.",
        ("resources",),
        "words",
    ),
    Section(
        "languages",
        "Languages",
        "A difference over languages, which have equal weight and 2 to 59 documents. Between: standard deviation "
        "between languages, in that between the documents of one.",
        ("difference of a language", "between"),
        "languages",
    ),
    Section(
        "effects of tokens",
        "Causal effects of tokens",
        "Jump at a cut-off of ranks (`token_effects`): HC3 and Student's t over tokens, Student's t over seeds, and "
        "the sum of both variances. Tokens: on each side.",
        ("interval", "seeds", "outcome of a token"),
        "tokens",
    ),
    Section(
        "laws of scale",
        "Laws of scale",
        "Exponent of a power law of bits per byte over three scales (`sum_of_logs`), over seeds and documents.",
        ("seeds",),
        "documents",
    ),
    Section(
        "bootstrap",
        "Percentile bootstraps",
        "Difference in BLEU by the paired bootstrap over sentences (Koehn 2004), and Kendall's tau of the order of "
        "five tokenizers at two scales, with seeds and documents drawn independently (Owen 2007).",
        ("interval",),
        "documents or sentences",
    ),
    Section(
        "papers",
        "Shares and correlations, as papers print them",
        "Average accuracy by normal theory, shares of pairs, and correlations of measures over tokenizers.",
        ("interval",),
        "questions, pairs or tokenizers",
    ),
    Section(
        "signed rank",
        "Signed-rank test over cells, as papers print it",
        "Share of experiments with equal variants that the one-sided test at level 0.05 rejects, in percent. Common "
        "part: share of a cell's variance that all cells have in common, as cells of one training have.",
        ("difference of a cell", "common part"),
        "cells",
        "error",
    ),
)
HEAD = """# Coverage of intervals and errors of tests

A 95 % interval should contain the true value in 95 % of all experiments, and tests at level 0.05 should call equal
tokenizers different in at most 5 %. This page measures both for every interval and test of Tokbench, with data
whose true value is known. `make coverage` draws the data, calls the functions that tables, commands and reports
call, and writes this page.

Values are percentages of {draws} simulated experiments for each cell. Their Monte Carlo standard error is at most
{error:.1f} points. **Bold** is coverage outside 93 to 97 %, or a family-wise error above 6 %, by more than twice
this error. Comparisons have a verdict from six units on, and from three trainings on where models are trained."""
METHOD = """## The reference distribution

[Comparing two tokenizers](../comparisons.md) has the rule: subsets of the units, which are flips of signs, and
Student's t for seeds. It is exact for units of any sizes and tails if differences are symmetric.

Six units are the fewest for a verdict: if all units agree in sign, the least p-value is 2 / 2^5 = 0.063 with five
and 0.031 with six. Holm's correction needs more: 7 units for up to 3 pairs, 9 for 12, 11 for 51 (36 pairs of
9 tokenizers), 13 for 204."""
LIMITS = """## Cells outside the limits

{found}

- **Skewed differences.** If the differences themselves are skewed, intervals over units are too narrow: 92 to 94 %
  at a skewness of 1.75, 84 to 90 % at 6.2. At 0.8 they cover 94 to 96 %. Differences of language models in our
  studies have a mean absolute skewness of 0.35 to 0.8. The difference of two tokenizers with equally skewed values
  is symmetric, so tests of equal tokenizers keep their level.
- **Few seeds.** Intervals of three to five seeds are wider than necessary (97 to 99.7 %), most of all where single
  units vary between seeds more than seeds do. There are fewer false verdicts, and less power.
- **Six units** give 97 %: subsets of six units have no step nearer to 95 %.
- **Accuracies of few questions** by normal theory have intervals that are too narrow, 89 to 93 % with 10 questions.
- **Kendall's tau** has intervals that are too wide with many seeds, because tau has few values.
- **Correlations** have Fisher's interval for normal values; it is too narrow for skewed ones, with any number.
- **Signed-rank tests over cells** of papers treat cells of one training as independent. With a common part they
  reject far too often. Tokbench shows them only as the papers do it, and no verdict depends on them."""
ATTEMPTS = """## Other reference distributions

Coverage of 95 % intervals of 6 to 50 units alone, before the reference distribution was chosen (20,000 experiments,
4,000 for the bootstrap). The first three columns have normal differences, the others equal sizes.

| reference distribution | equal | unequal | one has half | skewness 1.75 | two lognormals |
|---|---:|---:|---:|---:|---:|
| Student's t over units | 95 | 93–95 | 96 | 92–94 | 96–97 |
| CR2 or CR3, Bell and McCaffrey's degrees of freedom | 95 | 97–99 | 100 | 92–94 | 96–97 |
| Johnson's t, corrected for skewness | 95 | 88–92 | 69–93 | 94–95 | 91–94 |
| bootstrap of t | 95–96 | 92–94 | 88–91 | 94 | 90–94 |
| flips of signs (now) | 95–97 | 95–97 | 95–97 | 92–95 | 95–97 |

- Corrections for skewness and the bootstrap of t mend skewed differences of equal sizes and break the other cases.
- CR2 and CR3 are too wide for unequal sizes.
- Satterthwaite's approximation for seeds and units, which was used before, fails far in the tails, where Holm's
  correction looks: with 36 pairs and seeds that dominate, the family-wise error was 25 to 31 % with 3 seeds, 9 to
  12 % with 5, and 5 to 7 % with 10. The present one had at most 4.7 % in 144 designs (700 families each).
- Satterthwaite with min(seeds, units) - 1 degrees of freedom keeps the error and covers up to 100 % with 3 seeds.
- Flips of the signs of seeds and units together lose the effect of a seed.
- To subtract more of the residual (the product of both quantiles of t) brings the mean coverage from 97.4 to
  96.9 %, and the family-wise error of 3 seeds to 8 %.
- Bootstraps over questions and documents, which were used before, covered 73 to 92 % with 3 to 20 clusters."""


def outside(share: Share, kind: Kind) -> bool:
    """Return True if a share is beyond its limits by more than twice its standard error."""
    slack = FLAGGED * share.error
    if kind == "coverage":
        return share.value + slack < LOW or share.value - slack > HIGH
    return kind == "error" and share.value - slack > MOST


def written(share: Share | None, kind: Kind) -> str:
    """Return a cell."""
    if share is None:
        return ""
    text = f"{100 * share.value:.1f}"
    return f"**{text}**" if outside(share, kind) else text


def table_of(shares: Iterable[Share], section: Section) -> str:
    """Return the table of a section."""
    rows_of_shares: dict[tuple[str, ...], dict[str, Share]] = {}
    columns: dict[str, None] = {}
    for share in shares:
        rows_of_shares.setdefault(share.row, {})[share.column] = share
        columns.setdefault(share.column)
    head = [*section.rows, *(f"{name} {section.column}" if place == 0 else name for place, name in enumerate(columns))]
    rows = [[*row, *(written(of.get(name), section.kind) for name in columns)] for row, of in rows_of_shares.items()]
    return table(head, rows).rstrip()


def summary(shares: Sequence[Share]) -> str:
    """Return for each table of coverage or errors how many cells are within the limits, and the least and most."""
    rows = []
    for section in SECTIONS:
        part = [share for share in shares if share.table == section.name and verdict_possible(share)]
        if section.kind == "power" or not part:
            continue
        values = [share.value for share in part]
        low, high = min(values), max(values)
        marked = [share.value for share in part if outside(share, section.kind)]
        below, above = (sum(side * share > side * 0.95 for share in marked) for side in (-1, 1))
        if section.kind == "error":
            below, above = 0, len(marked)
        ends = [f"{100 * end:.1f}" for end in (low, high)]
        title = f"{section.title}{ERRORS * (section.kind == 'error')}"
        rows.append([title, str(len(part)), str(below), str(above), *ends])
    head = ["table", "cells", "too low", "too high", "least (%)", "most (%)"]
    return table(head, rows).rstrip()


def verdict_possible(share: Share) -> bool:
    """Return True if a cell has at least six units; other columns than units always count."""
    column = share.column.replace(",", "")
    return share.table not in ("units", "seeds and units", "languages") or int(column) >= FROM_UNITS


def page(shares: Sequence[Share]) -> str:
    """Return the page."""
    error = 100 * max(sqrt(0.05 * 0.95 / share.times) for share in shares)
    draws = sorted({share.times for share in shares})
    parts = [
        HEAD.format(draws=f"{draws[0]:,} to {draws[-1]:,}", error=error),
        METHOD,
        LIMITS.format(found=summary(shares)),
    ]
    for section in SECTIONS:
        part = [share for share in shares if share.table == section.name]
        if part:
            parts += [f"## {section.title}", fill(section.text, 120), table_of(part, section)]
    return "\n\n".join([*parts, ATTEMPTS]) + "\n"
