"""Comparison of two tokenizers in a terminal: intervals, verdict and errors."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.rules import documented, keys_of
from tokbench.adapters.open import matched, resolve_target
from tokbench.inspection.comparison.experiments import experiment_parts
from tokbench.inspection.comparison.terminal import Line, LineGroup, comparison_text, corrected, verdict
from tokbench.io.json import write_result, written
from tokbench.optimum.bound import bounded
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages, merge_counts
from tokbench.statistics.cells import INTRINSIC
from tokbench.statistics.contrast import Contrast, answered, bits_per_byte, paired_p, token_counts
from tokbench.statistics.wilcoxon import holm
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.roundtrip import bytes_lost
from tokbench.vocabulary import BYTES, Vocabulary


def test_shares_of_right_answers() -> None:
    a = {(size, number): True for size in (8, 16) for number in range(40)}
    b = {(size, number): number % 2 == 0 for size in (8, 16) for number in range(40)} | {(32, 1): True}
    found = answered(a, b)
    assert found is not None
    assert (found.a, found.b, found.difference, found.n) == (1.0, 0.5, 0.5, 40)
    assert found.low is not None
    assert found.high is not None
    assert 0.3 < found.low < 0.5 < found.high < 0.7
    assert found.side == 1
    level = answered(a, dict(a))
    assert level is not None
    assert (level.low, level.high, level.side) == (0.0, 0.0, 0)
    assert answered({(8, 1): True}, {(8, 2): True}) is None


def test_tokens_of_documents() -> None:
    """Long documents have more weight; equal ratios have an interval of width zero."""
    found = token_counts([110, 220, 330], [100, 200, 300])
    assert found is not None
    assert found.difference == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1) == found.high
    assert token_counts([1], [0]) is None
    alone = token_counts([3], [2])
    assert alone is not None
    assert (alone.low, alone.side) == (None, 0)
    unsure = token_counts([100, 90, 105, 99], [99, 95, 100, 100])
    assert unsure is not None
    assert unsure.side == 0


def test_the_verdict_heeds_the_better_end_and_the_interval() -> None:
    fewer, unsure = Contrast(90, 100, -0.1, -0.12, -0.08, 40), Contrast(0.5, 0.4, 0.1, -0.1, 0.3, 40)
    level = Contrast(90, 90, 0.0, -0.1, 0.1, 40)
    sizes = [Line("1,024", fewer, "lowest", "tokens"), Line("2,048", level, "lowest", "tokens")]
    part = LineGroup("heading", "count", "share", sizes)
    answers = LineGroup("heading", "percent", "percent", [Line("task", unsure, "highest", "task")])
    alone = [Line("bits", Contrast(2.1, 2.0, 0.1, None, None, 1), "lowest", "bits")]
    alone += [Line(f"even {n}", Contrast(2.0 + n, 3.0, n - 1.0, None, None, 1), "lowest", "evens") for n in (0, 2)]
    bits = LineGroup("heading", "real", "real", alone)
    text = comparison_text("x", "y", [part, answers, bits]).splitlines()
    assert text[:3] == [
        "x is significantly better at tokens at 1,024.",
        "No significant difference: tokens at 2,048 and task.",
        "Single values, without a test: y is better at bits.",
    ]
    assert "  1,024  90  100     −10.0 %   −12.0 % to −8.0 %  40       x" in text
    again = Line("fertility", Contrast(1.0, 2.0, -1.0, None, None, 1), "lowest", "fertility", restates=True)
    assert not any(verdict([LineGroup("heading", "real", "real", [again])]).single.values())


def test_single_numbers_stand_by_subject_after_those_of_models(experiment: Path) -> None:
    """Metrics that restate the token count are marked; notes define only metrics with a line."""
    a, b = (resolve_target(name, str(experiment)) for name in ("long", "short"))
    parts = experiment_parts(a, b, matched(a, b), experiment, counted=True)
    headings = [part.heading for part in parts if part.lines]
    assert headings[-1] == "Further measures, measured on books; single numbers without intervals"
    assert headings[0].startswith("tiny (3 seeds) on offline")
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
            answers = [
                {"document": place, "correct": place % 2 == 0 or variant == "long"} for place in range(60)
            ]  # fmt: skip
            share = sum(row["correct"] for row in answers) / 60
            task = {"accuracy": share, "documents": answers}
            documents = [{"bits": (share + 0.01 * place) * 100, "bytes": 100} for place in range(20)]
            spent = {"bits_per_byte": share + 0.095, "bits_per_byte_of": {"by_document": documents}}
            for seed, model in enumerate(("tiny", "tiny_again", "tiny_once_more")):
                path = tmp_path / "downstream" / model / variant / str(size) / "offline.json"
                path.parent.mkdir(parents=True)
                write_result(path, {"tasks": {"choose": task, "match": task}, **spent})
                manifest = tmp_path / "models" / model / variant / str(size) / "manifest.json"
                manifest.parent.mkdir(parents=True)
                manifest.write_text(json.dumps({"settings": {"options": {"batches": 5, "seed": seed}}}))
    (tmp_path / "tables").mkdir()
    pl.DataFrame(rows, schema=INTRINSIC, orient="row").write_parquet(tmp_path / "tables" / "intrinsic.parquet")
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
    assert tokbench("compare", "long", "short", "--results", experiment).stdout == done.stdout, "three tables"
    monkeypatch.setattr("tokbench.commands.inspect.TABLES", 1)
    first = tokbench("compare", "long", "short", "--results", experiment).stdout.decode()
    tables = answer.split("\n\n")
    headings = [f"  {table.splitlines()[0]}\n" for table in tables[3:]]
    assert first == "\n\n".join([*tables[:3], f"2 more tables with --all:\n{''.join(headings)}"])
    lines = answer.splitlines()
    assert lines[0] == ("long is significantly better at choose and match with the language model tiny (3 seeds).")
    assert lines[1] == "short is significantly better at bits per byte with the language model tiny (3 seeds)."
    assert lines[2] == (
        "No significant difference: the average of the suite offline with the language model tiny (3 seeds)."
    ), "four cells cannot, corrected"
    assert "  300  1.095  0.595      +0.500  +0.500 to +0.500  20  5.7×10⁻⁶   short" in answer
    assert "Single values, without a test: long is better at fertility." in answer
    assert "mean token length" not in answer
    assert "differ in size" not in answer
    assert next(line for line in lines if line.startswith("  choose")).split()[1:4] == ["100.0", "50.0", "+50.0"]
    assert "p = 0.062 that long is better" in answer
    assert lines[6:8] == [f"{name}: variant of {experiment}, sizes 300 and 320." for name in ("long", "short")]
    folders = [experiment / "tokenizers" / name for name in ("long", "short")]
    of_folders = tokbench("compare", *folders, "--all").stdout.decode()
    assert of_folders.splitlines()[6] == f"long: folder {folders[0]}, sizes 300 and 320."
    assert of_folders.splitlines()[8:] == lines[8:]
    as_bytes = "--encoding=bytes"  # Characters are cut at the ends of files.
    of_texts = tokbench("compare", *folders, *texts, as_bytes).stdout.decode()
    on = f"{texts[0]} and {len(texts) - 1} others"
    assert of_texts.splitlines()[0] == f"long is significantly better at token count on {on}."
    single = tokbench("compare", folders[0] / "300", folders[1] / "320", *texts, as_bytes).stdout.decode()
    assert "300 against 320" in single
    assert single.startswith(
        "They differ in size: long has 300 tokens, short has 320. Measures that depend on it are not ranked.\n\n"
    )
    assert all(line.endswith(("–", "better")) for line in single.splitlines() if line.startswith("  300 against 320 "))
    for name in ("long", "short"):
        Tokenizer(Vocabulary((*BYTES, b"th")[: 257 - (name == "short")]), "gpt2", "greedy", name=name).save(
            tmp_path / name
        )
    own = ("compare", tmp_path / "long", tmp_path / "short", *texts, as_bytes)
    assert tokbench(*own).stdout.startswith(b"They differ in size: long has 257 tokens, short has 256. ")
    assert json.loads(tokbench(*own, "--json").stdout)["unequal_sizes"] == [{"size": None, "a": 257, "b": 256}]


def without_seeds(experiment: Path, kept: int) -> Path:
    """Keep only some seeds of the experiment's model."""
    for model in ("tiny_once_more", "tiny_again")[: 3 - kept]:
        shutil.rmtree(experiment / "downstream" / model)
    return experiment


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_compare_needs_three_trainings_for_a_verdict(experiment: Path, tokbench: Tokbench, seeds: int) -> None:
    asked = ("compare", "long", "short", "--results", without_seeds(experiment, seeds))
    text = tokbench(*asked).stdout.decode()
    found = json.loads(tokbench(*asked, "--json").stdout)
    model = "tiny" if seeds == 1 else f"tiny ({seeds} seeds)"
    of_models = [line for part in found["parts"] for line in part["lines"] if line["trainings"]]
    assert {line["trainings"] for line in of_models} == {seeds}
    assert all(line["low"] is not None for line in of_models)
    if seeds == 3:
        assert "not tested" not in text.lower()
        assert {line["better"] for line in of_models} == {"a", "b", None}
        return
    why = {1: "one training", 2: "two trainings; significance needs three"}[seeds]
    assert text.startswith(f"Not tested ({why}): choose, match, the average of the suite offline and bits per byte ")
    assert f"  Not tested: {why}." in text
    assert "better at" not in text.split("Single values")[0]
    assert {(line["better"], line["p"], line["p_holm"]) for line in of_models} == {(None, None, None)}
    assert {line["not_tested"] for line in of_models} == {f"not tested: {why}"}
    assert {line["ahead"] is None for line in of_models} == {seeds == 1}, "two trainings allow a rank"
    told = found["verdict"]["not_tested"]
    assert [one["reason"] for one in told] == [f"not tested: {why}"] * 4
    assert told[0]["what"] == f"choose with the language model {model}"
    assert all(line.endswith("not tested") for line in text.splitlines() if line.startswith("  choose "))


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
    assert [part["heading"] for part in found["parts"]] == [
        f"Tokens of 1 document: {tmp_path / 'text.txt'}; intervals over documents"
    ]
    assert found["left_out"].startswith("The experiment's measures are of other texts and not shown")
    of_text = tokbench("compare", *asked, tmp_path / "text.txt").stdout.decode()
    assert found["left_out"] in of_text
    assert "One document: no interval. Compare on several documents for a test." in of_text
    assert "One document" not in tokbench("compare", *asked).stdout.decode()
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
        least = bounded(part, 300, gap=0.001, steps=2000)["bound"]
        line = next(line for line in lines if line.startswith(f"  gap, {where}: long "))
        tokens = [
            sum(Tokenizer.load(side).count(row["text"]) for row in rows if language in ("", row["language"]))
            for side in sides
        ]
        told = [f"{name} {100 * (own / least - 1):.2f} % above {least:,} (gpt2)" for name, own in
                zip(("long", "short"), tokens, strict=True)]  # fmt: skip
        assert line == f"  gap, {where}: {told[0]} and {told[1]}."
    assert sum(line.startswith("  300, order ") for line in lines) == 10
    assert (
        f"of {len(TOPICS)} documents: {text}, trained on {len(TOPICS)} other documents; intervals over documents"
        in answer
    )
    same = tokbench("compare", *sides, text, "--train", text).stdout.decode()
    assert f"of {2 * len(TOPICS)} documents" in same
    assert "  gap, " not in same
    (single := tmp_path / "single.txt").write_bytes(TOPICS[0])
    assert "name a text to train on with --train" in tokbench("compare", *sides, single, "--ngram-bits").message


def test_compare_for_programs(experiment: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    """The JSON has the numbers of the terminal, and exactly the documented keys."""
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    smaller = [
        "build", "bpe", "--counts", tmp_path / "counts.parquet", "--size", 320, "--set", "min_pair_count=10000",
        "-o", tmp_path / "tokenizers" / "short" / "320",
    ]  # fmt: skip
    asked = ["compare", "long", "short", "--results", experiment]
    alike = json.loads(tokbench(*asked, "--json").stdout)
    assert alike["unequal_sizes"] == []
    assert all(line["ranked"] for part in alike["parts"] for line in part["lines"])
    assert tokbench(*smaller).status == 0
    found = json.loads(tokbench(*asked, "--json").stdout, parse_constant=pytest.fail)
    tokens = len(Tokenizer.load(tmp_path / "tokenizers" / "short" / "320"))
    assert tokens < 320
    assert found["unequal_sizes"] == [{"size": 320, "a": 320, "b": tokens}]
    said = f"At 320 they differ in size: long has 320 tokens, short has {tokens}. "
    said += "Measures that depend on it are not ranked."
    assert tokbench(*asked).stdout.decode().splitlines()[0] == said
    assert (found["format"], found["a"], found["b"]) == (1, "long", "short")
    model = "the language model tiny (3 seeds)"
    assert found["verdict"]["better"]["b"] == [{"what": f"bits per byte with {model}", "at": []}]
    assert found["verdict"]["not_tested"] == []
    assert {line["ranked"] for part in found["parts"] for line in part["lines"] if line["name"] == "300"} == {True}
    of_unequal = [line for part in found["parts"] for line in part["lines"] if not line["ranked"]]
    assert {line["better"] for line in of_unequal} == {line["ahead"] for line in of_unequal} == {None}
    assert {line["name"] for line in of_unequal} == {"320", "fertility, 320"}
    assert found["verdict"]["single_numbers"]["a"][-1] == "fertility"
    lines = {(part["heading"], line["name"]): line for part in found["parts"] for line in part["lines"]}
    bits = lines["tiny (3 seeds), bits per byte of held-out text; intervals over seeds and documents", "300"]
    assert (bits["trainings"], bits["not_tested"]) == (3, None)
    single = without_seeds(experiment, 1)
    once = json.loads(tokbench(*asked, "--results", single, "--json").stdout)
    assert (bits["a"], bits["b"], bits["n"], bits["better"]) == (pytest.approx(1.095), pytest.approx(0.595), 20, "b")
    assert bits["p"] == 2.0**-19
    tested = [line for line in lines.values() if line["p"] is not None]
    assert found["tests"] == len(tested)
    assert [line["p_holm"] for line in tested] == holm([line["p"] for line in tested]).tolist()
    single = next(line for line in lines.values() if line["what"] == "fertility")
    assert (single["definition"], single["better_end"], single["low"]) == ("tokens / words", "lowest", None)
    assert {*keys_of(found), *keys_of(alike), *keys_of(once)} == documented("compare")


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
    assert line["low"] > 0
    assert (line["ranked"], line["better"], line["ahead"]) == (False, None, None)
    [note] = part["notes"]
    size = sum(len(line["text"]) for line in lines)
    lost = sum(bytes_lost(line["text"].encode(), line["text"].lower().encode()) for line in lines)
    assert note == (
        "lower.json does not restore all of the text: 19 of 19 documents changed, "
        f"at most {lost:,} of {size:,} bytes lost. Tokens are not ranked."
    )
    [part] = json.loads(tokbench("compare", tmp_path / "bytes", lower, plain, "--json").stdout)["parts"]
    assert (part["lines"][0]["better"], part["notes"]) == ("b", [])


def test_tokenizers_without_a_size_of_their_folder_are_told_apart_without_one(
    tokbench: Tokbench, tmp_path: Path
) -> None:
    for name, tokens in (("x", BYTES), ("y", (*BYTES, b"ab"))):
        Tokenizer(Vocabulary(tokens), "gpt2", "greedy", name=name).save(tmp_path / name)
    (tmp_path / "text.txt").write_text("abc")
    given = ("compare", tmp_path / "x", tmp_path / "y", tmp_path / "text.txt")
    assert tokbench(*given).stdout.startswith(b"They differ in size: x has 256 tokens, y has 257.")
    assert json.loads(tokbench(*given, "--json").stdout)["unequal_sizes"] == [{"size": None, "a": 256, "b": 257}]


def test_different_pretokenizers_are_named_first(tokbench: Tokbench, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    for name, scheme in (("a", "gpt2"), ("b", "first_space"), ("c", "gpt2")):
        Tokenizer(Vocabulary((*BYTES, b"th")), scheme, "greedy", name=name).save(tmp_path / name)
    asked = ("compare", tmp_path / "a", tmp_path / "b", tmp_path / "text.txt")
    assert tokbench(*asked).stdout.decode().splitlines()[0] == (
        "Their pre-tokenizers differ: a has gpt2, b has first_space. Every difference includes their effect."
    )
    assert json.loads(tokbench(*asked, "--json").stdout)["pretokenizations"] == {"a": "gpt2", "b": "first_space"}
    same = tokbench("compare", tmp_path / "a", tmp_path / "c", tmp_path / "text.txt")
    assert same.status == 0
    assert b"pre-tokenizer" not in same.stdout


def test_p_is_that_of_students_paired_test() -> None:
    """p equals SciPy's, but is never lower than that of the sign test."""
    rng = np.random.default_rng(0)
    drawn = rng.normal(0.3, 1, 40).tolist()
    assert paired_p(drawn) == pytest.approx(ttest_1samp(drawn, 0).pvalue, rel=1e-12)
    assert paired_p([1.0] * 8) == paired_p([1.0, 1.0 + 1e-12] * 4) == 2.0**-7
    assert paired_p([1.0, 1.5]) == 0.5
    assert (paired_p([1.0, -1.0]), paired_p([0.0, 0.0]), paired_p([1.0])) == (1.0, 1.0, None)


def test_a_winner_is_one_after_correction() -> None:
    """One of forty tests has p = 0.04: significant only without correction."""
    clear, level = Contrast(1, 2, -1.0, -1.9, -0.1, 9, 0.04), Contrast(1, 2, -1.0, -1.9, 0.1, 9, 0.5)
    lines = [Line(str(n), level if n else clear, "lowest", f"thing {n}") for n in range(40)]
    alone, among = (corrected([LineGroup("", "real", "real", some)])[0].lines[0] for some in (lines[:1], lines))
    assert (alone.winner, among.winner, among.holm) == ("a", "", 1.0)


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


def test_bits_per_byte_have_the_interval_of_drawn_documents() -> None:
    """The interval follows the formula for a ratio of sums (Cochran 1977, "Sampling Techniques", section 6.3)."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(50, 150, 400)
    a, b = sizes * rng.normal(2.0, 0.2, 400), sizes * rng.normal(1.9, 0.2, 400)
    found = bits_per_byte(a.tolist(), b.tolist(), sizes.tolist())
    assert found is not None
    difference = (a - b).sum() / sizes.sum()
    spread = np.sqrt(((a - b - difference * sizes) ** 2).sum()) / sizes.sum()
    assert found.difference == pytest.approx(difference)
    assert (found.low, found.high) == pytest.approx(
        (difference - 1.96 * spread, difference + 1.96 * spread), abs=0.15 * spread * 2
    )
    assert bits_per_byte([1.0], [2.0], [4]) == Contrast(0.25, 0.5, -0.25, None, None, 1)
    assert bits_per_byte([], [], []) is None
