"""Tables of a report as printed: digits, bold, signs, reasons, and their three forms.

The scoreboard for other sites: its contents, without times, and checksums of corpora.
"""

import csv
import html
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support.rules import documented, keys_of
from tests.support.small_report import VARIANTS, accuracy, altered, intrinsic, whole
from tokbench.corpus.documents import Document, checksums, contents_in
from tokbench.errors import TokbenchError
from tokbench.io.tables import write_csv
from tokbench.pretokens.count import count_pretokens
from tokbench.report.exhibits import NumberSource, PrintedColumn, Table
from tokbench.report.html import drawings, tables, write_tables
from tokbench.report.layout import layout
from tokbench.report.leaderboard import answer
from tokbench.report.sections import statistics
from tokbench.report.sections.accuracy_marks import accuracy_marks, rank_marks
from tokbench.report.typeset import latex, to_csv, to_latex, to_markdown, write_table
from tokbench.report.wording import fitting_decimals, format_value, probability
from tokbench.statistics.accuracies.correlation import between_metrics, fisher_interval, metric_with_accuracy
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.significance.eligibility import TWO_TRAININGS
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE


def small(**details: object) -> Table:
    frame = pl.DataFrame({"name": ["a_b & 5 %", "guess", "c"], "score": [0.51, 0.9, 0.514], "p": [2.6e-6, 0.045, None]})
    columns = [
        PrintedColumn("name"),
        PrintedColumn("score", "score_1", "percent", best="highest"),
        PrintedColumn("p", kind="p"),
    ]
    return Table("scores", "Accuracy in % of A & B.", frame, columns, {(2, "p"): "no cell in common"}, **details)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([32768.0, 1.0], 0), ([0.604, 0.2], 3), ([1.607], 3), ([12.34, 1.5], 2), ([1234.5], 0), ([0.00123], 5), ([], 0)],
)
def test_digits_fit_the_column(values: list[float], decimals: int) -> None:
    assert fitting_decimals(values) == decimals


def test_numbers_as_printed() -> None:
    assert format_value(1_480_000_000, "count") == "1,480,000,000"
    assert format_value(-0.1234, "real", 3) == "−0.123"
    assert [format_value(value, "real", 2) for value in (-0.0, -0.004, -0.006)] == ["0.00", "0.00", "−0.01"]
    assert format_value(-0.0004, "percent", 1) == "0.0"
    assert format_value(0.001953, "p", 3) == "0.00195"
    assert format_value(0.4876, "percent", 1) == "48.8"
    assert [probability(p) for p in (0.52, 0.045, 0.0027, 2.6e-6, 1.0)] == [
        "0.52",
        "0.045",
        "0.0027",
        "2.6×10⁻⁶",
        "1.0",
    ]


def test_the_best_is_bold_and_a_reference_never() -> None:
    shape = layout(small(reference_rows=frozenset([1])))
    assert [row[1].text for row in shape.rows if row[1].best] == ["51.4"]
    assert [row[1].text for row in layout(small()).rows if row[1].best] == ["90.0"]
    tied = Table(
        "t", "c", pl.DataFrame({"x": [0.5001, 0.5004, 0.2]}), [PrintedColumn("x", "", "percent", best="highest")]
    )
    assert [row[0].best for row in layout(tied).rows] == [True, True, False]


def test_latex_is_escaped_and_complete() -> None:
    text = to_latex(small(reference_rows=frozenset([1])))
    assert r"a\_b \& 5 \% & 51.0 & 2.6$\times$10\textsuperscript{-6} \\" in text
    assert r"c & \textbf{51.4} & --\textsuperscript{a} \\" in text
    assert r"\textsuperscript{a}\,no cell in common" in text
    assert r"\caption{Accuracy in \% of A \& B.}" in text
    assert r"\label{tab:scores}" in text
    rows = text[text.index("midrule") : text.index("bottomrule")].splitlines()[1:-1]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {2}
    opened = re.findall(r"\\begin\{(\w+)\}", text)
    assert opened == re.findall(r"\\end\{(\w+)\}", text)[::-1] == ["table", "tabular"]
    bare = re.sub(r"\\.", "", text)
    assert bare.count("{") == bare.count("}")
    assert (
        latex("10⁻¹² \\ ~^ {x}")
        == r"10\textsuperscript{-12} \textbackslash{} \textasciitilde{}\textasciicircum{} \{x\}"
    )


def test_long_tables_break_between_pages_and_wide_ones_take_smaller_type() -> None:
    long = Table("long", "Long.", pl.DataFrame({"n": range(41), "text": ["word " * 20] * 41}), notes=["A note."])
    text = to_latex(long)
    assert re.findall(r"\\begin\{(\w+)\}", text) == ["longtable"]
    assert text.index(r"\caption{Long.}") < text.index(r"\endfirsthead") < text.index(r"\endhead")
    assert text.count(r"\toprule") == 2
    assert text.count(r"\bottomrule") == 1
    assert r"{r>{\raggedright\arraybackslash}p{20em}}" in text
    assert text.rstrip().endswith(r"\endgroup")
    wide = Table("wide", "Wide.", pl.DataFrame({f"some measure of text {n}": [0.5] for n in range(8)}))
    assert r"\centering\small" in to_latex(wide)
    assert r"\shortstack[r]{some \\ measure \\ of text \\ 0}" in to_latex(wide)


def test_numbers_of_several_measures_have_digits_of_their_own() -> None:
    frame = pl.DataFrame({"ours": [433023508.559, 1.688, 48.8]})
    shape = layout(Table("t", "c", frame, [PrintedColumn("ours", kind="mixed")]))
    assert [row[0].text for row in shape.rows] == ["433,023,509", "1.688", "48.80"]


def test_markdown_and_csv_have_reasons_of_empty_cells() -> None:
    markdown = to_markdown(small(notes=["n | m"]))
    assert "| c | 51.4 | – [a] |" in markdown
    assert "[a] no cell in common" in markdown
    assert r"n \| m" in markdown
    lines = to_csv(small()).splitlines()
    assert lines[0] == "name,score,p,missing"
    assert lines[3] == "c,0.514,,p: no cell in common"


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</td><script>alert(1)</script>",
    "![x](http://example.org/x.png)",
    "[x](javascript:alert)",
    "&lt;img&gt;",
    "a | b\r| c |",
    "\u2028# heading",
    "\\input{secret}",
    "$\\write18{x}$ %",
    "$`x`$ ~~y~~ ~z~",
    "https://example.org/?x=1",
    "ftp://example.org, HTTP://example.org and Www.example.org",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_data_stays_text(text: str) -> None:
    """In Markdown, LaTeX and a page: no tag, link, entity, formula, command or further line."""
    table = Table("t", "c", pl.DataFrame({"token": [text], "n": [1]}), reasons={}, notes=[text])
    lines = re.split(r"[\n\r\u2028]", to_markdown(table))
    assert len(lines) == 8
    row = re.split(r"(?<!\\)\|", lines[4])
    assert len(row) == 4
    assert not re.search(r"<[A-Za-z/!?]|(?<!\\)\][(\[:]|(?<!\\)(?:[$~]|://)|(?i:www)\.", row[1])
    assert (
        html.unescape(re.sub(r"\\([\\`*_|<\]~$:.])", r"\1", row[1].strip())) == re.sub(r"[\r\u2028]", " ", text).strip()
    )
    assert not re.search(r"\\(input|write)", to_latex(table))


FORMULAS = {
    "=1+1": "'=1+1",
    "-cmd|' /C calc'!A0": "'-cmd|' /C calc'!A0",
    "+a": "'+a",
    "@sum": "'@sum",
    "\t=1": "'\t=1",
    "'=1": "''=1",
    "=\n1": "'=\n1",
    "-": "-",
    "=": "=",
    "-3.5e-4": "-3.5e-4",
    "+12": "+12",
    "'a": "'a",
    "a=1": "a=1",
}


def test_no_text_becomes_a_formula(tmp_path: Path) -> None:
    """In the CSV of tables and in that of frames; numbers stay, and one apostrophe less is the text again."""
    frame = pl.DataFrame({"token": list(FORMULAS), "n": range(-3, len(FORMULAS) - 3)})
    write_csv(frame, tmp_path / "frame.csv")
    for text in (to_csv(Table("t", "c", frame)), (tmp_path / "frame.csv").read_text()):
        rows = list(csv.reader(io.StringIO(text, newline="")))[1:]
        assert [row[0] for row in rows] == list(FORMULAS.values())
        assert [int(row[1]) for row in rows] == frame["n"].to_list()
    assert pl.read_csv(tmp_path / "frame.csv", infer_schema=False)["token"].to_list() == list(FORMULAS.values())


def test_columns_follow_from_types_and_mistakes_are_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"size": [32768], "value": [None]}, schema_overrides={"value": pl.Float64})
    table = Table("plain", "Plain.", frame)
    assert [cell.text for cell in layout(table).rows[0]] == ["32,768", "–"]
    assert layout(table).reasons == [("a", "no value was recorded")]
    assert [path.suffix for path in write_table(table, tmp_path / "deep" / "plain")] == [".csv", ".md", ".tex"]
    with pytest.raises(TokbenchError, match="table plain: no column 'valeu' in size, value"):
        Table("plain", "Plain.", frame, [PrintedColumn("valeu")])


def test_missing_scores_are_explained() -> None:
    wanted = next(table for table in tables(whole()) if table.name == "accuracy-tiny-offline-2048")
    shape = layout(wanted)
    assert [reason for _, reason in shape.reasons] == [
        "a task is missing, and means over different tasks are not comparable",
        "scored without an accuracy",
    ]
    assert shape.rows[0][0].text == "random guessing"
    assert not any(cell.best for cell in shape.rows[0])
    assert not any(cell.best for row in shape.rows for cell in row), "one training"


def test_tables_are_written_in_three_forms(tmp_path: Path) -> None:
    write_tables(whole(), tmp_path / "tables")
    names = sorted(path.stem for path in (tmp_path / "tables").glob("*.tex"))
    assert names == sorted(table.name for table in tables(whole()))
    assert len(list((tmp_path / "tables").glob("[!.]*"))) == 3 * len(names)


def test_the_best_is_found_within_its_group() -> None:
    frame = pl.DataFrame({"size": [8, 8, 16, 16, 32], "fertility": [2.0, 1.5, 1.2, 1.2, 1.0]})
    columns = [PrintedColumn("size"), PrintedColumn("fertility", kind="real", best="lowest")]
    shape = layout(Table("t", "c", frame, columns, best_within="size"))
    assert [row[1].best for row in shape.rows] == [False, True, True, True, False]


def test_signs_and_definitions_in_all_forms() -> None:
    table = small(
        marks={(0, "score"): "†"}, notes=["† not told apart."], definitions=["score_1: right answers; n = 200."],
        source=NumberSource(["tables/x.csv"], ["downstream/{model}/{variant}.json"], {"model": "tiny"}),
    )  # fmt: skip
    text = to_latex(table)
    assert r"\caption{Accuracy in \% of A \& B.}" in text
    assert r"{\footnotesize\raggedright score\_1: right answers; n = 200.\par}" in text
    assert r"51.0\textsuperscript{$\dagger$}" in text
    assert text.startswith("% Source: tables/x.csv, from downstream/tiny/VARIANT.json\n")
    assert "| 51.0† |" in to_markdown(table)
    assert "Source: tables/x.csv, from downstream/tiny/VARIANT.json." in to_markdown(table)
    assert to_csv(table).splitlines()[:2] == ["name,score,p,marks,missing", "a_b & 5 %,0.51,2.6e-06,score: †,"]


def pair(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_averages_at_a_size_are_marked_by_their_tests() -> None:
    rows = pl.DataFrame(
        {
            "rank": [1, 1, 3],
            "variant": ["x", "y", "z"],
            "average": [0.5, 0.5, 0.3],
            "1": [0.6, 0.5, 0.3],
            "2": [0.4, 0.5, 0.3],
        }
    )
    tested = {
        ("1", pair("x", "y")): (NO_DIFFERENCE, None), ("1", pair("x", "z")): (WORSE, None),
        ("2", pair("y", "z")): (NOT_TESTED, TWO_TRAININGS),
    }  # fmt: skip
    marks, notes = rank_marks(rows, tested)
    assert marks == {(0, "rank"): "=", (1, "rank"): "=", (1, "1"): "†", (2, "1"): "↓", (2, "2"): "○"}
    assert [note[0] for note in notes] == ["=", "†", "↓", "○"]
    single = rows.drop("2").with_columns(average=pl.col("1"))
    assert rank_marks(single, tested)[0] == {
        (0, "rank"): "=",
        (1, "rank"): "=",
        (1, "average"): "†",
        (2, "average"): "↓",
    }
    assert rank_marks(rows, {})[0] == {(0, "rank"): "=", (1, "rank"): "="}


def test_accuracies_below_the_best_are_marked() -> None:
    rows = [
        {"variant": variant, "t": share, "average": share} for variant, share in (("x", 0.5), ("y", 0.45), ("z", 0.3))
    ]
    tested = {
        ("t", pair("x", "y")): (NO_DIFFERENCE, None), ("t", pair("x", "z")): (BETTER, None),
        ("average", pair("x", "y")): (NO_DIFFERENCE, None), ("average", pair("x", "z")): (NOT_TESTED, TWO_TRAININGS),
    }  # fmt: skip
    marks, notes = accuracy_marks(rows, tested)
    assert marks == {(1, "t"): "†", (1, "average"): "†", (2, "t"): "↓", (2, "average"): "○"}
    assert notes[0].startswith("† no significant difference from the highest")
    assert notes[1:] == ["↓ significantly below the highest by the same test.", f"○ {TWO_TRAININGS}."]
    assert accuracy_marks(rows, {}) == ({}, [])
    level = [rows[0], rows[0] | {"variant": "y"}]
    assert accuracy_marks(level, {("t", pair("x", "y")): (NO_DIFFERENCE, None)}) == ({}, [])


def test_correlation_table_has_the_measures_of_the_figure() -> None:
    content = whole()
    table = next(table for table in tables(content) if table.name == "metric-correlations")
    rows = {row["metric"]: (place, row) for place, row in enumerate(table.frame.iter_rows(named=True))}
    place, row = rows["corpus token count"]
    assert table.reasons[place, "corpus_token_count"] == "the measure itself"
    pairs = content.part("metric_correlations")
    assert pairs is not None
    pair = pairs.filter(metric_a="corpus_token_count", metric_b="renyi_efficiency_2.5").row(0, named=True)
    assert row["renyi_efficiency_2.5"] == pair["r"] == rows["Rényi efficiency 2.5"][1]["corpus_token_count"]
    assert row["n"] == pair["n"] == 8
    assert table.intervals[place, "renyi_efficiency_2.5"] == fisher_interval(pair["r"], 8)
    assert any(note.startswith("Small numbers: 95 % intervals of r") for note in table.notes)
    assert table.reasons[place, "mean_token_length"] == "not measured here"
    place, row = rows["alignment"]
    assert row["n"] == 0
    assert table.reasons[place, "corpus_token_count"] == "0 in common; three are needed"


def test_correlations_of_comparable_tokenizers_have_interval_and_n(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fertility is over pre-tokens of two schemes; of one measure three tokenizers have a value."""
    measured = intrinsic()
    place = pl.col("variant").replace_strict(VARIANTS, range(4), return_dtype=pl.Int64)
    tokens = measured.filter(metric="corpus_token_count")
    fertility = tokens.with_columns(
        metric=pl.lit("fertility"), value=place * 0.5 + pl.col("size") / 999, n=pl.when(place > 1).then(7).otherwise(9)
    )
    few = tokens.head(3).with_columns(metric=pl.lit("mean_token_length"), value=pl.Series([3.0, 1.0, 2.5]))
    several = tokens.head(5).with_columns(metric=pl.lit("parity_range"), value=pl.Series([3.0, 1.0, 2.5, 2.0, 4.0]))
    gaps = fertility.with_columns(metric=pl.lit("gap"))
    frame = pl.concat([measured, fertility, gaps, few, several], how="vertical_relaxed")
    content = altered(
        whole(),
        intrinsic=frame,
        metric_correlations=between_metrics(frame),
        correlations=metric_with_accuracy(frame, accuracy()),
    )
    by_name = {one.name: one for one in tables(content)}
    for name in ("metric-correlations", "correlations"):
        table = by_name[name]
        assert "fertility" not in table.frame["metric"]
        assert any(
            note == "Left out, because the denominator depends on the tokenizer: fertility (tokens); gap (tokens)."
            for note in table.notes
        )
    table = by_name["metric-correlations"]
    assert "gap" not in table.frame.columns
    assert "with corpus token count, Rényi efficiency 2.5 and mean token length" in table.caption
    rows = {row["metric"]: (place, row) for place, row in enumerate(table.frame.iter_rows(named=True))}
    at, row = rows["parity range"]
    assert (row["n"], table.marks.get((at, "corpus_token_count")), table.marks.get((at, "mean_token_length"))) == (
        5, None, "n = 3",
    )  # fmt: skip
    assert (at, "corpus_token_count") in table.intervals
    assert (at, "mean_token_length") not in table.intervals
    monkeypatch.setattr(statistics, "LEAST_CORRELATED", 7)
    figure = next(one for one in drawings(content) if one.name == "corpus_token_count-accuracy-tiny-offline-books")
    assert figure.says.endswith("r = 0.31 (95 % interval: −0.58 to 0.86), n = 7.")


def test_a_corpus_has_one_checksum_however_it_is_cut() -> None:
    """Documents tell it: their numbers, languages and bytes, and where one ends."""
    documents = [Document(0, "en", b"a\tb"), Document(1, "", b"")]
    found = checksums(documents)
    assert (found.documents, found.bytes) == (2, 3)
    assert found == checksums(iter(documents))
    others = [
        documents[:1],
        documents[::-1],
        [Document(0, "e", b"na\tb"), documents[1]],
        [Document(0, "en", b"a\tb1\t\t0\n")],
    ]
    assert len({found.sha256, *(checksums(one).sha256 for one in others)}) == 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> Path:
    """A corpus in one shard and in three, a tokenizer's settings, counts of a corpus without documents."""
    from tests.support.pipeline import call

    folder = tmp_path_factory.mktemp("leaderboard")
    (folder / "text.txt").write_bytes(text)
    for name, shards in (("books", 3), ("same", 1)):
        source = {"type": "text", "path": [str(folder / "text.txt")], "documents": "line", "encoding": "bytes"}
        recipe = {"source": source, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "shards": shards, "seed": 0}
        (folder / "corpus").mkdir(exist_ok=True)
        call("prepare", "--recipe", recipe, "-o", str(folder / "corpus" / name), str(folder / "text.txt"))
    counts = folder / "pretokens" / "counted" / "evaluation" / "gpt2.parquet"
    counts.parent.mkdir(parents=True)
    count_pretokens([b"the cat"], "gpt2").write(counts)
    tokenizer = folder / "tokenizers" / "bpe" / "1024"
    tokenizer.mkdir(parents=True)
    settings = {
        "name": "bpe", "size": 1000, "sha256": "ab", "pretokenization": "gpt2", "segmentation": {"method": "merge"},
        "origin": {"construction": {"method": "bpe"}, "requested_size": 1024},
    }  # fmt: skip
    (tokenizer / "tokbench.json").write_text(json.dumps(settings))
    model = folder / "models" / "tiny" / "bpe" / "1024"
    for made, versions in ((tokenizer, {"numpy": "2.1"}), (model, {"torch": "2.7"})):
        made.mkdir(parents=True, exist_ok=True)
        (made / "manifest.json").write_text(json.dumps({"versions": versions}))
    (folder / "statistics").mkdir()
    whole().frames["scoreboard"].write_parquet(folder / "statistics" / "scoreboard.parquet")
    return folder


def test_shards_do_not_matter(made: Path) -> None:
    found = contents_in(made)
    assert found["books/evaluation"] == found["same/evaluation"]
    assert found["books/evaluation"] != found["books/tokenizer"]
    assert found["counted/evaluation/gpt2"].documents is None


def test_leaderboard(made: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    """All of the scoreboard, and what made it; nothing in it is a time, and the files are the same the next time."""
    counts = made / "pretokens" / "counted" / "evaluation" / "gpt2.parquet"
    inputs = [
        "--name", "small", "--statistics", made / "statistics", "--tokenizer", made / "tokenizers" / "bpe" / "1024",
        "--documents", made / "corpus" / "books", "--counts", counts,
        "--model", made / "models" / "tiny" / "bpe" / "1024",
    ]  # fmt: skip
    for name in ("first", "second"):
        done = tokbench("leaderboard", *inputs, "--table", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.json")
        assert done.status == 0, done.stderr
    for ending in ("csv", "json"):
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()
    text = (tmp_path / "first.json").read_text()
    found = json.loads(text, parse_constant=pytest.fail)
    assert not re.search(r"\d{4}-\d\d-\d\d|seconds", text)
    scores = whole().frames["scoreboard"]
    assert found["scores"] == scores.to_dicts()
    assert {one["corpus"]: one["sha256"] for one in found["corpora"] if one["split"] == "evaluation"} == {
        "books": contents_in(made)["books/evaluation"].sha256
    }
    [tokenizer] = found["tokenizers"]
    assert (tokenizer["variant"], tokenizer["size"], tokenizer["sha256"]) == ("bpe", 1024, "ab")
    assert tokenizer["tokens"] == 1000, "fewer than its size"
    assert tokenizer["versions"] == {"numpy": "2.1"}
    assert found["models"] == [{"model": "tiny", "variant": "bpe", "size": "1024", "versions": {"torch": "2.7"}}]
    names = {name for name in keys_of(found) if "versions." not in name}
    assert names == documented("leaderboard.json") - {"scores[]"} | {f"scores[].{name}" for name in SCOREBOARD.schema}
    rows = pl.read_csv(tmp_path / "first.csv", infer_schema_length=None)
    assert rows.columns == [
        *SCOREBOARD.schema, "experiment", "tokbench", "revision", "corpus_sha256", "tokenizer_sha256"
    ]  # fmt: skip
    assert rows["value"].to_list() == pytest.approx(scores["value"].to_list())
    of_bpe = rows.filter(pl.col("variant") == "bpe", pl.col("size") == 1024)
    assert set(of_bpe["tokenizer_sha256"]) == {"ab"}
    assert len(rows) > len(of_bpe) > 0


def test_answer_of_the_leaderboard(tmp_path: Path) -> None:
    """The best significant difference at the largest size, among tokenizers with the baseline's pre-tokenizer."""
    common = {"measure": "tokens", "corpus": "books", "baseline": "bpe", "baseline_pretokenization": "gpt2"}
    common |= {"difference_n": 40, "difference_unit": "documents"}
    common |= dict.fromkeys(("model", "suite", "seeds", "difference_reason"))
    differences = [
        ("bpe", 2048, "gpt2", None, None, None, "baseline"),
        ("good", 2048, "gpt2", -0.026, -0.036, -0.016, "better"),
        ("unsure", 2048, "gpt2", -0.05, -0.2, 0.1, "no significant difference"),
        ("other", 2048, "digit", -0.5, -0.6, -0.4, "better"),
        ("small", 1024, "gpt2", -0.5, -0.6, -0.4, "better"),
    ]
    names = ("variant", "size", "pretokenization", "difference", "difference_low", "difference_high")
    rows = [common | dict(zip((*names, "difference_verdict"), row, strict=True)) for row in differences]
    at = "At 2,048 tokens, with the pre-tokenizer gpt2, on books: "
    sentence = (
        "good needs 2.6 % fewer tokens than bpe (95 % interval −3.6 % to −1.6 %; 40 documents): significantly better."
    )
    for kept, expected in (
        (rows, at + sentence),
        (rows[:1], at + "no tokenizer needs significantly fewer tokens than bpe."),
        ([], "No tokenizer is compared with a baseline of the same pre-tokenizer."),
    ):
        (tmp_path / "leaderboard.json").write_text(json.dumps({"scores": kept}))
        assert answer(tmp_path) == expected


def test_leaderboard_without_a_scoreboard(tokbench: Tokbench, tmp_path: Path) -> None:
    message = tokbench("leaderboard", "--name", "a", "--statistics", tmp_path, "-o", tmp_path / "a.json").message
    assert message.endswith("scoreboard.parquet: no such file; compute the statistics again")
