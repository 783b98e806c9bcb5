"""Scoreboard section and headline figures: tokens by size and language, bits against tokens, and forest plots."""

from collections import Counter
from dataclasses import replace
from functools import partial

import polars as pl

from tokbench.report.answer import summary
from tokbench.report.claim_sentences import claim_text
from tokbench.report.claims import Claim, best_claims, unranked_claims
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Exhibit, NumberSource, Section
from tokbench.report.figure_sentences import value_range, verdict_counts
from tokbench.report.figures import differences, dots, scatter
from tokbench.report.figures.differences import BY_TEST
from tokbench.report.figures.style import styles
from tokbench.report.measure_words import MEASURES
from tokbench.report.sections.rows import TEXT, drawn_sizes, path_of
from tokbench.report.sections.scoreboard import FILES, scoreboard
from tokbench.report.wording import join_some, pluralise, slug
from tokbench.statistics.accuracies.seeds import SEVERAL
from tokbench.statistics.comparisons.families import BEST, BITS, NGRAM, TOKENS, UNRANKED, UNTESTED
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.significance.verdicts import WORSE
from tokbench.tabulation import limits
from tokbench.tabulation.intrinsic import INTRINSIC

LARGER = ", larger marks are larger vocabularies"
SINGLE = " Variants with a single size have a mark and no line."
_LEAST_SIZES = 3
"""Fewest vocabulary sizes for lines of tokens by size; another section has dots for fewer."""


def evidence(content: ReportContent) -> Section:
    """Return the section of figures for the numbers of the scoreboard.

    Args:
        content: content of the report.
    """
    frame = content.scoreboard
    if frame is None or frame.is_empty():
        return Section("evidence", "The evidence in figures")
    claimed = best_claims(content)
    exhibits: list[Exhibit] = [*_by_size(content, frame, claimed), *_forests(content, frame, claimed)]
    exhibits += [*_bits_against_tokens(content, frame, claimed), *_by_language(content, frame)]
    return Section("evidence", "The evidence in figures", exhibits=exhibits)


def _claim_of(claimed: list[Claim], measure: str) -> Claim | None:
    return next((claim for claim in claimed if claim.measure == measure), None)


def _by_size(content: ReportContent, frame: pl.DataFrame, claimed: list[Claim]) -> list[Drawing]:
    """Return figures of tokens against vocabulary size, one for each corpus with three sizes or more."""
    drawings = []
    # A figure for each corpus with enough sizes.
    claim = _claim_of(claimed, TOKENS)
    known = frame.filter(measure=TOKENS).drop_nulls("value")
    for corpus in content.corpora_of(known):
        part = known.filter(corpus=corpus)
        ranked = part.filter(pl.col("verdict") != UNRANKED)
        sizes = part["size"].unique().sort().to_list()
        order = [variant for (variant,) in content.sort_rows(set(part.select("variant").rows()))]
        shown = set(content.drawn_variants(order))
        values = {
            (f"{size:,}", content.label(variant)): value / 1000
            for variant, size, value in part.select("variant", "size", "value").rows()
            if variant in shown
        }
        if len(sizes) < _LEAST_SIZES:
            continue
        names = [f"{size:,}" for size in sizes]
        looks, labels = (
            content.by_label(styles([*content.variants, *order], content.highlight)),
            [*map(content.label, order)],
        )
        draw = partial(dots.draw_by_model, values, names, labels, looks, "tokens, thousands")
        caption = (
            f"Tokens of the evaluation split of {corpus} by vocabulary size; fewer are better."
            f"{SINGLE * (Counter(part['variant'].to_list()).most_common()[-1][1] < 2)}{content.omission_note(order)}"
            f"{content.bracket_note}"
        )
        # The claim is the finding on its own corpus.
        says = value_range(f"Tokens of {corpus}", content.by_label_and_size(_values(ranked) or _values(part)), 0)
        if claim is not None and claim.corpus == corpus:
            says = claim_text(claim)
        name = slug("tokens-by-size", corpus)
        drawings.append(Drawing(name, caption, draw, _source(TOKENS), content.drawn_variants(order), says))
    return drawings


def _forests(content: ReportContent, frame: pl.DataFrame, claimed: list[Claim]) -> list[Drawing]:
    """Return forest plots of differences from the best of a measure.

    There is one for each size of :func:`tokbench.report.sections.rows.drawn_sizes` and for the size of the claim.
    """
    drawings = []
    for claim in claimed:
        part = _rows_of_claim(frame, claim)
        sizes = part.drop_nulls("behind_low")["size"].unique().to_list()
        if claim.size not in sizes:
            continue
        chosen = [size for size in drawn_sizes(sizes) if size <= claim.size] or [claim.size]
        made = [_forest(content, part.filter(size=size), claim, size) for size in sorted({*chosen, claim.size})]
        name = slug("behind-the-best", claim.measure, claim.corpus, claim.model, claim.suite)
        drawings += [replace(drawing, series=name) for drawing in made] if len(made) > 1 else made
    return drawings


def _forest(content: ReportContent, part: pl.DataFrame, claim: Claim, size: int) -> Drawing:
    """Return the forest plot of one size; rows are those of the claim's corpus, model, suite and pre-tokenizer."""
    words = MEASURES[claim.measure]
    factor = 100 if words.percent else 1
    best = str(part.filter(verdict=BEST)["variant"][0])
    look = styles([*content.variants, *sorted(part["variant"].to_list())], content.highlight)
    others = part.filter(pl.col("verdict") != BEST).drop_nulls("behind_low")
    lines = [
        differences.Row(
            row["variant"],
            factor * row["behind"],
            (factor * row["behind_low"], factor * row["behind_high"]),
            tested=row["verdict"] != UNTESTED,
            significant=row["verdict"] == WORSE,
            colour=look[row["variant"]].colour,
            highlighted=look[row["variant"]].highlighted,
        )
        for row in others.sort(pl.col("behind").abs(), "variant").iter_rows(named=True)
    ]
    kept = lines[: limits.MAX_DRAWN] if content.has_many_variants else lines
    of = f" with the pre-tokenizer {claim.pretokenizer}" * bool(claim.pretokenizer)
    caption = (
        f"Difference of each tokenizer{of} from the best, {best}, at a vocabulary of {size:,}, "
        f"{words.caption.format(corpus=claim.corpus, model=claim.model, suite=claim.suite)}. "
        f"Lines and brackets are 95 % intervals of the difference; {BY_TEST}."
    )
    if len(kept) < len(lines):
        caption += f" Shown: the {len(kept)} nearest of {len(lines):,}."
    name = slug("behind-the-best", claim.measure, claim.corpus, claim.model, claim.suite, size)
    draw = partial(
        differences.draw, kept, words.axis, against=best, unit=words.end_unit.strip(), decimals=words.decimals,
        higher_is_better=words.highest,
    )  # fmt: skip
    source = _source(claim.measure, model=claim.model, suite=claim.suite)
    says = claim_text(claim) if size == claim.size else verdict_counts(best, others["verdict"].to_list())
    return Drawing(name, caption, draw, source, [row.name for row in kept], says, size)


def _source(*measures: str, **at: str) -> NumberSource:
    """Return the source of figures: the scoreboard and the files of its measures."""
    known = {key: value for key, value in at.items() if value and not SEVERAL.search(value)}
    return NumberSource([path_of(SCOREBOARD)], list(dict.fromkeys(FILES[measure] for measure in measures)), known)


def _rows_of_claim(frame: pl.DataFrame, claim: Claim) -> pl.DataFrame:
    """Return rows of the scoreboard for the claim's measure and pre-tokenizer, at all sizes with a best tokenizer."""
    filled = frame.with_columns(pl.col("corpus", "model", "suite").fill_null(""))
    same = {"measure": claim.measure, "corpus": claim.corpus, "model": claim.model, "suite": claim.suite}
    own = pl.col("pretokenization").eq_missing(pl.lit(claim.best["pretokenization"], pl.String))
    part = filled.filter(**same).filter(own)
    return part.filter((pl.col("verdict") == BEST).any().over("size"))


def _bits_against_tokens(content: ReportContent, frame: pl.DataFrame, claimed: list[Claim]) -> list[Drawing]:
    """Return the figure of bits per byte against tokens."""
    trained = next((single for single in unranked_claims(content) if single.measure == BITS), None)
    claim = _claim_of(claimed, BITS) or trained or _claim_of(claimed, NGRAM)
    if claim is None:
        return []
    tokens = _values(frame.filter(measure=TOKENS, corpus=claim.corpus))
    bits = frame.filter(measure=claim.measure, corpus=claim.corpus)
    bits = bits.filter(pl.col("model").fill_null("") == claim.model, pl.col("suite").fill_null("") == claim.suite)
    points = {key: (tokens[key], value) for key, value in _values(bits).items() if key in tokens}
    if len(points) < 3:
        return []
    order = list(dict.fromkeys(variant for variant, _ in sorted(points, key=lambda key: (points[key][1], key))))
    shown = set(content.drawn_variants(order))
    drawn = content.by_label_and_size({key: point for key, point in points.items() if key[0] in shown})
    looks, labels = (
        content.by_label(styles([*content.variants, *order], content.highlight)),
        [*map(content.label, order)],
    )
    of = f"of {claim.model}" if claim.measure == BITS else "of token n-gram models"
    draw = partial(
        scatter.draw, drawn, labels, looks, f"tokens of {claim.corpus}", "bits per byte",
        others=[point for key, point in points.items() if key[0] not in shown],
    )  # fmt: skip
    caption = (
        f"Bits per byte {of} against tokens of the same text, the evaluation split of {claim.corpus}; the lower left "
        f"is best{LARGER * (len({size for _, size in points}) > 1)}; n = {pluralise(len(points), 'tokenizer')}."
        f"{content.omission_note(order, ranked=True)}"
        f"{content.bracket_note}"
    )
    ranked = _values(bits.filter(pl.col("verdict") != UNRANKED).drop_nulls("best"))
    known = content.by_label_and_size({key: points[key] for key in ranked.keys() & points.keys()})
    here = {variant: point for (variant, size), point in known.items() if size == claim.size}
    says = _fewest_of_both(here, claim) if claim.kind == "best" else claim_text(claim)
    source = _source(TOKENS, claim.measure, model=claim.model, suite=claim.suite)
    return [
        Drawing(slug("bits-against-tokens", claim.corpus), caption, draw, source, content.drawn_variants(order), says)
    ]


def _fewest_of_both(points: dict[str, tuple[float, float]], claim: Claim) -> str:
    """Return a sentence on the tokenizers of one size with the fewest tokens and with the fewest bits per byte."""
    if not points:
        return claim_text(claim)
    few, low = (min(points, key=lambda variant: (points[variant][place], variant)) for place in (0, 1))
    says = f"At a vocabulary of {claim.size:,}, {few} has the fewest tokens and {points[few][1]:.4f} bits per byte"
    return says + (", also the fewest." if few == low else f"; {low} has the fewest bits, {points[low][1]:.4f}.")


def _values(part: pl.DataFrame) -> dict[tuple[str, int], float]:
    known = part.drop_nulls("value").select("variant", "size", "value")
    return {(variant, size): value for variant, size, value in known.rows()}


def _by_language(content: ReportContent, frame: pl.DataFrame) -> list[Drawing]:
    """Return figures of tokens by language, relative to the fewest of any tokenizer, one for each drawn size.

    Tokenizers that the scoreboard does not rank by tokens are left out, because the ratio would rank them.
    """
    intrinsic = content.part("intrinsic")
    if intrinsic is None:
        return []
    drawings = []
    counted = intrinsic.filter(pl.col("metric") == "corpus_token_count", pl.col("language") != "").drop_nulls("value")
    for corpus in content.corpora_of(counted):
        part = counted.filter(corpus=corpus)
        made = {}
        for size in drawn_sizes(part["size"].to_list()):
            unranked = frame.filter(measure=TOKENS, corpus=corpus, size=size, verdict=UNRANKED)["variant"].to_list()
            here = part.filter(pl.col("size") == size, ~pl.col("variant").is_in(unranked))
            if here["language"].n_unique() > 1 and here["variant"].n_unique() > 1:
                made[size] = _languages(content, here, corpus, size, sorted(unranked))
        name = slug("tokens-by-language", corpus)
        for size, drawing in made.items():
            own = name if size == max(made) else slug(name, size)
            drawings.append(replace(drawing, name=own, size=size, series=name if len(made) > 1 else ""))
    return drawings


def _languages(content: ReportContent, here: pl.DataFrame, corpus: str, size: int, unranked: list[str]) -> Drawing:
    """Return the figure of tokens by language at one size."""
    least = here.with_columns((pl.col("value") / pl.col("value").min().over("language")).alias("ratio"))
    ratios = {
        (variant, language): ratio for variant, language, ratio in least.select("variant", "language", "ratio").rows()
    }
    order = [variant for (variant,) in content.sort_rows({(variant,) for variant, _ in ratios})]
    shown = content.drawn_variants(order)
    values = {(content.label(key[0]), key[1]): value for key, value in ratios.items() if key[0] in set(shown)}
    languages = sorted({language for _, language in values})
    worst = max(ratios, key=lambda key: (ratios[key], key))
    caption = (
        f"Tokens of each language of {corpus} at a vocabulary of {size:,}, relative to the fewest of any tokenizer for "
        f"the language; 1 is the fewest.{content.omission_note(order)}{content.bracket_note}"
        + f" Left out, because they are not ranked: {join_some(unranked)}."
        * bool(unranked)
    )
    needs = f"{content.label(worst[0])} needs {ratios[worst]:.2f} times the fewest tokens"
    says = f"The widest gap is in {worst[1]}, where {needs}."
    label = "tokens / fewest of the language"
    looks, labels = (
        content.by_label(styles([*content.variants, *order], content.highlight)),
        [*map(content.label, order)],
    )
    draw = partial(dots.draw_by_language, values, languages, labels, looks, label)
    source = NumberSource([path_of(INTRINSIC)], [TEXT])
    return Drawing(slug("tokens-by-language", corpus), caption, draw, source, shown, says)


BEHIND = "Details of the answer: all sizes and corpora, intervals, and tokenizers that are not ranked"


def ranking(content: ReportContent) -> Section:
    """Return the section of the scoreboard, with the full answer in a fold.

    Args:
        content: content of the report.
    """
    board, sentences = scoreboard(content), summary(content)
    lacking = [] if board or content.existing is not None else [f"The scoreboard: {content.why_missing('scoreboard')}"]
    return Section(
        "summary", "The scoreboard", exhibits=[board] if board else [], missing=lacking,
        folded=(BEHIND, sentences) if sentences else None,
    )  # fmt: skip
