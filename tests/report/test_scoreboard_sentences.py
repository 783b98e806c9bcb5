"""The sentences above the scoreboard, each borne out by its rows."""

import re
from typing import Any

import polars as pl
import pytest

from tests.support.fake_results import SIZES, VARIANTS, drawn, drawn_apart, shown, shown_apart
from tests.support.small_report import altered, whole
from tokbench.config.experiment import Experiment
from tokbench.options import validated
from tokbench.report.answer import answers, summary
from tokbench.report.claims import best_claims, claims_across
from tokbench.report.html import drawings, tables
from tokbench.report.layout import layout
from tokbench.report.loading import build_content
from tokbench.report.sentences import comparison_sentence, count_units
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.tabulation.intrinsic import INTRINSIC


@pytest.mark.parametrize(
    ("number", "units", "text"),
    [
        (1, "documents", "1 document"),
        (1200, "authors", "1,200 authors"),
        (1, "clusters of questions", "1 cluster of questions"),
        (121, "seeds and documents", "seeds and 121 documents"),
    ],
)
def test_numbers_of_units_are_of_units_and_not_of_seeds(number: int, units: str, text: str) -> None:
    assert count_units(number, units) == text


def test_undersized_vocabularies_are_named() -> None:
    sizes = [("bpe", 300, 300.0), ("bpe", 400, 333.0), ("unigram", 400, 399.0), ("sage", 400, 400.0)]
    rows = [(variant, size, "books", "", "vocabulary_size", "", tokens, 1, None) for variant, size, tokens in sizes]
    content = altered(whole(), intrinsic=pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row"))
    told = "Built with fewer tokens than others of their size, so not ranked: "
    assert summary(content)[-1] == f"{told}bpe (333 of 400) and unigram (399 of 400)."
    assert not [sentence for sentence in summary(whole()) if sentence.startswith("Built with")]
    alike = altered(content, intrinsic=content.frames["intrinsic"].with_columns(pl.lit(290.0).alias("value")))
    told = "Built with fewer tokens than requested, like all others of their size: bpe (290 of 300), "
    assert summary(alike)[-1].startswith(told)


NUMBER = r"([−\d.,]+\d)"
SENTENCE = re.compile(
    rf"^[^:]*: {NUMBER}(?: %)? \(95 % interval {NUMBER} to {NUMBER}(?: %)?, over .*? The worst, \S+, .*?{NUMBER} "
    rf"(?:% more|bits per byte more|points lower|lower) \(95 % interval {NUMBER} to {NUMBER}(?: %)?\)\."
)


def _numbers(sentence: str) -> list[str]:
    """Values and intervals of the best and the last in a sentence."""
    found = SENTENCE.match(sentence)
    assert found is not None, sentence
    return [one.replace(",", "").replace("−", "-") for one in found.groups()]


def _numbers_of(best: dict[str, Any], last: dict[str, Any]) -> list[float]:
    """The same from the board, in the sentence's units."""
    percent, sign = (100 if best["measure"] == "accuracy" else 1), (-1 if last["behind"] < 0 else 1)
    far = 100 if best["measure"] in ("accuracy", "tokens") else 1
    apart = sorted(sign * far * last[name] for name in ("behind_low", "behind_high"))
    return [*(percent * best[name] for name in ("value", "low", "high")), sign * far * last["behind"], *apart]


def test_every_sentence_is_borne_out_by_the_board() -> None:
    board, _, _ = drawn()
    sentences = summary(shown())
    measures = ["tokens", "bits_per_byte", "accuracy", "alignment"]
    assert sentences.pop() == "Not ranked, because they lose text: lossy."
    assert len(sentences) == len(measures)
    for sentence, measure in zip(sentences, measures, strict=True):
        part = board.filter(measure=measure, size=max(SIZES))
        rows = {row["variant"]: row for row in part.iter_rows(named=True) if row["verdict"] != "not ranked"}
        told = re.match(
            r"At a vocabulary of 400, (?:with the language model “tiny”, )?(\S+?)(, of those ranked,)? ", sentence
        )
        assert told is not None
        assert rows[told[1]]["verdict"] == "best"
        end = max if measure in ("accuracy", "alignment") else min
        assert told[1] == end(rows, key=lambda name: rows[name]["value"])
        every = part.drop_nulls("value").sort("value", descending=end is max)
        assert bool(told[2]) == (every["variant"][0] not in rows)
        alike = sorted(name for name, row in rows.items() if row["verdict"] == "no significant difference")
        others = len(rows) - 1
        every = {1: "the other one", 2: "both others"}.get(others, f"all {others} others")
        if not alike:
            assert f"significantly worse: {every}." in sentence
        elif len(alike) < others:
            assert f"significantly worse: {others - len(alike)} of {others} others; " in sentence
            assert f"no significant difference: {' and '.join(alike)}." in sentence
        else:
            assert f"After correction, no significant difference: {every}." in sentence
        drawn_n = rows[told[1]]["n"]
        assert f" {drawn_n:,} {rows[told[1]]['over'].rpartition(' ')[2]}" in sentence
        assert ("over 3 seeds and " in sentence) == (measure in ("bits_per_byte", "accuracy"))
        far = max(rows, key=lambda name: abs(rows[name]["behind"]))
        assert f"The worst, {far}, " in sentence
        assert ("has the best alignment with the morphemes of the gold data: " in sentence) == (measure == "alignment")
        others = board.filter(measure=measure, size=min(SIZES), verdict="best")["variant"].to_list()
        assert ("is best at both sizes" in sentence) == (others == [told[1]])
        close = (
            board.filter(measure=measure, size=min(SIZES), verdict="no significant difference")["variant"]
            .sort()
            .to_list()
        )
        tie = f"at {min(SIZES)} no significant difference: {' and '.join(close)}"
        assert bool(close) == (tie in sentence.replace("(", "").replace(")", ""))
        for printed, value in zip(_numbers(sentence), _numbers_of(rows[told[1]], rows[far]), strict=True):
            assert printed == f"{value:.{len(printed.partition('.')[2])}f}", sentence


def test_fewest_tokens_and_bits_are_of_one_size() -> None:
    """A larger vocabulary would need fewer of both."""
    board, _, _ = drawn()
    large = pl.lit(9000, pl.Int64)
    more = board.filter(size=400, measure="tokens", variant="bpe").with_columns(size=large, value=pl.lit(1.0))
    bits = board.filter(size=400, measure="bits_per_byte", variant="bpe").with_columns(size=large)
    content = altered(shown(), scoreboard=pl.concat([board, more, bits]))
    [figure] = [one for one in drawings(content) if one.name == "bits-against-tokens-books"]
    here = {measure: board.filter(measure=measure, size=400) for measure in ("tokens", "bits_per_byte")}
    few, low = (part.filter(verdict="best").row(0, named=True) for part in here.values())
    first = here["bits_per_byte"].filter(variant=few["variant"])["value"].item()
    end = ", also the fewest." if few["variant"] == low["variant"] else f"; {low['variant']} has the fewest bits, "
    start = f"At a vocabulary of 400, {few['variant']} has the fewest tokens and {first:.4f} bits per byte{end}"
    assert figure.says.startswith(start)
    forest = next(one for one in drawings(content) if one.name.startswith("behind-the-best-alignment"))
    assert "in alignment with morphemes" in forest.caption
    [table] = [one for one in tables(content) if one.name == "bits-per-byte-tiny-offline"]
    assert table.notes[-1] == "Not tested: one training."


def test_the_answer_is_of_the_text_that_vocabularies_were_built_from() -> None:
    """Not of the first corpus by name; what comes first on the others is told beside it."""
    board, _, _ = drawn()
    tokens = board.filter(measure="tokens")
    turned = {"best": "worse", "worse": "best"}
    other = tokens.with_columns(pl.col("verdict").replace(turned), corpus=pl.lit("articles"))
    recipes = {name: {"pretokenization": "gpt2", "construction": "bpe", "corpus": "books"} for name in VARIANTS}
    corpora = {name: {"source": "embedded"} for name in ("articles", "books", "code")}
    settings = {"name": "x", "variants": recipes, "corpora": corpora, "sizes": [400]}
    content = build_content(
        validated(settings, Experiment, "here"), settings, [SCOREBOARD], {"scoreboard": pl.concat([other, board])}, {}
    )
    assert (content.corpora, content.built_from) == (["books", "articles", "code"], ["books"])
    [claim] = [one for one in best_claims(content) if one.measure == "tokens"]
    [first] = other.filter(verdict="best", size=max(SIZES))["variant"].unique()
    assert claim.corpus == "books"
    assert {corpus: rows[0]["variant"] for corpus, rows in claim.corpora.items()} == {"articles": first}
    sentences = summary(content)
    assert sentences[0].startswith("At a vocabulary of 400, bpe, of those ranked, needs the fewest tokens for books: ")
    assert sentences[0].endswith(f"Best on other texts: {first} on articles (no significant difference: sage).")
    assert sentences[-2] == (
        "These sentences are about books, the corpus that the vocabularies were built from. The selection above "
        "the table also has articles."
    )
    table = next(one for one in tables(content) if one.name == "scoreboard")
    assert table.frame["corpus"].unique(maintain_order=True).to_list() == ["books", "articles"]
    assert "on the evaluation splits of books and articles" in table.caption


def test_sentences_are_about_one_pretokenizer_or_name_both() -> None:
    """A claim is about those of one pre-tokenizer; what crosses says which two there are, and that they differ."""
    content, board = shown_apart(), drawn_apart()
    found = best_claims(content)
    assert "tokens" in {one.measure for one in claims_across(content)}
    assert {one.pretokenizer for one in found} <= {"gpt2", "first_space"}
    for claim in found:
        rows = board.filter(measure=claim.measure, size=claim.size, pretokenization=claim.pretokenizer)
        assert len(claim.rows) == rows.filter(pl.col("verdict") != "not ranked").height == 2
        assert said_of(claim.pretokenizer) in " ".join(summary(content))
    for crossing in claims_across(content):
        ranked = board.filter(pl.col("verdict") != "not ranked", measure=crossing.measure, size=crossing.size)
        highest = crossing.measure in ("accuracy", "alignment")
        assert crossing.best["variant"] == ranked.sort("value", "variant", descending=[highest, False])["variant"][0]
    [sentence] = [one for one in summary(content) if one.startswith("Across pre-tokenizers") and " tokens " in one]
    assert sentence.startswith(
        "Across pre-tokenizers, at a vocabulary of 400, bpe (pre-tokenizer gpt2) needs the fewest tokens for books"
    )
    [first] = [one for one in answers(content)[0].statements if "tokens" in one.head]
    assert "bpe (pre-tokenizer gpt2)" in first.head + first.text


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_sentences_across_pretokenizers_need_two_trainings(seeds: int) -> None:
    """With one training there are numbers, each with its pre-tokenizer; with two a best, and no test."""
    content = shown_apart(seeds)
    trained = {"bits_per_byte", "accuracy"}
    found = {one.measure for one in (*best_claims(content), *claims_across(content))}
    assert found & trained == (set() if seeds == 1 else trained)
    said = " ".join([*summary(content), *(f"{one.head} {one.text}" for one in answers(content)[0].statements)])
    assert ("with the language model “tiny”, " in said) == (seeds > 1)
    single = [one for one in summary(content) if "; not tested: one training." in one]
    assert len(single) == (2 if seeds == 1 else 0)
    assert ("two trainings; significance needs three" in said) == (seeds == 2)
    assert "not tested: not tested" not in said
    for sentence in single:
        assert not sentence.startswith(("Across", "Among"))
        assert sentence.count("pre-tokenizer") == 2
        assert "best" not in sentence


def said_of(pretokenizer: str) -> str:
    return f"Among tokenizers with the pre-tokenizer {pretokenizer}, at a vocabulary of 400, "


def test_best_of_all_is_compared_with_the_baseline_naming_both_pretokenizers() -> None:
    """With the difference, its interval and its verdict; the variant of the other pre-tokenizer is nowhere the best."""
    board = drawn_apart()
    sage = (pl.col("variant") == "sage") & (pl.col("measure") == "tokens")
    low, difference = pl.when(sage).then(pl.lit(1.0)), {"difference": -0.077, "difference_low": -0.080}
    board = board.with_columns(
        low.otherwise("value").alias("value"),
        *(pl.when(sage).then(pl.lit(value)).otherwise(name).alias(name) for name, value in difference.items()),
        pl.when(sage).then(pl.lit(-0.074)).otherwise("difference_high").alias("difference_high"),
        pl.when(sage).then(pl.lit("better")).otherwise("difference_verdict").alias("difference_verdict"),
    )
    unigram = (pl.col("variant") == "unigram") & (pl.col("measure") == "tokens")
    board = board.with_columns(pretokenization=pl.when(unigram).then(pl.lit("gpt2")).otherwise("pretokenization"))
    content = altered(shown_apart(), scoreboard=board)
    expected = (
        "Across pre-tokenizers, at a vocabulary of 400, sage (pre-tokenizer first_space) needs the fewest tokens for "
        "books; the difference from the baseline bpe (pre-tokenizer gpt2) is −7.7 %{}, significant after correction. "
        "The pre-tokenizers differ, so this compares more than the constructions."
    )
    assert expected.format(" (95 % interval −8.0 to −7.4)") in summary(content)
    first = answers(content)[0].statements[0]
    assert first.head == "Fewest tokens of those ranked: bpe, the baseline."
    assert first.text.endswith(
        "With another pre-tokenizer: sage (pre-tokenizer first_space) needs 7.7 % fewer tokens than bpe (pre-tokenizer "
        "gpt2) (95 % interval −8.0 % to −7.4 %; 12 documents): significantly better."
    )
    said = [*summary(shown()), *(f"{one.head} {one.text}" for one in answers(shown())[0].statements)]
    assert "Across" not in " ".join(said)
    assert "pre-tokenizer" not in " ".join(said)


def test_figures_name_the_pretokenizer_where_there_are_several() -> None:
    """In labels, captions and sentences; nothing of it where all have the same."""
    for content, several in ((shown_apart(), True), (shown(), False)):
        board = content.frames["scoreboard"]
        sizes = board["size"].unique().sort().to_list()
        assert "tokens-by-size-books" not in {one.name for one in drawings(content)}, f"of {sizes} alone"
        larger = [board.filter(size=sizes[-1]).with_columns(size=pl.lit(sizes[-1] * by, pl.Int64)) for by in (2, 4)]
        figures = {one.name: one for one in drawings(altered(content, scoreboard=pl.concat([board, *larger])))}
        tokens = figures["tokens-by-size-books"]
        assert ("In brackets: the pre-tokenizer." in tokens.caption) == several
        drawn_names = {text.get_text() for text in tokens.draw().axes[0].texts}
        assert ("sage (first_space)" in drawn_names) == several
        assert ("sage" in drawn_names) != several
        forest = next(one for one in figures.values() if one.name.startswith("behind-the-best-tokens"))
        assert ("with the pre-tokenizer" in forest.caption) == several
        assert len(forest.variants) == (1 if several else 2)


def test_the_gap_is_ranked_within_a_pretokenizer_in_its_table_and_its_figure() -> None:
    """Bounds of two pre-tokenizers differ, so the lowest gap of all is not the best of the others."""
    gaps = {"bpe": (0.1, 900), "lossy": (0.2, 900), "sage": (0.05, 800), "unigram": (0.06, 800)}
    rows = [
        (variant, 400, "books", "", "gap", "above the bound", value, bound, None)
        for variant, (value, bound) in gaps.items()
    ]
    intrinsic = pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")
    content = altered(shown_apart(), intrinsic=intrinsic)
    table = next(one for one in tables(content) if one.name == "intrinsic-books-compression")
    assert [column.header or column.name for column in table.columns][:2] == ["variant", "pre-tokenizer"]
    made = {row[0].text: row for row in layout(table).rows}
    assert list(made) == ["bpe", "lossy", "sage", "unigram"]
    assert {name for name, row in made.items() if row[3].best} == {"bpe", "sage"}
    assert "Bold: the best at each size and pre-tokenizer" in table.caption
    assert (table.columns[3].header, made["bpe"][3].text) == ("above the optimum (%)", "10.0")
    figure = next(one for one in drawings(content) if one.name == "gap-books")
    assert figure.says.startswith(
        "Tokens above the optimum (gap, %) on books, pre-tokenizer gpt2, at a vocabulary of 400: from 10.0, bpe, to "
        "20.0, lossy. Tokens above the optimum (gap, %) on books, pre-tokenizer first_space, at a vocabulary of 400: "
        "from 5.0, sage, to 6.0, unigram."
    )


def test_tables_that_rank_across_pretokenizers_say_so() -> None:
    frame = whole().frames["ranks"]
    renamed = {"unigram_greedy": "unigram", "random": "lossy"}
    apart = altered(
        shown_apart(),
        ranks=frame.with_columns(pl.col("variant").replace(renamed)),
        ranks_by_size=whole().frames["ranks_by_size"].with_columns(pl.col("variant").replace(renamed)),
    )
    told = "Bold numbers and ranks compare across pre-tokenizers: gpt2 for bpe and lossy; first_space for "
    for content, several in ((apart, True), (whole(), False)):
        table = next(one for one in tables(content) if one.name == "ranks-tiny-offline")
        assert any(note.startswith(told) for note in table.notes) == several
        figure = next(one for one in drawings(content) if one.name == "accuracy-by-rank-tiny-offline")
        assert ("sage (first_space)" in figure.says) == several


def test_seeds_and_baselines_are_those_of_the_experiment() -> None:
    """A recipe in full and its preset are one model; a corpus that is only measured on has a baseline too."""
    models = {"first": "tiny", "second": {"preset": "tiny", "seed": 18}, "third": {"preset": "tiny", "seed": 19}}
    recipe = {"pretokenization": "gpt2", "construction": "bpe"}
    settings = {
        "name": "x",
        "corpora": {name: {"source": "embedded"} for name in ("books", "articles")},
        "variants": {"a": recipe, "b": recipe},
        "measured_on": ["articles"],
        "sizes": [400],
        "models": models,
        "report": {"baseline": {"books": "a", "articles": "b"}},
    }
    experiment = validated(settings, Experiment, "here")
    models["third"] = experiment.models["third"].model_dump(mode="json")
    content = build_content(validated(settings, Experiment, "here"), settings, [], {}, {})
    assert content.seeds == {name: ("first (3 seeds)", 17 + place) for place, name in enumerate(models)}
    assert content.baselines == ["a", "b"]


def test_an_end_of_an_interval_that_is_not_zero_does_not_look_like_zero() -> None:
    row = {"a": "one", "b": "two", "measure": "tokens", "difference": -0.0015, "low": -0.0027, "high": -0.0003,
           "verdict": "better", "n": 162, "unit": "documents"}  # fmt: skip
    assert "needs 0.15 % fewer tokens than two (95 % interval −0.27 % to −0.03 %;" in comparison_sentence(row)
    assert "−0.3 % to 0.0 %" in comparison_sentence({**row, "high": 0.0})
