"""The report on small synthetic results, whole and in part."""

import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from tests.small_report import DECLARED, IDENTIFIERS, PARTS, SIZES, VARIANTS, WHY, accuracy, altered, intrinsic, whole
from tokbench.errors import TokbenchError
from tokbench.report import findings
from tokbench.report.content import ReportContent, read_frames
from tokbench.report.exhibits import Drawing, Heading, Section
from tokbench.report.figures.shared import lean, share_letters
from tokbench.report.figures.style import SCREEN, svg
from tokbench.report.html import drawings, render, sections, tables
from tokbench.report.layout import Table, layout
from tokbench.report.sections.downstream import NO_STRADDLING
from tokbench.report.sections.intrinsic import intrinsic as intrinsic_section
from tokbench.report.sections.intrinsic import whole_corpus
from tokbench.report.subjects import by_subject
from tokbench.report.summary import summary
from tokbench.report.typeset import to_markdown
from tokbench.statistics.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.critical_difference import critical_differences
from tokbench.statistics.intervals import average_intervals
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages, averages_by_size
from tokbench.tabulation.intrinsic import INTRINSIC


def test_content_is_checked() -> None:
    with pytest.raises(TokbenchError, match=r"accuracy: no column task"):
        altered(whole(), accuracy=accuracy().drop("task"))
    with pytest.raises(TokbenchError, match=r"accuracy.accuracy: 48.8 is not a share between 0 and 1"):
        altered(whole(), accuracy=accuracy().with_columns(accuracy=pl.lit(48.8)))


def test_frames_are_read_by_name(tmp_path: Path) -> None:
    accuracy().write_parquet(tmp_path / "accuracy.parquet")
    accuracy().write_parquet(tmp_path / "else.parquet")
    assert list(read_frames({"tables": tmp_path, "statistics": tmp_path}, DECLARED)) == ["accuracy"]


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


class Checker(HTMLParser):
    """Collects ids, links and text; fails on elements that are not closed in order."""

    VOID = frozenset({"meta", "input", "br", "link", "wbr"})

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
    links = {link for link in checker.links if not link.startswith("data:image/png;base64,")}
    assert {link for link in links if not link.startswith("#")} == set()
    assert {link[1:] for link in links} <= set(checker.ids)
    assert not re.search(r"https?://|url\((?!#)|@import", page)
    assert {"experiment", "tokenizers", "configuration"} <= set(checker.ids)
    return page, checker


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Checker, Path]:
    """The page of the whole report, what stands on it, and the folder in which it was written."""
    folder = tmp_path_factory.mktemp("whole")
    return *rendered(whole(), folder), folder


def test_the_whole_report(shown: tuple[str, Checker, Path]) -> None:
    page, checker, folder = shown
    text = " ".join(checker.text)
    assert all(variant in text for variant in VARIANTS)
    assert "<title>A &lt;small&gt; experiment &amp; its report</title>" in page
    assert "# &lt;script&gt;" in page
    assert {*IDENTIFIERS, "summary", "evidence", "published"} <= set(checker.ids)
    assert checker.ids.index("summary") < checker.ids.index("evidence") < checker.ids.index("intrinsic")
    assert WHY in text
    assert page.count("<svg") == 1 + len(drawings(whole())) == 25, "figures, and their letters"
    assert page.count("<table") == len(tables(whole()))
    assert [path.name for path in folder.iterdir()] == ["report.html"]


def test_the_same_content_gives_the_same_page(shown: tuple[str, Checker, Path], tmp_path: Path) -> None:
    """The content is made anew."""
    assert rendered(whole.__wrapped__(), tmp_path)[0] == shown[0]


def test_no_two_tables_or_columns_have_one_name() -> None:
    shown = tables(whole())
    assert len({table.caption for table in shown}) == len(shown)
    for table in shown:
        heads = layout(table).headers
        assert len(set(heads)) == len(heads), table.name


def test_figures_are_told_by_their_findings(shown: tuple[str, Checker, Path]) -> None:
    page, _, _ = shown
    assert 'aria-label="At a vocabulary of 2,048, random needs the fewest tokens for books: 114,952' in page
    drawn = {drawing.name: drawing.says for drawing in drawings(whole())}
    assert not [name for name, says in drawn.items() if not says]
    assert drawn["curves-tiny"].endswith("It is per token: tokenizers cannot be compared by it.")
    assert not re.search(r">\s+<", page[page.index("<svg") : page.index("</svg>")])


def test_a_page_has_no_node_of_a_figure_that_says_nothing(shown: tuple[str, str, list[str]]) -> None:
    """Groups without attributes, and Matplotlib's style sheets, of which the page's own has what they say."""
    drawn = (
        '<svg><defs>\n<style type="text/css">*{stroke-linejoin: round}</style>\n</defs>\n<g id="f"><g id="l"/>'
        '<g class="told"><g><path d="M 0 0"/></g></g><g id="m"><use href="#m"/></g><g></g></g></svg>'
    )
    assert lean(drawn) == (
        '<svg><defs></defs><g class="told"><path d="M 0 0"/></g><g id="m"><use href="#m"/></g></svg>'
    )
    page = shown[0]
    assert page.count("<style") == 1
    assert "<g>" not in page
    assert "<g/>" not in page
    assert ".drawing svg * { stroke-linejoin: round; stroke-linecap: butt; }" in page
    assert "*{stroke-linejoin: round; stroke-linecap: butt}" in svg(drawings(whole())[0].draw(width=SCREEN))


def test_letters_of_all_figures_are_defined_once() -> None:
    """What refers to a letter refers to its shape, at the same place; other references and marks stay."""
    letter = '<path id="{}" d="M 1 2" transform="scale(0.015625)"/>'
    figure = (
        '<svg><!-- ab -->\n<g id="{0}-text_1"><defs>\n' + letter.format("{0}-A") + "\n</defs>"
        '<use href="#{0}-A"/><use href="#{0}-A" x="63.62"/>'
        '<use href="#{0}-A" transform="translate(1 2) scale(0.7)"/></g>'
        '<defs><path id="{0}-m" d="M 0 0"/></defs><use href="#{0}-m" x="1" y="2"/></svg>'
    )
    second = figure.format("f2").replace("M 1 2", "M 3 4")
    letters, shared = share_letters([lean(one) for one in (figure.format("f1"), second, figure.format("f3"))])
    assert re.findall(r'<path id="(c\d)" d="([^"]*)"', letters) == [("c0", "M 1 2"), ("c1", "M 3 4")]
    body = '<svg><use href="#c1"/><use href="#c1" x="63.62"/><use href="#c1" transform="translate(1 2) scale(0.7)"'
    assert shared[1].startswith(body)
    assert [one.replace("f3", "f1") for one in (shared[0], shared[2])] == [shared[0]] * 2
    assert shared[0].endswith('<defs><path id="f1-m" d="M 0 0"/></defs><use href="#f1-m" x="1" y="2"/></svg>')


def test_a_gap_may_be_above_the_whole() -> None:
    """A bound that a short search has left low is no mistake of the table."""
    wide = whole().frames["bounds"].with_columns(gap=pl.lit(2.98), unsettled=pl.lit(2.9))
    table = next(one for one in tables(altered(whole(), bounds=wide)) if one.name == "bounds-books")
    assert "298.000" in to_markdown(table)


def test_findings() -> None:
    """Each sentence beside what it is about, worked out by hand."""
    values = {("a", 1): 9.0, ("a", 2): 3.0, ("b", 2): 1.5, ("c", 2): 2.0}
    assert findings.between("Loss", values) == "Loss at a vocabulary of 2: from 1.500, b, to 3.000, a."
    assert findings.between("Loss", {("a", 2): 3.0}, 2) == "Loss at a vocabulary of 2: 3.00, a."
    alone = "Loss at a vocabulary of 2: from 1.500, b, to 3.000, a."
    assert findings.between("Loss", {**values, ("own", 9): 0.1}) == alone, "one of another size is beside no other"
    assert findings.between("Loss", {("a", 2): 3.0, ("b", 2): 3.001}, 1).endswith("3.0 with each, as far as is shown.")
    averages = {("tiny", "a"): 40.0, ("tiny", "b"): 41.25, ("large", "a"): 52.0}
    averages |= {("tiny", "c"): 41.24}
    assert findings.first_by_model(averages).endswith(": b and c with tiny, 41.2 %; a with large, 52.0 %.")
    p_values = {("a", "b"): 0.01, ("b", "a"): 0.99, ("a", "c"): 0.4, ("c", "a"): 0.6, ("b", "c"): None}
    counted = "Of 2 pairs, 1 has p ≤ 0.05 in one direction, uncorrected"
    assert findings.told_apart(p_values, dict.fromkeys(p_values, 1.0)) == f"{counted}, and 0 after Holm's correction."
    assert findings.told_apart(p_values, p_values) == f"{counted}, and 1 after Holm's correction."
    assert findings.told_apart({("a", "b"): 0.5}, {("a", "b"): 1.0}) == (
        "None of 1 pair is told apart (p ≤ 0.05 in one direction, uncorrected)."
    )
    ranks = {"a": 1.2, "b": 1.9, "c": 3.4}
    assert findings.within_reach(ranks, 1.0).endswith("is that of a, 1.20; not told apart from it: b.")
    assert findings.within_reach(ranks, 0.1).endswith("it is told apart from all others.")
    assert findings.within_reach({"a": 1.0}, 0.1) == "The lowest average rank is that of a, 1.00."
    verdicts = ["worse", "better", "worse"]
    assert findings.by_verdict("bpe", verdicts) == "Of 3 tokenizers beside bpe, 1 is better and 2 are worse."
    told = findings.sides_of_zero("bpe", [(1, 2), (-1, 1), (-3, -2), None, (0.5, 1)])
    assert told == "4 intervals of a difference from bpe: 2 above zero, 1 below it, 1 with zero inside."
    assert findings.sides_of_zero("bpe", [None]) == "No difference from bpe has an interval."
    regions = {"all": 4, "only_a": 1, "only_b": 2, "only_c": 3}
    assert findings.shared(regions, "xyz").startswith("4 tokens in all three vocabularies; 1 in x alone, 2 in y")


def test_intrinsic_stages_alone(tmp_path: Path) -> None:
    absent = dict.fromkeys(set(PARTS) - {"intrinsic", "overlaps"})
    why = {"accuracy": "The configuration trains no language models."}
    content = altered(whole(), **absent, missing=why)
    page, _ = rendered(content, tmp_path)
    assert page.count("The configuration trains no language models.") == 1
    assert "Not here: downstream accuracy. The configuration trains no language models." in page
    assert re.search(r"Not here: [^.]*Venn diagram[^.]*\. This run gave no such table", page, re.IGNORECASE)
    assert page.count("This run gave no such table") == 1
    assert "published" not in [section.identifier for section in sections(content)]


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


def test_one_size_and_two_variants(tmp_path: Path) -> None:
    scores = accuracy().filter(pl.col("size") == 1024, pl.col("variant").is_in(["bpe", "sage"]))
    measures = intrinsic().filter(pl.col("size") == 1024, pl.col("variant").is_in(["bpe", "sage"]))
    content = altered(
        whole(), recipes={name: whole().recipes[name] for name in ("bpe", "sage")}, accuracy=scores, intrinsic=measures,
        ranks=averages(scores), ranks_by_size=averages_by_size(scores), comparisons=compare_pairs(scores),
        intervals=average_intervals(scores), power=power_table(compare_pairs(scores)), seeds=None,
        critical_differences=critical_differences(scores),
        r_squared=between_sizes(scores), correlations=metric_with_accuracy(measures, scores), venn=None, published=None,
        metric_correlations=between_metrics(measures), bits_per_byte=None, curves=None, overlaps=None,
    )  # fmt: skip
    page, checker = rendered(content, tmp_path)
    assert "Not here: R² of accuracies at two vocabulary sizes. No model was tested at more than one." in page
    assert "2 in common; three are needed" in " ".join(checker.text)


def test_a_test_that_cannot_see_anything_is_no_word_on_those_beside_it() -> None:
    """With one size and two tasks there are too few cells for the signed-rank test, and enough questions for others."""
    scores = accuracy().filter(pl.col("size") == 1024, pl.col("task").is_in(["choice_a", "choice_c"]))
    blind = altered(whole(), power=power_table(compare_pairs(scores)))
    told = next(one for one in sections(blind) if one.identifier == "statistics").paragraphs[0]
    assert "no difference of any size could have been detected: there are fewer than five cells" in told
    assert told.endswith("Tests over the questions, below, do not take so many cells.")
    alone = next(one for one in sections(altered(blind, question_comparisons=None)) if one.identifier == "statistics")
    assert "below" not in alone.paragraphs[0]


def test_what_a_comparison_says_beyond_its_p_value() -> None:
    content = whole()
    told = next(section for section in sections(content) if section.identifier == "statistics")
    test = "Accuracy of tiny on offline: by the Wilcoxon signed-rank test over cells"
    assert any(text.startswith(test) and ", a mean difference under " in text for text in told.paragraphs)
    assert told.paragraphs[-1].startswith("Accuracies of models that differ only in their seed")
    alone = altered(content, seeds=None)
    assert any("trained with one seed" in text for section in sections(alone) for text in section.paragraphs)
    pairs = next(table for table in tables(content) if table.name == "comparisons-tiny-offline")
    shown = to_markdown(pairs)
    assert all(f"| {header} |" in shown for header in ("p, Holm", "p, BH", "rank-biserial", "detectable (points)"))
    ranks = next(table for table in tables(content) if table.name == "average-ranks-tiny-offline")
    assert "bpe | – [a]" in to_markdown(ranks)
    assert "[a] missing: 2048/choice\\_b" in to_markdown(ranks)


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
    opposite = {"better": "worse", "worse": "better"}
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
    assert "Crossed cells have no p-value." in crossed["p-values-tiny-offline"]
    both = {one.name: one.caption for one in drawings(altered(content, intrinsic=frames["intrinsic"]))}
    assert "larger marks" not in both["bits-against-tokens-books"]
    assert "larger marks" in both["corpus_token_count-accuracy-tiny-offline-books"]


def test_sentences_say_what_is_so_here() -> None:
    """A running mean only where there is one, the baseline's empty cells by their reason, models as configured."""
    frames = whole().frames
    captions = {one.name: one.caption for one in drawings(whole())}
    assert "running mean" not in captions["curves-tiny"]
    long = frames["curves"].with_columns(batch=pl.lit(1))
    several = pl.concat([long] * 3).with_columns(pl.int_range(pl.len()).over("variant", "size").alias("batch"))
    smooth = {one.name: one.caption for one in drawings(altered(whole(), curves=several))}
    assert "Lines are a running mean over a fiftieth of the curve" in smooth["curves-tiny"]
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
    assert "it is the baseline: nothing is added or dropped" in table.reasons.values()
    scores = pl.concat([accuracy().with_columns(model=pl.lit(name)) for name in ("atom", "tiny")])
    facts = altered(whole(), accuracy=scores, models=["tiny", "atom"])
    [told] = [list(one.paragraphs) for one in sections(facts) if one.identifier == "experiment"]
    assert "2 language-model recipes: tiny and atom." in told


def test_percentages_and_times_are_told_as_such(shown: tuple[str, Checker, Path]) -> None:
    """Where a number is asked of: a share stands under "(%)", and a time is in no table."""
    page, _, _ = shown
    assert re.search(r'<th [^>]*data-kind="percent"[^>]*>accuracy, tiny on offline \(%\)', page)


def test_every_table_and_figure_names_its_files(shown: tuple[str, Checker, Path]) -> None:
    """All but the settings themselves: a tidy table, and the results behind it where a number has one row or column."""
    content = whole()
    for exhibit in [*tables(content), *drawings(content)]:
        assert exhibit.source or exhibit.name == "provenance", exhibit.name
    page, checker, _ = shown
    assert 'data-files="downstream/{model}/{variant}/{size}/{suite}.json"' in page
    assert 'data-at="{&#34;size&#34;: 1024}"' in page
    assert {f"recipe-{variant}" for variant in VARIANTS} <= set(checker.ids)
    parts = {
        part for exhibit in [*tables(content), *drawings(content)] if exhibit.source for part in exhibit.source.tables
    }
    named = {Path(part).stem for part in parts} - {"tokenizers"}
    assert named <= set(PARTS)


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
