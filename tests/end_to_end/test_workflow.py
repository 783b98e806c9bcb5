"""The rules keep the house's order: one shape for all, one name for rule, command, log and benchmark."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.support.rules import COMMAND_OF, RULES
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.commands.declaration import declarations, find_command
from tokbench.config.experiment import Experiment
from tokbench.pretokens.count import count_pretokens
from tokbench.pretokens.external_count import merge_external
from tokbench.pretokens.spilling_counter import MemoryBound
from tokbench.workflow.corpora import CountingTargets

ORDER = ["localrule", "input", "output", "wildcard_constraints", "log", "benchmark", "conda", "params"]
ORDER += ["priority", "threads", "resources", "message", "shell"]
REQUIRED = set(ORDER) - {"localrule", "priority", "wildcard_constraints"}
FETCHED = "what is fetched is streamed, or a few files of which nobody knows the size beforehand"
OF_RUNS = "grows with the runs of an experiment, and not with a text"
QUESTIONS = "takes some hundred documents or questions"
UNBOUND = {
    "fetch": FETCHED,
    "fetch_pairs": FETCHED,
    "fetch_tokenizer": FETCHED,
    "fetch_tasks": FETCHED,
    "write_experiment": "takes a part of the configuration",
    "gather_tokens": "names files, and adds up what they say",
    "import": "takes a tokenizer's own files and no text",
    "make_tasks": QUESTIONS,
    "import_tasks": QUESTIONS,
    "cut_examples": QUESTIONS,
    "score_translation": "takes a test's sentences, some thousand",
    "published": "takes the numbers of the papers",
    "cite": OF_RUNS,
    "tabulate": OF_RUNS,
    "power": OF_RUNS,
    "analyse": OF_RUNS,
    "draw": OF_RUNS,
    "typeset": OF_RUNS,
    "report": OF_RUNS,
    "leaderboard": OF_RUNS,
}
"""Commands that are held to no memory, each with the reason."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path_factory.mktemp("workflow"), stand_in=True)
    yield checkout
    checkout.close()


def test_every_rule_is_seen() -> None:
    written = [line for path in (ROOT / "rules").glob("*.smk") for line in path.read_text().splitlines()]
    assert len(RULES) == sum(line.startswith(("rule ", "use rule ")) for line in written)


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    folder, directives = RULES[name]
    assert list(directives) == [key for key in ORDER if key in directives]
    assert set(directives) >= REQUIRED
    assert {"mem_mb", "runtime"} <= set(re.findall(r"(\w+)=", directives["resources"]))
    assert re.search(rf'"<logs>/{name}[./]', directives["log"])
    assert re.search(rf'"<benchmarks>/{name}[./]', directives["benchmark"])
    environment = re.search(r'"(.+)"', directives["conda"])
    assert environment is not None
    assert (folder / environment[1]).is_file()


@pytest.mark.parametrize("name", RULES)
def test_a_job_compares_and_passes_its_record(name: str) -> None:
    """First of its inputs, since the record leaves the first one out."""
    directives = RULES[name][1]
    assert directives["input"].split()[0] == f'records.trigger("{name}"),'
    assert directives["params"].split()[0] == f'job=records.of("{name}"),'
    assert directives["shell"].split()[0] == '"TOKBENCH_JOB={params.job:q}'


@pytest.mark.parametrize("name", RULES)
def test_command(name: str) -> None:
    command = COMMAND_OF.get(name, name)
    shell = RULES[name][1]["shell"]
    assert re.findall(r"tokbench (\w+)", shell) == [command]
    assert shell.rstrip().endswith('&> {log:q}"')
    assert command in declarations()
    assert find_command(command).callback is not None


@pytest.mark.parametrize("name", RULES)
def test_rules_pass_their_memory_to_commands_that_accept_it(name: str) -> None:
    """Or it is known why it need not be."""
    command = COMMAND_OF.get(name, name)
    told = "--memory {resources.mem_mb:q}" in RULES[name][1]["shell"]
    parameters = find_command(command).params
    takes = any("--memory" in parameter.opts for parameter in parameters)
    assert told == takes == (command not in UNBOUND)


@pytest.mark.parametrize("name", RULES)
def test_values_in_shell_commands_are_quoted(name: str) -> None:
    """Only what the workflow itself constrains to plain names and numbers goes as it is."""
    found = re.findall(r"\{([^}]*)\}", RULES[name][1]["shell"])
    assert found
    assert [part for part in found if not part.endswith(":q")] == [
        part for part in found if part in ("threads", "resources.mem_mb") or part.startswith("wildcards.")
    ]


def test_rules_are_formatted() -> None:
    command = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "rules"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_lint_finds_nothing(checkout: Checkout) -> None:
    (checkout.folder / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    assert "Congratulations, your workflow is in a good condition!" in checkout.snakemake("--lint")


@pytest.mark.parametrize("graph", ["--rulegraph", "--dag"])
def test_graph(checkout: Checkout, graph: str) -> None:
    (checkout.folder / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    printed = checkout.snakemake(graph)
    dot = printed[printed.index("digraph") :].strip()
    assert dot.endswith("}")
    nodes = set(re.findall(r"^\s*(\d+)\[", dot, re.MULTILINE))
    edges = re.findall(r"^\s*(\d+) -> (\d+)", dot, re.MULTILINE)
    assert edges
    assert {node for edge in edges for node in edge} <= nodes
    if graph == "--rulegraph":
        unused = {
            "build_initial_recipe",
            "count",
            "deal_part",
            "draw_bytes",
            "encode_shard",
            "evaluate_checkpoint",
            "fetch",
            "fetch_pairs",
            "fetch_tasks",
            "fetch_tokenizer",
            "gather_tokens",
            "import",
            "import_counts",
            "import_tasks",
            "measure_documents",
            "measure_domains",
            "measure_on",
            "measure_translation_embeddings",
            "measure_resource",
            "measure_robustness",
            "merge_counts",
            "merge_part",
            "ngram_bits",
            "ngram_bits_on",
            "pack_slice",
            "perturb",
            "power",
            "prepare_parallel",
            "published",
            "read_sizes",
            "score_tokens",
            "score_translation",
            "split_corpus",
            "train_translation",
            "translate",
            "write_shards",
        }
        assert {"all", *RULES} - unused == set(re.findall(r'label = "(\w+)', dot))


SHARDED = """\
name: sharded
corpora: {{text: {{source: {{type: text, path: text.txt}}, shards: {shards}}}}}
variants: {{bpe: {{pretokenization: gpt2, construction: bpe}}}}
sizes: [300]
"""


@pytest.mark.parametrize(
    ("shards", "expected"),
    [
        (1, {"count_split": 1}),
        (16, {"count_split": 1}),
        (17, {"count": 17, "merge_part": 2, "merge_counts": 1}),
        (40, {"count": 40, "merge_part": 3, "merge_counts": 1}),
    ],
)
def test_many_shards_are_counted_side_by_side(checkout: Checkout, shards: int, expected: dict[str, int]) -> None:
    """One job counts a split of up to 16 shards; of more, each shard has a job, and parts are merged before all."""
    (checkout.folder / "text.txt").write_text("a")
    (checkout.folder / "sharded.yaml").write_text(SHARDED.format(shards=shards))
    split = "results/sharded/pretokens/text/tokenizer/gpt2.parquet"
    printed = checkout.snakemake(split, "--dry-run", "--configfile", "sharded.yaml")
    jobs = {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)}
    assert {name: number for name, number in jobs.items() if name.startswith(("count", "merge"))} == expected, printed


@pytest.mark.parametrize(("shards", "slices"), [(1, 0), (16, 0), (17, 2), (40, 3)])
def test_many_shards_are_encoded_and_packed_side_by_side(checkout: Checkout, shards: int, slices: int) -> None:
    (checkout.folder / "text.txt").write_text("a")
    models = (
        "models: {m: tiny}\nsuites: {offline: offline}\nruns: [{models: [m], variants: [bpe], suites: [offline]}]\n"
    )
    (checkout.folder / "sharded.yaml").write_text(SHARDED.format(shards=shards) + models)
    printed = checkout.snakemake("results/sharded/models/m/bpe/300", "-n", "--configfile", "sharded.yaml")
    jobs = {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)}
    names = ("encode_shard", "gather_tokens", "pack_slice", "pack", "pretrain")
    assert [jobs.get(name, 0) for name in names] == [slices, slices > 0, slices, 1, 1], printed


def test_built_here_measured_there(checkout: Checkout) -> None:
    """A tokenizer on a corpus beside its own: measured, bounded, and with n-gram models of that corpus."""
    for name in ("text", "other"):
        (checkout.folder / f"{name}.txt").write_text("a")
    of_text = "text: {source: {type: text, path: text.txt}"
    both = SHARDED.format(shards=1).replace(of_text, f"other: {{source: {{type: text, path: other.txt}}}}, {of_text}")
    asked = both.replace("bpe: {", "bpe: {corpus: text, ") + "measured_on: [other]\nngram_bits: {order: 2}\n"
    asked += "document_metrics: {baseline: bpe, numbers: {ascii_only: true}}\n"
    (checkout.folder / "sharded.yaml").write_text(asked)
    printed = checkout.snakemake("results/sharded/tables", "-n", "--configfile", "sharded.yaml")
    jobs = {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)}
    names = (
        *("build", "measure", "measure_on", "measure_documents", "ngram_bits", "ngram_bits_on"),
        *("bound", "prepare"),
    )
    assert [jobs.get(name) for name in names] == [1, 1, 1, 2, 1, 1, 2, 2], printed


IN_PARTS = """\
name: in_parts
corpora:
  text:
    source: {{type: text, path: texts, documents: line}}
    splits: {{tokenizer: 0.5, evaluation: 0.5}}
    shards: {shards}
    parts: {parts}
variants: {{bpe: {{pretokenization: gpt2, construction: bpe}}}}
sizes: [300]
"""
PLANNED = ("read_sizes", "split_corpus", "deal_part", "write_shards", "prepare")


def planned(checkout: Checkout, shards: int, parts: int) -> tuple[int, ...]:
    """Number of jobs that prepare a corpus, by rule."""
    (checkout.folder / "in_parts.yaml").write_text(IN_PARTS.format(shards=shards, parts=parts))
    printed = checkout.snakemake("results/in_parts/corpus/text", "-n", "--configfile", "in_parts.yaml")
    jobs = {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)}
    return tuple(jobs.get(name, 0) for name in PLANNED)


def test_parts_are_prepared_side_by_side_and_again_where_they_changed(checkout: Checkout) -> None:
    """Of what the jobs make sizes alone are kept: texts are dealt out anew, sizes of other parts are not read."""
    texts = checkout.folder / "texts"
    texts.mkdir()
    for name in "abc":
        (texts / f"{name}.txt").write_text(f"{name}\n" * 9)
    assert planned(checkout, 1, 1) == (0, 0, 0, 0, 1)
    assert planned(checkout, 1, 3) == (3, 1, 3, 2, 1)
    assert planned(checkout, 8, 2) == (2, 1, 2, 2, 1)
    assert planned(checkout, 8, 3) == (3, 1, 3, 3, 1)
    checkout.snakemake("--cores", "2", "results/in_parts/corpus/text", "--configfile", "in_parts.yaml")
    kept = sorted((checkout.folder / "results" / "in_parts" / "parts").rglob("*.parquet"))
    assert [path.parent.name for path in kept] == ["sizes"] * 3
    assert planned(checkout, 8, 3) == (0, 0, 0, 0, 0)
    assert planned(checkout, 9, 3) == (0, 1, 3, 3, 1)
    (texts / "b.txt").write_text("B\n" * 9)
    assert planned(checkout, 8, 3) == (1, 1, 3, 3, 1)


def test_a_tree_of_merges_gives_the_counts_of_one_shard(tmp_path: Path) -> None:
    experiment = Experiment.model_validate(yaml.safe_load(SHARDED.format(shards=40)))
    plan, named = CountingTargets(experiment), SimpleNamespace(corpus="text")
    texts = [f"word {number} and {number // 3}\n".encode() for number in range(200)]
    count_pretokens(texts, "gpt2").write(tmp_path / "whole.parquet")
    for shard in range(40):
        count_pretokens(texts[shard::40], "gpt2").write(tmp_path / f"{shard:04}.parquet")
    parts, shards = plan.parts(named), []
    for part in parts:
        found = plan.shards_of_part(SimpleNamespace(corpus="text", part=Path(part).name))
        merge_external([tmp_path / f"{shard}.parquet" for shard in found], tmp_path / f"{part}.parquet", MemoryBound())
        shards += found
    assert shards == [f"{shard:04}" for shard in range(40)]
    merge_external([tmp_path / f"{part}.parquet" for part in parts], tmp_path / "merged.parquet", MemoryBound())
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


PATTERNS = r"""name: patterns
corpora: {text: {source: {type: text, path: text.txt}}}
variants:
  plain: {pretokenization: gpt2, construction: bpe}
  same: {pretokenization: {method: gpt2}, construction: bpe}
  known: {pretokenization: cl100k, construction: bpe}
  pattern: {pretokenization: {method: regex, pattern: '\p{L}+| \p{N}{1,2}|''\|é'}, construction: bpe}
  steps: {pretokenization: {method: sequence, steps: [gpt2, digits]}, construction: {method: pathpiece, initial: bpe}}
sizes: [300]
"""


def test_schemes_with_options(checkout: Checkout) -> None:
    """Their options reach the commands as they are, braces and quotes included; paths bear a hash of them."""
    (checkout.folder / "text.txt").write_text("a")
    (checkout.folder / "patterns.yaml").write_text(PATTERNS)
    printed = checkout.snakemake("-n", "-p", "--configfile", "patterns.yaml")
    slugs = ["gpt2", "cl100k", "regex_34f3182ab2a0", "sequence_3b83e3efdaa2"]
    found = re.findall(r"\btokbench count (.*)$", printed, re.MULTILINE)
    given = {}
    for line in found:
        words = shlex.split(line)
        given[Path(words[words.index("-o") + 1]).stem] = words[words.index("--pretokenization") + 1]
    assert sorted(given) == sorted(slugs)
    assert given["gpt2"] == "gpt2"
    assert json.loads(given["regex_34f3182ab2a0"]) == {"method": "regex", "pattern": r"\p{L}+| \p{N}{1,2}|'\|é"}
    built = [line for line in printed.splitlines() if "tokbench build " in line and " --name pattern " in line]
    assert shlex.split(built[0])[shlex.split(built[0]).index("--pretokenization") + 1] == given["regex_34f3182ab2a0"]
    assert f"results/patterns/initial/text/{slugs[-1]}/bpe/" in printed


TRANSLATIONS = """
name: pairs
parallel_corpora:
  news:
    languages: [en, de]
    train: {type: lines, path: {en: lines.en, de: lines.de}}
    tests: {one: 1, two: 1}
corpora: {both: {source: {type: parallel, corpus: news}, splits: {tokenizer: 1.0, evaluation: tokenizer}}}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  other: {pretokenization: first_space, construction: bpe}
sizes: [300]
translation_models: {small: tiny}
translations:
  - {corpora: [news], source: en, target: de, models: [small], tokenizers: [bpe, {source: bpe, target: other}]}
"""


def test_translations_are_planned_from_pairs_to_tables(checkout: Checkout) -> None:
    """Two models, each trained once and tested twice; vocabularies are built from the prepared pairs."""
    (checkout.folder / "config.yaml").write_text(TRANSLATIONS)
    for side in ("en", "de"):
        (checkout.folder / f"lines.{side}").write_text("one\ntwo\nthree\n")
    printed = checkout.snakemake("--dag")
    rules = re.findall(r'label = "(\w+)', printed)
    wanted = {"prepare_parallel": 1, "train_translation": 2, "translate": 4, "score_translation": 4, "build": 2}
    assert {name: rules.count(name) for name in wanted} == wanted
    named = dict(re.findall(r'(\d+)\[label = "(\w+)', printed))
    edges = {(named[a], named[b]) for a, b in re.findall(r"(\d+) -> (\d+)", printed)}
    assert {
        ("prepare_parallel", "prepare"), ("prepare_parallel", "train_translation"), ("build", "train_translation"),
        ("train_translation", "translate"), ("translate", "score_translation"), ("score_translation", "tabulate"),
        ("train_translation", "measure_translation_embeddings"), ("measure_translation_embeddings", "tabulate"),
        ("prepare_parallel", "tabulate"),
    } <= edges  # fmt: skip
