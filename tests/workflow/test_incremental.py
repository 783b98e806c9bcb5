"""A change reruns its dependent jobs, and nothing else: Snakemake is asked for its plan after a finished run.

A machine without the optional parts: a run that needs them ends before its first job.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.config.experiment import Experiment
from tokbench.config.load import read
from tokbench.construction import InitialRecipe, constructions
from tokbench.errors import TokbenchError
from tokbench.stage import Stage, stages
from tokbench.workflow import resources, run
from tokbench.workflow.run import check_packages
from tokbench.workflow.tokenizers import initial_name

EXPERIMENT = Path(__file__).parents[1] / "support" / "workflow" / "planned.yaml"
SIZES = (1024, 1280)
REPORT = {"figures", "typeset", "report.html", "own_text.js"}
PARTS = ("packed", "models", "embeddings")
COUNTED = ("tokens", "speeds")
ON_GOLD = ("intrinsic", "words")
VARIANTS = ("bpe", "bpe_greedy", "unigram", "pathpiece_bpe", "pathpiece_ngram", "pathpiece_unigram", "bytespan")
READ = ("bpe", "unigram", "ranks")
"""Variants that the language models read."""
BOARD = {"leaderboard.json", "leaderboard.csv"}
FINAL = {"tables", "statistics"} | BOARD | REPORT
WRITTEN = "experiment/"
"""Parts of the configuration that the last stages read."""
CITED = "references.bib"
"""Follows from which methods there are, and from nothing else."""
MEASURED = {f"intrinsic/{variant}/{size}.json" for variant in VARIANTS for size in SIZES} | {"intrinsic/ranks/own.json"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A finished run of an experiment whose commands do nothing but leave their outputs."""
    checkout = Checkout(tmp_path_factory.mktemp("incremental"), stand_in=True)
    (checkout.folder / "books.txt").write_text("It was a dark and stormy night.\n")
    (checkout.folder / "gold.tsv").write_text("cats\tcat @@s\t100\n")
    (checkout.folder / "reading.tsv").write_text("spelling\tlexicality\trt\taccuracy\na\tW\t1\t1\n")
    (checkout.folder / "ranks.tiktoken").write_text("YQ== 0\n")
    (checkout.folder / "planned.yaml").write_text(EXPERIMENT.read_text())
    checkout.snakemake("--cores", "2", "--configfile", "planned.yaml")
    yield checkout
    checkout.close()


def plan(checkout: Checkout, configuration: Path | str = "planned.yaml") -> set[str]:
    """Return what the next run makes, below the folder of results, without the parts of the configuration."""
    pending = {output for output, pending in checkout.summary(configuration).items() if pending}
    return {output for output in pending if not output.startswith(WRITTEN)}


def tokenizers(*variants: str, sizes: tuple[int, ...] = SIZES) -> set[str]:
    """Outputs for variants at sizes, including the largest, at which sentences are segmented."""
    return (
        {
            output
            for variant in variants
            for size in sizes
            for output in (f"tokenizers/{variant}/{size}", f"intrinsic/{variant}/{size}.json")
        }
        | measured_on("gold", *variants, sizes=sizes)
        | measured_on("reading", *variants, sizes=sizes)
        | {f"{part}/{variant}/{size}/books.json" for part in COUNTED for variant in variants for size in sizes}
        | {"examples"}
    )


def recipe_of(method: str, **options: Any) -> set[str]:
    """The initial vocabulary that a recipe describes."""
    kind = constructions[method].options
    recipe = InitialRecipe(method, kind(**options))
    return {f"initial/books/first_space/{initial_name(recipe)}/2048"}


def measured_on(resource: str, *variants: str, sizes: tuple[int, ...] = SIZES) -> set[str]:
    return {f"{one}/{variant}/{size}/{resource}.json" for one in ON_GOLD for variant in variants for size in sizes}


def measured_on_gold() -> set[str]:
    return measured_on("gold", *VARIANTS) | {f"{one}/ranks/own/gold.json" for one in ON_GOLD}


def trained(*models: str, variants: tuple[str, ...]) -> set[str]:
    """Models, and what they read: sequences do not outlive the training that they were packed for."""
    runs = runs_of(models, variants)
    return {f"{part}/{run}" for part in PARTS for run in runs} | {f"token_counts/{run}.parquet" for run in runs}


def runs_of(models: tuple[str, ...], variants: tuple[str, ...]) -> list[str]:
    """Models by variant and size, at its own where it was made elsewhere."""
    return [f"{model}/{one}/{'own' if one == 'ranks' else 1024}" for model in models for one in variants]


def evaluated(*models: str, variants: tuple[str, ...]) -> set[str]:
    return {f"downstream/{run}/offline.json" for run in runs_of(models, variants)}


def made_elsewhere() -> set[str]:
    """Outputs for the external tokenizer and its language models."""
    models = ("small", "large")
    measured = {f"{one}/ranks/own/{on}.json" for one in ON_GOLD for on in ("gold", "reading")}
    measured.add("intrinsic/ranks/own.json")
    follows = trained(*models, variants=("ranks",)) | evaluated(*models, variants=("ranks",))
    counted = {f"{part}/ranks/own/books.json" for part in COUNTED}
    return {"tokenizers/ranks/own", "examples"} | measured | counted | follows


def with_models(*variants: str) -> set[str]:
    """Everything that follows from variants which the language models read."""
    models = ("small", "large")
    return tokenizers(*variants) | trained(*models, variants=variants) | evaluated(*models, variants=variants)


OF_BPE = {"initial/books/first_space/bpe/2048"} | with_models("bpe") | tokenizers("bpe_greedy", "pathpiece_bpe") | FINAL
"""Everything that follows from a change of BPE's construction."""


def changed(tmp_path: Path, key: str, value: Any) -> Path:
    """The experiment with another value under a dotted key, or without the key."""
    configuration = yaml.safe_load(EXPERIMENT.read_text())
    *parents, last = key.split(".")
    place = configuration
    for parent in parents:
        place = place.setdefault(parent, {})
    place[last] = value
    if value is None:
        del place[last]
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump(configuration, sort_keys=False))
    return path


@contextmanager
def forgotten(checkout: Checkout) -> Iterator[None]:
    """Be without Snakemake's own notes, as after a copy of the results, a fresh clone or ``make clean``."""
    notes, aside = checkout.folder / ".snakemake", checkout.folder / "notes"
    notes.rename(aside)
    try:
        yield
    finally:
        shutil.rmtree(notes, ignore_errors=True)
        aside.rename(notes)


OTHER_BPE = {"method": "bpe", "max_token_bytes": 8}


def test_nothing_changed_without_notes(finished: Checkout) -> None:
    with forgotten(finished):
        assert plan(finished) == set()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        pytest.param("variants.bpe.construction", OTHER_BPE, with_models("bpe") | FINAL, id="option"),
        pytest.param("metrics.renyi", {"orders": [2.5]}, MEASURED | FINAL, id="option of a metric"),
        pytest.param("variants.bpe_greedy", None, FINAL | {"examples"}, id="variant removed"),
        pytest.param("report.title", "Another title", REPORT, id="title"),
    ],
)
def test_change_of_configuration_without_notes(
    finished: Checkout, tmp_path: Path, key: str, value: Any, expected: set[str]
) -> None:
    with forgotten(finished):
        assert plan(finished, changed(tmp_path, key, value)) == expected


def test_change_of_code_without_notes(finished: Checkout) -> None:
    path = "src/tokbench/metric/renyi.py"
    last = (finished.folder / path).read_text().splitlines()[-1]
    with forgotten(finished), finished.edited(path, last, f"{last}\n\nid(None)"):
        assert plan(finished) == MEASURED | FINAL


def test_runs_may_ignore_records_but_tables_reject_other_options(finished: Checkout, tmp_path: Path) -> None:
    """But the tables reject a result of other options."""
    other = str(changed(tmp_path, "variants.bpe.construction", OTHER_BPE))
    printed = finished.snakemake("-n", "--configfile", other, "--rerun-triggers", "mtime")
    assert "Nothing to be done" in printed


def test_results_of_a_clock_that_is_ahead(finished: Checkout, tmp_path: Path) -> None:
    [record] = (finished.folder / "results").glob("*/tokenizers/bpe/1024/.snakemake_timestamp")
    before = record.stat()
    os.utime(record, (4_000_000_000, 4_000_000_000))
    try:
        assert "tokenizers/bpe/1024" in plan(finished, changed(tmp_path, "variants.bpe.construction", OTHER_BPE))
    finally:
        os.utime(record, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_second_checkout_with_other_options(finished: Checkout, tmp_path: Path) -> None:
    """It makes a tokenizer in the same folder of results; the first makes it again, and what follows from it."""
    (tmp_path / "second").mkdir()
    second = Checkout(tmp_path / "second", stand_in=True)
    for name in ("books.txt", "gold.tsv", "reading.tsv", "ranks.tiktoken"):
        shutil.copy2(finished.folder / name, second.folder / name)
    (second.folder / "results").symlink_to(finished.folder / "results")
    other = changed(tmp_path, "variants.bpe_greedy.segmentation", "shortest_path")
    chain = tokenizers("bpe_greedy", sizes=(1024,)) - {"examples"} | FINAL
    kept = tmp_path / "kept"
    shutil.copytree(finished.folder / "results", kept, copy_function=shutil.copy2)
    try:
        assert plan(second, EXPERIMENT) == set()
        made = "results/planned/tokenizers/bpe_greedy/1024"
        second.snakemake("--cores", "2", made, "--configfile", str(other))
        assert plan(finished) == chain
        finished.snakemake("--cores", "2", made, "--configfile", "planned.yaml")
        assert plan(finished) == chain - {"tokenizers/bpe_greedy/1024"}
    finally:
        shutil.rmtree(finished.folder / "results")
        kept.rename(finished.folder / "results")
        second.close()
    assert plan(finished) == set()


def test_touched_files_rerun_nothing(finished: Checkout) -> None:
    inputs = [finished.folder / "books.txt", finished.folder / "planned.yaml", *(finished.folder / "src").rglob("*.py")]
    results = [path for path in (finished.folder / "results").rglob("*") if path.suffix in (".json", ".parquet")]
    assert results
    for path in inputs + results:
        os.utime(path)
    assert plan(finished) == set()


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("books.txt", "corpus/books"),
        ("gold.tsv", "intrinsic/bpe/1024/gold.json"),
        ("ranks.tiktoken", "tokenizers/ranks/own"),
    ],
)
def test_file_replaced_by_an_older_one_reruns_its_readers(finished: Checkout, name: str, first: str) -> None:
    """As ``mv``, ``cp -p`` and ``rsync -a`` leave it."""
    path = finished.folder / name
    before, status = path.read_bytes(), path.stat()
    try:
        path.write_bytes(before + before)
        os.utime(path, (1_577_836_800, 1_577_836_800))
        assert {first, "tables", "report.html"} <= plan(finished)
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert plan(finished) == set()


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        ("tokenizers/bpe_greedy/1024", (tokenizers("bpe_greedy", sizes=(1024,)) | FINAL) - {"examples"}),
        ("intrinsic/bpe/1280.json", {"intrinsic/bpe/1280.json"} | FINAL),
        ("tables", FINAL),
        ("figures", {"figures"}),
    ],
)
def test_deleted_results_are_made_again(finished: Checkout, deleted: str, expected: set[str]) -> None:
    [place] = (finished.folder / "results").glob(f"*/{deleted}")
    place.rename(finished.folder / "aside")
    try:
        assert plan(finished) == expected
    finally:
        (finished.folder / "aside").rename(place)


def test_large_files_count_by_size_and_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two files the first is read, the second goes past the limit of the two together."""
    monkeypatch.setattr(resources, "LARGEST_FILE", 8)
    monkeypatch.setattr(resources, "LARGEST_TOTAL", 10)
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"1234567")
    large.write_bytes(b"1234")
    paths = [str(small), str(large), str(tmp_path / "missing")]
    before = resources.digest(paths)
    os.utime(small, (1, 1))
    assert resources.digest(paths) == before
    os.utime(large, (1, 1))
    assert resources.digest(paths) != before
    assert resources.content_of(lambda wildcards: [])(None) == ""


def test_comments_messages_and_resources_rerun_nothing(finished: Checkout) -> None:
    with (
        finished.edited("src/tokbench/construction/bpe.py", '"""', '"""Again: '),
        finished.edited("src/tokbench/segmentation/merge.py", "\n\n\n", "\n\n\n# As in the paper.\n"),
        finished.edited("rules/construction.smk", "extend_on_retry(240)", "extend_on_retry(300)"),
        finished.edited("rules/construction.smk", "threads: 1", "threads: 2"),
        finished.edited("rules/pretraining.smk", '"pretrain ', '"train '),
        finished.edited("src/tokbench/evaluation/suites.yaml", "\n", "\n# Another suite.\n"),
    ):
        assert plan(finished) == set()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        pytest.param(
            "variants.bpe.construction",
            {"method": "bpe", "max_token_bytes": 8},
            with_models("bpe") | FINAL,
            id="option",
        ),
        pytest.param(
            "variants.bpe_greedy.segmentation", "shortest_path", tokenizers("bpe_greedy") | FINAL, id="segmentation"
        ),
        pytest.param(
            "variants.pathpiece_bpe.construction.initial",
            "ngram",
            tokenizers("pathpiece_bpe") | FINAL,
            id="initial vocabulary that is there",
        ),
        pytest.param(
            "variants.pathpiece_bpe.construction.initial",
            {"method": "ngram", "max_token_bytes": 16},
            tokenizers("pathpiece_bpe") | FINAL,
            id="the same initial vocabulary as a recipe",
        ),
        pytest.param(
            "variants.pathpiece_bpe.construction.initial", {"method": "bpe"}, set(), id="recipe without options"
        ),
        pytest.param(
            "variants.pathpiece_unigram.construction.initial.shrinking_factor",
            0.75,
            set(),
            id="default of an initial recipe",
        ),
        pytest.param(
            "variants.pathpiece_unigram.construction.initial.shrinking_factor",
            0.5,
            tokenizers("pathpiece_unigram")
            | FINAL
            | recipe_of("unigram", pruning_loss="tokenizers", shrinking_factor=0.5),
            id="option of an initial recipe",
        ),
        pytest.param(
            "variants.another",
            {
                "pretokenization": "first_space",
                "construction": {
                    "method": "randtrain",
                    "initial": {"pruning_loss": "tokenizers", "method": "unigram"},
                    "initial_size": 2048,
                },
            },
            tokenizers("another") | FINAL | {CITED},
            id="new variant from an equal recipe",
        ),
        pytest.param(
            "variants.another",
            {"pretokenization": "gpt2", "construction": {"method": "unigram", "shrinking_factor": 0.5}},
            tokenizers("another") | FINAL,
            id="new variant",
        ),
        pytest.param(
            "variants.another",
            {"pretokenization": "gpt2", "construction": "greedtok"},
            tokenizers("another") | FINAL,
            id="new method, of a paper that is cited already",
        ),
        pytest.param(
            "variants.another",
            {"pretokenization": "gpt2", "construction": "wordpiece"},
            tokenizers("another") | FINAL | {CITED},
            id="new method, of another paper",
        ),
        pytest.param(
            "sizes",
            [1024, 1280, 1536],
            tokenizers(*VARIANTS, sizes=(1536,))
            | {f"bounds/books/{scheme}/1536.json" for scheme in ("first_space", "gpt2")}
            | FINAL,
            id="new size",
        ),
        pytest.param(
            "byte_lms.bytes",
            {"preset": "tiny", "stride": 64},
            {f"byte_lm/books/bytes/scores/{shard}.parquet" for shard in ("0000", "0001")}
            | tokenizers("bytespan")
            | FINAL,
            id="scoring of bytes",
        ),
        pytest.param(
            "byte_lms.bytes", {"preset": "tiny", "score_context": "document"}, REPORT, id="score context, the default"
        ),
        pytest.param(
            "byte_lms.bytes",
            {"preset": "tiny", "score_context": "dataset"},
            {f"byte_lm/books/bytes/scores/{shard}.parquet" for shard in ("0000", "0001")}
            | tokenizers("bytespan")
            | FINAL,
            id="score context, joined documents",
        ),
        pytest.param(
            "models.large.learning_rate",
            0.5,
            trained("large", variants=READ) | evaluated("large", variants=READ) | FINAL,
            id="model",
        ),
        pytest.param(
            "suites.offline",
            {"preset": "offline", "limit": 1},
            evaluated("small", "large", variants=READ) | FINAL,
            id="suite",
        ),
        pytest.param(
            "suites.offline",
            {"preset": "offline", "num_fewshot": 1},
            {"tasks/books"} | evaluated("small", "large", variants=READ) | FINAL,
            id="examples in prompts, which tasks must have",
        ),
        pytest.param("variants.ranks.pattern", "o200k", made_elsewhere() | FINAL, id="pattern of a file"),
        pytest.param("report.baseline", "unigram", {"examples"} | FINAL, id="baseline"),
        pytest.param(
            "metrics.renyi",
            {"orders": [2.5]},
            MEASURED | FINAL,
            id="option of a metric",
        ),
        pytest.param("resources.gold.languages", ["gold"], measured_on_gold() | FINAL, id="option of a resource"),
        pytest.param("report.title", "Another title", REPORT, id="title"),
        pytest.param("report.examples", ["A sentence."], {"examples"} | REPORT, id="sentence"),
    ],
)
def test_change_of_configuration(finished: Checkout, tmp_path: Path, key: str, value: Any, expected: set[str]) -> None:
    assert plan(finished, changed(tmp_path, key, value)) == expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        pytest.param(
            "construction/unigram.py",
            recipe_of("unigram", pruning_loss="tokenizers")
            | with_models("unigram")
            | tokenizers("pathpiece_unigram")
            | FINAL,
            id="construction, of an initial recipe too",
        ),
        pytest.param("kernels/bpe.pyx", OF_BPE | tokenizers("bytespan"), id="kernel, of an initial vocabulary too"),
        pytest.param(
            "kernels/pathpiece.pyx",
            tokenizers("pathpiece_bpe", "pathpiece_ngram", "pathpiece_unigram") | FINAL,
            id="kernel",
        ),
        # BPE with seeds segments the text by merges before it continues.
        pytest.param("kernels/merge.pxd", OF_BPE, id="kernel of a segmentation and of a construction"),
        pytest.param(
            "metric/renyi.py",
            MEASURED | FINAL,
            id="metric",
        ),
        pytest.param("metric/morphology.py", measured_on_gold() | FINAL, id="metric of gold data"),
        pytest.param(
            "metric/undertrained.py",
            {f"embeddings/{run}" for run in runs_of(("small", "large"), READ)} | FINAL,
            id="metric of embeddings",
        ),
        pytest.param(
            "candidates/scored_text.py", tokenizers("bytespan") | FINAL, id="what only one construction reads"
        ),
        pytest.param("statistics/significance/wilcoxon.py", FINAL - {"tables"}, id="statistics"),
    ],
)
def test_change_of_code(finished: Checkout, file: str, expected: set[str]) -> None:
    path = f"src/tokbench/{file}"
    last = (finished.folder / path).read_text().splitlines()[-1]
    with finished.edited(path, last, f"{last}\n\nid(None)"):
        assert plan(finished) == expected


@pytest.mark.parametrize(("kind", "expected"), [("sigmorphon2022", measured_on_gold() | FINAL), ("morpholex", set())])
def test_change_of_a_type_of_gold_data(finished: Checkout, kind: str, expected: set[str]) -> None:
    path = "src/tokbench/resource/built_in.py"
    [head] = re.findall(rf'def {kind}\(.*\n    """.*"""\n', (finished.folder / path).read_text())
    with finished.edited(path, head, f"{head}    id(None)\n"):
        assert plan(finished) == expected


def test_counting_of_languages_reruns_counts_and_dependent_jobs(finished: Checkout) -> None:
    with finished.edited("src/tokbench/pretokens/files.py", "\n\n\n", "\n\n\nid(None)\n\n"):
        pending = plan(finished)
    counts = {f"pretokens/books/{split}/gpt2.parquet" for split in ("tokenizer", "evaluation")}
    assert counts | tokenizers(*VARIANTS) | FINAL <= pending
    assert not {"corpus/books", "byte_lm/books/bytes/model"} & pending


def test_default_written_out_reruns_the_report_only(finished: Checkout, tmp_path: Path) -> None:
    """The report prints the configuration as it is written."""
    assert plan(finished, changed(tmp_path, "variants.bpe.segmentation", "merge")) == REPORT


def test_renamed_variant_reruns_its_chain(finished: Checkout, tmp_path: Path) -> None:
    configuration = yaml.safe_load(EXPERIMENT.read_text())
    variants = configuration["variants"].items()
    configuration["variants"] = {"greedy" if name == "bpe_greedy" else name: value for name, value in variants}
    (tmp_path / "renamed.yaml").write_text(yaml.safe_dump(configuration, sort_keys=False))
    assert plan(finished, tmp_path / "renamed.yaml") == tokenizers("greedy") | FINAL


def test_template_of_the_report_reruns_the_report(finished: Checkout) -> None:
    with finished.edited("src/tokbench/report/templates/report.css", "{", "{ "):
        assert "report.html" in plan(finished) <= REPORT


def test_moved_texts_rerun_the_report_only(finished: Checkout, tmp_path: Path) -> None:
    (finished.folder / "moved").mkdir()
    (finished.folder / "books.txt").rename(finished.folder / "moved" / "books.txt")
    try:
        assert plan(finished, changed(tmp_path, "corpora.books.source.path", "moved/books.txt")) == REPORT
    finally:
        (finished.folder / "moved" / "books.txt").rename(finished.folder / "books.txt")
        (finished.folder / "moved").rmdir()


def test_results_copied_without_dates_rerun_nothing(finished: Checkout, tmp_path: Path) -> None:
    (tmp_path / "copied").mkdir()
    copied = Checkout(tmp_path / "copied", stand_in=True)
    for name in ("books.txt", "gold.tsv", "reading.tsv", "ranks.tiktoken", "planned.yaml"):
        shutil.copy(finished.folder / name, copied.folder / name)
    for name in ("results", ".snakemake"):
        shutil.copytree(finished.folder / name, copied.folder / name, copy_function=shutil.copy, symlinks=True)
    for file in (copied.folder / "results").rglob(".tokbench.json"):  # As if they had been made an hour ago.
        record = json.loads(file.read_text())
        file.write_text(json.dumps({**record, "date": record["date"] - 3600 * 10**9}))
    try:
        assert plan(copied) == set()
    finally:
        copied.close()


def test_another_version_of_a_library_reruns_its_stages(finished: Checkout) -> None:
    about = finished.folder / "src" / "lm_eval-9.9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lm-eval\nVersion: 9.9.9\n")
    try:
        assert plan(finished) == evaluated("small", "large", variants=READ) | FINAL
    finally:
        shutil.rmtree(about)
    assert plan(finished) == set()


def test_cores_rerun_nothing(finished: Checkout) -> None:
    printed = finished.snakemake("-n", "--cores", "7", "--configfile", "planned.yaml")
    assert "Nothing to be done" in printed


def test_another_seed_reruns_everything(finished: Checkout, tmp_path: Path) -> None:
    summary = finished.summary(changed(tmp_path, "seed", 1))
    kept = {output for output, pending in summary.items() if not pending}
    assert {output for output in kept if not output.startswith(WRITTEN)} == {CITED}


def test_another_text_reruns_everything(finished: Checkout) -> None:
    with finished.edited("books.txt", "dark", "bright"):
        summary = finished.summary("planned.yaml")
    kept = {output for output, pending in summary.items() if not pending}
    assert {output for output in kept if not output.startswith(WRITTEN)} == {CITED}


def test_changed_gold_data_rerun_only_their_measurements(finished: Checkout) -> None:
    with finished.edited("gold.tsv", "cats", "rats"):
        assert plan(finished) == measured_on_gold() | FINAL


def test_another_file_of_a_tokenizer_reruns_its_chain_alone(finished: Checkout) -> None:
    with finished.edited("ranks.tiktoken", "YQ== 0", "Yg== 0"):
        assert plan(finished) == made_elsewhere() | FINAL


def test_report_of_snakemake(finished: Checkout) -> None:
    """Snakemake's own report gathers figures, tables and how each was made."""
    finished.snakemake("--report", "provenance.html", "--configfile", "planned.yaml")
    assert "</html>" in (finished.folder / "provenance.html").read_text()


def test_report_writes_a_page_and_the_script_next_to_it(finished: Checkout) -> None:
    """The order of the outputs in the rule decides nothing."""
    wanted = ("--dry-run", "--printshellcmds", "--verbose", "--force", "report", "--configfile", "planned.yaml")
    commands = finished.snakemake(*wanted)
    assert "--own-text results/planned/own_text.js -o results/planned/report.html" in commands


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    def versions_for(stage: Stage, experiment: Experiment) -> dict[str, str]:
        return {name: "1" for name in stage.libraries_of(experiment) if name not in ("torch", "lm-eval")}

    monkeypatch.setattr(run, "versions_for", versions_for)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("stage", "missing"), [("pretrain", "torch"), ("evaluate", "torch, lm-eval"), ("score_bytes", "torch")]
)
def test_a_stage_without_its_packages(stage: str, missing: str) -> None:
    with pytest.raises(TokbenchError, match=f"^{stage}: not installed: {missing}; run 'make install-models' in"):
        check_packages(read(ROOT / "config.yaml", {}), {"build", stage})


@pytest.mark.usefixtures("bare")
def test_stages_that_do_without(tmp_path: Path) -> None:
    text = (ROOT / "config.yaml").read_text()
    (tmp_path / "ngrams.yaml").write_text(text.replace("tiny: tiny", "tiny: {kind: ngram}"))
    check_packages(read(ROOT / "config.yaml", {}), {"build", "measure", "report"})
    check_packages(read(tmp_path / "ngrams.yaml", {}), {"train_byte_lm", "score_bytes"})


def test_all_parts_are_here() -> None:
    check_packages(read(ROOT / "config.yaml", {}), {stage.name for stage in stages})
