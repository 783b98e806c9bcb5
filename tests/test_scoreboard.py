"""The scoreboard and the sentences above it, worked out again from the tables that they are made of."""

import re
import subprocess
import sys
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from tests.small_report import accuracy, altered, whole
from tokbench import better
from tokbench.commands.experiment_comparison import _intrinsic as compared_by
from tokbench.errors import TokbenchError
from tokbench.metric import metric, metrics
from tokbench.report.content import ReportContent
from tokbench.report.html import drawings, tables
from tokbench.report.layout import layout
from tokbench.report.load import shown as shown_of
from tokbench.report.sections.board import scoreboard as board_of
from tokbench.report.summary import claims, summary
from tokbench.statistics.answers import OUTCOME
from tokbench.statistics.ranks import averages_by_size
from tokbench.statistics.scoreboard import SCOREBOARD, scoreboard
from tokbench.tabulation.alignment_by_word import ALIGNMENT_BY_WORD
from tokbench.tabulation.document_bits import DOCUMENT_BITS
from tokbench.tabulation.imported import IMPORTED
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS
from tokbench.tabulation.tokens_by_document import TOKENS_BY_DOCUMENT

VARIANTS = ("bpe", "sage", "lossy", "unigram")
SIZES, DOCUMENTS, QUESTIONS, WORDS = (300, 400), 12, 40, 60
Columns = dict[str, NDArray[np.float64]]


@cache
def drawn() -> tuple[pl.DataFrame, NDArray[np.float64], dict[tuple[str, int], Columns]]:
    """A board of drawn numbers, the bytes of its documents, and by variant and size tokens, bits and answers."""
    rng = np.random.default_rng(14)
    sizes = rng.integers(50, 500, DOCUMENTS).astype(np.float64)
    found: dict[tuple[str, int], Columns] = {}
    level = {"bpe": 0.4, "sage": 0.401, "lossy": 0.1, "unigram": 0.45}
    shared = rng.normal(0, 0.02, DOCUMENTS)
    for size in SIZES:
        for variant in VARIANTS:
            share = level[variant] - size / 10_000 + shared + rng.normal(0, 0.002, DOCUMENTS)
            answers = (rng.random((2, QUESTIONS)) < 0.5 + 0.4 * (variant == "sage")).astype(np.float64)
            tokens = np.round(share * sizes)
            boundaries = rng.integers(0, 3, (2, WORDS, 3)) * (rng.random((2, WORDS, 1)) < 0.7)
            boundaries[:, :, 0] += 4 * (variant != "bpe") * boundaries.any(axis=2)
            found[variant, size] = {"tokens": tokens, "bits": (2 + share) * sizes, "answers": answers}
            found[variant, size]["boundaries"] = boundaries.astype(np.float64)
    documents = [
        (variant, size, "books", order, budget, number, "", int(sizes[number]), one["bits"][number] / order,
         int(one["tokens"][number]), 0)
        for (variant, size), one in found.items() for order in (1, 2) for budget in (500, 1000)
        for number in range(DOCUMENTS) if variant != "lossy"
    ]  # fmt: skip
    measured = [
        (variant, size, "books", "", name, "defined", value, n, None)
        for (variant, size), one in found.items()
        for name, value, n in (("corpus_token_count", one["tokens"].sum(), 1), ("gap", 0.1, 1))
    ]
    measured += [
        (variant, size, "all resources", "", "morphological_alignment", "defined", f1(one["boundaries"]), 2, None)
        for (variant, size), one in found.items()
    ]
    words = pl.DataFrame(
        [
            (variant, size, resource, word, 1, *map(int, one["boundaries"][place, word]))
            for (variant, size), one in found.items() for place, resource in enumerate(("ladec", "morphscore"))
            for word in range(WORDS) if one["boundaries"][place, word].any()
        ],
        schema=ALIGNMENT_BY_WORD.schema,
        orient="row",
    )  # fmt: skip
    answers = [
        ("tiny", "offline", variant, size, f"task {task}", question, bool(one["answers"][task, question]))
        for (variant, size), one in found.items() for task in range(2) for question in range(QUESTIONS)
    ]  # fmt: skip
    outcomes = pl.DataFrame(answers, schema=OUTCOME, orient="row")
    keys = ["variant", "size", "model", "suite", "task"]
    accuracy = outcomes.group_by(keys).agg(accuracy=pl.col("correct").mean(), n=pl.len().cast(pl.Int64))
    accuracy = accuracy.with_columns(random_baseline=pl.lit(0.5))
    bits = [
        (*("tiny", variant, size, "offline"), "books", number, "", int(sizes[number]), one["bits"][number], 0, None)
        for (variant, size), one in found.items() for number in range(DOCUMENTS) if variant != "lossy"
    ]  # fmt: skip
    lossy = dict.fromkeys(IMPORTED.schema) | {"variant": "lossy", "documents_changed": 3}
    counted = [
        (variant, size, "books", number, 1, int(sizes[number]), int(one["tokens"][number]))
        for (variant, size), one in found.items() for number in range(DOCUMENTS)
    ]  # fmt: skip
    board = scoreboard(
        pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row"),
        pl.DataFrame([lossy], schema=IMPORTED.schema),
        pl.DataFrame(counted, schema=TOKENS_BY_DOCUMENT.schema, orient="row"),
        pl.DataFrame(documents, schema=NGRAM_DOCUMENTS.schema, orient="row"),
        pl.DataFrame(bits, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row"),
        averages_by_size(accuracy),
        outcomes,
        words,
        {},
    )
    return board, sizes, found


def ratio(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> tuple[float, float, float]:
    """A ratio of sums, its standard error by linearization, and the degrees of freedom."""
    r = parts.sum() / wholes.sum()
    rest = (parts - r * wholes) / wholes.mean()
    degrees = max(1.0, wholes.sum() ** 2 / (wholes**2).sum() - 1)
    return r, rest.std(ddof=1) / np.sqrt(len(parts)), degrees


def f1(boundaries: NDArray[np.float64]) -> float:
    """The mean over resources of F1 of all boundaries of their words."""
    right, wrong, missed = boundaries.sum(axis=1).T
    return float((right / (right + (wrong + missed) / 2)).mean())


def jackknife(*sides: NDArray[np.float64]) -> float:
    """Standard error of an F1, or of the difference of two, by leaving out word after word of each resource."""
    squares = 0.0
    for place in range(2):
        words = np.flatnonzero(np.any([one[place].any(axis=1) for one in sides], axis=0))
        left = [[f1(np.delete(one[[place]], word, axis=1)) for word in words] for one in sides]
        squares += (len(words) - 1) * float(np.var(left[0] if len(left) == 1 else np.subtract(*left)))
    return float(np.sqrt(squares)) / 2


def corrected(p_values: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Holm's procedure, step by step."""
    adjusted, worst = {}, 0.0
    for place, pair in enumerate(sorted(p_values, key=p_values.__getitem__)):
        worst = max(worst, min(1.0, p_values[pair] * (len(p_values) - place)))
        adjusted[pair] = worst
    return adjusted


@pytest.mark.parametrize("measure", ["tokens", "ngram_bits_per_byte", "bits_per_byte", "accuracy"])
@pytest.mark.parametrize("size", SIZES)
def test_the_board_is_what_its_tables_say(measure: str, size: int) -> None:
    board, sizes, found = drawn()
    part = board.filter(measure=measure, size=size)
    rows = {row["variant"]: row for row in part.iter_rows(named=True)}
    names = [name for name in VARIANTS if name != "lossy"]
    estimates = {}
    end = max if measure == "accuracy" else min
    best = end(names, key=lambda name: rows[name]["value"])
    for a, b in (pair[::-1] if pair[0] == best else pair for pair in combinations(names, 2)):
        one, other = found[a, size], found[b, size]
        if measure == "accuracy":
            apart = one["answers"] - other["answers"]
            squares = apart.var(axis=1, ddof=1) / QUESTIONS
            error = np.sqrt(squares.sum()) / 2
            degrees = squares.sum() ** 2 / (squares**2 / (QUESTIONS - 1)).sum()
            estimates[a, b] = (apart.mean(), error, degrees)
        elif measure == "tokens":
            estimates[a, b] = ratio(one["tokens"] - other["tokens"], other["tokens"])
        else:
            estimates[a, b] = ratio((one["bits"] - other["bits"]) / (1 + (measure[0] == "n")), sizes)
    holm = corrected({pair: 2 * t.sf(abs(d / e), f) for pair, (d, e, f) in estimates.items()})
    for name in names:
        row = rows[name]
        assert row["best"] == best
        if name == best:
            assert (row["verdict"], row["behind"]) == ("best", 0)
            continue
        pair = (name, best)
        assert row["holm"] == pytest.approx(holm[pair], rel=1e-6)
        assert row["verdict"] == ("worse" if holm[pair] <= 0.05 else "not told apart")
        low, high = sorted((row["behind_low"], row["behind_high"]))
        assert low < row["behind"] < high
        assert row["behind"] == pytest.approx(estimates[pair][0], rel=1e-6)
        if measure == "tokens":
            assert row["behind"] == pytest.approx(row["value"] / rows[best]["value"] - 1)
    if measure == "bits_per_byte":
        r, error, degrees = ratio(found["bpe", size]["bits"], sizes)
        half = error * t.isf(0.025, degrees)
        assert (rows["bpe"]["low"], rows["bpe"]["high"]) == pytest.approx((r - half, r + half))
    if measure in ("tokens", "accuracy"):
        assert (rows["lossy"]["verdict"], rows["lossy"]["best"], rows["lossy"]["low"]) == ("not ranked", None, None)


@pytest.mark.parametrize("size", SIZES)
def test_agreement_with_morphemes_is_compared_over_words(size: int) -> None:
    """Values and differences have nearly the intervals that leaving out word after word gives."""
    board, _, found = drawn()
    rows = {row["variant"]: row for row in board.filter(measure="alignment", size=size).iter_rows(named=True)}
    names = [name for name in VARIANTS if name != "lossy"]
    of = {name: found[name, size]["boundaries"] for name in VARIANTS}
    best = max(names, key=lambda name: f1(of[name]))
    assert rows[best]["verdict"] == "best"
    assert (rows["lossy"]["verdict"], rows["lossy"]["low"]) == ("not ranked", None)
    p_values = {}
    for a, b in (pair[::-1] if pair[0] == best else pair for pair in combinations(names, 2)):
        error, effective = jackknife(of[a], of[b]), 2 * WORDS * 0.7 * 0.8
        p_values[a, b] = 2 * t.sf(abs((f1(of[a]) - f1(of[b])) / error), effective)
    for name in names:
        row = rows[name]
        error = jackknife(of[name])
        assert row["over"] == "words"
        assert row["n"] == of[name].any(axis=2).sum()
        assert (row["high"] - row["low"]) / 2 == pytest.approx(2 * error, rel=0.06)
        assert (row["high"] + row["low"]) / 2 == pytest.approx(f1(of[name]))
        if name == best:
            continue
        assert row["behind"] == pytest.approx(f1(of[name]) - f1(of[best]))
        assert (row["behind_high"] - row["behind_low"]) / 2 == pytest.approx(
            2 * jackknife(of[name], of[best]), rel=0.06
        )
        assert row["verdict"] == ("worse" if corrected(p_values)[name, best] <= 0.05 else "not told apart")
    assert {rows[name]["verdict"] for name in names} == {"best", "worse", "not told apart"}


def test_gaps_of_different_bounds_are_not_ranked() -> None:
    board, _, _ = drawn()
    assert set(board.filter(measure="gap")["verdict"]) == {"not ranked"}


def test_what_has_fewer_tokens_than_others_of_its_size_is_not_ranked() -> None:
    """At 300 none has: all ran out of text at once. At 400 the shorter one would be the best by tokens."""
    rng = np.random.default_rng(3)
    held = {("full", 300): 290, ("short", 300): 290, ("full", 400): 400, ("short", 400): 390, ("other", 400): 400}
    counted = [
        (variant, size, "books", number, 1, 1000, int(rng.integers(100, 120) - 60 * (variant == "short")))
        for variant, size in held
        for number in range(DOCUMENTS)
    ]
    documents = pl.DataFrame(counted, schema=TOKENS_BY_DOCUMENT.schema, orient="row")
    totals = documents.group_by("variant", "size").agg(pl.col("tokens").sum()).rows()
    measured = [
        *((*key, "books", "", "vocabulary_size", "", float(tokens), 1, None) for key, tokens in held.items()),
        *((*key, "books", "", "corpus_token_count", "", float(tokens), 1, None) for *key, tokens in totals),
    ]
    intrinsic = pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row")
    nothing = [
        pl.DataFrame(schema=schema)
        for schema in (
            NGRAM_DOCUMENTS.schema,
            {**DOCUMENT_BITS.schema, "seed": pl.Int64},
            averages_by_size(accuracy().clear()).schema,
            OUTCOME,
            ALIGNMENT_BY_WORD.schema,
        )
    ]
    board = scoreboard(intrinsic, pl.DataFrame(schema=IMPORTED.schema), documents, *nothing, {})
    rows = {(row["variant"], row["size"]): row for row in board.iter_rows(named=True)}
    assert rows["short", 300]["verdict"] == "best"
    assert rows["full", 300]["verdict"] == "worse"
    short = rows["short", 400]
    assert (short["verdict"], short["best"], short["behind"]) == ("not ranked", None, None)
    assert short["reason"] == "has fewer tokens than others of its size"
    assert short["low"] < short["value"] < short["high"]
    assert {rows[name, 400]["best"] for name in ("full", "other")} <= {"full", "other"}
    sentences = summary(altered(whole(), intrinsic=intrinsic, scoreboard=board, models=[]))
    assert sentences[0].startswith(f"At a vocabulary of 400, {rows['full', 400]['best']} ")
    assert "short (390 of 400)" in sentences[-1]
    assert sentences[-1].endswith(" Those with fewer than others of their size are not ranked.")


def shown() -> ReportContent:
    board, _, _ = drawn()
    return altered(whole(), scoreboard=board, models=["tiny"])


def test_what_is_smaller_than_its_size_is_named() -> None:
    sizes = [("bpe", 300, 300.0), ("bpe", 400, 333.0), ("unigram", 400, 399.0), ("sage", 400, 400.0)]
    rows = [(variant, size, "books", "", "vocabulary_size", "", tokens, 1, None) for variant, size, tokens in sizes]
    content = altered(whole(), intrinsic=pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row"))
    told = "Built with fewer tokens than their size, so not compared at equal size: "
    assert summary(content)[-1] == f"{told}bpe (333 of 400) and unigram (399 of 400)."
    assert not [sentence for sentence in summary(whole()) if sentence.startswith(told)]


NUMBER = r"([−\d.,]+\d)"
SENTENCE = re.compile(
    rf"^[^:]*: {NUMBER}(?: %)? \(95 % interval {NUMBER} to {NUMBER}(?: %)?, over .*? The last, \S+, .*?{NUMBER} "
    rf"(?:% more|bits per byte more|points behind|lower) \(95 % interval {NUMBER} to {NUMBER}(?: %)?\)\."
)


def _numbers(sentence: str) -> list[str]:
    """What a sentence says of the best and of the last: value and interval, distance and interval."""
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
    assert sentences.pop() == "Not ranked, since they do not give back all of a text: lossy."
    assert len(sentences) == len(measures)
    for sentence, measure in zip(sentences, measures, strict=True):
        part = board.filter(measure=measure, size=max(SIZES))
        rows = {row["variant"]: row for row in part.iter_rows(named=True) if row["verdict"] != "not ranked"}
        told = re.match(r"At a vocabulary of 400, (?:with the language model “tiny”, )?(\S+) ", sentence)
        assert told is not None
        assert rows[told[1]]["verdict"] == "best"
        end = max if measure in ("accuracy", "alignment") else min
        assert told[1] == end(rows, key=lambda name: rows[name]["value"])
        alike = sorted(name for name, row in rows.items() if row["verdict"] == "not told apart")
        if not alike:
            assert f"told apart from all {len(rows) - 1} others" in sentence
        elif len(alike) < len(rows) - 1:
            assert f"told apart from {len(rows) - 1 - len(alike)} of {len(rows) - 1} others" in sentence
            assert f"but not from {' and '.join(alike)}." in sentence
        else:
            assert "not told apart from any" in sentence
        drawn_n = rows[told[1]]["n"]
        assert f"over {drawn_n:,} {rows[told[1]]['over']}" in sentence
        assert ("of one training)" in sentence) == (measure in ("bits_per_byte", "accuracy"))
        far = max(rows, key=lambda name: abs(rows[name]["behind"]))
        assert f"The last, {far}, " in sentence
        assert ("agrees best with the morphemes of the gold data: " in sentence) == (measure == "alignment")
        others = board.filter(measure=measure, size=min(SIZES), verdict="best")["variant"].to_list()
        assert ("first at both sizes" in sentence) == (others == [told[1]])
        close = board.filter(measure=measure, size=min(SIZES), verdict="not told apart")["variant"].sort().to_list()
        tie = f"at {min(SIZES)} not told apart from {' and '.join(close)}"
        assert bool(close) == (tie in sentence.replace("(", "").replace(")", ""))
        assert sentence.endswith("and another might change them.") == (measure in ("bits_per_byte", "accuracy"))
        for printed, value in zip(_numbers(sentence), _numbers_of(rows[told[1]], rows[far]), strict=True):
            assert printed == f"{value:.{len(printed.partition('.')[2])}f}", sentence


def test_fewest_tokens_and_fewest_bits_are_told_of_one_size() -> None:
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
    end = ", the fewest, too." if few["variant"] == low["variant"] else f"; {low['variant']} has the fewest bits, "
    start = f"At a vocabulary of 400, {few['variant']} has the fewest tokens and {first:.4f} bits per byte{end}"
    assert figure.says.startswith(start)
    forest = next(one for one in drawings(content) if one.name.startswith("behind-the-best-alignment"))
    assert "in alignment with morphemes" in forest.caption
    once = {
        one.name.split("-")[3]: "Each tokenizer had one training: intervals are over its" in one.caption
        for one in drawings(content)
        if one.name.startswith("behind-the-best")
    }
    assert once == {"tokens": False, "bits_per_byte": True, "accuracy": True, "alignment": False}
    [table] = [one for one in tables(content) if one.name == "bits-per-byte-tiny-offline"]
    assert table.notes[-1].startswith("One training of each model")


def test_what_has_fewer_tokens_is_nowhere_the_best() -> None:
    """Neither bold in a table nor named by a figure, where it would be the first at every number."""
    board, _, _ = drawn()
    small = (pl.col("variant") == "bpe") & (pl.col("size") == 400)
    tokens, bits = pl.col("measure") == "tokens", pl.col("measure") == "bits_per_byte"
    board = board.with_columns(
        pl.when(small).then(pl.lit("not ranked")).otherwise("verdict").alias("verdict"),
        pl.when(small & (tokens | bits)).then(0.5).otherwise("value").alias("value"),
    )
    measured = [
        (variant, size, "books", language, name, "defined", value, 1, None)
        for variant in ("bpe", "sage", "unigram")
        for size in SIZES
        for language, name, value in (
            ("", "vocabulary_size", float(size - 10 * (variant == "bpe" and size == 400))),
            *((language, "corpus_token_count", 0.5 + (variant == "unigram")) for language in ("", "de", "en")),
        )
        for value in [value - 0.25 * (variant == "bpe" and name == "corpus_token_count")]
    ]
    intrinsic = pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row")
    models = {"model": "tiny", "size": 400, "suite": "offline", "equal_context": None, "reason": None}
    values = (("bpe", 1.0), ("sage", 1.5), ("unigram", 2.0))
    frame = pl.DataFrame([models | {"variant": variant, "value": value} for variant, value in values])
    content = altered(whole(), scoreboard=board, intrinsic=intrinsic, bits_per_byte=frame, models=["tiny"])
    for name in ("intrinsic-books-compression", "bits-per-byte-tiny-offline"):
        table = next(one for one in tables(content) if one.name == name)
        cells = [row for row in layout(table).rows if row[0].text == "bpe"]
        assert [cell.best for cell in cells[-1]] == [False] * len(cells[-1]), name
        assert any(cell.best for row in layout(table).rows if row[0].text == "sage" for cell in row)
        assert "Not ranked, with fewer tokens than others of the size: bpe at 400." in table.notes
    figures = {one.name: one for one in drawings(content)}
    assert "from 0.500, sage," in figures["corpus_token_count-books"].says
    assert "bpe" not in figures["bits-against-tokens-books"].says
    languages = figures["tokens-by-language-books"]
    assert languages.caption.endswith(" Left out, as they are not ranked: bpe and lossy.")
    assert "where unigram needs 3.00 times" in languages.says


def test_the_table_has_the_boards_marks_and_intervals() -> None:
    board, _, _ = drawn()
    table = next(one for one in tables(shown()) if one.name == "scoreboard")
    assert [column.name for column in table.columns] == [
        "variant", "size", "tokens", "gap", "ngram_bits_per_byte", "bits_per_byte.tiny.offline",
        "accuracy.tiny.offline", "alignment",
    ]  # fmt: skip
    assert any("trained with one seed" in note for note in table.notes)
    assert "corrected for all pairs of its column at one size. " in table.caption
    about = {column.name: column.about for column in table.columns}
    assert about["gap"].endswith("without an interval: the bound is of this very text, not of others like it")
    cells = layout(table).rows
    for index, (variant, size) in enumerate(table.frame.select("variant", "size").rows()):
        row = board.filter(measure="tokens", variant=variant, size=size).row(0, named=True)
        cell = cells[index][2]
        assert cell.text == f"{row['value']:,.0f}"
        assert cell.best == (row["verdict"] == "best")
        assert cell.mark.startswith({"best": "★", "not told apart": "≈"}.get(row["verdict"], ""))
        assert cell.interval == ("" if row["low"] is None else f"{row['low']:,.0f} to {row['high']:,.0f}")
    assert list(SCOREBOARD.schema) == board.columns


def test_the_answer_is_of_the_text_that_vocabularies_were_built_from() -> None:
    """Not of the first corpus by name; what comes first on the others is told beside it."""
    board, _, _ = drawn()
    tokens = board.filter(measure="tokens")
    turned = {"best": "worse", "worse": "best"}
    other = tokens.with_columns(pl.col("verdict").replace(turned), corpus=pl.lit("articles"))
    recipes = {name: {"pretokenization": "gpt2", "construction": "bpe", "corpus": "books"} for name in VARIANTS}
    settings = {"name": "x", "variants": recipes, "corpora": {"articles": {}, "books": {}, "code": {}}}
    content = shown_of(settings, [SCOREBOARD], {"scoreboard": pl.concat([other, board])}, {})
    assert (content.corpora, content.built_from) == (["books", "articles", "code"], ["books"])
    [claim] = [one for one in claims(content) if one.measure == "tokens"]
    [first] = other.filter(verdict="best", size=max(SIZES))["variant"].unique()
    assert (claim.corpus, claim.on_others) == ("books", {"articles": first})
    sentences = summary(content)
    assert sentences[0].startswith("At a vocabulary of 400, bpe needs the fewest tokens for books: ")
    assert sentences[0].endswith(
        f"On other texts the first is another: {first} on articles (not told apart from sage)."
    )
    assert sentences[-2] == (
        "These sentences are about books, the corpus that the vocabularies were built from. Above the table, articles "
        "can be chosen instead."
    )
    table = next(one for one in tables(content) if one.name == "scoreboard")
    assert table.frame["corpus"].unique(maintain_order=True).to_list() == ["books", "articles"]
    assert "on the evaluation splits of books and articles" in table.caption


def test_families_state_the_better_ends_of_their_measurements() -> None:
    """Those too that tables derive from them; an end is asked for without a family having been imported before."""
    asked = (
        "from tokbench.better import better_end as e, over_the_same as o; print(*map(e, {0}), *[o(n, '') for n in {0}])"
    )
    names = ["gap", "fertility", "morphological_recall", "parity_range", "mean_token_length", "partition_cover_ratio"]
    call = [sys.executable, "-c", asked.format(names)]
    told = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()
    assert told[:6] == ["lowest", "lowest", "highest", "lowest", "None", "highest"]
    assert told[6:] == ["True", "True", "False", "False", "False", "True"]


SHARE = "occurrences of tokens of one byte / tokens of the text"
OF_BYTES = "occurrences of tokens of one byte / bytes of the text"


def test_shares_of_a_texts_tokens_are_not_ranked_where_these_are_not_as_many() -> None:
    """More tokens make a smaller share of the same bytes; as a share of the text's bytes they are compared."""
    rows = [
        (variant, 400, "books", "", "byte_fallback", definition, value, n, None)
        for variant, tokens, single in (("bpe", 100, 50), ("random", 400, 100))
        for definition, value, n in ((SHARE, single / tokens, tokens), (OF_BYTES, single / 1000, 1000))
    ]
    intrinsic = pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")
    [table] = [one for one in tables(altered(whole(), intrinsic=intrinsic)) if one.name.startswith("intrinsic-books")]
    ranked = {column.about: column.best for column in table.columns if column.about}
    assert ranked == {SHARE: None, OF_BYTES: "lowest"}
    assert [note.startswith("Without a best, as tokenizers divide by their own numbers") for note in table.notes] == [
        True
    ]
    [part] = compared_by("bpe", "random", [(400, 400)], intrinsic, ())
    assert [(line.definition, line.ahead) for line in part.lines] == [(OF_BYTES, "a")]


def test_bounds_stand_beneath_the_gaps_and_no_measure_stands_twice() -> None:
    """Folded, without a corpus that the caption has and languages that there are none of."""
    rows = [
        (variant, 1024, "books", "", metric, definition, 0.5, 9, None)
        for variant in ("bpe", "sage")
        for metric, definition in (
            ("gap", "above"),
            ("byte_fallback", SHARE),
            ("single_byte_token_share", SHARE),
            ("renyi_efficiency_2", "entropy / log(nominal vocabulary size)"),
            ("renyi_efficiency_2", "entropy / log(types seen)"),
        )
    ]
    content = altered(whole(), intrinsic=pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row"))
    found = {one.name: one for one in tables(content)}
    names = list(found)
    assert names[names.index("intrinsic-books-compression") + 1] == "bounds-books"
    bounds = found["bounds-books"]
    assert bounds.folded
    assert [column.name for column in bounds.columns][:3] == ["pretokenization", "size", "bound"]
    headers = {name: [column.header for column in one.columns][2:] for name, one in found.items()}
    assert headers["intrinsic-books-bytes"] == ["single bytes / tokens"]
    assert headers["intrinsic-books-renyi"] == ["α = 2", "α = 2, types seen"]
    single = altered(content, intrinsic=content.frames["intrinsic"].filter(pl.col("metric") != "byte_fallback"))
    [table] = [one for one in tables(single) if one.name == "intrinsic-books-bytes"]
    assert table.columns[-1].header == "single-byte tokens / tokens"


def test_what_order_decides_has_no_better_end() -> None:
    """Of tokens that a model never met all are equally rare, so that their ids decide which count as rarest."""
    assert better.better_end("undertrained_tokens") is None


def test_a_metric_states_its_better_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_methods", {one.name: one for one in metrics.methods()})
    with pytest.raises(TokbenchError, match="the better end of hops is 'most'; choose highest or lowest"):
        metric("hopping", better={"hops": "most"})(lambda seen, options: [])  # type: ignore[dict-item]
    metric("hopping", better={"hops": "highest"}, over_the_same=["hops"])(lambda seen, options: [])
    assert better.better_end("hops") == "highest"
    assert better.over_the_same("hops", "hops / steps")
    assert better.better_end("renyi_efficiency_2.5") is None


def test_columns_of_models_that_the_configuration_does_not_name_stand_by_name() -> None:
    """Not in an order that differs from run to run; those that it names come first, in its order."""
    content = whole()
    bits = content.frames["scoreboard"].filter(pl.col("model").is_not_null())
    several = pl.concat([bits.with_columns(model=pl.lit(name)) for name in "dbeac"])
    table = board_of(altered(content, scoreboard=several, models=["e"]))
    assert table is not None
    models = [column.at["model"] for column in table.columns if column.at]
    assert list(dict.fromkeys(models)) == ["e", "a", "b", "c", "d"]
