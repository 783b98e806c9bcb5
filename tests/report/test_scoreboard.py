"""The scoreboard and other tables: marks of the best, their direction, and the order of columns."""

import subprocess
import sys

import polars as pl
import pytest

from tests.support.fake_results import SIZES, drawn, shown, shown_apart
from tests.support.small_report import altered, board_of_seeds, whole
from tokbench import metric as better
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.experiments import _intrinsic as compared_by
from tokbench.metric import metric, metrics
from tokbench.report.html import drawings, tables
from tokbench.report.layout import layout
from tokbench.report.sections.scoreboard import ONLY_UNCORRECTED, Key, _reasons
from tokbench.report.sections.scoreboard import scoreboard as board_of
from tokbench.report.typeset import to_latex, to_markdown
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.tabulation.intrinsic import INTRINSIC


def test_undersized_vocabularies_are_never_the_best() -> None:
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
        best = [cell.best for row in layout(table).rows if row[0].text == "sage" for cell in row]
        assert any(best) == name.startswith("intrinsic"), "no best of one training"
        assert "Not ranked (fewer tokens than others of their size): bpe at 400." in table.notes
    figures = {one.name: one for one in drawings(content)}
    assert "from 0.500, sage," in figures["corpus_token_count-books"].says
    assert "bpe" not in figures["bits-against-tokens-books"].says
    languages = figures["tokens-by-language-books"]
    assert languages.caption.endswith(" Left out, because they are not ranked: bpe and lossy.")
    assert "where unigram needs 3.00 times" in languages.says


SIGNS = {"better": "↑", "worse": "↓", "no significant difference": "≈", "not tested": "○", "baseline": ""}


def test_the_table_has_the_boards_marks_and_paired_intervals() -> None:
    """Small numbers are differences from the baseline, with the interval of the test that gives the sign."""
    board, _, _ = drawn()
    table = next(one for one in tables(shown()) if one.name == "scoreboard")
    assert [column.name for column in table.columns] == [
        "variant", "size", "tokens", "gap", "ngram_bits_per_byte", "bits_per_byte.tiny.offline",
        "accuracy.tiny.offline", "alignment",
    ]  # fmt: skip
    assert not any("not tested: one training" in note for note in table.notes)
    assert "All have the pre-tokenizer gpt2. Small numbers: the difference from the baseline bpe" in table.caption
    assert "Intervals are not corrected" in " ".join(table.notes)
    about = {column.name: column.about for column in table.columns}
    assert about["gap"].endswith("not tested: the bound is of this very text, not of others like it")
    cells = layout(table).rows
    signed = set()
    for index, (variant, size) in enumerate(table.frame.select("variant", "size").rows()):
        row = board.filter(measure="tokens", variant=variant, size=size).row(0, named=True)
        cell = cells[index][2]
        assert cell.text == f"{row['value']:,.0f}"
        assert cell.best == (row["verdict"] == "best")
        assert cell.mark == "★" * (row["verdict"] == "best") + SIGNS[row["difference_verdict"]]
        signed.add(cell.mark[-1:])
        if row["difference_low"] is None:
            assert cell.interval == ("baseline" if row["difference_verdict"] == "baseline" else "")
            continue
        ends = (row["difference"], row["difference_low"], row["difference_high"])
        told, low, high = (f"{100 * end:{'+' if end else ''}.1f}".replace("-", "−") for end in ends)
        assert cell.interval == f"{told} %; {low} to {high}"
    assert signed >= {"★", "↓", "○"}
    assert list(SCOREBOARD.schema) == board.columns


def test_an_interval_without_zero_next_to_the_sign_of_no_difference_has_a_reason() -> None:
    verdict = {"difference_verdict": "no significant difference", "difference_reason": None}
    key = Key("tokens", "", "")
    cells = [verdict | {"difference_low": low, "difference_high": 0.03} for low in (0.01, -0.01)]
    valued = [((index, "tokens"), key, cell) for index, cell in enumerate(cells)]
    assert _reasons(valued, {key: cells}) == {(0, "tokens"): ONLY_UNCORRECTED}


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_models_have_signs_by_their_trainings(seeds: int) -> None:
    """One training: no best, no difference; two: a best and a difference, no test; three: all signs. Other columns
    have them anyway."""
    board = board_of_seeds(seeds)
    table = board_of(altered(whole(), scoreboard=board, models=["tiny"]))
    assert table is not None
    column = next(one for one in table.columns if one.name == "bits_per_byte.tiny (3 seeds).offline")
    cells = [row[table.columns.index(column)] for row in layout(table).rows]
    assert [cell.mark for cell in cells if cell.interval == "baseline"] == ["" if seeds == 1 else "★"] * 2
    assert {cell.mark for cell in cells if cell.interval != "baseline"} == {"↓" if seeds == 3 else "○"}
    assert [cell.best for cell in cells] == [cell.mark.startswith("★") for cell in cells]
    assert any(" to " in cell.interval for cell in cells) == (seeds > 1)
    assert {row[2].mark for row in layout(table).rows} == {"", "↑", "★↑"}, "tokens"
    reason = {1: "not tested: one training", 2: "not tested: two trainings; significance needs three"}.get(seeds)
    assert "not tested" not in (column.about or "") if reason is None else (column.about or "").endswith(f"; {reason}")
    assert ("interval over" in (column.about or "")) == (seeds > 1)
    assert any("one seed" in note for note in table.notes) == (seeds == 1)
    for text in (to_latex(table), to_markdown(table)):
        assert ("not tested: one training" in text) == (seeds == 1)
        assert ("not tested: two trainings" in text) == (seeds == 2)
    rows = board.filter(measure="bits_per_byte")
    others = rows.filter(pl.col("variant") != "bpe")
    assert rows["best"].null_count() == others["difference"].null_count() * 4 / 3 == (rows.height if seeds == 1 else 0)
    assert rows["holm"].null_count() == (2 if seeds == 3 else rows.height)
    assert others["difference_holm"].null_count() == (0 if seeds == 3 else others.height)
    assert others["low"].null_count() == 0
    assert set(others["difference_reason"]) == {reason}


def test_rows_are_grouped_by_pretokenizer_and_starred_within_a_group() -> None:
    """The name of the pre-tokenizer is in a column, and a note says where the baseline has another."""
    table = next(one for one in tables(shown_apart()) if one.name == "scoreboard")
    frame = table.frame.filter(size=SIZES[0])
    assert frame["pretokenization"].to_list() == ["gpt2", "gpt2", "first_space", "first_space"]
    assert set(frame["variant"][:2]) == {"bpe", "lossy"}
    assert "Rows are grouped by pre-tokenizer." in table.caption
    assert "best value of its size and pre-tokenizer, if two or more are ranked" in dict(table.key)["★"]
    rows = {row[0].text: row for row in layout(table).rows if row[2].text == f"{SIZES[0]}"}
    for variant, row in rows.items():
        other = variant in ("sage", "unigram")
        assert bool(row[1].note) == other
        gap = row[4]
        assert (gap.best, gap.mark[:1] == "★") == ((variant == "sage"),) * 2, "bpe alone is ranked in its group"
        assert bool(gap.note) == (variant != "bpe")
    reasons = dict(layout(table).reasons)
    assert reasons[rows["sage"][1].note] == (
        "pre-tokenizer first_space, baseline bpe has gpt2: differences from the baseline include that of pre-tokenizers"
    )
    assert reasons[rows["sage"][4].note] == "not tested: different pre-tokenizers"
    assert rows["unigram"][3].interval.startswith("+"), "tokens are compared with the baseline all the same"


def test_every_cell_is_empty_for_one_reason_and_has_one_of_three_signs() -> None:
    """A cell without a value says why; one with a value is the baseline or has a sign that the legend explains."""
    for content in (shown(), shown_apart(), whole()):
        table = next(one for one in tables(content) if one.name == "scoreboard")
        legend = dict(table.key)
        assert {*SIGNS.values(), "★", "–"} - {""} == set(legend)
        made = layout(table)
        heads = [column.name for column in table.columns]
        first = next(place for place, name in enumerate(heads) if name not in ("variant", "pretokenization", "size"))
        for row in made.rows:
            for cell in row[first:]:
                if cell.text == "–":
                    assert cell.note
                else:
                    sign = cell.mark.removeprefix("★")
                    assert sign in ("↑", "↓", "≈", "○") or (sign, cell.interval) == ("", "baseline")
        latex, markdown = to_latex(table), to_markdown(table)
        for sign, command in (("↑", "uparrow"), ("↓", "downarrow"), ("≈", "approx"), ("○", "circ")):
            if sign in table.marks.values():
                assert rf"\textsuperscript{{$\{command}$}}" in latex
                assert f"{sign} (" in markdown or f"{sign} [" in markdown


def test_columns_of_unconfigured_models_are_sorted_by_name() -> None:
    """Not in an order that differs from run to run; those that it names come first, in its order."""
    content = whole()
    bits = content.frames["scoreboard"].filter(pl.col("model").is_not_null())
    several = pl.concat([bits.with_columns(model=pl.lit(name)) for name in "dbeac"])
    table = board_of(altered(content, scoreboard=several, models=["e"]))
    assert table is not None
    models = [column.at["model"] for column in table.columns if column.at]
    assert list(dict.fromkeys(models)) == ["e", "a", "b", "c", "d"]


def test_families_state_the_better_ends_of_their_measurements() -> None:
    """Those too that tables derive from them; an end is asked for without a family having been imported before."""
    asked = (
        "from tokbench.metric import direction, requires_equal_n as same; "
        "print(*map(direction, {0}), *[same(name, '') for name in {0}])"
    )
    names = ["gap", "fertility", "morphological_recall", "parity_range", "mean_token_length", "partition_cover_ratio"]
    call = [sys.executable, "-c", asked.format(names)]
    told = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()
    assert told[:6] == ["lowest", "lowest", "highest", "lowest", "None", "highest"]
    assert told[6:] == ["True", "True", "False", "False", "False", "True"]


def test_undertrained_tokens_have_no_better_direction() -> None:
    """Of tokens that a model never met all are equally rare, so that their ids decide which count as rarest."""
    assert better.direction("undertrained_tokens") is None


def test_a_metric_states_its_better_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_methods", {one.name: one for one in metrics.methods()})
    with pytest.raises(TokbenchError, match="the better end of hops is 'most'; choose highest or lowest"):
        metric("hopping", better={"hops": "most"})(lambda seen, options: [])  # type: ignore[dict-item]
    metric("hopping", better={"hops": "highest"}, over_the_same=["hops"])(lambda seen, options: [])
    assert better.direction("hops") == "highest"
    assert better.requires_equal_n("hops", "hops / steps")
    assert better.direction("renyi_efficiency_2.5") is None


SHARE = "occurrences of tokens of one byte / tokens of the text"
OF_BYTES = "occurrences of tokens of one byte / bytes of the text"


def test_token_shares_are_not_ranked_if_token_counts_differ() -> None:
    """More tokens make a smaller share of the same bytes; as a share of the text's bytes they are compared."""
    rows = [
        (variant, 400, "books", "", "byte_fallback", definition, value, n, None)
        for variant, tokens, single in (("bpe", 100, 50), ("random", 400, 100))
        for definition, value, n in ((SHARE, single / tokens, tokens), (OF_BYTES, single / 1000, 1000))
    ]
    intrinsic = pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")
    [table] = [
        one
        for one in tables(altered(whole(), intrinsic=intrinsic, domain_metrics=None))
        if one.name.startswith("intrinsic-books")
    ]
    ranked = {column.about: column.best for column in table.columns if column.about}
    assert ranked == {SHARE: None, OF_BYTES: "lowest"}
    assert [note.startswith("No best, because the denominator depends on the tokenizer") for note in table.notes] == [
        True
    ]
    [part] = compared_by("bpe", "random", [(400, 400)], intrinsic)
    assert [(line.row["definition"], line.leader) for line in part.lines] == [(OF_BYTES, "a")]


def test_bounds_follow_the_gaps_and_measures_appear_once() -> None:
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
