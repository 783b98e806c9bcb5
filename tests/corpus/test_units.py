"""Documents of one unit fall into one split and count as one in statistics."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench, write_json_lines
from tests.support.corpora import whole_texts
from tests.support.pipeline import done
from tokbench.config.check_corpora import unit_mistakes
from tokbench.config.experiment import Experiment
from tokbench.config.targets import all_drawn
from tokbench.corpus.documents import ContinuationPiece, read_documents
from tokbench.corpus.splits import split_documents
from tokbench.corpus.units import check_documents, read_units
from tokbench.errors import TokbenchError
from tokbench.stages.tables import unit_tables, units
from tokbench.statistics.comparisons.model_bits import groups
from tokbench.statistics.inputs import StatisticsInputs
from tokbench.statistics.units import sum_by_unit
from tokbench.tabulation.domains import document_domains_table
from tokbench.workflow.corpora import Corpora


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 900)), min_size=40), st.integers(0, 99))
def test_a_unit_falls_into_one_split(rows: list[tuple[int, int]], seed: int) -> None:
    """Splits of units are those of one document for each unit."""
    named = {unit: place for place, unit in enumerate(dict.fromkeys(unit for unit, _ in rows))}
    units = np.array([named[unit] for unit, _ in rows], np.int32)
    sizes = np.array([size for _, size in rows])
    fractions = {"tokenizer": 0.5, "evaluation": 0.5}
    together = [int(sizes[units == unit].sum()) for unit in range(len(named))]
    try:
        expected = split_documents(together, fractions, seed)
    except TokbenchError:
        with pytest.raises(TokbenchError, match="gets none of"):
            split_documents(sizes, fractions, seed, units=units)
        return
    assert split_documents(sizes, fractions, seed, units=units).tolist() == expected[units].tolist()


@pytest.mark.parametrize("parts", [1, 2])
def test_prepare_keeps_units_together(parts: int, tmp_path: Path, tokbench: Tokbench) -> None:
    rows = [{"text": f"{number % 5} of {number}"} for number in range(40)]
    files = [write_json_lines(tmp_path / f"{half}.jsonl", rows[20 * half : 20 * half + 20]) for half in (0, 1)]
    table = tmp_path / "units.csv"
    table.write_text("document,note,unit\n" + "".join(f"{n},x,author {n % 5}\n" for n in reversed(range(40))))
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.6, "evaluation": 0.4}, "seed": 3}
    folder = tmp_path / "corpus"
    if parts == 1:
        done(tokbench("prepare", "--recipe", json.dumps(recipe), "--units", table, "-o", folder, *files))
        splits = {split: whole_texts(folder / split) for split in ("tokenizer", "evaluation")}
        authors = {split: {text.split()[0] for text in texts} for split, texts in splits.items()}
        assert not authors["tokenizer"] & authors["evaluation"]
        assert len(authors["tokenizer"] | authors["evaluation"]) == 5
        return
    sizes = [tmp_path / f"{part}.parquet" for part in (0, 1)]
    for file, size in zip(files, sizes, strict=True):
        done(tokbench("read_sizes", "--recipe", json.dumps(recipe), "-o", size, file))
    done(tokbench("split_corpus", "--recipe", json.dumps(recipe), "--units", table, "-o", folder, *sizes))
    placed = np.concatenate([pq.read_table(folder / f"000{part}.parquet")["place"].to_numpy() for part in (0, 1)])
    assert [len(set(placed[unit::5])) for unit in range(5)] == [1] * 5
    assert set(placed) == {0, 1}


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("draw", [{}, {"sample": 0.7}, {"bytes": 9000}])
def test_units_of_a_mixture_stay_together_under_their_new_numbers(
    draw: dict[str, float], pieces: bool, tmp_path: Path, tokbench: Tokbench
) -> None:
    """A unit is named by the number of a document in its source, before documents are drawn and shuffled."""
    paths = {name: tmp_path / f"{name}.jsonl" for name in ("code", "web")}
    unit_of = {}
    table = ["unit,domain,document"]
    for name, path in paths.items():
        sizes = [1_200_000 if pieces and number in (3, 4) else 60 for number in range(120)]
        texts = [f"{name} {number} " + "x" * size for number, size in enumerate(sizes)]
        write_json_lines(path, [{"text": text} for text in texts])
        number = 0
        for place, text in enumerate(texts):
            unit_of[" ".join(text.split()[:2])] = unit = f"{name} author {place % 12}"
            table.append(f"{unit},{name},{number}")
            number += 2 if len(text) > 1_000_000 else 1
    (tmp_path / "units.csv").write_text("\n".join(reversed(table[1:] + table[:1])) + "\n")
    sources = {name: {"source": {"type": "jsonl"}} for name in paths}
    recipe = {"sources": sources, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "seed": 3, **draw}
    recipe |= {"longest_document": 1_000_000}
    for name, path in paths.items():
        recipe["sources"][name]["source"]["path"] = str(path)
    folder = tmp_path / "corpus"
    done(tokbench("prepare", "--recipe", json.dumps(recipe), "--units", tmp_path / "units.csv", "-o", folder))
    named = read_units(folder / "units.csv")
    units: dict[str, set[str]] = {}
    for split in ("tokenizer", "evaluation"):
        for document in read_documents(sorted((folder / split).glob("*.parquet"))):
            if not isinstance(document, ContinuationPiece):
                key = " ".join(document.text.decode().split()[:2])
                assert named[document.document] == unit_of[key]
                units.setdefault(split, set()).add(unit_of[key])
    assert not units["tokenizer"] & units["evaluation"]
    assert units["tokenizer"] | units["evaluation"] == set(named.values())
    # Continuation pieces have no row of their own in the table of units.
    rows = document_domains_table([folder]).drop_nulls("unit")
    assert {number: named[number] for number in rows["document"]} == dict(rows.select("document", "unit").iter_rows())
    assert set(rows["unit"]) == units["evaluation"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("document,unit\n0,a\n", "units.csv: no column 'domain'; give CSV with the columns domain, document and unit"),
        ("domain,document,unit\ncode,0,a\nweb,0,b\ncode,1,b\n", "unit 'b' is in the domains 'code' and 'web'; give it"),
        (
            "domain,document,unit\ncode,0,a\ncode,1,a\nweb,0,b\n",
            "names document 1 of 'code', which the corpus does not",
        ),
        ("domain,document,unit\ncode,0,a\n", "has no row for document 0 of 'web' of the corpus; name each"),
    ],
)
def test_units_that_do_not_fit_a_mixture(text: str, message: str, tmp_path: Path, tokbench: Tokbench) -> None:
    for name in ("code", "web"):
        write_json_lines(tmp_path / f"{name}.jsonl", [{"text": name}])
    (tmp_path / "units.csv").write_text(text)
    sources = {name: {"source": {"type": "jsonl", "path": str(tmp_path / f"{name}.jsonl")}} for name in ("code", "web")}
    recipe = json.dumps({"sources": sources, "splits": {"evaluation": 1.0}, "seed": 0})
    outcome = tokbench("prepare", "--recipe", recipe, "--units", tmp_path / "units.csv", "-o", tmp_path / "c")
    assert outcome.status == 2
    assert message in outcome.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("document\n1\n", "units.csv: no column 'unit'; give CSV with the columns document and unit"),
        ("document,unit\n0,a\n-1,a\n", "units.csv:3: '-1' is no document; give its number, from 0"),
        ("document,unit\n0,\n", "units.csv:2: document 0 has no unit; name one"),
        ("document,unit\n0,a\n1,a\n0,a\n", "units.csv:4: document 0 is named twice; name each document once"),
        ("document,unit\n1,a\n", "units.csv: has no row for document 0 of the corpus; name each document of this"),
        ("document,unit\n0,a\n1,b\n2,c\n", "units.csv: names document 2, which the corpus does not have; name each"),
    ],
)
def test_units_that_do_not_fit(text: str, message: str, tmp_path: Path, tokbench: Tokbench) -> None:
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": "one"}, {"text": "two"}])
    (tmp_path / "units.csv").write_text(text)
    recipe = json.dumps({"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}})
    outcome = tokbench("prepare", "--recipe", recipe, "--units", tmp_path / "units.csv", "-o", tmp_path / "c", rows)
    assert outcome.status == 2
    assert message in outcome.message
    assert not (tmp_path / "c").exists()


def test_tables_need_a_row_for_each_document_of_a_unit() -> None:
    splits = np.zeros(1001, np.int8)
    check_documents(Path("units.csv"), splits, {"tokenizer": 1.0})
    check_documents(Path("units.csv"), splits[:1000], {"evaluation": 1.0})
    with pytest.raises(TokbenchError, match=r"has 1,001 documents, and units need 1,000 or fewer"):
        check_documents(Path("units.csv"), splits, {"evaluation": 1.0})


def test_configurations_name_units(tmp_path: Path, experiment: dict[str, Any]) -> None:
    table = tmp_path / "units.csv"
    experiment["corpora"] = {"pydoc": {"source": "embedded", "units": str(table)}}
    asked = Experiment.model_validate(experiment)
    [missing] = unit_mistakes(asked)
    assert missing.startswith("corpora.pydoc.units: ")
    table.write_text("document,unit\n0,a\n")
    assert list(unit_mistakes(asked)) == []
    corpora, named = Corpora(asked), type("Wildcards", (), {"corpus": "pydoc"})
    assert corpora.units_at_once(named) == unit_tables(asked) == [str(table)]
    assert units(asked) == {"pydoc": table}
    assert "units" not in json.loads(corpora.recipe(named))
    experiment["corpora"]["pydoc"]["source"] = {"type": "counts", "path": str(table)}
    [line] = unit_mistakes(Experiment.model_validate(experiment))
    assert line == "corpora.pydoc.units: a corpus of counts has no documents; leave the key out"


def test_units_of_drawn_documents_are_those_of_measured_corpora(experiment: dict[str, Any]) -> None:
    """Their table has numbers before the draw, which statistics cannot use; results have those after it."""
    text = {"source": "embedded", "units": "units.csv"}
    drawn = {"unused": {**text, "sample": 0.5}, "read": {**text, "sample": 0.5}, "measured": {**text, "sample": 0.5}}
    variant = {"corpus": "pydoc", "pretokenization": "gpt2", "construction": "bpe"}
    experiment |= {
        "corpora": {"pydoc": text, **drawn},
        "variants": {"bpe": {**variant, "measured_on": ["measured"]}},
        "models": {"m": {"preset": "tiny"}},
        "suites": {"bits": {"preset": "offline"}},
        "runs": [{"models": ["m"], "variants": ["bpe"], "suites": ["bits"], "corpus": "read"}],
    }
    asked = Experiment.model_validate(experiment)
    assert [target.corpus for target in all_drawn(asked)] == ["measured", "read"]
    assert set(units(asked)) == {"pydoc", "measured", "read"}


def test_statistics_sum_documents_of_a_unit(tmp_path: Path) -> None:
    table = tmp_path / "units.csv"
    table.write_text("document,unit\n0,a\n3,b\n5,a\n")
    head = {"corpus": ["x"] * 6 + ["y"], "variant": ["one"] * 3 + ["two"] * 3 + ["one"]}
    frame = pl.DataFrame(head | {"document": [5, 0, 3, 0, 3, 5, 5], "bits": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]})
    found = sum_by_unit(frame, ("bits",), {"x": read_units(table)})
    assert sorted(found.rows()) == [
        ("x", "one", 0, 3.0), ("x", "one", 3, 4.0), ("x", "two", 0, 40.0), ("x", "two", 3, 16.0), ("y", "one", 5, 64.0),
    ]  # fmt: skip
    assert sum_by_unit(frame, ("bits",), {}) is frame


def test_a_unit_of_several_languages_is_one_observation(tmp_path: Path) -> None:
    """The same ten sentences in two languages are not two observations, and languages are compared by documents."""
    table = tmp_path / "blocks.csv"
    table.write_text("document,unit\n0,first\n1,second\n2,first\n3,second\n4,third\n")
    bits = pl.DataFrame(
        {
            "model": "m", "variant": "v", "size": 256, "suite": "s", "corpus": "x", "document": range(5),
            "language": ["en", "en", "fi", "fi", "fi"], "bytes": [10, 20, 30, 40, 50],
            "bits": [1.0, 2.0, 4.0, 8.0, 16.0], "bytes_lost": 0,
        }
    )  # fmt: skip
    bits.write_parquet(tmp_path / "document_bits.parquet")
    inputs = StatisticsInputs(tmp_path, {}, units={"x": table})
    found = inputs.bits_by_seed.select("document", "language", "bytes", "bits").rows()
    assert found == [(0, "", 40, 5.0), (1, "", 60, 10.0), (4, "fi", 50, 16.0)]
    [group] = groups(inputs.bits_by_seed)
    assert len(group.sizes) == 3
    assert inputs.bits_by_document["language"].to_list() == ["en", "en", "fi", "fi", "fi"]
    apart = sum_by_unit(bits, ("bytes", "bits"), {"x": read_units(table)}, by_language=True)
    assert apart.select(bits.columns).equals(bits), "no language has two documents of a unit"


# Files
