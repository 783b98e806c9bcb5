"""Tables and figures of the report: their contents, omissions and corpora.

The report's content, complete and partial: checks, missing and empty parts.

Sentences of the report: findings next to their exhibits, for this experiment only.
"""

from pathlib import Path

import polars as pl
import pytest

from tests.support.small_report import DECLARED, PARTS, SIZES, VARIANTS, accuracy, altered, intrinsic, whole
from tokbench.errors import TokbenchError
from tokbench.report import figure_sentences
from tokbench.report.answer import summary
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Heading, Section, Table
from tokbench.report.html import drawings, sections, tables
from tokbench.report.layout import layout
from tokbench.report.loading import read_frames
from tokbench.report.sections import statistics
from tokbench.report.sections.intrinsic import intrinsic as intrinsic_section
from tokbench.report.sections.intrinsic_values import corpus_values
from tokbench.report.sections.straddling import NO_STRADDLING
from tokbench.report.sections.subjects import by_subject
from tokbench.report.sections.translation import vocabularies
from tokbench.report.typeset import to_markdown
from tokbench.statistics.accuracies.pairs import compare_pairs, power_table
from tokbench.tabulation.intrinsic import INTRINSIC


def test_languages_are_averaged_only_when_all_are_there() -> None:
    row = {"variant": "bpe", "size": 1, "corpus": "c", "metric": "m", "definition": "d", "n": 2, "reason": None}
    values = [("de", 1024, 2.0), ("en", 1024, 4.0), ("de", 2048, 2.0), ("en", 2048, None)]
    part = pl.DataFrame(
        [row | {"language": language, "size": size, "value": value} for language, size, value in values]
    )
    overall, languages = corpus_values(part)
    assert languages == 2
    assert overall["value"].to_list() == [3.0, None]
    assert overall["reason"].to_list() == [None, "no value for some languages: en"]


def test_tables_note_excluded_text_and_missing_values() -> None:
    """One note for each sentence, with the tokenizers; a missing value has its reason in its cell."""
    frame = intrinsic()
    note = "3 of 9 words are left out, because tokens change their text"
    chosen = (pl.col("metric") == "renyi_efficiency_2.5") & (pl.col("variant") != VARIANTS[0])
    reasons = pl.when(chosen).then(pl.lit(f"words are pre-tokens of gpt2; {note}")).otherwise("reason").alias("reason")
    section = intrinsic_section(altered(whole(), intrinsic=frame.with_columns(reasons)))
    notes = [one for exhibit in section.exhibits if isinstance(exhibit, Table) for one in exhibit.notes]
    for told in ("words are pre-tokens of gpt2", note):
        [found] = [one for one in notes if told in one]
        assert all(variant in found for variant in VARIANTS[1:])
        assert not found.startswith(VARIANTS[0])


@pytest.mark.parametrize(
    ("metric", "term"),
    [
        ("byte_fallback", "byte fallback"),
        ("cognitive_plausibility", "cognitive plausibility"),
        ("fertility", "fertility"),
        ("morphological_alignment", "alignment"),
        ("parity", "parity"),
        ("renyi_efficiency_2.5", "Rényi efficiency"),
    ],
)
def test_subjects_of_metrics_have_the_terms_of_papers(metric: str, term: str) -> None:
    words = {"byte_fallback": "occurrences of tokens of one byte", "fertility": "tokens / pre-tokens"}
    definition = words.get(metric, "entropy / log(nominal vocabulary size)")
    [(subject, _)] = by_subject([(metric, definition)])
    assert term.lower() in subject.title.lower()


def test_gaps_above_100_percent_are_shown() -> None:
    """A bound that a short search has left low is no mistake of the table."""
    wide = whole().frames["bounds"].with_columns(gap=pl.lit(2.98), unsettled=pl.lit(2.9))
    table = next(one for one in tables(altered(whole(), bounds=wide)) if one.name == "bounds-books")
    assert "298.000" in to_markdown(table)


def test_vocabularies_with_fewer_tokens_are_named_and_not_ranked() -> None:
    """Random's Rényi efficiency is the least at the larger size, over a size that it does not have."""
    measures = whole().frames["intrinsic"]
    sizes = measures.filter(metric="corpus_token_count").with_columns(
        metric=pl.lit("vocabulary_size"),
        value=pl.when(pl.col("variant") == "random", pl.col("size") == 2048).then(1900.0).otherwise(pl.col("size")),
    )
    section = intrinsic_section(altered(whole(), intrinsic=pl.concat([measures, sizes])))
    [drawing] = [one for one in section.exhibits if getattr(one, "name", "") == "renyi_efficiency_2.5-books"]
    assert isinstance(drawing, Drawing)
    assert "Not ranked (fewer tokens than others of their size): random at 2,048." in drawing.caption
    assert "nominal vocabulary size, i.e. the requested number of tokens)." in drawing.caption
    assert drawing.says == ("Rényi efficiency 2.5 on books at a vocabulary of 2,048: from 0.480, sage, to 0.500, bpe.")
    [table] = [one for one in section.exhibits if getattr(one, "name", "") == "intrinsic-books-renyi"]
    assert isinstance(table, Table)
    assert any("the requested number" in told for told in table.definitions)
    [plain] = [one for one in intrinsic_section(whole()).exhibits if getattr(one, "name", "") == drawing.name]
    assert isinstance(plain, Drawing)
    assert "ranked" not in plain.caption
    assert plain.says.endswith("from 0.470, random, to 0.500, bpe.")


def test_pairs_of_unequal_size_are_named_and_not_counted() -> None:
    """Random has fewer tokens at 1,024: what is judged of its pairs stays, and no sentence counts them."""
    measures = whole().frames["intrinsic"]
    sizes = measures.filter(metric="corpus_token_count").with_columns(
        metric=pl.lit("vocabulary_size"),
        value=pl.when(pl.col("variant") == "random", pl.col("size") == 1024).then(900.0).otherwise(pl.col("size")),
    )
    content = altered(whole(), intrinsic=pl.concat([measures, sizes]))

    def told_in(content: ReportContent) -> dict[str, Drawing | Table]:
        shown = {section.identifier: section.exhibits for section in sections(content)}["statistics"]
        return {one.name: one for one in shown if not isinstance(one, Heading)}

    told, plain = told_in(content), told_in(whole())
    note = "Pairs with random are not of equal size: fewer tokens than others of this size."
    for of, key in (("bits", "books-tiny-3-seeds-offline-"), ("ngram", "books-100000-3-")):
        names = ("comparisons", "languages") if of == "bits" else ("verdicts", "languages")
        for table in (told[f"{of}-{name}-{key}1024"] for name in names):
            assert isinstance(table, Table)
            assert list(table.notes) == [note]
            assert plain[table.name].frame.equals(table.frame)  # type: ignore[union-attr]
        drawing, same = told[f"{of}-differences-{key}1024"], plain[f"{of}-differences-{key}1024"]
        assert isinstance(drawing, Drawing)
        assert isinstance(same, Drawing)
        assert (drawing.variants, drawing.caption) == (same.variants, f"{same.caption} {note}")
        assert (same.says[:17], drawing.says[:17]) == ("3 tokenizers comp", "2 tokenizers comp")
        assert note not in told[f"{of}-differences-{key}2048"].caption


def test_token_ngram_exhibits_are_shown_in_order() -> None:
    """By order and budget, by language, and what the documents tell apart by the highest order on the largest."""
    shown = {section.identifier: section.exhibits for section in sections(whole())}
    exhibits = [one for name in ("intrinsic", "statistics") for one in shown[name] if not isinstance(one, Heading)]
    named = [one for one in exhibits if one.name.startswith("ngram")]
    assert [one.name for one in named] == [
        "ngram-bits-books",
        "ngram-bits-books-100000",
        "ngram-bits-books-50000",
        "ngram-bits-languages-books-100000-3",
        *(
            f"ngram-{kind}-books-100000-3-{size}"
            for size in SIZES
            for kind in ("ranks", "differences", "verdicts", "languages")
        ),
    ]
    assert all("High orders are sparse" in one.caption for one in named)
    table = named[1]
    assert isinstance(table, Table)
    assert table.frame["variant"].to_list() == [variant for variant in VARIANTS for _ in SIZES]
    assert [column.best for column in table.columns] == [None, None, "lowest", "lowest", "lowest"]


def test_bits_of_models_are_shown_as_differences_from_the_baseline() -> None:
    shown = {section.identifier: section.exhibits for section in sections(whole())}["statistics"]
    named = {one.name: one for one in shown if not isinstance(one, Heading) and one.name.startswith("bits-")}
    key = "books-tiny-3-seeds-offline-1024"
    assert {f"bits-differences-{key}", f"bits-comparisons-{key}", f"bits-languages-{key}"} <= named.keys()
    drawing = named[f"bits-differences-{key}"]
    assert isinstance(drawing, Drawing)
    assert "minus those with bpe" in drawing.caption
    axes = drawing.draw().axes[0]
    told = [text.get_text() for text in axes.texts]
    rows = whole().frames["bits_comparisons"].filter(a="bpe", size=1024)
    assert len(told) == len(rows) + 1 == 4
    assert told[-1] == "worse than bpe →"
    filled = {line.get_ydata()[0] for line in axes.lines if line.get_marker() == "o" and line.get_mfc() != "white"}
    names = [label.get_text() for label in axes.get_yticklabels()]
    for row in rows.rows(named=True):
        low, mean, high = (-row[name] for name in ("high", "difference", "low"))
        assert told[names.index(row["b"])] == f"{mean:+.3f} [{low:.3f}, {high:.3f}]"
        assert (names.index(row["b"]) in filled) == (row["verdict"] in ("better", "worse"))
    alone = whole().frames["bits_comparisons"].with_columns(low=pl.lit(None, pl.Float64))
    assert not any(one.name.startswith("bits-diff") for one in drawings(altered(whole(), bits_comparisons=alone)))


def test_causal_effects() -> None:
    """A figure, the estimates at the end of the vocabulary, those at placebo cut-offs, and a count of these."""
    exhibits = {getattr(one, "name", ""): one for one in statistics.statistics(whole()).exhibits}
    drawing = exhibits["token-effect-pydoc-bpe-512-tiny-2-seeds"]
    assert isinstance(drawing, Drawing)
    assert "a vocabulary of 512 tokens, under tiny (2 seeds), on the evaluation split of pydoc" in drawing.caption
    assert "Lines are fitted to 16 ranks on each side (grey). Values are means over 2 seeds." in drawing.caption
    assert drawing.says.startswith(
        "Being in the vocabulary of bpe changes the log-probability of a token's characters by "
    )
    assert "(95 % interval over tokens and seeds: 1." in drawing.says
    assert drawing.says.endswith(" of 10 placebo cut-offs have an interval that excludes 0.")
    for width in (3.3, 6.8):
        outcomes, effects = drawing.draw(width=width).axes
        assert outcomes.get_xlim() == effects.get_xlim()
    estimates, placebos, counts = (
        exhibits[name] for name in ("token-effects-pydoc", "token-placebo-effects-pydoc", "token-placebos-pydoc")
    )
    assert isinstance(estimates, Table)
    assert isinstance(placebos, Table)
    assert isinstance(counts, Table)
    assert estimates.frame["cutoff"].unique().to_list() == [0]
    assert 0 not in placebos.frame["cutoff"].to_list()
    assert (estimates.folded, placebos.folded) == (False, True)
    assert counts.frame["placebos"].to_list() == [10]
    without = statistics.statistics(altered(whole(), token_effects=None))
    assert not [one for one in without.exhibits if "token" in getattr(one, "name", "") and "ffect" in one.name]


def test_gold_data_are_no_text() -> None:
    """Captions say what was measured: the words of a resource, means over all of them, or a corpus."""
    measures = intrinsic()
    frames = [measures.with_columns(corpus=pl.lit(name)) for name in ("books", "ladec", "all resources")]
    content = altered(whole(), intrinsic=pl.concat(frames), resources=["ladec"], ngram_bits=None, bounds=None)
    captions = [exhibit.caption for exhibit in intrinsic_section(content).exhibits if isinstance(exhibit, Table)]
    told = [caption.rpartition(" measured on ")[2].partition(" Bold:")[0] for caption in captions]
    assert list(dict.fromkeys(told)) == [
        "all resources.",
        "the text of the evaluation split of books.",
        "the text of the evaluation split of books, by domain.",
        "the words of ladec.",
    ]


def test_numbers_are_of_the_files_that_are_named() -> None:
    """Bits and answers are of models, and what is of vocabularies or embeddings is not measured on a text."""
    shared = ("undertrained_tokens", "both; model tiny"), ("added_tokens", "lacks (added)")
    lengths = (
        ("mean_token_length", "bytes / tokens of the vocabulary"),
        ("mean_token_length", "bytes / tokens of the text"),
    )
    rows = [
        intrinsic().row(0, named=True) | {"metric": metric, "definition": definition}
        for metric, definition in (*shared, *lengths)
    ]
    content = altered(whole(), intrinsic=pl.DataFrame(rows, schema_overrides={"reason": pl.String}))
    captions = {one.name: one.caption for one in tables(content)}
    text = "measured on the text of the evaluation split of books"
    assert captions["intrinsic-books-lengths"] == f"Token lengths, {text} and the vocabularies."
    assert (
        captions["intrinsic-books-exchanged"]
        == "Vocabulary compared with the baseline's, measured on the vocabularies."
    )
    assert captions["intrinsic-books-embeddings"].endswith("measured on the input embeddings of language models.")
    [embeddings] = [one for one in tables(content) if one.name == "intrinsic-books-embeddings"]
    assert str(embeddings.source) == "tables/intrinsic.csv, from embeddings/MODEL/VARIANT/SIZE/measurements.json"
    sources = {one.name: str(one.source) for one in tables(whole())}
    sources |= {one.name: str(one.source) for one in drawings(whole())}
    models = "statistics/scoreboard.csv, from downstream/MODEL/VARIANT/SIZE/offline.json"
    assert sources["behind-the-best-bits_per_byte-books-tiny-3-seeds-offline-2048"] == models
    assert "intrinsic/VARIANT/SIZE.json, downstream/" in sources["bits-against-tokens-books"]
    assert "downstream/MODEL/VARIANT/SIZE/SUITE.json" in sources["scoreboard"]


def test_every_triple_has_a_venn_diagram_and_counted_tokens_are_named() -> None:
    content = whole()
    [row] = content.frames["venn"].to_dicts()
    venn = pl.DataFrame([row, row | {"a": "random", "c": "bpe"}])
    longer = content.frames["overlaps"].with_columns(tokens=pl.lit("longer than one byte"))
    one, two = (vocabularies(altered(content, **frames)) for frames in ({}, {"venn": venn, "overlaps": longer}))
    names = [exhibit.name for exhibit in two.exhibits]
    assert names == ["venn-bpe-sage-random-1024", "venn-random-sage-bpe-1024", "overlaps"]
    assert [exhibit.name for exhibit in one.exhibits] == [names[0], names[2]]
    assert one.exhibits[-1].notes == []
    assert two.exhibits[-1].notes == ["Tokens longer than one byte are counted."]


def test_figures_of_vocabularies_are_drawn_once_for_all_corpora() -> None:
    """Lengths of tokens are the same on every corpus; how often a text has them is not."""
    content = whole()
    rows = [
        (variant, 400, corpus, "", metric, definition, value, 1, None)
        for corpus in ("books", "news")
        for variant in ("bpe", "sage")
        for metric, definition, value in (
            ("token_length_distribution", "tokens of the vocabulary of 1 bytes", 256.0),
            ("token_length_distribution", "tokens of the vocabulary of 2 bytes", 144.0),
            ("token_frequency_distribution", f"tokens that the text uses {len(corpus) - 4} times", 400.0),
        )
    ]
    several = altered(content, intrinsic=pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row"))
    names = [one.name for one in drawings(several) if "distribution" in one.name]
    assert names == [
        "token-length-distribution-books", "token-frequency-distribution-books", "token-frequency-distribution-news"
    ]  # fmt: skip


def test_content_is_checked() -> None:
    with pytest.raises(TokbenchError, match=r"accuracy: no column task"):
        altered(whole(), accuracy=accuracy().drop("task"))
    with pytest.raises(TokbenchError, match=r"accuracy.accuracy: 48.8 is not a share between 0 and 1"):
        altered(whole(), accuracy=accuracy().with_columns(accuracy=pl.lit(48.8)))


def test_manifests_of_corpora_are_shown(tmp_path: Path) -> None:
    line = "3 of 40 documents of evaluation (120 bytes) are also in tokenizer, byte for byte; kept (duplicates: keep)"
    content = altered(whole(), findings={"books": [line]})
    [section] = [section for section in sections(content) if section.identifier == "experiment"]
    assert f"Corpus books: {line}." in section.paragraphs


def test_frames_are_read_by_name(tmp_path: Path) -> None:
    accuracy().write_parquet(tmp_path / "accuracy.parquet")
    accuracy().write_parquet(tmp_path / "else.parquet")
    assert list(read_frames({"tables": tmp_path, "statistics": tmp_path}, DECLARED)) == ["accuracy"]


def test_no_two_tables_or_columns_have_one_name() -> None:
    shown = tables(whole())
    assert len({table.caption for table in shown}) == len(shown)
    for table in shown:
        heads = layout(table).headers
        assert len(set(heads)) == len(heads), table.name


@pytest.mark.parametrize("part", PARTS)
def test_any_one_part_may_be_missing_or_empty(part: str) -> None:
    content = whole()
    shown: list[list[Section]] = []
    for gap in (None, content.frames[part].clear()):
        partial = altered(content, **{part: gap})
        shown.append(sections(partial))
        exhibits = [exhibit for section in shown[-1] for exhibit in section.exhibits]
        assert all(layout(table).rows for table in exhibits if isinstance(table, Table))
        summary(partial)
    assert [section.missing for section in shown[0]] == [section.missing for section in shown[1]]
    if part not in (
        "published",
        "leakage",
        "seeds",
        "boundaries",
        "convergence",
        "trained_on",
        "coverings",
        "one_segmentation",
        "summed_bits",
        "robustness",
        "robustness_comparisons",
        "segmented_texts",
        "segmentation_losses",
        "segmentation_loss_comparisons",
        "token_effects",
        "token_effect_bins",
        "token_placebos",
        "texts",
        "question_intervals",
        "question_comparisons",
        "behind_the_best",
        "task_measures",
        "task_measure_comparisons",
        "measure_power",
        "perturbed_measures",
        "perturbed_comparisons",
        "scale_fits",
        "scale_comparisons",
        "scale_orders",
        "model_costs",
        "cost_at_equal_bits",
        "equal_arithmetic",
        "equal_arithmetic_order",
        "bounds",
        "ngram_bits",
        "ngram_ranks",
        "imported",
        "ngram_verdicts",
        "ngram_languages",
        "bits_comparisons",
        "bits_languages",
        "measures",
        "seed_plan",
        "seen_by_seeds",
        "scoreboard",
        "translation_scores",
        "translation_comparisons",
        "published_translations",
        "translation_embedding_norms",
        "translation_embeddings",
        "parallel_corpora",
        "domain_values",
        "domain_comparisons",
    ):
        assert any(section.missing for section in shown[0])


def test_absent_parts_have_no_heading_column_or_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sign, no column and no heading for what no tokenizer, question or sentence here has."""
    frames = whole().frames
    alone = frames["scoreboard"].filter(size=2048)
    removed = [
        intrinsic().row(0, named=True) | {"metric": metric, "definition": metric, "value": value}
        for metric, value in (("removed_tokens", 0.0), ("unused_tokens", 3.0))
    ]
    content = altered(
        whole(), scoreboard=alone, seeds=None, texts=None, one_segmentation=None, summed_bits=None, coverings=None,
        boundaries=frames["boundaries"].with_columns(straddling=pl.lit(0), straddling_questions=pl.lit(0)),
        intrinsic=pl.DataFrame(removed, schema_overrides={"reason": pl.String}),
    )  # fmt: skip
    titles = [one.title for section in sections(content) for one in section.exhibits if isinstance(one, Heading)]
    assert "Accuracy: intervals" in titles
    assert not [title for title in titles if "across the end" in title]
    [downstream] = [one for one in sections(content) if one.identifier == "downstream"]
    assert list(downstream.paragraphs) == [NO_STRADDLING]
    [table] = [one for one in tables(content) if one.name == "intrinsic-books-vocabulary"]
    assert [column.header for column in table.columns[2:]] == ["unused tokens"]
    captions = {one.name: one.caption for one in drawings(content)}
    assert "Crossed" not in captions["p-values-tiny-offline"]
    first = pl.col("a").eq("bpe") & pl.col("b").eq("sage")
    none = frames["comparisons"].with_columns(p_value=pl.when(~first).then("p_value"))
    crossed = {one.name: one.caption for one in drawings(altered(whole(), comparisons=none))}
    assert "Crossed cells are not tested." in crossed["p-values-tiny-offline"]
    both = {one.name: one.caption for one in drawings(altered(content, intrinsic=frames["intrinsic"]))}
    assert "larger marks" not in both["bits-against-tokens-books"]
    monkeypatch.setattr(statistics, "LEAST_CORRELATED", 2)
    both = {one.name: one.caption for one in drawings(altered(content, intrinsic=frames["intrinsic"]))}
    assert "larger marks" in both["corpus_token_count-accuracy-tiny-offline-books"]


def test_findings() -> None:
    """Each sentence beside what it is about, worked out by hand."""
    values = {("a", 1): 9.0, ("a", 2): 3.0, ("b", 2): 1.5, ("c", 2): 2.0}
    assert figure_sentences.value_range("Loss", values) == "Loss at a vocabulary of 2: from 1.500, b, to 3.000, a."
    assert figure_sentences.value_range("Loss", {("a", 2): 3.0}, 2) == "Loss at a vocabulary of 2: 3.00, a."
    alone = "Loss at a vocabulary of 2: from 1.500, b, to 3.000, a."
    assert figure_sentences.value_range("Loss", {**values, ("own", 9): 0.1}) == alone, (
        "one of another size is beside no other"
    )
    assert figure_sentences.value_range("Loss", {("a", 2): 3.0, ("b", 2): 3.001}, 1).endswith(
        "3.0 for all, at this precision."
    )
    averages = {("tiny", "a"): 40.0, ("tiny", "b"): 41.25, ("large", "a"): 52.0}
    averages |= {("tiny", "c"): 41.24}
    told = figure_sentences.highest_by_model(averages, {"tiny", "large"})
    assert told.endswith(": b and c with tiny, 41.2 %; a with large, 52.0 %.")
    assert figure_sentences.highest_by_model(averages, {"large"}).endswith(
        ": not tested: one training with tiny; a with large, 52.0 %."
    )
    p_values = {("a", "b"): 0.01, ("b", "a"): 0.99, ("a", "c"): 0.4, ("c", "a"): 0.6, ("b", "c"): None}
    counted = "Of 2 pairs, 1 has p ≤ 0.05 in one direction, uncorrected"
    assert (
        figure_sentences.significant_pairs(p_values, dict.fromkeys(p_values, 1.0))
        == f"{counted}, and 0 after Holm's correction."
    )
    assert figure_sentences.significant_pairs(p_values, p_values) == f"{counted}, and 1 after Holm's correction."
    assert figure_sentences.significant_pairs({("a", "b"): 0.5}, {("a", "b"): 1.0}) == (
        "None of 1 pair differs significantly (p ≤ 0.05 in one direction, uncorrected)."
    )
    ranks = {"a": 1.2, "b": 1.9, "c": 3.4}
    assert figure_sentences.lowest_rank(ranks, 1.0).endswith(
        "a has the lowest average rank, 1.20; no significant difference from it: b."
    )
    assert figure_sentences.lowest_rank(ranks, 0.1).endswith("all others are significantly worse.")
    assert figure_sentences.lowest_rank({"a": 1.0}, 0.1) == "a has the lowest average rank, 1.00."
    verdicts = ["worse", "better", "worse"]
    verdicts += ["not tested", "no significant difference"]
    assert figure_sentences.verdict_counts("bpe", verdicts) == (
        "5 tokenizers compared with bpe. Significantly better: 1; no significant difference: 1; not tested: 1; "
        "significantly worse: 2."
    )
    regions = {"all": 4, "only_a": 1, "only_b": 2, "only_c": 3}
    assert figure_sentences.shared_tokens(regions, "xyz").startswith(
        "4 tokens in all three vocabularies; 1 only in x, 2 only in y"
    )


def of_statistics(content: ReportContent) -> str:
    """Return paragraphs and notes of the section of statistics."""
    [section] = [one for one in sections(content) if one.identifier == "statistics"]
    notes = [note for one in section.exhibits if isinstance(one, Table) for note in one.notes]
    return "\n".join([*section.paragraphs, *notes])


def test_signed_rank_tests_of_few_cells_say_so() -> None:
    """With one size and two tasks there are too few cells for the signed-rank test."""
    scores = accuracy().filter(pl.col("size") == 1024, pl.col("task").is_in(["choice_a", "choice_c"]))
    blind = altered(whole(), power=power_table(compare_pairs(scores)))
    assert "could not detect any difference: there are fewer than five cells" in of_statistics(blind)


def test_signed_rank_tests_are_shown_as_the_papers_do_it() -> None:
    content = whole()
    text = of_statistics(content)
    assert "Accuracy of tiny on offline: The Wilcoxon signed-rank test over cells" in text
    assert " detects a mean difference of " in text
    assert "these tests decide nothing on this page" in text
    [section] = [one for one in sections(content) if one.identifier == "statistics"]
    assert section.paragraphs[-1].startswith("Accuracies of models that differ only in their seed")
    alone = altered(content, seeds=None)
    assert any("trained with one seed" in text for section in sections(alone) for text in section.paragraphs)
    pairs = next(table for table in tables(content) if table.name == "comparisons-tiny-offline")
    shown = to_markdown(pairs)
    assert all(f"| {header} |" in shown for header in ("p, Holm", "p, BH", "rank-biserial", "detectable (points)"))
    ranks = next(table for table in tables(content) if table.name == "average-ranks-tiny-offline")
    assert "bpe | – [a]" in to_markdown(ranks)
    assert "[a] missing: 2048/choice\\_b" in to_markdown(ranks)


def test_captions_and_reasons_follow_the_experiment() -> None:
    """A running mean only where there is one, the baseline's empty cells by their reason, models as configured."""
    frames = whole().frames
    captions = {one.name: one.caption for one in drawings(whole())}
    assert "running mean" not in captions["curves-tiny"]
    long = frames["curves"].with_columns(batch=pl.lit(1))
    several = pl.concat([long] * 3).with_columns(pl.int_range(pl.len()).over("variant", "size").alias("batch"))
    smooth = {one.name: one.caption for one in drawings(altered(whole(), curves=several))}
    assert "Lines are running means over a fiftieth of the curve" in smooth["curves-tiny"]
    rows = [
        intrinsic().row(0, named=True) | {"metric": metric, "definition": definition, "variant": variant}
        for variant, metric, definition in (
            ("bpe", "unseen_tokens", "never; model tiny"),
            ("sage", "unseen_tokens", "never; model tiny"),
            ("sage", "mean_embedding_norm", "tokens that bpe lacks (added); model tiny"),
        )
    ]
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String})
    content = altered(whole(), intrinsic=frame, baselines=["bpe"])
    [table] = [one for one in tables(content) if one.name == "intrinsic-books-embeddings"]
    assert "the baseline itself: nothing is added or dropped" in table.reasons.values()
    scores = pl.concat([accuracy().with_columns(model=pl.lit(name)) for name in ("atom", "tiny")])
    facts = altered(whole(), accuracy=scores, models=["tiny", "atom"])
    [told] = [list(one.paragraphs) for one in sections(facts) if one.identifier == "experiment"]
    assert "2 language-model recipes: tiny and atom." in told
