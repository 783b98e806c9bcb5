"""Comparison of tokenizers in a terminal: sentences, tables, JSON and errors."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.rules import documented, keys_of
from tokbench.inspection.comparison.experiments import experiment_parts
from tokbench.inspection.comparison.named_tokenizers import resolve_target
from tokbench.inspection.comparison.sides import matched
from tokbench.inspection.comparison.terminal import Line, LineGroup, comparison_text, single_leads, single_number
from tokbench.io.json import written
from tokbench.optimum.bound import bound_counts
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages, merge_counts
from tokbench.reference.loss import bytes_lost
from tokbench.statistics.cells import INTRINSIC
from tokbench.statistics.comparisons.paired_comparisons import PAIRED_COMPARISONS
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary


def pair(**changes: Any) -> dict[str, Any]:
    """Return a comparison of y with x by tokens, with changes."""
    return {
        **dict.fromkeys(PAIRED_COMPARISONS.schema), "measure": "tokens", "a": "y", "b": "x", "value_a": 90.0,
        "value_b": 100.0, "difference": -0.1, "low": -0.12, "high": -0.08, "unit": "documents", "n": 40,
        "p_value": 0.001, "holm": 0.001, "verdict": "better", **changes,
    }  # fmt: skip


def test_text_has_a_sentence_for_each_main_line_and_a_table_for_each_part() -> None:
    level = pair(difference=0.0, low=-0.1, high=0.1, holm=0.7, verdict="no significant difference", value_a=100.0)
    sizes = [Line("1,024", pair(), "lowest", "tokens", main=True), Line("2,048", level, "lowest", "tokens", main=True)]
    part = LineGroup("heading", "count", "share", sizes)
    alone = [Line("bits", single_number("x", "y", 2.1, 2.0, ""), "lowest", "bits")]
    alone += [Line(f"even {n}", single_number("x", "y", 2.0 + n, 3.0, ""), "lowest", "evens") for n in (0, 2)]
    numbers = LineGroup("heading", "real", "real", alone)
    text = comparison_text("x", "y", [part, numbers]).splitlines()
    assert text[:5] == [
        "At 1,024: y needs 10.0 % fewer tokens than x (95 % interval −12.0 % to −8.0 %; 40 documents): significantly "
        "better.",
        "At 2,048: y needs the same number of tokens as x (95 % interval −10.0 % to +10.0 %; 40 documents): no "
        "significant difference.",
        "Single values, without a test: y is better at bits.",
        "",
        "Differences are y − x; intervals are 95 %. Significant: p ≤ 0.05 after Holm's correction for all pairs of the "
        "measure.",
    ]
    assert "  1,024  100   90     −10.0 %   −12.0 % to −8.0 %  40 documents   0.0010                   y better" in text
    again = Line("fertility", single_number("x", "y", 1.0, 2.0, ""), "lowest", "fertility", restates=True)
    assert single_leads([LineGroup("heading", "real", "real", [again])]) == {"a": [], "b": []}


def test_single_numbers_are_listed_by_subject_after_those_of_models(experiment: Path) -> None:
    """Metrics that restate the token count are marked; notes define only metrics with a line."""
    a, b = (resolve_target(name, str(experiment)) for name in ("long", "short"))
    parts = experiment_parts(a, b, matched(a, b), experiment)
    headings = [part.heading for part in parts if part.lines]
    assert headings[0] == "Token count: books"
    assert headings[-1] == "Further measures, measured on books; single numbers without intervals"
    assert [(line.name, line.restates) for line in parts[-1].lines] == [
        ("fertility, 300", True),
        ("fertility, 320", True),
    ]
    assert parts[-1].notes == ["  fertility: tokens / words; lowest is best."]
    assert experiment_parts(a, b, [], experiment)[-1].notes == []


@pytest.fixture
def experiment(tmp_path: Path, counts: PretokenCounts, tokbench: Tokbench) -> Path:
    """Two variants at two sizes, with tables and the answers of a model with three seeds; ``long`` is more accurate."""
    counts.write(tmp_path / "counts.parquet")
    rows = []
    for variant, limit in (("long", "16"), ("short", "2")):
        for size in (300, 320):
            folder = tmp_path / "tokenizers" / variant / str(size)
            done = tokbench(
                "build", "bpe", "--counts", tmp_path / "counts.parquet", "--size", size,
                "--set", f"max_token_bytes={limit}", "-o", folder,
            )  # fmt: skip
            assert done.status == 0, done.stderr
            rows.append((variant, size, "books", "", "fertility", "tokens / words", 2.0 + len(variant), 9, None))
            rows.append((variant, size, "books", "", "mean_token_length", "bytes", 2.0, 9, None))
    (tmp_path / "tables").mkdir()
    pl.DataFrame(rows, schema=INTRINSIC, orient="row").write_parquet(tmp_path / "tables" / "intrinsic.parquet")
    model = {"model": "tiny (3 seeds)", "suite": "offline", "seeds": 3, "a": "short", "b": "long", "corpus": "books"}
    compared = [
        row
        for size in (300, 320)
        for row in (
            pair(size=size, a="long", b="short", corpus="books", pretokenization_a="gpt2", pretokenization_b="gpt2"),
            pair(size=size, **model, measure="bits_per_byte", difference=-0.5, low=-0.6, high=-0.4, n=20),
            pair(size=size, **model | {"corpus": None}, measure="accuracy", difference=-0.2, low=-0.3, high=0.1,
                 holm=0.3, verdict="no significant difference", unit="questions", value_a=0.4, value_b=0.6),
            pair(size=size, **model | {"corpus": "", "task": "choose"}, measure="accuracy", difference=-0.2, low=None,
                 high=None, holm=None, verdict="not tested", reason="not tested: one training", n=1),
        )
    ]  # fmt: skip
    (tmp_path / "statistics").mkdir()
    frame = pl.DataFrame(compared, schema=PAIRED_COMPARISONS.schema)
    frame.write_parquet(tmp_path / "statistics" / "paired_comparisons.parquet")
    return tmp_path


def test_compare_by_name_and_by_folder(
    experiment: Path, tokbench: Tokbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[Path | str] = []
    for place, part in enumerate(topic[start : start + 50] for topic in TOPICS for start in range(0, len(topic), 50)):
        (tmp_path / f"{place}.txt").write_bytes(part)
        texts.append(tmp_path / f"{place}.txt")
    done = tokbench("compare", "long", "short", "--results", experiment, "--all")
    assert done.status == 0, done.stderr
    answer = done.stdout.decode()
    monkeypatch.setattr("tokbench.commands.inspect.TABLES", 1)
    first = tokbench("compare", "long", "short", "--results", experiment).stdout.decode()
    tables = answer.split("\n\n")
    headings = [f"  {table.splitlines()[0]}\n" for table in tables[3:]]
    assert first == "\n\n".join([*tables[:3], f"{len(headings)} more tables with --all:\n{''.join(headings)}"])
    lines = answer.splitlines()
    assert lines[0] == (
        "At 300: short needs 11.1 % more tokens than long (95 % interval +8.7 % to +13.6 %; 40 documents): "
        "significantly worse."
    )
    assert lines[2] == (
        "At 300: short needs 0.500 fewer bits per byte than long with the language model tiny (3 seeds) (95 % "
        "interval −0.600 to −0.400; 20 documents, 3 seeds): significantly better."
    )
    assert "  choose, 300  " in answer
    assert "Single values, without a test" not in answer, "fertility restates the token count"
    assert "mean token length" not in answer
    assert "differ in size" not in answer
    of = [f"{name}: variant of {experiment}, sizes 300 and 320." for name in ("long", "short")]
    assert [line for line in lines if line in of] == of
    folders = [experiment / "tokenizers" / name for name in ("long", "short")]
    of_folders = tokbench("compare", *folders, "--all").stdout.decode()
    assert f"long: folder {folders[0]}, sizes 300 and 320." in of_folders
    assert of_folders.splitlines()[:6] == lines[:6]
    as_bytes = "--encoding=bytes"  # Characters are cut at the ends of files.
    of_texts = tokbench("compare", *folders, *texts, as_bytes).stdout.decode()
    assert of_texts.startswith("At 300: short needs ")
    assert f"Tokens of {len(texts)} documents: {texts[0]} and {len(texts) - 1} others" in of_texts
    single = tokbench("compare", folders[0] / "300", folders[1] / "320", *texts, as_bytes).stdout.decode()
    assert single.startswith("short (320 tokens) needs ")
    assert "than long (300 tokens) (" in single
    assert "not tested: different sizes, 300 and 320 tokens." in single
    for name in ("long", "short"):
        Tokenizer(Vocabulary((*BYTES, b"th")[: 257 - (name == "short")]), "gpt2", "greedy", name=name).save(
            tmp_path / name
        )
    own = ("compare", tmp_path / "long", tmp_path / "short", *texts, as_bytes)
    assert tokbench(*own).stdout.startswith(b"short (256 tokens) needs ")
    assert json.loads(tokbench(*own, "--json").stdout)["unequal_sizes"] == [{"size": None, "a": 257, "b": 256}]


def test_an_experiment_without_statistics_is_rejected(experiment: Path, tokbench: Tokbench) -> None:
    (experiment / "statistics" / "paired_comparisons.parquet").unlink()
    message = tokbench("compare", "long", "short", "--results", experiment).message
    assert message.endswith("no table of comparisons; run the experiment to its end, or name texts")


def test_a_folder_in_the_way_is_no_variant(
    experiment: Path, tokbench: Tokbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an experiment, a name is a variant, and ./name a path; the output says which was opened."""
    monkeypatch.chdir(tmp_path)
    Tokenizer(Vocabulary(BYTES), "gpt2", "greedy", name="stray").save("long")
    Path("text.txt").write_bytes(TOPICS[0])
    asked = ("short/300", "text.txt", "--results", experiment)
    variant, folder = (json.loads(tokbench("compare", name, *asked, "--json").stdout) for name in ("long", "./long"))
    assert variant["opened"]["a"] == {"kind": "variant", "place": str(experiment), "sizes": [300], "tokens": [300]}
    assert folder["opened"]["a"] == {"kind": "folder", "place": "./long", "sizes": [], "tokens": [256]}
    assert folder["opened"]["b"] == variant["opened"]["b"]
    tokens = [one["parts"][0]["lines"][0]["a"] for one in (variant, folder)]
    assert tokens == [
        Tokenizer.load(place).count(TOPICS[0]) for place in (experiment / "tokenizers/long/300", Path("long"))
    ]
    assert "\nlong: folder ./long, 256 tokens.\n" in tokbench("compare", "./long", *asked).stdout.decode()
    Path("text.txt").rename("tokenizers.txt")
    said = tokbench("compare", "tokenizers.txt", "short", "--results", experiment).message
    assert said.endswith("It has long, short; for the path write ./tokenizers.txt")
    shown = json.loads(tokbench("show", "long", "./long", "the cat", "--results", experiment, "--json").stdout)
    assert [(one["name"], one["source"]) for one in shown["tokenizers"]] == [
        *((f"long/{size}", f"variant of {experiment}") for size in (300, 320)),
        ("long", "folder ./long"),
    ]


@pytest.mark.parametrize("by_folder", [False, True])
def test_measures_of_other_texts_are_left_out(
    by_folder: bool, experiment: Path, tokbench: Tokbench, tmp_path: Path
) -> None:
    """With files, only their text is compared: an experiment's tables and models are of other text."""
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    names = [str(experiment / "tokenizers" / name) if by_folder else name for name in ("long", "short")]
    asked = [*names, "--results", experiment]
    found = json.loads(tokbench("compare", *asked, tmp_path / "text.txt", "--json").stdout)
    assert [part["heading"] for part in found["parts"]] == [f"Tokens of 1 document: {tmp_path / 'text.txt'}"]
    assert found["left_out"].startswith("The experiment's measures are of other texts and not shown")
    of_text = tokbench("compare", *asked, tmp_path / "text.txt").stdout.decode()
    assert found["left_out"] in of_text
    assert "(no interval; 1 document): not tested: 1 document; a verdict needs 6." in of_text
    whole = json.loads(tokbench("compare", *asked, "--json").stdout)
    assert whole["left_out"] is None
    assert not any("Tokens of" in part["heading"] for part in whole["parts"])
    assert len(whole["parts"]) > 1


def test_compare_proves_gaps_and_takes_ngram_bits(experiment: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    """Gaps match the bounds of all documents and of each language; every other document is training text."""
    pieces = [text.decode()[at : at + 400] for text in TOPICS for at in (0, 400)]
    rows = [{"text": piece, "language": ("de", "en")[at // 2 % 2]} for at, piece in enumerate(pieces)]
    text = tmp_path / "texts.jsonl"
    text.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sides = [experiment / "tokenizers" / name / "300" for name in ("long", "short")]
    answer = tokbench("compare", *sides, text, "--gap", "--ngram-bits").stdout.decode()
    lines = answer.splitlines()
    counts = count_languages([(row["language"], row["text"].encode()) for row in rows], "gpt2")
    for language, where in (("", "300"), ("de", "300, de"), ("en", "300, en")):
        part = counts[language] if language else merge_counts(list(counts.values()))
        least = bound_counts(part, 300, gap=0.001, steps=2000)["bound"]
        line = next(line for line in lines if line.startswith(f"  gap, {where}: long "))
        tokens = [
            sum(Tokenizer.load(side).count(row["text"]) for row in rows if language in ("", row["language"]))
            for side in sides
        ]
        told = [f"{name} {100 * (own / least - 1):.2f} % above {least:,} (gpt2)" for name, own in
                zip(("long", "short"), tokens, strict=True)]  # fmt: skip
        assert line == f"  gap, {where}: {told[0]} and {told[1]}."
    assert sum(line.startswith("  300, order ") for line in lines) == 10
    assert f"of {len(TOPICS)} documents: {text}, trained on {len(TOPICS)} other documents" in answer
    same = tokbench("compare", *sides, text, "--train", text).stdout.decode()
    assert f"of {2 * len(TOPICS)} documents" in same
    assert "  gap, " not in same
    (single := tmp_path / "single.txt").write_bytes(TOPICS[0])
    assert "name a text to train on with --train" in tokbench("compare", *sides, single, "--ngram-bits").message


def test_compare_for_programs(experiment: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    """The JSON has the numbers of the terminal, and exactly the documented keys."""
    smaller = [
        "build", "bpe", "--counts", tmp_path / "counts.parquet", "--size", 320, "--set", "min_pair_count=10000",
        "-o", tmp_path / "tokenizers" / "short" / "320",
    ]  # fmt: skip
    asked = ["compare", "long", "short", "--results", experiment]
    alike = json.loads(tokbench(*asked, "--json").stdout)
    assert alike["unequal_sizes"] == []
    assert tokbench(*smaller).status == 0
    found = json.loads(tokbench(*asked, "--json").stdout, parse_constant=pytest.fail)
    tokens = len(Tokenizer.load(tmp_path / "tokenizers" / "short" / "320"))
    assert tokens < 320
    assert found["unequal_sizes"] == [{"size": 320, "a": 320, "b": tokens}]
    text = tokbench(*asked).stdout.decode().splitlines()
    assert text[0] == f"At 320 they differ in size: long has 320 tokens, short has {tokens}."
    assert text[1:7] == found["sentences"]
    assert (found["format"], found["a"], found["b"]) == (2, "long", "short")
    lines = {(part["heading"], line["name"]): line for part in found["parts"] for line in part["lines"]}
    bits = lines["Bits per byte: tiny (3 seeds) on offline and books", "300"]
    assert [bits[key] for key in ("difference", "low", "high", "n", "unit", "seeds", "verdict", "ahead")] == [
        -0.5, -0.6, -0.4, 20, "documents", 3, "better", "b"
    ]  # fmt: skip
    single = next(line for line in lines.values() if line["what"] == "fertility")
    assert (single["definition"], single["better_end"], single["low"]) == ("tokens / words", "lowest", None)
    assert (single["verdict"], single["ahead"]) == ("not tested", "a" if single["a"] < single["b"] else "b")
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    other = json.loads(tokbench(*asked, tmp_path / "text.txt", "--json").stdout)
    assert {*keys_of(found), *keys_of(alike), *keys_of(other)} == documented("compare")


def test_tokens_of_a_text_that_is_not_given_back_are_not_ranked(tokbench: Tokbench, tmp_path: Path) -> None:
    """Even if it has fewer tokens in every document; if no text is lost, tokens are ranked."""
    lower = made.written(tmp_path / "lower.json", made.byte_level(420) | {"normalizer": {"type": "Lowercase"}})
    Tokenizer(Vocabulary(BYTES), "gpt2", "greedy", name="bytes").save(tmp_path / "bytes")
    lines = [{"text": f"THE CAT pays {number}" * number} for number in range(1, 20)]
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(json.dumps(line) + "\n" for line in lines))
    plain = tmp_path / "plain.jsonl"
    plain.write_text("".join(json.dumps({"text": line["text"].lower()}) + "\n" for line in lines))
    [part] = json.loads(tokbench("compare", tmp_path / "bytes", lower, documents, "--json").stdout)["parts"]
    [line] = part["lines"]
    assert line["a"] > line["b"]
    assert line["high"] < 0
    assert (line["verdict"], line["reason"]) == (
        "not tested",
        "not tested: lower.json does not restore all of the text",
    )
    [note] = part["notes"]
    size = sum(len(line["text"]) for line in lines)
    lost = sum(bytes_lost(line["text"].encode(), line["text"].lower().encode()) for line in lines)
    assert note == (
        "lower.json does not restore all of the text: 19 of 19 documents changed, "
        f"at most {lost:,} of {size:,} bytes lost. Tokens are not ranked."
    )
    [part] = json.loads(tokbench("compare", tmp_path / "bytes", lower, plain, "--json").stdout)["parts"]
    assert (part["lines"][0]["verdict"], part["notes"]) == ("better", [])


def test_comparison_of_unequal_vocabularies_has_no_nominal_size(tokbench: Tokbench, tmp_path: Path) -> None:
    for name, tokens in (("x", BYTES), ("y", (*BYTES, b"ab"))):
        Tokenizer(Vocabulary(tokens), "gpt2", "greedy", name=name).save(tmp_path / name)
    (tmp_path / "text.txt").write_text("abc")
    given = ("compare", tmp_path / "x", tmp_path / "y", tmp_path / "text.txt")
    assert tokbench(*given).stdout.startswith(b"y (257 tokens) needs 33.3 % fewer tokens than x (256 tokens) (")
    assert json.loads(tokbench(*given, "--json").stdout)["unequal_sizes"] == [{"size": None, "a": 256, "b": 257}]


def test_different_pretokenizers_are_named_first(tokbench: Tokbench, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    for name, scheme in (("a", "gpt2"), ("b", "first_space"), ("c", "gpt2")):
        Tokenizer(Vocabulary((*BYTES, b"th")), scheme, "greedy", name=name).save(tmp_path / name)
    asked = ("compare", tmp_path / "a", tmp_path / "b", tmp_path / "text.txt")
    first = tokbench(*asked).stdout.decode().splitlines()[0]
    assert first.startswith("b (pre-tokenizer first_space) needs the same number of tokens as a (pre-tokenizer gpt2) (")
    assert json.loads(tokbench(*asked, "--json").stdout)["pretokenizations"] == {"a": "gpt2", "b": "first_space"}
    same = tokbench("compare", tmp_path / "a", tmp_path / "c", tmp_path / "text.txt")
    assert same.status == 0
    assert b"(pre-tokenizer" not in same.stdout
    assert b"The tokenizers differ" not in same.stdout


def test_json_has_no_number_that_json_lacks() -> None:
    assert json.loads(written({"a": float("nan"), 1: [(float("inf"), 2.5, "NaN")]})) == {
        "a": None,
        "1": [[None, 2.5, "NaN"]],
    }


def test_compare_rejects_in_one_line(experiment: Path, tokbench: Tokbench) -> None:
    for arguments, message in (
        (["lang", "short", "--results", experiment], "Did you mean 'long'? It has long, short"),
        (["long/7", "short", "--results", experiment], "long has the sizes 300, 320; name one of them"),
        (["long", "long", "--results", experiment], "long and long are the same tokenizer; name another"),
        (["long/300", "short/320"], "long/300: no such folder or file of a tokenizer; name one"),
    ):
        assert message in tokbench("compare", *arguments).message
