"""Comparison of translations with tables 1 and 2 of "BPE Gets Picky".

A row corresponds to the paper's if one recipe of the paper tokenizes both sides, in the same direction. Vocabularies
are joint, or separate with the same size. Models and texts usually differ from the paper's; the table shows if the
model is the same.
"""

from collections.abc import Mapping
from math import isnan, nan
from typing import Any

import numpy as np
import polars as pl

from tokbench.published import facts
from tokbench.published.comparison import same_recipe
from tokbench.statistics.accuracies.seeds import SEVERAL
from tokbench.statistics.comparisons.translations import SCORES, resample_scores, sum_sentences
from tokbench.statistics.significance.eligibility import why_untested
from tokbench.statistics.significance.verdicts import ALPHA
from tokbench.tabulation.columns import SIZE, SYSTEM, TOKENIZERS
from tokbench.tabulation.table import Column, Print, TidyTable

PAPER = "picky_bpe"
SHAPE = {"encoder_layers": 6, "decoder_layers": 6, "d_model": 512, "feed_forward": 1024, "heads": 4}
"""The paper's model: appendix, table 7."""
JOINT, SEPARATE = "joint", "separate"
BEST, NEAR = "best", "not told apart"
KEYS = [column.name for column in SYSTEM]


def published_translations(
    sentences: pl.DataFrame, comparisons: pl.DataFrame, experiment: Mapping[str, Any]
) -> pl.DataFrame:
    """Return scores of models whose tokenizers are the paper's, with the published scores.

    Args:
        sentences: table ``translation_sentences``; models that differ only in the seed share a name.
        comparisons: table ``translation_comparisons``.
        experiment: full recipes of ``variants`` and ``translation_models``.

    Returns:
        The columns of :data:`PUBLISHED_TRANSLATIONS`.
    """
    theirs = {
        name: variant["variant"]
        for name, recipe in experiment.get("variants", {}).items()
        for variant in facts.variants().filter(paper=PAPER).iter_rows(named=True)
        if "from" not in recipe and same_recipe(recipe, variant)
    }
    rows = []
    for names, part in sentences.group_by(*KEYS, "tokenizers", maintain_order=True):
        of = dict(zip([*KEYS, "tokenizers"], names, strict=True))
        sides = str(of["tokenizers"]).split(" + ")
        known = {theirs.get(side) for side in sides}
        if len(known) == 1 and None not in known:
            options = experiment.get("translation_models", {}).get(SEVERAL.sub("", str(of["model"])), {})
            row = {**of, "vocabulary": JOINT if len(sides) == 1 else SEPARATE, "variant": known.pop()}
            row["paper_model"] = "yes" if all(options.get(key) == value for key, value in SHAPE.items()) else "no"
            rows.append({**row, **_scores_over_seeds(part), **_printed(row)})
    for row in rows:
        group = [other for other in rows if all(other[key] == row[key] for key in (*KEYS, "vocabulary"))]
        row |= {f"{metric}_stands": _score_state(row, group, metric, comparisons) for metric in ("bleu", "comet")}
    frame = pl.DataFrame(rows, schema=PUBLISHED_TRANSLATIONS.schema)
    return frame.sort("vocabulary", "size", maintain_order=True)


def _scores_over_seeds(part: pl.DataFrame) -> dict[str, Any]:
    """Return scores over all seeds together, with half-widths of intervals by the bootstrap over sentences."""
    scores: dict[str, Any] = {}
    for (metric,), sentences in part.group_by("metric", maintain_order=True):
        score, name = SCORES[str(metric)], str(metric).lower()
        pairs, statistics, _ = sum_sentences(sentences, str(metric))
        low, high = np.quantile(resample_scores(statistics, score), [0.025, 0.975]).tolist()
        scores |= {name: float(score(statistics.sum(0))), f"{name}_interval": (high - low) / 2}
        seeds = min(count for _, count in pairs)
        scores["seeds"] = min(seeds, scores.get("seeds", seeds))
    return scores


def _printed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paper's cell; its table 1 has joint vocabularies of 8,192, its table 2 the others."""
    cells = facts.cells().filter(
        pl.col("task").is_in([row["vocabulary"], *([""] if row["vocabulary"] == JOINT else [])]),
        pl.col("metric").is_in(["bleu", "bleu_interval", "comet"]),
        paper=PAPER,
        corpus=f"{row['source_language']}_{row['target_language']}",
        variant=row["variant"],
        size=row["size"],
    )
    values = {f"published_{metric}": float(value) for metric, value in cells.select("metric", "value").iter_rows()}
    return values | {"source": f"{facts.PAPERS[PAPER]}, {cells['where'][0]}" if values else None}


def _score_state(
    row: Mapping[str, Any], group: list[dict[str, Any]], metric: str, comparisons: pl.DataFrame
) -> str | None:
    """Return “best”, “not told apart” from the best, or the reason why a score is not tested.

    None if no difference is significant, if this one is, or if the comparisons lack the score.
    """
    scored = [candidate for candidate in group if not isnan(candidate.get(metric, nan))]
    if len(scored) < 2 or isnan(row.get(metric, nan)):
        return None
    if why := why_untested(min(candidate["seeds"] for candidate in scored)):
        return why
    best = max(scored, key=lambda candidate: candidate[metric])
    name = next(name for name in SCORES if name.lower() == metric)
    pairs = comparisons.filter(metric=name, **{key: row[key] for key in KEYS})
    significant = {
        second: adjusted < ALPHA
        for a, b, adjusted in pairs.select("a", "b", "holm").iter_rows()
        for first, second in ((a, b), (b, a))
        if first == best["tokenizers"]
    }
    if not any(significant.get(candidate["tokenizers"]) for candidate in scored):
        return None
    return BEST if row is best else NEAR if significant.get(row["tokenizers"]) is False else None


MISSING = "the paper has no such cell"
WORSE = "significantly different from the best, not compared with it, or no difference is significant"
NOT_SCORED = "not scored in this run"
PUBLISHED_TRANSLATIONS = TidyTable(
    "published_translations",
    "a translation model over tokenizers of “BPE Gets Picky” on a test",
    (
        *SYSTEM[:-1],
        Column("vocabulary", pl.String, "joint, or separate"),
        SIZE,
        TOKENIZERS,
        Column("variant", pl.String, "the paper's variant of both sides", heading="theirs"),
        Column("bleu", pl.Float64, "BLEU of all seeds together", decimals=1, heading="BLEU", empty=NOT_SCORED),
        Column(
            "bleu_interval", pl.Float64, "half-width of its 95 % interval (bootstrap over sentences)", decimals=1,
            heading="±", empty=NOT_SCORED,
        ),
        Column(
            "bleu_stands", pl.String, "“best” among vocabularies of this kind and size, “not told apart” from it "
            "(no significant difference at .05 after Holm's correction, paired bootstrap), or why it is not tested",
            heading="BLEU stands",
            empty=WORSE,
        ),
        Column("comet", pl.Float64, "COMET of all seeds together", decimals=3, heading="COMET", empty=NOT_SCORED),
        Column(
            "comet_interval", pl.Float64, "half-width of its 95 % interval (bootstrap over sentences)", decimals=3,
            heading="±",
            empty=NOT_SCORED,
        ),
        Column(
            "comet_stands", pl.String, "the same for COMET", heading="COMET stands", empty=WORSE
        ),
        Column("published_bleu", pl.Float64, "the paper's BLEU", decimals=1, heading="BLEU (theirs)", empty=MISSING),
        Column("published_bleu_interval", pl.Float64, "half-width of the paper's interval of BLEU", decimals=1,
               heading="± (theirs)", empty=MISSING),
        Column("published_comet", pl.Float64, "the paper's COMET", decimals=3, heading="COMET (theirs)", empty=MISSING),
        Column("source", pl.String, "paper, and table", empty=MISSING),
        Column("paper_model", pl.String, "yes if layers, widths and heads are the paper's, otherwise no"),
        Column("seeds", pl.Int64, "seeds whose translations are pooled"),
    ),
    maker=published_translations,
    takes=("translation_sentences", "translation_comparisons", "experiment"),
    prints=(
        Print(
            "published",
            "Translations from {source_language} into {target_language}, {parallel}, test {test}, by {model}, in the "
            "form of tables 1 and 2 of “BPE Gets Picky”; published scores are marked as theirs. The size is that of "
            "each side. Scores of other texts or models are not comparable. Model with the paper's layers, widths and "
            "heads: {paper_model}.",
            shown=("vocabulary", "size", "tokenizers", "bleu", "bleu_interval", "bleu_stands", "comet", "comet_stands",
                   "published_bleu", "published_bleu_interval", "published_comet", "source", "seeds"),
            by=("parallel", "source_language", "target_language", "test", "model", "paper_model"),
            files=("translation_scores/{model}/{parallel}/{source_language}/{target_language}/",),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
