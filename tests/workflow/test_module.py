"""The workflow as a module of another workflow, with the whole configuration or a section of it."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.workflow.checkout import ROOT, Prepared
from tokbench.workflow.job_states import read_plan

SMALL = {
    "name": "small",
    "corpora": {"pydoc": {"source": "embedded", "splits": {"tokenizer": 0.7, "evaluation": 0.3}}},
    "variants": {"bpe": {"pretokenization": "gpt2", "construction": "bpe"}},
    "sizes": [400],
}
SNAKEFILE = """\
configfile: "config.yaml"


module tokbench:
    snakefile:
        {snakefile!r}
    config:
        {config}


use rule * from tokbench as tokbench_*


rule letter:
    default_target: True
    input:
        rules.tokbench_all.input,
    output:
        "letter.txt",
    shell:
        "touch {{output}}"
"""


HOOK = """

from tokbench.workflow.run import on_start


onstart:
    on_start(workflow, log, config["tokenizers"])
"""


@pytest.mark.parametrize(
    ("config", "values", "size"),
    [
        ("config", SMALL, "400"),
        ('config["tokenizers"]', {"samples": ["a", "b"], "tokenizers": SMALL}, "400"),
        ('config | {"sizes": [500]}', SMALL, "500"),
    ],
    ids=["whole configuration", "section", "changed configuration"],
)
def test_another_workflow_plans_our_rules_with_its_configuration(
    config: str, values: dict[str, Any], size: str, workflow: Prepared, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(snakefile=str(ROOT / "Snakefile"), config=config))
    printed = workflow.run("-n", "--snakefile", str(tmp_path / "Snakefile"), "--directory", str(tmp_path))
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE))
    assert {"tokbench_prepare", "tokbench_build", "tokbench_measure", "tokbench_report", "letter"} <= set(jobs)
    assert jobs["tokbench_build"] == jobs["letter"] == "1"
    assert f"results/small/tokenizers/bpe/{size}" in printed


def test_stages_have_their_names_under_a_prefix(workflow: Prepared, tmp_path: Path) -> None:
    """In the plan and the checks of a run; a setting for a name that no rule has is reported."""
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"tokenizers": SMALL}))
    snakefile = SNAKEFILE.format(snakefile=str(ROOT / "Snakefile"), config='config["tokenizers"]') + HOOK
    (tmp_path / "Snakefile").write_text(snakefile)
    arguments = ("--cores", "1", "--snakefile", str(tmp_path / "Snakefile"), "--directory", str(tmp_path))
    settings = ("--set-resources", "cite:runtime=5", "tokbench_prepare:runtime=5")
    printed = workflow.run("results/small/references.bib", *arguments, *settings)
    assert "set-resources: no rule is named cite; write the prefix of the rules\n" in printed
    assert read_plan(str(tmp_path / "results" / "small")).stages == ("cite",)


def test_mistakes_in_a_section_name_its_key(workflow: Prepared, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"tokenizers": SMALL | {"sizes": "many"}}))
    snakefile = SNAKEFILE.format(snakefile=str(ROOT / "Snakefile"), config='config["tokenizers"]')
    (tmp_path / "Snakefile").write_text(snakefile)
    printed = workflow.run("-n", "--snakefile", str(tmp_path / "Snakefile"), "--directory", str(tmp_path), status=1)
    assert "configuration of the module: sizes: " in printed


def test_a_file_of_the_command_line_overrides_the_workflows_own(workflow: Prepared, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "larger.yaml").write_text(yaml.safe_dump({"sizes": [500]}))
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(snakefile=str(ROOT / "Snakefile"), config="config"))
    arguments = ("--snakefile", str(tmp_path / "Snakefile"), "--directory", str(tmp_path), "--configfile")
    printed = workflow.run("-n", *arguments, str(tmp_path / "larger.yaml"))
    assert "results/small/tokenizers/bpe/500" in printed
    assert "results/small/tokenizers/bpe/400" not in printed


def test_entry_of_the_workflow_catalog_has_the_keys_that_it_reads() -> None:
    entry = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())
    assert set(entry) == {"usage"}
    assert set(entry["usage"]) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(entry["usage"]["mandatory-flags"]) == {"desc", "flags"}
    deployment = entry["usage"]["software-stack-deployment"]
    rules = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    assert deployment["conda"] == ("conda:" in rules)
    assert deployment["apptainer"] == ("container:" in (ROOT / "Snakefile").read_text())
    assert entry["usage"]["report"] == ("report(" in rules)
