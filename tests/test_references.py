"""References: every method and type of source has a reference, and the output is BibTeX."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Tokbench
from tokbench.config.load import validate
from tokbench.construction import constructions
from tokbench.corpus.formats import corpus_formats
from tokbench.errors import TokbenchError
from tokbench.metric import metrics
from tokbench.pretokenization import schemes
from tokbench.references import bibliography, entry, format_entry, read_references
from tokbench.registry import Registry
from tokbench.report.bibliography import BYTE_NGRAMS, EMBEDDED, TEMPERATURE, publication_keys
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.stage import stages

KINDS = (constructions, segmentations, schemes, metrics, resource_types, corpus_formats)
REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "techreport": {"author", "title", "institution", "year"},
    "misc": {"author", "title"},
}
"""Fields without which BibTeX's own styles complain."""


def parsed(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Entries by key, each with its type and fields: BibTeX's grammar as far as braces delimit values.

    Raises:
        AssertionError: it is not that.
    """
    found: dict[str, tuple[str, dict[str, str]]] = {}
    place = 0
    while text[place:].strip():
        head = re.compile(r"\s*@(\w+)\{([^\s,{}]+),\s*").match(text, place)
        assert head, text[place : place + 80]
        fields: dict[str, str] = {}
        place = head.end()
        while text[place] != "}":
            name = re.compile(r"(\w+) = \{").match(text, place)
            assert name, text[place : place + 80]
            place, depth = name.end(), 1
            begin = place
            while depth:
                depth += {"{": 1, "}": -1}.get(text[place], 0) if text[place - 1] != "\\" else 0
                place += 1
            assert name[1] not in fields
            fields[name[1]] = text[begin : place - 1]
            place = re.compile(r",?\s*").match(text, place).end()  # type: ignore[union-attr]
        assert head[2] not in found
        found[head[2]] = (head[1], fields)
        place += 1
    return found


@pytest.mark.parametrize("registry", KINDS, ids=lambda registry: registry.kind)
def test_every_built_in_method_has_a_source(registry: Registry[Any]) -> None:
    for method in registry.methods():
        assert method.cites is not None, f"{registry.kind} {method.name}: give cites, () where it needs none"
        assert set(method.cites) <= read_references().keys()


def test_every_type_of_source_does() -> None:
    assert read_references().keys() >= set(EMBEDDED)


def test_every_entry_is_bibtex_and_cited() -> None:
    found = parsed(bibliography(read_references()))
    assert found.keys() == read_references().keys()
    for key, (kind, fields) in found.items():
        assert REQUIRED[kind] <= fields.keys(), key
        assert "url" in fields or "year" in fields, key
        assert re.fullmatch(r"\{[^{}]+\}", fields["title"]), key
        assert "-" not in fields.get("pages", "").replace("--", "")
        assert re.fullmatch(r"\d{4}\.\d{4,5}|", fields.get("eprint", ""))
    named = {key for registry in KINDS for method in registry.methods() for key in method.cites or ()}
    named |= {*EMBEDDED}
    named |= {*BYTE_NGRAMS, *TEMPERATURE, *(key for stage in stages for key in stage.cites)}
    assert read_references().keys() == named, "no entry without a use"


def test_characters_of_latex() -> None:
    text = format_entry(
        "key", {"type": "misc", "author": ["Ström, Åsa"], "title": "A & B_1: 50 %", "url": "https://a.b/c_d#e"}
    )
    assert parsed(text)["key"][1] == {
        "author": "Ström, Åsa",
        "title": "{A \\& B\\_1: 50 \\%}",
        "url": "https://a.b/c_d#e",
    }


def experiment(**more: Any) -> Any:
    values = {
        "name": "small",
        "corpora": {"text": {"source": "embedded"}},
        "variants": {"bpe": {"pretokenization": "gpt2", "construction": "bpe"}},
        "sizes": [300],
    }
    return validate({**values, **more}, "small")


def test_experiments_cite_their_methods_only() -> None:
    """Its methods, those behind them, and no other."""
    plain = publication_keys(experiment())
    assert {"cpython_documentation", "radford2019", "sennrich2016"} < set(plain)
    assert not {"kudo2018sentencepiece", "chen1999", "llm_foundry"} & set(plain)
    digits = {"method": "sequence", "steps": ["metaspace", {"method": "digits"}]}
    pathpiece = {"method": "pathpiece", "initial": "unigram"}
    more = experiment(
        variants={"other": {"pretokenization": digits, "construction": pathpiece}},
        ngram_bits={},
    )
    assert {"kudo2018sentencepiece", "singh2024", "schmidt2024", "kudo2018", "chen1999"} <= set(publication_keys(more))
    commit = "0" * 40
    hub = {"type": "hub", "dataset": "someone/some-data", "revision": commit}
    entries = parsed(bibliography(publication_keys(experiment(corpora={"text": {"source": hub}}))))
    assert entries["someone_some_data"][1]["url"] == f"https://huggingface.co/datasets/someone/some-data/tree/{commit}"


def test_entries_of_other_distributions() -> None:
    """A plug-in brings its own, whole."""
    own = "@misc{mine, title = {Mine}}"
    assert parsed(bibliography(["sennrich2016", own, "sennrich2016"])).keys() == {"mine", "sennrich2016"}
    with pytest.raises(TokbenchError, match="two BibTeX entries have the key 'sennrich2016'"):
        bibliography(["sennrich2016", "@misc{sennrich2016, title = {Mine}}"])
    with pytest.raises(TokbenchError, match="'nobody1900' is not a key"):
        entry("nobody1900")


def test_cite(tokbench: Tokbench, tmp_path: Path) -> None:
    values = experiment().model_dump(mode="json", exclude_unset=True)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(values))
    printed = tokbench("cite", tmp_path / "small.yaml").stdout
    done = tokbench("cite", tmp_path / "small.yaml", "-o", tmp_path / "references.bib")
    assert done.status == 0, done.stderr
    assert (tmp_path / "references.bib").read_bytes() == printed
    assert "sennrich2016" in parsed(printed.decode())
    assert "one of the two" in tokbench("cite").message
    listed = tokbench("cite", "--cited", json.dumps(publication_keys(experiment())))
    assert listed.stdout == printed
    assert "--cited: not a list of texts" in tokbench("cite", "--cited", "[1]").message


def test_citation_has_the_authors_of_the_references() -> None:
    cited = yaml.safe_load((Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    authors = {entry["title"].casefold(): (entry["author"], entry.get("year")) for entry in read_references().values()}
    for paper in cited:
        names = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
        assert (names, paper["year"]) == authors[paper["title"].casefold()]
