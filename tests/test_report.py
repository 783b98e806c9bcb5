"""Tables, figures and the report on small synthetic results, whole and in part."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from tokbench.registry import TokbenchError
from tokbench.report.content import ReportContent, read_frames
from tokbench.report.exhibits import Section
from tokbench.report.figures import by_variant, critical_difference, differences, p_values, scatter
from tokbench.report.figures.by_model import _apart
from tokbench.report.figures.critical_difference import cliques
from tokbench.report.figures.style import COLUMN, FULL, save, styles, svg
from tokbench.report.files import write_tables
from tokbench.report.html import drawings, render, sections, tables
from tokbench.report.numbers import fitting_decimals, printed, probability
from tokbench.report.sections.intrinsic import intrinsic as intrinsic_section
from tokbench.report.sections.intrinsic import whole_corpus
from tokbench.report.summary import summary
from tokbench.report.tables import Column, Table, latex, layout, to_csv, to_latex, to_markdown, write_table
from tokbench.statistics.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.critical_difference import critical_differences
from tokbench.statistics.intervals import average_intervals
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages, averages_by_size
from tokbench.statistics.seeds import between_seeds

VARIANTS = ["bpe", "unigram_greedy", "sage", "random"]
SIZES = [1024, 2048]
TASKS = ["choice_a", "choice_b", "choice_c", "choice_d", "choice_e"]
WHY = "no gold word is spelt by the vocabulary's tokens & bytes"


def accuracy() -> pl.DataFrame:
    """sage is best everywhere, random worst; bpe has no score on one task."""
    rows = [
        {
            "model": "tiny", "variant": variant, "size": size, "suite": "offline", "task": task,
            "accuracy": None if (variant, size, task) == ("bpe", 2048, "choice_b")
            else 0.4 + 0.1 * place + 0.002 * index + 0.01 * (size == 2048),
            "random_baseline": 0.25, "n": 200, "stderr": 0.03, "straddling": 1,
        }
        for place, variant in enumerate(["random", "unigram_greedy", "bpe", "sage"])
        for size in SIZES
        for index, task in enumerate(TASKS)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def seeded() -> pl.DataFrame:
    """Two seeds, the second a point better everywhere."""
    second = accuracy().with_columns(pl.col("accuracy") + 0.01, seed=pl.lit(2))
    return pl.concat([accuracy().with_columns(seed=pl.lit(1)), second])


def intrinsic() -> pl.DataFrame:
    rows = []
    for place, variant in enumerate(VARIANTS):
        for size in SIZES:
            head = {"variant": variant, "size": size, "corpus": "books", "language": "", "reason": None}
            count, nominal = 120_000 - 1000 * place - size, "entropy / log(nominal vocabulary size)"
            rows += [
                head | {"metric": "corpus_token_count", "definition": "tokens", "value": float(count), "n": count},
                head
                | {"metric": "renyi_efficiency_2.5", "definition": nominal, "value": 0.5 - 0.01 * place, "n": size},
                head | {"metric": "alignment", "definition": "mean F1", "value": None, "n": 0, "reason": WHY},
            ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"value": pl.Float64, "reason": pl.String})


def whole() -> ReportContent:
    scores, measures = accuracy(), intrinsic()
    runs = [(variant, size) for variant in VARIANTS for size in SIZES]
    curves = [
        {
            "model": "tiny",
            "variant": variant,
            "size": size,
            "batch": batch,
            "tokens": 2048 * batch,
            "loss": 3 + 5 / batch,
        }
        for variant, size in runs
        for batch in range(1, 40)
    ]
    bits = [
        {
            "model": "tiny",
            "variant": variant,
            "size": size,
            "suite": "offline",
            "value": 1.2 + 0.1 * place,
            "reason": None,
        }
        for place, (variant, size) in enumerate(runs)
    ]
    theirs = {"variant": "bpe", "size": 32768, "measure": "average_accuracy", "ours": None, "published": 48.8}
    regions = {"only_a": 300, "only_b": 250, "only_c": 400, "a_and_b": 120, "a_and_c": 90, "b_and_c": 80, "all": 256}
    return ReportContent(
        title="A <small> experiment & its report",
        recipes={
            "bpe": {"pretokenization": "gpt2", "construction": "bpe"},
            "unigram_greedy": {"pretokenization": "gpt2", "construction": "unigram", "segmentation": "greedy"},
            "sage": {"pretokenization": "gpt2", "construction": {"method": "sage", "initial": "bpe", "steps": [8, 4]}},
            "random": {"pretokenization": "space_digit", "construction": "randtrain"},
        },
        configuration="name: small\nvariants: {bpe: {construction: bpe}} # <script>",
        provenance={"versions": {"numpy": "2.1.0"}, "revision": None, "hardware": {"cores": 2}},
        models=["tiny"],
        intrinsic=measures,
        accuracy=scores,
        bits_per_byte=pl.DataFrame(bits, schema_overrides={"reason": pl.String}),
        curves=pl.DataFrame(curves),
        ranks=averages(scores),
        ranks_by_size=averages_by_size(scores),
        intervals=average_intervals(scores),
        comparisons=compare_pairs(scores),
        power=power_table(compare_pairs(scores)),
        critical_differences=critical_differences(scores),
        seeds=between_seeds(seeded()),
        correlations=metric_with_accuracy(measures, scores),
        metric_correlations=between_metrics(measures),
        r_squared=between_sizes(scores),
        overlaps=pl.DataFrame({"a": ["bpe"], "b": ["sage"], "size": [1024], "shared": [346], "jaccard": [0.21]}),
        venn=pl.DataFrame([{"size": 1024, "a": "bpe", "b": "sage", "c": "random", **regions}]),
        published=pl.DataFrame([theirs | {"source": "Table 4"}], schema_overrides={"ours": pl.Float64}),
    )


PARTS = ("intrinsic", "accuracy", "bits_per_byte", "curves", "ranks", "ranks_by_size", "intervals", "comparisons",
         "power", "critical_differences", "seeds", "correlations", "metric_correlations", "r_squared", "overlaps",
         "venn", "published")  # fmt: skip
IDENTIFIERS = ["experiment", "tokenizers", "intrinsic", "models", "downstream", "statistics", "vocabularies",
               "configuration", "provenance"]  # fmt: skip


def small(**details: object) -> Table:
    frame = pl.DataFrame({"name": ["a_b & 5 %", "guess", "c"], "score": [0.51, 0.9, 0.514], "p": [2.6e-6, 0.045, None]})
    columns = [Column("name"), Column("score", "score_1", "percent", best="highest"), Column("p", kind="p")]
    return Table("scores", "Accuracy in % of A & B.", frame, columns, {(2, "p"): "no cell in common"}, **details)  # type: ignore[arg-type]


# Numbers


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([32768.0, 1.0], 0), ([0.604, 0.2], 3), ([1.607], 3), ([12.34, 1.5], 2), ([1234.5], 0), ([0.00123], 5), ([], 0)],
)
def test_digits_fit_the_column(values: list[float], decimals: int) -> None:
    assert fitting_decimals(values) == decimals


def test_numbers_as_printed() -> None:
    assert printed(1_480_000_000, "count") == "1,480,000,000"
    assert printed(-0.1234, "real", 3) == "−0.123"
    assert printed(0.001953, "p", 3) == "0.00195"
    assert printed(0.4876, "percent", 1) == "48.8"
    assert [probability(p) for p in (0.52, 0.045, 0.0027, 2.6e-6, 1.0)] == [
        "0.52",
        "0.045",
        "0.0027",
        "2.6×10⁻⁶",
        "1.0",
    ]


# Tables


def test_the_best_is_bold_and_a_reference_never() -> None:
    shape = layout(small(reference_rows=frozenset([1])))
    assert [row[1].text for row in shape.rows if row[1].best] == ["51.4"]
    assert [row[1].text for row in layout(small()).rows if row[1].best] == ["90.0"]
    tied = Table("t", "c", pl.DataFrame({"x": [0.5001, 0.5004, 0.2]}), [Column("x", "", "percent", best="highest")])
    assert [row[0].best for row in layout(tied).rows] == [True, True, False]


def test_latex_is_escaped_and_whole() -> None:
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


def test_markdown_and_csv_tell_why_a_cell_is_empty() -> None:
    markdown = to_markdown(small(notes=["n | m"]))
    assert "| c | 51.4 | – [a] |" in markdown
    assert "[a] no cell in common" in markdown
    assert r"n \| m" in markdown
    lines = to_csv(small()).splitlines()
    assert lines[0] == "name,score,p,missing"
    assert lines[3] == "c,0.514,,p: no cell in common"


def test_columns_follow_from_types_and_mistakes_are_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"size": [32768], "value": [None]}, schema_overrides={"value": pl.Float64})
    table = Table("plain", "Plain.", frame)
    assert [cell.text for cell in layout(table).rows[0]] == ["32,768", "–"]
    assert layout(table).reasons == [("a", "no value was recorded")]
    assert [path.suffix for path in write_table(table, tmp_path / "deep" / "plain")] == [".csv", ".md", ".tex"]
    with pytest.raises(TokbenchError, match="table plain: no column 'valeu' in size, value"):
        Table("plain", "Plain.", frame, [Column("valeu")])


# Content


def test_content_is_checked() -> None:
    with pytest.raises(TokbenchError, match=r"accuracy: no column task"):
        replace(whole(), accuracy=accuracy().drop("task"))
    with pytest.raises(TokbenchError, match=r"accuracy.accuracy: 48.8 is not a share between 0 and 1"):
        replace(whole(), accuracy=accuracy().with_columns(accuracy=pl.lit(48.8)))


def test_frames_are_read_by_name(tmp_path: Path) -> None:
    accuracy().write_parquet(tmp_path / "accuracy.parquet")
    accuracy().write_parquet(tmp_path / "else.parquet")
    assert list(read_frames(tmp_path)) == ["accuracy"]


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


# Figures


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    points = {(variant, size): (1e9 + 1e6 * i, 40.0 + i) for i, (variant, size) in enumerate(
        (variant, size) for variant in VARIANTS for size in SIZES)}  # fmt: skip
    look = styles(VARIANTS)

    def draw() -> str:
        return svg(scatter.draw(points, VARIANTS, look, "tokens", "accuracy (%)", correlation=(-0.5, 8), width=COLUMN))

    first = draw()
    assert first == draw()
    assert "dc:date" not in first
    assert "Matplotlib" not in first
    paths = save(
        by_variant.draw({key: y for key, (_, y) in points.items()}, VARIANTS, look, "accuracy (%)"), tmp_path / "dots"
    )
    assert [path.name for path in paths] == ["dots.svg", "dots.png"]
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_a_variant_keeps_its_style_when_others_are_added() -> None:
    many = [f"variant_{index}" for index in range(21)]
    assert all(styles(many)[name] == style for name, style in styles(many[:5]).items())
    assert len({style.colour for style in styles(many).values()}) == len(many)


@pytest.mark.parametrize("width", [COLUMN, FULL])
def test_labels_cover_neither_each_other_nor_the_frame(width: float) -> None:
    names = [f"variant_{index:02}" for index in range(8)]
    points = {(name, 1024): (1e6 + 300.0 * (i % 3), 50 + 0.01 * (i % 2)) for i, name in enumerate(names)}
    figure = scatter.draw(points, names, styles(names), "tokens", "accuracy (%)", width=width)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert len(boxes) == len(names)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


@pytest.mark.parametrize("count", [2, 6, 18])
def test_matrices_of_any_size_keep_their_names_on_the_page(count: int) -> None:
    names = [f"pathpiece_ngram_variant_{index}" for index in range(count)]
    values = {
        (a, b): None if i == j + 1 else 10.0 ** -(i % 7) for i, a in enumerate(names) for j, b in enumerate(names)
    }
    figure = p_values.draw(values, names, width=COLUMN)
    labels = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == count
    assert all(label.x0 >= 0 for label in labels)
    heights = sorted((label.y0, label.y1) for label in labels)
    assert all(below[1] <= above[0] + 1 for below, above in pairwise(heights))


def test_labels_at_the_end_of_lines_are_moved_apart() -> None:
    assert _apart([1.0, 5.0], 1.0) == [1.0, 5.0]
    assert _apart([1.0, 1.0, 1.0], 1.0) == [0.0, 1.0, 2.0]


# The report


class Checker(HTMLParser):
    """Collects ids, links and text; fails on elements that are not closed in order."""

    VOID = frozenset({"meta", "input", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name.rpartition(":")[2] in ("href", "src", "action", "data"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rendered(content: ReportContent, folder: Path) -> tuple[str, Checker]:
    path = folder / "report.html"
    render(content, path)
    page = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    assert {link for link in checker.links if not link.startswith("#")} == set()
    assert {link[1:] for link in checker.links} <= set(checker.ids)
    assert not re.search(r"https?://|url\((?!#)|@import", page)
    assert set(IDENTIFIERS) | {"summary"} <= set(checker.ids)
    return page, checker


def test_the_whole_report(tmp_path: Path) -> None:
    page, checker = rendered(whole(), tmp_path)
    text = " ".join(checker.text)
    assert all(variant in text for variant in VARIANTS)
    assert "<title>A &lt;small&gt; experiment &amp; its report</title>" in page
    assert "# &lt;script&gt;" in page
    assert "published" in checker.ids
    assert WHY in text
    assert page.count("<svg") == len(drawings(whole())) == 9
    assert page.count("<table") == len(tables(whole()))
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_same_content_gives_the_same_page(tmp_path: Path) -> None:
    assert rendered(whole(), tmp_path / "a")[0] == rendered(whole(), tmp_path / "b")[0]


def test_the_summary_says_what_the_tables_say() -> None:
    told = summary(whole())
    assert told[0].startswith(
        "Under tiny on offline, sage has the highest average accuracy, 70.9 % (random guessing: 25.0 %)."
    )
    assert "significantly better than every other variant" in told[0]
    assert told[1] == "Not ranked for want of some results: bpe."
    assert told[2].startswith("On books, random at 2,048 needs the fewest tokens, 114,952;")
    assert told[3] == "The lowest bits per byte are 1.2000, by bpe at 1,024 under tiny."
    alike = accuracy().with_columns(accuracy=pl.lit(0.5))
    level = replace(whole(), accuracy=alike, ranks=averages(alike), comparisons=compare_pairs(alike))
    assert "significantly better than every other" not in summary(level)[0]


def test_intrinsic_stages_alone(tmp_path: Path) -> None:
    absent = dict.fromkeys(set(PARTS) - {"intrinsic", "overlaps"})
    why = {"accuracy": "The configuration trains no language models."}
    content = replace(whole(), **absent, missing=why)  # type: ignore[arg-type]
    page, _ = rendered(content, tmp_path)
    assert "Downstream accuracy: The configuration trains no language models." in page
    assert "Venn diagram: This run gave no such table" in page
    assert "published" not in [section.identifier for section in sections(content)]


@pytest.mark.parametrize("part", PARTS)
def test_any_one_part_may_be_missing_or_empty(part: str) -> None:
    content = whole()
    shown: list[list[Section]] = []
    for gap in (None, getattr(content, part).clear()):
        partial = replace(content, **{part: gap})
        shown.append(sections(partial))
        assert all(layout(table).rows for table in tables(partial))
        summary(partial)
    assert [section.missing for section in shown[0]] == [section.missing for section in shown[1]]
    if part not in ("published", "seeds"):
        assert any(section.missing for section in shown[0])


def test_one_size_and_two_variants(tmp_path: Path) -> None:
    scores = accuracy().filter(pl.col("size") == 1024, pl.col("variant").is_in(["bpe", "sage"]))
    measures = intrinsic().filter(pl.col("size") == 1024, pl.col("variant").is_in(["bpe", "sage"]))
    content = replace(
        whole(), recipes={name: whole().recipes[name] for name in ("bpe", "sage")}, accuracy=scores, intrinsic=measures,
        ranks=averages(scores), ranks_by_size=averages_by_size(scores), comparisons=compare_pairs(scores),
        intervals=average_intervals(scores), power=power_table(compare_pairs(scores)), seeds=None,
        critical_differences=critical_differences(scores),
        r_squared=between_sizes(scores), correlations=metric_with_accuracy(measures, scores), venn=None, published=None,
        metric_correlations=between_metrics(measures), bits_per_byte=None, curves=None, overlaps=None,
    )  # fmt: skip
    page, checker = rendered(content, tmp_path)
    assert "R²: This run gave no such table" in page
    assert "2 in common; three are needed" in " ".join(checker.text)


def test_what_a_comparison_says_beyond_its_p_value() -> None:
    content = whole()
    told = next(section for section in sections(content) if section.identifier == "statistics")
    assert any(text.startswith("tiny on offline: A mean difference under ") for text in told.paragraphs)
    assert told.paragraphs[-1].startswith("Accuracies of models that differ in nothing but the seed")
    alone = replace(content, seeds=None)
    assert any("trained with one seed" in text for section in sections(alone) for text in section.paragraphs)
    pairs = next(table for table in tables(content) if table.name == "comparisons-tiny-offline")
    shown = to_markdown(pairs)
    assert all(f"| {header} |" in shown for header in ("p, Holm", "p, BH", "rank-biserial", "seen from (points)"))
    ranks = next(table for table in tables(content) if table.name == "average-ranks-tiny-offline")
    assert "bpe | – [a]" in to_markdown(ranks)
    assert "[a] missing: 2048/choice\\_b" in to_markdown(ranks)


def test_bars_join_variants_that_are_not_told_apart() -> None:
    assert cliques({"a": 1.0, "b": 2.0, "c": 3.0, "d": 9.0}, 1.0) == [["a", "b"], ["b", "c"]]
    assert cliques({"a": 1.0, "b": 2.0, "c": 3.0}, 2.0) == [["a", "b", "c"]]
    assert cliques({"a": 1.0, "b": 3.0}, 1.5) == []


@pytest.mark.parametrize("count", [2, 5, 26])
def test_average_ranks_keep_their_names_on_the_page(count: int) -> None:
    ranks = {f"pathpiece_ngram_variant_{index}": 1 + 0.9 * index for index in range(count)}
    figure = critical_difference.draw(ranks, 3.0, styles(list(ranks)), width=FULL)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if "variant" in text.get_text()]
    assert len(boxes) == count
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_differences_are_hollow_where_the_interval_holds_zero() -> None:
    rows = [differences.Row("a − b", 1.0, (0.5, 1.5), "p"), differences.Row("a − c", 0.1, (-0.5, 0.7), "p")]
    figure = differences.draw(rows, "points", seen_from=0.4, heading="p")
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [mark.get_markerfacecolor() == "white" for mark in marks] == [False, True]


def test_missing_scores_are_explained() -> None:
    wanted = next(table for table in tables(whole()) if table.name == "accuracy-tiny-offline-2048")
    shape = layout(wanted)
    assert [reason for _, reason in shape.reasons] == [
        "a task is missing, and means over different tasks cannot be compared",
        "scored without an accuracy",
    ]
    assert shape.rows[0][0].text == "random guessing"
    assert not any(cell.best for cell in shape.rows[0])
    bold = {row[0].text for row in shape.rows for cell in row if cell.best}
    assert bold == {"sage"}


def test_tables_are_written_in_three_forms(tmp_path: Path) -> None:
    write_tables(whole(), tmp_path / "tables")
    names = sorted(path.stem for path in (tmp_path / "tables").glob("*.tex"))
    assert names == sorted(table.name for table in tables(whole()))
    assert len(list((tmp_path / "tables").iterdir())) == 3 * len(names)


def test_gold_data_are_no_text() -> None:
    """Captions say what was measured: the words of a resource, means over all of them, or a corpus."""
    measures = intrinsic()
    frames = [measures.with_columns(corpus=pl.lit(name)) for name in ("books", "ladec", "all resources")]
    content = replace(whole(), intrinsic=pl.concat(frames), resources=["ladec"])
    captions = [exhibit.caption for exhibit in intrinsic_section(content).exhibits if isinstance(exhibit, Table)]
    assert [caption.rpartition(" over ")[2] for caption in captions] == [
        "all resources.",
        "the text of the evaluation split of books.",
        "the words of ladec.",
    ]
