"""The report's content, whole and in part: what is checked, what is missing or empty, what is not announced."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.small_report import DECLARED, PARTS, accuracy, altered, intrinsic, whole
from tokbench.errors import TokbenchError
from tokbench.report.content import read_frames
from tokbench.report.exhibits import Heading, Section
from tokbench.report.html import drawings, sections, tables
from tokbench.report.layout import Table, layout
from tokbench.report.sections.downstream import NO_STRADDLING
from tokbench.report.summary import summary


def test_content_is_checked() -> None:
    with pytest.raises(TokbenchError, match=r"accuracy: no column task"):
        altered(whole(), accuracy=accuracy().drop("task"))
    with pytest.raises(TokbenchError, match=r"accuracy.accuracy: 48.8 is not a share between 0 and 1"):
        altered(whole(), accuracy=accuracy().with_columns(accuracy=pl.lit(48.8)))


def test_what_the_manifests_of_corpora_say_is_shown(tmp_path: Path) -> None:
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
        "seeds",
        "boundaries",
        "convergence",
        "trained_on",
        "coverings",
        "one_segmentation",
        "texts",
        "question_intervals",
        "question_comparisons",
        "behind_the_best",
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
    ):
        assert any(section.missing for section in shown[0])


def test_what_is_not_there_is_not_announced() -> None:
    """No sign, no column and no heading for what no tokenizer, question or sentence here has."""
    frames = whole().frames
    alone = frames["scoreboard"].filter(size=2048)
    removed = [
        intrinsic().row(0, named=True) | {"metric": metric, "definition": metric, "value": value}
        for metric, value in (("removed_tokens", 0.0), ("unused_tokens", 3.0))
    ]
    content = altered(
        whole(), scoreboard=alone, seeds=None, texts=None, one_segmentation=None, coverings=None,
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
    assert "larger marks" in both["corpus_token_count-accuracy-tiny-offline-books"]
