"""Stages: what one declaration gives to the configuration, the rules, the tables and the targets."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from tests.support.rules import RULES
from tokbench.config.experiment import section_fields
from tokbench.config.load import read_experiment_file, read_settings, validate
from tokbench.config.targets import TokenizerTarget, all_tokenizers
from tokbench.errors import TokbenchError
from tokbench.io.json import write_result
from tokbench.options import Options
from tokbench.stage import Result, Section, Stage, Stages, stages
from tokbench.stages.report import report_settings

OUTPUT = re.compile(r'"<results>/([^"]+)"')


def fields(path: str) -> str:
    """Return a path whose wildcards have no names, as a target may name several at once."""
    return re.sub(r"\{path\}", "{}/{}/{}/{}/{}/{}/{}", re.sub(r"\{(?!path)\w+\}", "{}", path))


def test_results_of_a_stage_are_outputs_of_its_rule() -> None:
    outputs = {name: {fields(path) for path in OUTPUT.findall(rule["output"])} for name, (_, rule) in RULES.items()}
    outputs["build"] |= outputs["import"]
    for stage in stages:
        for result in stage.results:
            assert fields(result.pattern) in outputs[stage.name], stage.name


def test_every_result_that_tables_read_has_one_option() -> None:
    named = [result.name for result in stages.results() if result.meaning]
    assert sorted(named) == sorted({result.name for result in stages.results()})


@pytest.fixture
def experiment(tmp_path: Path) -> Any:
    (tmp_path / "text.txt").write_text("text")
    return validate(
        {
            "name": "small",
            "corpora": {"text": {"source": {"type": "text", "path": str(tmp_path / "text.txt")}}},
            "variants": {"bpe": {"pretokenization": "gpt2", "construction": "bpe"}},
            "sizes": [300, 400],
            "ngram_bits": {"order": 2},
        },
        "small",
    )


def test_targets_are_those_of_the_configuration(experiment: Any) -> None:
    tabulated = stages.tabulated(experiment)
    assert tabulated["ngram_bits"] == [f"results/small/ngram_bits/bpe/{size}.json" for size in (300, 400)]
    assert tabulated["robustness"] == tabulated["model"] == []
    assert {"results/small/report.html", "results/small/tokens/bpe/300/text.json"} <= set(stages.targets(experiment))
    assert stages.tabulated(experiment, "moved/")["tokenizer"] == [
        "moved/tokenizers/bpe/300",
        "moved/tokenizers/bpe/400",
    ]


def test_an_experiment_is_read_as_it_was_written(experiment: Any, tmp_path: Path) -> None:
    settings = report_settings(experiment)
    write_result(tmp_path / "report.json", settings)
    assert read_experiment_file(tmp_path / "report.json") == (experiment, settings["configuration"])
    with pytest.raises(TokbenchError, match="no key recipes, units; name the file of this stage"):
        read_settings(tmp_path / "report.json", "recipes", "units")


def test_stages_at_the_end_read_their_part_of_the_configuration(experiment: Any) -> None:
    assert {stage.name for stage in stages if stage.settings} == {"tabulate", "analyse", "report"}
    for stage in stages:
        if stage.settings:
            assert stage.settings(experiment) == json.loads(json.dumps(stage.settings(experiment)))


class VowelOptions(Options):
    """Options of a stage of no use."""

    most: int = Field(5, ge=1)
    """Most vowels."""


def _mistakes(experiment: Any) -> Iterator[str]:
    yield "vowels.most: too few; choose more"


VOWELS = Section("vowels", VowelOptions, "Vowels of the evaluation split.", mistakes=_mistakes)


def _measured(experiment: Any) -> list[TokenizerTarget]:
    return all_tokenizers(experiment)


def test_a_declaration_has_sections_results_and_code(experiment: Any) -> None:
    own = Stages()
    own._loaded = True
    result = Result("vowels", "vowels/{variant}/{size}.json", _measured, "Vowels")
    stage = own.add(Stage("vowels", run="tokbench.metric.usage:usage", results=(result,), sections=(VOWELS,)))
    assert own["vowels"] is stage
    assert own.sections() == [VOWELS]
    assert own.targets(experiment) == ["results/small/vowels/bpe/300.json", "results/small/vowels/bpe/400.json"]
    assert stage.code(experiment, None) == ["tokbench.metric.usage:usage"]
    kind, default = VOWELS.definition
    assert kind == VowelOptions | None
    assert (default.default, default.description) == (None, "Vowels of the evaluation split.")
    with pytest.raises(TokbenchError, match="vowel"):
        own["vowel"]


def test_two_stages_never_share_a_name_or_a_section() -> None:
    own = Stages()
    own.add(Stage("vowels", run="a:b", sections=(VOWELS,)))
    with pytest.raises(TokbenchError, match="stage 'vowels' is declared twice"):
        own.add(Stage("vowels", run="a:c"))
    with pytest.raises(TokbenchError, match="section 'vowels' is of 'vowels'"):
        own.add(Stage("consonants", run="a:b", sections=(VOWELS,)))


def test_two_stages_never_share_a_path_or_an_option() -> None:
    own = Stages()
    own.add(Stage("vowels", run="a:b", results=(Result("vowels", "vowels/{variant}.json", _measured, "Vowels"),)))
    own.add(Stage("on", run="a:b", results=(Result("vowels", "vowels/{variant}/{on}.json", _measured),)))
    with pytest.raises(TokbenchError, match="stage 'counts': result 'vowels' is of 'vowels'; rename it"):
        own.add(Stage("counts", run="a:b", results=(Result("vowels", "counts/{variant}.json", _measured, "Counts"),)))
    with pytest.raises(TokbenchError, match=r"path 'vowels/{variant}\.json' is of 'vowels'; rename it"):
        own.add(Stage("counts", run="a:b", results=(Result("counts", "vowels/{variant}.json", _measured, "Counts"),)))


@pytest.mark.parametrize("key", ["corpora", "seed", "folder", "sizes_of", "model_dump"])
def test_a_section_never_has_the_key_of_every_configuration(key: str) -> None:
    own = Stages()
    own._loaded = True
    own.add(Stage("vowels", run="a:b", sections=(replace(VOWELS, key=key),)))
    with pytest.raises(TokbenchError, match=f"stage 'vowels': section '{key}' is of every configuration; rename it"):
        section_fields(own)
