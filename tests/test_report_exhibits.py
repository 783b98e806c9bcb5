"""Tables and figures of the report: what they show and leave out, and what they were measured on."""

import polars as pl
import pytest

from tests.support.small_report import SIZES, VARIANTS, altered, intrinsic, whole
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Heading
from tokbench.report.html import drawings, sections, tables
from tokbench.report.layout import Table
from tokbench.report.sections.intrinsic import intrinsic as intrinsic_section
from tokbench.report.sections.intrinsic import whole_corpus
from tokbench.report.subjects import by_subject
from tokbench.report.typeset import to_markdown
from tokbench.tabulation.intrinsic import INTRINSIC


def test_languages_are_averaged_only_when_all_are_there() -> None:
    row = {"variant": "bpe", "size": 1, "corpus": "c", "metric": "m", "definition": "d", "n": 2, "reason": None}
    values = [("de", 1024, 2.0), ("en", 1024, 4.0), ("de", 2048, 2.0), ("en", 2048, None)]
    part = pl.DataFrame(
        [row | {"language": language, "size": size, "value": value} for language, size, value in values]
    )
    overall, languages = whole_corpus(part)
    assert languages == 2
    assert overall["value"].to_list() == [3.0, None]
    assert overall["reason"].to_list() == [None, "no value for some languages: en"]


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
def test_what_papers_have_a_name_for_is_found_by_it(metric: str, term: str) -> None:
    words = {"byte_fallback": "occurrences of tokens of one byte", "fertility": "tokens / pre-tokens"}
    definition = words.get(metric, "entropy / log(nominal vocabulary size)")
    [(subject, _)] = by_subject([(metric, definition)])
    assert term.lower() in subject.title.lower()


def test_a_gap_may_be_above_the_whole() -> None:
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
    assert "to be ranked, as they have fewer tokens than others of their size: random at 2,048." in drawing.caption
    assert "nominal vocabulary size, the one asked for, whether or not there are as many tokens)." in drawing.caption
    assert drawing.says == ("Rényi efficiency 2.5 on books at a vocabulary of 2,048: from 0.480, sage, to 0.500, bpe.")
    [table] = [one for one in section.exhibits if getattr(one, "name", "") == "intrinsic-books-renyi"]
    assert isinstance(table, Table)
    assert any("the one asked for" in told for told in table.definitions)
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
    note = "Pairs with random are not of equal size: fewer tokens than others came of the text."
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


def test_token_ngrams_are_shown_with_what_they_cannot_say() -> None:
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
    told = [text.get_text() for text in drawing.draw().axes[0].texts]
    rows = whole().frames["bits_comparisons"].filter(a="bpe", size=1024)
    assert len(told) == len(rows) == 3
    opposite = {"better": "significantly worse", "worse": "significantly better"}
    for row in rows.rows(named=True):
        assert (opposite.get(row["verdict"]) or f"within ± {row['excluded']:.4f}") in told
    alone = whole().frames["bits_comparisons"].with_columns(low=pl.lit(None, pl.Float64))
    assert not any(one.name.startswith("bits-diff") for one in drawings(altered(whole(), bits_comparisons=alone)))


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
    assert captions["intrinsic-books-exchanged"] == "Vocabulary beside the baseline's, measured on the vocabularies."
    assert captions["intrinsic-books-embeddings"].endswith("measured on the input embeddings of language models.")
    [embeddings] = [one for one in tables(content) if one.name == "intrinsic-books-embeddings"]
    assert str(embeddings.source) == "tables/intrinsic.csv, from embeddings/MODEL/VARIANT/SIZE/measurements.json"
    sources = {one.name: str(one.source) for one in tables(whole())}
    sources |= {one.name: str(one.source) for one in drawings(whole())}
    models = "statistics/scoreboard.csv, from downstream/MODEL/VARIANT/SIZE/offline.json"
    assert sources["behind-the-best-bits_per_byte-books-tiny-3-seeds-offline-2048"] == models
    assert "intrinsic/VARIANT/SIZE.json, downstream/" in sources["bits-against-tokens-books"]
    assert "downstream/MODEL/VARIANT/SIZE/SUITE.json" in sources["scoreboard"]


def test_what_is_of_vocabularies_alone_is_drawn_once() -> None:
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
