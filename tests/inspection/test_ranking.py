"""Rankings of several tokenizers, in total and by language, in every format."""

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

import tokbench
from tests.conftest import Tokbench
from tests.support.library_tokenizers import byte_level, written
from tokbench.api.comparison import Comparison
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.ranking_tables import ranking_tables
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

BYTES = tuple(bytes([value]) for value in range(256))
NAMES = ("none", "th", "the")
EN = [f"the theme of the {number} other thirds" for number in range(12)]
DE = [f"das Thema der {number} anderen Drittel" for number in range(12)]


def greedy(name: str, *tokens: bytes) -> Tokenizer:
    """Return an external tokenizer of the bytes and some tokens."""
    origin = {"imported": {"form": "tokens"}}
    return Tokenizer(Vocabulary((*BYTES, *tokens)), "gpt2", "greedy", name=name, origin=origin)


@pytest.fixture
def tokenizers() -> list[Tokenizer]:
    return [greedy("none"), greedy("th", b"th"), greedy("the", b"th", b"the")]


@pytest.fixture
def files(tokenizers: list[Tokenizer], tmp_path: Path) -> list[Path]:
    for tokenizer in tokenizers:
        tokenizer.save(tmp_path / tokenizer.name)
    text = tmp_path / "texts.jsonl"
    rows = [{"text": text, "language": language} for language, texts in (("en", EN), ("de", DE)) for text in texts]
    text.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [*(tmp_path / name for name in NAMES), text]


def table(tokenizers: list[Tokenizer], premium: str | None = None) -> Comparison:
    return tokbench.compare(tokenizers, {"en": EN, "de": DE}, premium=premium)


def test_rows_have_counts_of_all_documents_and_of_each_language(tokenizers: list[Tokenizer]) -> None:
    frame = table(tokenizers)
    assert frame["language"].to_list() == [None] * 3 + ["de"] * 3 + ["en"] * 3
    for row in frame.rows(named=True):
        texts = {None: EN + DE, "en": EN, "de": DE}[row["language"]]
        tokenizer = tokenizers[NAMES.index(row["name"])]
        tokens = sum(len(tokenizer.encode(text)) for text in texts)
        assert (row["tokens"], row["documents"]) == (tokens, len(texts))
        assert row["bytes_per_token"] == sum(len(text.encode()) for text in texts) / tokens


def test_differences_are_from_the_first_and_from_the_best(tokenizers: list[Tokenizer]) -> None:
    rows = table(tokenizers).filter(language="en").rows(named=True)
    tokens = [row["tokens"] for row in rows]
    assert tokens == sorted(tokens, reverse=True)
    assert [row["difference"] for row in rows] == [None, *(pytest.approx(own / tokens[0] - 1) for own in tokens[1:])]
    assert [row["difference_best"] for row in rows] == [
        *(pytest.approx(own / tokens[2] - 1) for own in tokens[:2]),
        None,
    ]
    assert [row["verdict"] for row in rows] == [None, "better", "better"]
    assert [row["verdict_best"] for row in rows] == ["worse", "worse", None]


def test_comparison_of_a_language_is_that_of_its_documents_alone(tokenizers: list[Tokenizer]) -> None:
    own = table(tokenizers).filter(language="de").drop("language")
    alone = tokbench.compare(tokenizers, DE).drop("language")
    assert pl.DataFrame(own).equals(pl.DataFrame(alone))


def test_tokenizer_that_loses_text_is_not_the_best() -> None:
    lower = tokbench.wrap(lambda text: [text.lower()], list, name="lower", size=300)
    lossy = tokbench.wrap(lambda text: [0], lambda ids: "x", name="lossy", size=1)
    frame = tokbench.compare([greedy("none"), lossy, greedy("th", b"th")], EN)
    assert dict(zip(frame["name"], frame["verdict_best"], strict=True)) == {
        "none": "worse",
        "lossy": "not tested",
        "th": None,
    }
    assert lower.name == "lower"


def test_premium_is_the_ratio_of_tokens(tokenizers: list[Tokenizer]) -> None:
    frame = table(tokenizers, premium="en")
    for name in NAMES:
        tokens = {row["language"]: row for row in frame.filter(name=name).rows(named=True)}
        assert tokens["de"]["premium"] == tokens["de"]["tokens"] / tokens["en"]["tokens"]
        assert (tokens["en"]["premium"], tokens[None]["premium"]) == (1, None)


@pytest.mark.parametrize(
    ("texts", "premium", "message"),
    [
        ({"en": EN, "de": DE}, "fr", r"premium: the text has no language 'fr'; name one of its languages \(de, en\)"),
        ({"en": EN, "de": DE[1:]}, "en", "languages have different numbers of sentences, so the text is not parallel"),
        (EN, "en", r"premium: the text has no language 'en'; name one of its languages \(none\)"),
    ],
)
def test_premium_needs_parallel_text(
    tokenizers: list[Tokenizer], texts: dict[str, list[str]] | list[str], premium: str, message: str
) -> None:
    with pytest.raises(TokbenchError, match=message):
        tokbench.compare(tokenizers, texts, premium=premium)


def test_best_names_sizes_and_pretokenizers(tokenizers: list[Tokenizer]) -> None:
    other = Tokenizer(
        Vocabulary((*BYTES, b"th")), "first_space", "greedy", name="other", origin={"imported": {"form": "tokens"}}
    )
    frame = tokbench.compare([tokenizers[0], other], {"en": EN, "de": DE})
    start = "other (257 tokens, pre-tokenizer first_space) needs "
    assert frame.best().startswith(start)
    assert "more tokens than none (256 tokens, pre-tokenizer gpt2) (" in frame.best("de") or frame.best(
        "de"
    ).startswith(start)
    with pytest.raises(TokbenchError, match="the texts have no language 'fr'"):
        frame.best("fr")


def test_command_prints_the_rows_of_python(tokenizers: list[Tokenizer], files: list[Path], tokbench: Tokbench) -> None:
    expected = table(tokenizers, premium="en").rows(named=True)
    printed = json.loads(tokbench("compare", *files, "--format", "json", "--premium", "en").stdout)
    assert [{key: value for key, value in row.items() if key != "source"} for row in printed["rows"]] == expected
    assert len(printed["comparisons"]) == 2
    rows = list(csv.DictReader(io.StringIO(tokbench("compare", *files, "--format", "csv").stdout.decode())))
    assert [(row["language"] or None, row["name"], int(row["tokens"])) for row in rows] == [
        (row["language"], row["name"], row["tokens"]) for row in expected
    ]


def test_text_is_sorted_by_tokens_and_has_languages(files: list[Path], tokbench: Tokbench) -> None:
    lines = tokbench("compare", *files, "--premium", "en").stdout.decode().splitlines()
    assert lines[0].startswith("the (258 tokens) needs ")
    heading = lines.index(f"Tokens of 24 documents: {files[-1]}")
    assert [line.split()[0] for line in lines[heading + 2 : heading + 5]] == ["the", "th", "none"]
    assert lines[heading + 1].split() == [
        *("size", "pre-tokenizer", "tokens", "bytes/token", "−", "the", "95", "%", "interval", "verdict"),
    ]
    # The differences from the first are a table of their own, in the same order.
    first = lines.index("Tokens relative to those of none")
    assert lines[first + 1].split() == ["−", "none", "95", "%", "interval", "verdict"]
    assert [line.split()[0] for line in lines[first + 2 : first + 5]] == ["the", "th", "none"]
    assert max(map(len, lines[heading + 1 : heading + 5])) < 120
    by_language = lines.index("Bytes per token by language")
    assert [line.split()[:2] for line in lines[by_language + 2 : by_language + 4]] == [["de", "12"], ["en", "12"]]
    premium = lines.index("Premium by language: tokens relative to those of the same text in en")
    assert lines[premium + 3].split() == ["en", "12", "1.00", "1.00", "1.00"]


@pytest.mark.parametrize(
    ("labels", "printed"),
    [
        (["gpt2", "regex (pattern a)"], ["gpt2", "regex (pattern a)"]),
        (["gpt2", f"regex (pattern {'a' * 40})"], ["gpt2", "regex"]),
        (
            [f"regex (pattern {letter * 40})" for letter in "ab"],
            [f"regex (pattern {letter * 17}..." for letter in "ab"],
        ),
    ],
)
def test_long_labels_are_without_options_unless_two_would_be_equal(
    tokenizers: list[Tokenizer], labels: list[str], printed: list[str]
) -> None:
    rows = [
        row | {"pretokenization": label}
        for row, label in zip(tokbench.compare(tokenizers[:2], EN).rows(named=True), labels, strict=True)
    ]
    cells = {row[0]: row[2] for row in ranking_tables(rows, "texts")[0].rows}
    assert [cells[row["name"]] for row in rows] == printed


def test_files_are_known_by_their_names(tmp_path: Path, tokbench: Tokbench) -> None:
    """No line repeats the path of a file whose name is in the tables; two files of one name have their paths."""
    (tmp_path / "other").mkdir()
    files = [written(tmp_path / name, byte_level(300)) for name in ("a.json", "b.json", "other/b.json")]
    (tmp_path / "text.txt").write_text("\n".join(EN))
    printed = tokbench("compare", *files[:2], tmp_path / "text.txt").stdout.decode()
    assert ": file " not in printed
    printed = tokbench("compare", *files[1:], tmp_path / "text.txt").stdout.decode()
    assert str(files[2]) in printed


def test_folders_are_languages(files: list[Path], tokbench: Tokbench, tmp_path: Path) -> None:
    for language, texts in (("en", EN), ("de", DE)):
        folder = tmp_path / "folders" / language
        folder.mkdir(parents=True)
        (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    of_records = json.loads(tokbench("compare", *files, "--json").stdout)["rows"]
    folders = tmp_path / "folders"
    for named in ([folders], sorted(folders.iterdir())):
        rows = json.loads(tokbench("compare", *files[:3], *named, "--json").stdout)["rows"]
        assert [row | {"source": ""} for row in rows] == [row | {"source": ""} for row in of_records]
    limited = json.loads(tokbench("compare", *files[:3], folders, "--limit", 8, "--json").stdout)["rows"]
    assert [row["documents"] for row in limited] == [16] * 3 + [8] * 6


def test_markdown_and_latex(tokenizers: list[Tokenizer], files: list[Path], tokbench: Tokbench) -> None:
    markdown = tokbench("compare", *files, "--format", "markdown").stdout.decode()
    assert "| the | 258 | gpt2 | " in markdown
    latex = tokbench("compare", *files, "--format", "latex").stdout.decode()
    begun, ended = (re.findall(rf"\\{word}\{{(\w+)\}}", latex) for word in ("begin", "end"))
    assert begun == ["table", "adjustbox", "tabular"] * 3
    assert ended == ["tabular", "adjustbox", "table"] * 3
    assert r"the & 258 & gpt2 & " in latex
    # Verdicts are signs, which the caption explains.
    assert re.search(r"^  the & 258 .* & \$\\star\$ \\\\$", latex, re.MULTILINE)
    assert r"$\star$ fewest tokens, $\downarrow$ worse.}" in latex
    assert "worse \\\\" not in latex
    frame = table(tokenizers)
    assert frame.to_latex() == latex.replace(str(files[-1]).replace("_", r"\_"), "the given texts")
    assert frame.to_markdown() == markdown.replace(str(files[-1]), "the given texts")


def test_plots_have_every_tokenizer_and_language(tokenizers: list[Tokenizer]) -> None:
    [axes] = table(tokenizers).plot().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["the", "th", "none"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["de", "en"]
    assert len(axes.texts) == 6
    texts = [text.get_text() for axes in tokbench.compare(tokenizers, EN).plot().axes for text in axes.texts]
    assert sum(text.startswith("−") for text in texts) >= 2


def test_formats_of_a_ranking_need_texts(files: list[Path], tokbench: Tokbench) -> None:
    message = tokbench("compare", *files[:2], "--format", "latex").message
    assert message == "tokbench: --format latex: for texts only; name files of text after the tokenizers"
    message = tokbench("compare", *files[:2], "--premium", "en").message
    assert message == "tokbench: --premium en: for texts only; name files of text after the tokenizers"
