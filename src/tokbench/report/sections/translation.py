"""Sections on translation (parallel corpora, scores and comparisons) and on the overlap of vocabularies."""

from dataclasses import replace
from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Section, Table
from tokbench.report.figure_sentences import shared_tokens, variant_range
from tokbench.report.figures import norms, venn
from tokbench.report.figures.style import styles
from tokbench.report.sections.rows import drawn_sizes, rows, source_of, split, split_all
from tokbench.report.wording import slug
from tokbench.statistics.comparisons.translations import TRANSLATION_COMPARISONS
from tokbench.statistics.significance.eligibility import why_untested
from tokbench.tabulation.embeddings import TRANSLATION_EMBEDDING_NORMS, TRANSLATION_EMBEDDINGS
from tokbench.tabulation.translations import PARALLEL_CORPORA, TRANSLATION_SCORES
from tokbench.tabulation.vocabularies import OVERLAPS, VENN

CAUTION = (
    "All models are trained on the same pairs and tested on the same sentences. BLEU compares words and chrF compares "
    "characters with a single reference. Scores of different tests or languages are not comparable."
)


def translation(content: ReportContent) -> Section:
    """Return the section on translations; empty if there are none.

    Args:
        content: content of the report.
    """
    scores = split_all(content, TRANSLATION_SCORES)
    compared = [_with_reasons(table) for table in split_all(content, TRANSLATION_COMPARISONS)]
    exhibits: list[Table | Drawing] = [*split(content, PARALLEL_CORPORA), *scores, *compared, *_norms(content)]
    exhibits += split_all(content, TRANSLATION_EMBEDDINGS)
    return Section("translation", "Translation", [CAUTION] if scores else [], exhibits)


def _with_reasons(table: Table) -> Table:
    """Return a table of comparisons with reasons for empty p-values where trainings are few."""
    untested = {index: why for index, seeds in enumerate(table.frame["seeds"]) if (why := why_untested(seeds))}
    reasons = {place: untested.get(place[0], reason) for place, reason in table.reasons.items()}
    sentence = "; ".join(dict.fromkeys(untested.values()))
    return replace(table, reasons=reasons, notes=[*table.notes, *[f"{sentence.capitalize()}."] * bool(sentence)])


def _norms(content: ReportContent) -> list[Drawing]:
    """Return a figure for each side of each model, one panel per tokenizer."""
    frame, by = content.part(TRANSLATION_EMBEDDING_NORMS.name), TRANSLATION_EMBEDDING_NORMS.prints[0].by
    drawings = []
    for names, part in [] if frame is None else frame.group_by(by, maintain_order=True):
        at = dict(zip(by, names, strict=True))
        cells = {str(name): own for (name,), own in part.group_by("tokenizers", maintain_order=True)}
        caption = TRANSLATION_EMBEDDING_NORMS.prints[0].caption.format(**at)
        draw = partial(norms.draw, cells, list(cells), text="training text")
        name = slug("translation-embedding-norms", *at.values())
        unseen = {variant: float(part.filter(probability_high=0.0)["tokens"].sum()) for variant, part in cells.items()}
        says = variant_range(f"Tokens of {at['side']} that never occur in the training text", unseen, 0)
        source = source_of(TRANSLATION_EMBEDDING_NORMS, **at)
        drawings.append(Drawing(name, caption, draw, source, says=says, folded=True))
    return drawings


def vocabularies(content: ReportContent) -> Section:
    """Return the section on vocabularies: Venn diagrams of three, and the overlap of every pair.

    Args:
        content: content of the report.
    """
    exhibits: list[Table | Drawing] = []
    missing = []
    regions = content.part("venn")
    if regions is None:
        missing.append(f"Venn diagram: {content.why_missing('venn')}")
    else:
        sizes = regions["size"].unique().to_list()
        shown = drawn_sizes(sizes)
        for row in regions.filter(pl.col("size").is_in(shown)).iter_rows(named=True):
            names = [row[letter] for letter in "abc"]
            at = {key: row[key] for key in VENN.prints[0].by}
            caption = VENN.prints[0].caption.format(**at)
            draw = partial(venn.draw, row, names, styles(content.variants, content.highlight))
            name, says = slug("venn", *names, row["size"]), shared_tokens(row, names)
            series = slug("venn", *names) if len(shown) > 1 else ""
            exhibits.append(Drawing(name, caption, draw, source_of(VENN), names, says, row["size"], series))
    overlaps = content.part("overlaps")
    if overlaps is None:
        missing.append(f"Overlaps: {content.why_missing('overlaps')}")
    else:
        table = rows(OVERLAPS, content.sort_variants(overlaps.sort("size", maintain_order=True)))
        counted = [f"Tokens {which} are counted." for which in overlaps["tokens"].unique().sort() if which != "all"]
        exhibits.append(replace(table, notes=[*table.notes, *counted]))
    return Section("vocabularies", "Vocabularies", exhibits=exhibits, missing=missing)
