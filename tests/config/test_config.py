"""The configuration: short forms, paths from the command line, its JSON schema and its documentation."""

import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support.workflow.checkout import Prepared
from tokbench.commands.methods import schema
from tokbench.config.experiment import Experiment
from tokbench.config.load import read, validate
from tokbench.construction import construction, constructions
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.errors import TokbenchError
from tokbench.io.yaml import parse_yaml
from tokbench.options import Options, canonical
from tokbench.workflow.byte_lms import ByteLms
from tokbench.workflow.corpora import Corpora
from tokbench.workflow.models import Models, Suites
from tokbench.workflow.tokenizers import Variants
from tools import make_configuration_docs

ROOT = Path(__file__).parents[2]
OVER = ("study_models", "study_models_in_full")
"""Given over another file, of which they say less than all."""
FILES = [
    ROOT / "config.yaml",
    *(file for file in sorted((ROOT / "experiments").glob("*.yaml")) if file.stem not in OVER),
]
SCHEMA = jsonschema.Draft202012Validator(schema())


def test_complete_example_of_the_documentation_is_valid() -> None:
    [code] = re.findall(r"```yaml\n(.*?)```", make_configuration_docs.EXAMPLE, re.DOTALL)
    experiment = Experiment.model_validate(yaml.safe_load(code))
    assert set(experiment.external) == {"theirs", "ours"}
    assert experiment.runs[0].sizes == [4096]


def test_schema_command(tokbench: Tokbench) -> None:
    assert json.loads(tokbench("schema").stdout) == schema()


def properties(part: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(part, list):
        return [found for inner in part for found in properties(inner)]
    if not isinstance(part, dict):
        return []
    own = part.get("properties", {})
    return [*own.items(), *(found for inner in part.values() for found in properties(inner))]


def test_every_key_has_a_description() -> None:
    silent = {name for name, about in properties(schema()) if "description" not in about and "$ref" not in about}
    assert silent <= {"method", "type", "preset"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_shipped_files_fit_the_schema(file: Path) -> None:
    assert [error.message for error in SCHEMA.iter_errors(yaml.safe_load(file.read_text()))] == []


def test_the_demo_is_without_a_mistake() -> None:
    assert read(ROOT / "config.yaml", {}).name == "demo"


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("variants/bpe/construction", {"method": "bpe", "max_token_bytes": 8}),
        ("variants/bpe/segmentation", "greedy"),
        ("variants/bpe/segmentation", {"method": "shortest_path", "ties": "random"}),
        ("models/tiny", {"preset": "tiny", "batches": 7}),
        ("models/tiny", {"batches": 7}),
        ("byte_lms/tiny", {"steps": 9, "warmup_steps": 0, "decay_steps": 0}),
        ("suites/offline", {"preset": "offline", "limit": 3}),
        ("corpora/pydoc/source", {"type": "embedded", "max_documents": 3}),
        ("corpora/pydoc/source", {"type": "text", "path": "config.yaml"}),
        ("corpora/pydoc/source", {"type": "text", "path": ["config.yaml", "Snakefile"]}),
        ("ngram_bits", {"training_bytes": [2**40]}),
        ("suites/offline", {"preset": "offline", "document_bytes": 2**40}),
        ("metrics", {"renyi": {"orders": [2.5]}, "parity": {"reference": "en"}}),
        ("resources", {"gold": {"type": "unimorph", "path": {"en": "config.yaml"}, "languages": ["en"]}}),
        ("corpora/pydoc/source", {"type": "hub", "dataset": "a/b", "revision": "0" * 40}),
    ],
)
def test_short_and_long_forms(key: str, form: Any, experiment: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    *parents, last = key.split("/")
    here = experiment
    for step in parents:
        here = here[step]
    here[last] = form
    assert SCHEMA.is_valid(experiment)
    whole = validate(experiment, "mine")
    assert validate(whole.model_dump(mode="json", exclude_unset=True), "mine") == whole


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("construction", "bpee"),
        ("construction", {"method": "bpe", "initial": "bpe"}),
        ("construction", {"method": "pathpiece", "initial": {"method": "sage"}}),
        ("construction", {"method": "pathpiece", "initial": {"method": "bpe", "max_token": 4}}),
        ("segmentation", "gready"),
        ("pretokenization", "gtp2"),
        ("sizes", "1024"),
        ("sise", [1024]),
    ],
)
def test_schema_rejects(key: str, form: Any, experiment: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(experiment)
    experiment["variants"]["bpe"][key] = form
    assert not SCHEMA.is_valid(experiment)


def test_recipes_of_initial_vocabularies(experiment: dict[str, Any]) -> None:
    """A mapping whose options are all defaults is the name."""
    options = {"method": "unigram", "pruning_loss": "tokenizers"}
    forms = {"name": "unigram", "mapping": {"method": "unigram"}, "default": {"method": "unigram", "final_cut": "need"}}
    for name, initial in (forms | {"options": options}).items():
        experiment["variants"][name] = {
            "pretokenization": "gpt2",
            "construction": {"method": "pathpiece", "initial": initial},
        }
    assert SCHEMA.is_valid(experiment)
    variants = validate(experiment, "mine").variants
    written = {name: variants[name].construction.model_dump(mode="json")["initial"] for name in (*forms, "options")}
    assert [written.pop(name) for name in forms] == ["unigram"] * 3
    kind = constructions["unigram"].options
    assert written["options"] == {"method": "unigram", **kind(pruning_loss="tokenizers").model_dump(mode="json")}
    assert variants["options"].construction.initial == "unigram"


def test_presets_are_changed_key_by_key(experiment: dict[str, Any]) -> None:
    experiment["models"]["other"] = {"preset": "tiny", "batches": 7}
    models = validate(experiment, "mine").models
    assert models["other"] == models["tiny"].model_copy(update={"batches": 7})


@pytest.mark.parametrize("source", ["jsonl", {"type": "jsonl"}, {"type": "jsonl", "path": "absent"}])
def test_path_of_a_corpus_from_the_command_line(source: Any, experiment: dict[str, Any], tmp_path: Path) -> None:
    text = tmp_path / "text.jsonl"
    text.touch()
    experiment["corpora"]["books"] = {"source": source}
    assert validate({**experiment, "books": str(text)}, "mine").corpora["books"].source == JsonLinesSource(
        type="jsonl", path=[str(text)]
    )


def test_path_of_a_resource_from_the_command_line(experiment: dict[str, Any], tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.touch()
    experiment["resources"] = {"ladec": "ladec", "other": {"type": "ladec", "path": "absent", "languages": ["en"]}}
    found = validate({**experiment, "ladec": str(gold), "other": [str(gold)]}, "mine").resources
    assert [resource.path for resource in found.values()] == [[str(gold)], [str(gold)]]
    assert found["other"].languages == ["en"]


def test_baselines_by_corpus(experiment: dict[str, Any]) -> None:
    experiment["corpora"]["other"] = experiment["corpora"]["pydoc"]
    for name in ("first", "second"):
        experiment["variants"][name] = {"corpus": "other", "pretokenization": "gpt2", "construction": "bpe"}
    for baseline, expected in (
        (None, {"pydoc": "bpe", "other": "first"}),
        ("second", {"pydoc": "bpe", "other": "second"}),
        ({"pydoc": "span"}, {"pydoc": "span", "other": "first"}),
    ):
        assert validate({**experiment, "report": {"baseline": baseline}}, "mine").baselines() == expected
    with pytest.raises(TokbenchError, match=r"report\.baseline\.other: 'bpe' is built from 'pydoc'; name a variant"):
        validate({**experiment, "report": {"baseline": {"other": "bpe"}}}, "mine")


def test_full_form_is_a_configuration_too(tmp_path: Path, tokbench: Tokbench) -> None:
    full = tokbench("validate", "--full", ROOT / "config.yaml").stdout
    again = tmp_path / "full.yaml"
    again.write_bytes(full)
    assert tokbench("validate", "--full", again).stdout == full
    assert yaml.safe_load(full)["models"]["tiny"]["d_model"] == 64


def test_keys_set_from_the_command_line(tokbench: Tokbench) -> None:
    full = tokbench("validate", "--full", "--set", "sizes=[2048, 4096]", "--set", "seed=3", ROOT / "config.yaml").stdout
    values = yaml.safe_load(full)
    assert (values["sizes"], values["seed"]) == ([2048, 4096], 3)


def test_equal_and_unused_recipes_are_noted(experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(experiment))
    assert tokbench("validate", file).stderr == ""
    experiment["corpora"]["other"] = {"source": {"type": "embedded", "max_documents": 3}}
    experiment["variants"]["again"] = {"pretokenization": "gpt2", "construction": {"method": "bpe"}}
    experiment["models"]["second"] = {"preset": "tiny"}
    experiment["suites"]["short"] = {"preset": "offline", "limit": 2}
    experiment["byte_lms"]["counted"] = "ngram"
    file.write_text(yaml.safe_dump(experiment, sort_keys=False))
    outcome = tokbench("validate", file)
    assert outcome.status == 0
    assert outcome.stderr.splitlines() == [
        "note: corpora.other: nothing uses it",
        "note: byte_lms.counted: nothing uses it",
        "note: variants.again: equals variants.bpe",
        "note: models.second: equals models.tiny",
        "note: models.second: nothing uses it",
        "note: suites.short: nothing uses it",
    ]


def test_the_corpus_of_a_development_set_is_used(
    experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    experiment["corpora"]["other"] = {"source": {"type": "embedded", "max_documents": 3}}
    parity = {"pretokenization": "gpt2", "construction": "parity_bpe", "development": "other", "corpus": "pydoc"}
    experiment["variants"]["parity"] = parity
    file.write_text(yaml.safe_dump(experiment, sort_keys=False))
    assert "nothing uses it" not in tokbench("validate", file).stderr


# What the rules ask


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return value


def recipes(values: dict[str, Any]) -> list[Any]:
    experiment = validate(values, "mine")
    on = SimpleNamespace(
        variant="pathpiece", model="tiny", suite="offline", byte_lm="tiny", corpus="pydoc", initial="bpe", size="1024"
    )
    asked = (
        Variants(experiment).recipe,
        Variants(experiment).segmentation,
        Corpora(experiment).recipe,
        ByteLms(experiment).recipe,
        Models(experiment).recipe,
        Suites(experiment).recipe,
    )
    return [ask(on) for ask in asked]


def test_recipes_do_not_depend_on_the_order_of_keys(experiment: dict[str, Any]) -> None:
    assert recipes(experiment) == recipes(reordered(experiment))


def test_a_default_written_out_changes_no_recipe(experiment: dict[str, Any]) -> None:
    written = copy.deepcopy(experiment)
    written["variants"]["pathpiece"]["construction"]["ties"] = "longest"
    written["corpora"]["pydoc"]["shards"] = 1
    assert recipes(experiment) == recipes(written)


def test_one_variant_does_not_touch_another(experiment: dict[str, Any]) -> None:
    other = copy.deepcopy(experiment)
    other["variants"]["bpe"]["construction"] = {"method": "bpe", "max_token_bytes": 5}
    other["variants"]["new"] = {"pretokenization": "space", "construction": "unigram"}
    assert recipes(experiment) == recipes(other)


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_yaml_reads_canonical_text(text: str) -> None:
    assert parse_yaml(canonical({"key": text}), "recipe") == {"key": text}


def test_canonical_text() -> None:
    assert canonical({"b": [1, 2.5, None], "a": {"d": "é", "c": True}}) == '{"a":{"c":true,"d":"é"},"b":[1,2.5,null]}'


# The workflow


def test_workflow_reads_one_file_and_paths(workflow: Prepared, tmp_path: Path) -> None:
    """A file of the user's inherits nothing from config.yaml, and takes its corpus's path from the command line."""
    text = tmp_path / "novels.jsonl"
    text.write_text('{"text": "a"}\n')
    file = tmp_path / "mine.yaml"
    values = {
        "name": "mine",
        "results": str(tmp_path / "results"),
        "corpora": {"books": {"source": "jsonl"}},
        "variants": {"only": {"pretokenization": "space", "construction": "bpe"}},
        "sizes": [512],
        "bounds": {"steps": 900},
    }
    file.write_text(yaml.safe_dump(values))
    command = ("-n", "--printshellcmds", "--cores", "1", "--configfile", str(file), "--config", f"books={text}")
    printed = workflow.run(*command)
    assert re.search(rf"tokbench prepare .*{text}", printed)
    assert re.search(r"tokbench bound .* --size 512 --steps 900 ", printed)
    jobs = {words[0]: words[1] for line in printed.splitlines() if len(words := line.split()) == 2}
    assert (jobs["prepare"], jobs["build"], jobs["measure"]) == ("1", "1", "1")
    assert "pretrain" not in jobs
    assert "pydoc" not in printed


def test_an_option_that_configuration_could_not_set_is_rejected() -> None:
    class Named(Options):
        method: str = "fast"

    with pytest.raises(TokbenchError, match="construction 'mine': an option cannot be called 'method'; rename it"):
        construction("mine", options=Named, segmentation="greedy")(lambda: None)


def two_runs(experiment: dict[str, Any], one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The experiment with a second corpus, and two runs of one model and one variant that differ in what is given."""
    common = {"models": ["tiny"], "variants": ["bpe"], "suites": ["offline"]}
    corpora = {**experiment["corpora"], "other": experiment["corpora"]["pydoc"]}
    return {**experiment, "corpora": corpora, "sizes": [512, 1024], "runs": [common | one, common | other]} | {
        "variants": {"bpe": experiment["variants"]["bpe"]}
    }


@pytest.mark.parametrize("first", [0, 1])
def test_a_model_reads_the_corpus_of_its_own_run(experiment: dict[str, Any], first: int) -> None:
    """One variant at two sizes may read two corpora, in whatever order the runs stand."""
    runs = [{"sizes": [512]}, {"sizes": [1024], "corpus": "other"}]
    models = Models(validate(two_runs(experiment, runs[first], runs[1 - first]), "mine"))
    read = {size: models.corpus(SimpleNamespace(model="tiny", variant="bpe", size=size)) for size in ("512", "1024")}
    assert read == {"512": "pydoc", "1024": "other"}


@pytest.mark.parametrize("sizes", [[1024], [512, 1024], None])
def test_runs_that_contradict_each_other_are_rejected(experiment: dict[str, Any], sizes: list[int] | None) -> None:
    values = two_runs(experiment, {"sizes": [1024]}, {"sizes": sizes, "corpus": "other"})
    with pytest.raises(TokbenchError) as rejection:
        validate(values, "mine")
    assert str(rejection.value) == (
        "mine: runs.1.corpus: 'tiny' with 'bpe' at 1024 reads 'other' here and 'pydoc' in runs.0; name one corpus in "
        "both, or give the model a second name"
    )
