"""The shipped experiments are the papers': their variants, sizes, corpora and numbers of runs."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from tests.conftest import Tokbench
from tests.support.workflow.checkout import Checkout
from tokbench.archives.lists import read_list
from tokbench.config.experiment import Experiment
from tokbench.config.load import read, read_all
from tokbench.config.targets import all_checkpoints, all_tested_translations, all_tokenizers, all_trained
from tokbench.construction import constructions
from tokbench.corpus.sources import HubSource
from tokbench.evaluation.suites import local_tasks
from tokbench.models.byte_lm.options import PRESETS as BYTE_LMS
from tokbench.models.byte_lm.options import byte_lm_flops_per_byte
from tokbench.models.memory import (
    lm_training_operations,
    lm_training_seconds,
)
from tokbench.models.pretraining.budget import checkpoint_batches
from tokbench.models.translation.options import translation_training_flops
from tokbench.published import facts
from tokbench.published.comparison import same_recipe
from tokbench.stages.tables import recipes, venn_triples
from tokbench.workflow.models import Translations
from tokbench.workflow.resources import MAX_RUNTIME

FOLDER = Path(__file__).parents[2] / "experiments"
IN_FULL = (
    "books_in_full",
    "ladder",
    "languages_by_kind",
    "languages_in_full",
    "existing",
    "existing_models",
    "newer",
    "study",
    "study_models",
    "measures",
    "measures_over_scale",
    "study_models_in_full",
    "study_pilot",
)
OVER = {"study_models": "study", "study_models_in_full": "study"}
"""Files that are given together with another, and change it."""
ALONE = [file for file in sorted(FOLDER.rglob("*.yaml")) if file.stem not in OVER]
PAPERS = sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in ("books", *IN_FULL))
SMALL = {
    "bytespan": "bytespan",
    "bytespan_25_languages": "bytespan_languages",
    "greedtok": "greedtok",
    "pathpiece": "pathpiece",
    "picky_bpe": "picky_bpe",
}
"""The small form of each paper's experiment."""
HUB = {
    "HuggingFaceFW/fineweb-edu": "87f09149ef4734204d70ed1d046ddc9ca3f2b8f9",
    "Zyphra/dclm-dedup": "1046a49ee913f67e358b99bcb9c65f226f8289bf",
    "JeanKaddour/minipile": "18ad1b0c701eaa0de03d3cecfdd769cbc70ffbd0",
    "tiiuae/falcon-refinedweb": "c735840575b629292b41da8dde11dcd523d4f91c",
    "monology/pile-uncopyrighted": "3be90335b66f24456a5d6659d9c8d208c0357119",
    "wikimedia/wikipedia": "b04c8d1ceb2f5cd4588862100d08de323dccfbaa",
}

RANKS = {
    ("pathpiece longest", "bpe", "gpt2", "shortest_path"): 1,
    ("unigram", None, "gpt2", "likelihood"): 2,
    ("bpe", None, "gpt2", "merge"): 3,
    ("bpe", None, "gpt2", "greedy"): 4,
    ("wordpiece", None, "gpt2", "longest_prefix"): 5,
    ("sage", "bpe", "gpt2", "greedy"): 6,
    ("unigram", None, "gpt2", "greedy"): 7,
    ("sage", "ngram", "first_space", "greedy"): 8,
    ("pathpiece longest", "unigram", "gpt2", "shortest_path"): 9,
    ("sage", "unigram", "gpt2", "greedy"): 10,
    ("sage", "ngram", "first_space_digit", "greedy"): 11,
    ("pathpiece random", "ngram", "space_digit", "shortest_path random"): 12,
    ("bpe", None, "gpt2", "shortest_path"): 13,
    ("pathpiece random", "ngram", "first_space_digit", "shortest_path random"): 14,
    ("pathpiece longest", "ngram", "first_space_digit", "shortest_path"): 15,
    ("pathpiece longest", "ngram", "first_space", "shortest_path"): 16,
    ("unigram", None, "gpt2", "shortest_path"): 17,
    ("pathpiece random", "ngram", "digit", "shortest_path random"): 18,
}
"""Table 1 of "Tokenization Is More Than Compression": the phases of a variant and its rank."""
SEVENTH = ("pathpiece longest", "ngram", "space_digit", "shortest_path")
"""The model of 1.3B that tables 12 and 13 have and table 14 has not."""
RANDTRAIN = {
    ("randtrain", initial, scheme, cut)
    for (initial, scheme), cut in product(
        [("bpe", "gpt2"), ("ngram", "first_space"), ("ngram", "first_space_digit"), ("ngram", "digit")],
        ["greedy", "shortest_path"],
    )
}


def open_paths(file: Path) -> list[str]:
    """Corpora and resources of a file whose paths come from the command line."""
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    sources = {name: corpus["source"] for name, corpus in written["corpora"].items() if "source" in corpus}
    return [
        name
        for name, source in {**sources, **written.get("resources", {})}.items()
        if source != "embedded" and not (isinstance(source, dict) and source.keys() & {"path", "dataset", "corpus"})
    ]


def open_splits(file: Path, text: Path) -> dict[str, Any]:
    """Command-line paths of the splits of parallel corpora: the same file on either side."""
    corpora = yaml.safe_load(file.read_text(encoding="utf-8")).get("parallel_corpora", {})
    return {
        name: {
            split: dict.fromkeys(corpus["languages"], str(text))
            for split, source in ({key: corpus[key] for key in ("train", "dev")} | corpus["tests"]).items()
            if source == {"type": "lines"}
        }
        for name, corpus in corpora.items()
    }


def open_suites(file: Path) -> list[str]:
    """Local suites of a file whose folders come from the command line."""
    suites = yaml.safe_load(file.read_text(encoding="utf-8")).get("suites", {})
    return [name for name, suite in suites.items() if isinstance(suite, dict) and suite.get("source") == "local"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.touch()
    pl.DataFrame(schema={"text": pl.String, "language": pl.String}).write_parquet(tmp_path / "text.parquet")
    return path


def given(file: Path, text: Path) -> dict[str, Any]:
    """Command-line values of the open paths: an empty file, or an empty table for Parquet.

    It names those of tokenizers made elsewhere, too, which nobody who runs the tests need have.
    """
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    corpora, elsewhere = written["corpora"], [name for name, one in written["variants"].items() if "from" in one]
    types = {name: corpus["source"] for name, corpus in corpora.items() if "source" in corpus}
    tables = {name for name, kind in types.items() if "parquet" in (kind["type"] if isinstance(kind, dict) else kind)}
    plain = {name: f"{text}.parquet" if name in tables else str(text) for name in [*open_paths(file), *elsewhere]}
    mixtures = {name: corpus["sources"] for name, corpus in corpora.items() if "sources" in corpus}
    domains = {name: {domain: f"{text}.{domain}" for domain in sources} for name, sources in mixtures.items()}
    for path in (path for paths in domains.values() for path in paths.values()):
        Path(path).touch()
    return plain | open_splits(file, text) | domains


def load(name: str, text: Path) -> Experiment:
    file = FOLDER / f"{name}.yaml"
    return read(file, given(file, text))


def phases(experiment: Experiment, name: str) -> tuple[str, str | None, str, str]:
    """Construction, its initial vocabulary, pre-tokenization and segmentation of a variant."""
    variant = experiment.variants[name]
    construction, cut = variant.construction, variant.segmentation
    method = construction.method + (f" {construction.ties}" if hasattr(construction, "ties") else "")
    segmentation = constructions[construction.method].segmentation if cut is None else cut.method
    if getattr(cut, "ties", "longest") == "random":
        segmentation += " random"
    return method, getattr(construction, "initial", None), variant.pretokenization, segmentation


@pytest.mark.parametrize("file", ALONE, ids=lambda file: str(file.relative_to(FOLDER)))
def test_validates(file: Path, tokbench: Tokbench, text: Path) -> None:
    for task in local_tasks().values():
        question = text.parent / task.file.replace("*", "")
        question.parent.mkdir(exist_ok=True)
        question.touch()
    settings = [part for name, path in given(file, text).items() for part in ("--set", f"{name}={json.dumps(path)}")]
    settings += [part for name in open_suites(file) for part in ("--set", f"{name}={text.parent}")]
    assert tokbench("validate", file, *settings).status == 0


@pytest.mark.parametrize(
    "files",
    [*([file] for file in ALONE), *([FOLDER / f"{base}.yaml", FOLDER / f"{name}.yaml"] for name, base in OVER.items())],
    ids=lambda files: files[-1].stem,
)
def test_validates_before_it_has_paths(files: list[Path], tokbench: Tokbench) -> None:
    outcome = tokbench("validate", *files)
    assert outcome.status == 0, outcome.stderr
    open_entries = [
        name for file in files[:1] for name in [*open_paths(file), *open_suites(file), *open_splits(file, file)]
    ]
    assert [name for name in open_entries if f" {name}=" not in outcome.stderr] == []


@pytest.mark.parametrize("file", ALONE, ids=lambda file: str(file.relative_to(FOLDER)))
def test_says_its_command(file: Path) -> None:
    comment = file.read_text(encoding="utf-8").partition("\nname:")[0]
    assert f"--configfile experiments/{file.relative_to(FOLDER)}" in comment
    assert all(f" {name}=" in comment for name in [*open_paths(file), *open_suites(file), *open_splits(file, FOLDER)])


@pytest.mark.parametrize(("name", "base"), OVER.items())
def test_validates_over_another(name: str, base: str, text: Path) -> None:
    first, second = (FOLDER / f"{one}.yaml" for one in (base, name))
    comment = second.read_text(encoding="utf-8").partition("\nmodels:")[0]
    assert f"--configfile experiments/{base}.yaml experiments/{name}.yaml" in comment
    assert all(f" {path}=" in comment for path in open_paths(first))
    whole = read_all([first, second], given(first, text))
    assert whole.variants == read(first, given(first, text)).variants
    assert f"\n# {len(all_trained(whole))} runs." in comment


def test_tokenizers_that_people_use_are_those_of_the_list(text: Path) -> None:
    experiment = load("existing", text)
    written = yaml.safe_load((FOLDER / "existing.yaml").read_text(encoding="utf-8"))["variants"]
    assert [variant["path"] for variant in written.values()] == [
        f"existing/{name}" for name in read_list("tokenizers").files
    ]
    assert not experiment.built
    assert {*experiment.corpora} == {"languages", *experiment.measured_on}


def test_pilot_of_the_study_trains_the_same_models(text: Path) -> None:
    study = read_all([FOLDER / "study.yaml", FOLDER / "study_models_in_full.yaml"], given(FOLDER / "study.yaml", text))
    pilot = load("study_pilot", text)
    assert pilot.models == {name: study.models[name] for name in pilot.models}
    assert pilot.variants == {name: study.variants[name] for name in pilot.variants}
    assert pilot.corpora["english"].splits == study.corpora["english"].splits


def test_every_paper_has_a_small_form(text: Path) -> None:
    assert set(SMALL) == set(PAPERS)
    assert sorted([*SMALL.values(), "ladder"]) == sorted(path.stem for path in (FOLDER / "small").glob("*.yaml"))
    for name in SMALL.values():
        small = load(f"small/{name}", text)
        assert open_paths(FOLDER / f"small/{name}.yaml") == [*small.corpora, *small.resources]
        assert small.name == f"{name}_small"


SPANS = (
    "global_incremental",
    "monotonic_frequency",
    "monotonic_seeding",
    "combined_frequency",
    "combined_seeding",
)
"""Constraint and learning of ByteSpan's variants."""


@pytest.mark.parametrize("name", ["pathpiece", "bytespan", "bytespan_25_languages"])
def test_small_form_has_the_same_variants(name: str, text: Path) -> None:
    whole, small = load(name, text), load(f"small/{SMALL[name]}", text)
    spans = {f"entropy_{pair}" for pair in SPANS}
    left_out = {"bytespan_25_languages": spans, "pathpiece": {"pathpiece_ngram_space_digit"}}.get(name, set())
    assert left_out <= whole.variants.keys()
    assert [variant for variant in whole.variants if variant not in left_out] == list(small.variants)
    for variant in small.variants:
        one, other = whole.variants[variant], small.variants[variant]
        assert (one.pretokenization, one.segmentation) == (other.pretokenization, other.segmentation)
        assert one.construction.method == other.construction.method


@pytest.mark.parametrize("name", ["pathpiece", "picky_bpe", "bytespan"])
def test_form_of_the_papers_sizes(name: str, text: Path) -> None:
    """Built as in the small form of the paper, at sizes of the full form, without models."""
    experiment = load(f"sizes/{name}", text)
    full, small = load(name, text), load(f"small/{name}", text)
    assert experiment.name == f"{name}_sizes"
    assert list(experiment.variants) == list(small.variants)
    assert experiment.sizes == (full.sizes if name != "picky_bpe" else [8192, 16384, 32768, 65536])
    assert not experiment.runs
    assert not experiment.translations
    prefix = "en_de_" if name == "picky_bpe" else ""
    others = {variant: full.variants[prefix + variant] for variant in small.variants if variant != "scaffold"}
    for variant, other in others.items():
        own = experiment.variants[variant]
        assert (own.pretokenization, own.segmentation) == (other.pretokenization, other.segmentation)
        if name != "bytespan":
            assert own.construction == other.construction


@pytest.mark.parametrize("name", PAPERS)
def test_hub_corpora_are_the_known_ones(name: str, text: Path) -> None:
    for corpus in load(name, text).corpora.values():
        if isinstance(corpus.source, HubSource):
            assert HUB[corpus.source.dataset] == corpus.source.revision


@pytest.mark.parametrize(("name", "further"), [("pathpiece", [SEVENTH]), ("small/pathpiece", [])])
def test_variants_of_tokenization_is_more_than_compression(name: str, further: list[Any], text: Path) -> None:
    experiment = load(name, text)
    found = Counter(phases(experiment, variant) for variant in experiment.variants)
    assert found == Counter([*RANKS, *RANDTRAIN, *further])
    built = Counter(len(experiment.sizes_of(variant)) for variant in experiment.variants)
    assert built == {len(experiment.sizes): 18, 1: 8 + len(further)}


def test_venn_diagrams_of_tokenization_is_more_than_compression(text: Path) -> None:
    """Figures 5 and 12; a small form has the first alone."""
    figures = [["bpe", "pathpiece_bpe", "sage_bpe"], ["unigram", "pathpiece_unigram", "sage_unigram"]]
    experiment, small = load("pathpiece", text), load("small/pathpiece", text)
    assert experiment.report.venn_triples == figures
    assert venn_triples(experiment) == figures
    assert (small.report.venn, small.report.venn_triples) == (figures[0], figures[:1])
    printed = [[row[letter] for letter in "abc"] for row in facts.regions().iter_rows(named=True)]
    assert printed == figures


def test_models_of_tokenization_is_more_than_compression(text: Path) -> None:
    experiment = load("pathpiece", text)
    models = all_trained(experiment)
    assert Counter(trained.model for trained in models) == {"mpt_350m": 62, "mpt_1_3b": 7, "mpt_2_4b": 4}
    large = {"mpt_1_3b": {1, 2, 3, 6, 11, 15, "seventh"}, "mpt_2_4b": {1, 2, 3, 6}}
    ranks = RANKS | {SEVENTH: "seventh"}
    for name, chosen in large.items():
        built = [trained for trained in models if trained.model == name]
        assert {ranks[phases(experiment, trained.variant)] for trained in built} == chosen
        assert {trained.size for trained in built} == {40960}
    assert experiment.sizes == [32768, 40960, 49152]
    lengths = {(model.batches, model.batch, model.max_seq_len) for model in experiment.models.values()}
    assert lengths == {(100_000, 1024, 2048)}
    assert [len(suite.tasks) for suite in experiment.suites.values()] == [10]
    assert {run.corpus for run in experiment.runs} == {"pile"}
    figure = {(one.model, one.share) for one in all_checkpoints(experiment) if one[1:3] == ("pathpiece_bpe", 40960)}
    assert figure == set(product(experiment.models, ("0.2", "0.4", "0.6", "0.8")))
    assert {tuple(checkpoint_batches(model, 100_000).values()) for model in experiment.models.values()} == {
        (20_000, 40_000, 60_000, 80_000)
    }


@pytest.mark.parametrize(
    ("name", "machines"),
    [
        ("pathpiece", {"mpt_350m": (4, 8), "mpt_1_3b": (4, 8), "mpt_2_4b": (8, 8)}),
        ("greedtok", {"greedtok_1b": (16, 8), "greedtok_1b_equal_text": (16, 8)}),
    ],
)
def test_models_end_within_the_attempts_of_the_command(
    name: str, machines: dict[str, tuple[int, int]], text: Path
) -> None:
    """On the papers' machines, where they say which; GreedTok's equal text takes less than its equal tokens."""
    experiment = load(name, text)
    asked = {model: options.resources for model, options in experiment.models.items()}
    assert {model: (one.nodes, one.processes_per_node) for model, one in asked.items()} == machines
    [retries] = re.findall(r"--retries (\d+) ", (FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    for one in all_trained(experiment):
        seconds = lm_training_seconds(experiment.models[one.model], int(one.size))
        assert (seconds or 0) < (1 + int(retries)) * MAX_RUNTIME * 60


def test_initial_recipes_are_compared_with_the_paper_by_name(text: Path) -> None:
    """Hugging Face's rules of Unigram, from which two variants start."""
    experiment = load("pathpiece", text)
    compared = recipes(experiment)["variants"]
    for name in ("sage_unigram", "pathpiece_unigram"):
        initial = experiment.variants[name].construction.initial
        assert (initial.options.pruning_loss, initial.options.whole_characters) == ("tokenizers", False)
        [row] = facts.variants().filter(paper="pathpiece", variant=name).iter_rows(named=True)
        assert same_recipe(compared[name], row)


def test_corpora_of_greedtok(text: Path) -> None:
    experiment = load("greedtok", text)
    assert list(experiment.corpora) == ["un", "arxiv", "pubmed", "wiki", "refinedweb", "dclm", "dclm_fifth"]
    chosen = {
        corpus: Counter(
            (experiment.variants[variant].construction.method, *(size - 256 for size in experiment.sizes_of(variant)))
            for variant in experiment.variants
            if experiment.corpus_of(variant) == corpus
        )
        for corpus in experiment.corpora
    }
    methods = Counter(greedtok=1, greedwmc=1, bpe=2, unigram=2)
    short, long = (1000, 2000, 3000, 4000, 5000), (2000, 4000, 6000, 8000, 10000)
    for corpus, budgets in {"un": short, "arxiv": short, "pubmed": long, "wiki": long}.items():
        assert chosen[corpus] == {(method, *budgets): times for method, times in methods.items()}, corpus
    assert chosen["refinedweb"] == {(method, *long): 1 for method in ("greedtok", "greedwmc")}


def test_wiki_of_greedtok_may_be_files_of_the_users(text: Path) -> None:
    """The paper extracts a dump by wikiextractor, whose articles are JSON Lines, and its CJK ablation takes some."""
    file = FOLDER / "greedtok.yaml"
    assert "corpora='{wiki: {source: jsonl}}' wiki=" in file.read_text(encoding="utf-8")
    changed = {"corpora": {"wiki": {"source": "jsonl"}}, "wiki": str(text)}
    experiment = read_all([file], given(file, text) | changed)
    source = experiment.corpora["wiki"].source
    assert (source.type, source.path, source.text_field) == ("jsonl", [str(text)], "text")
    assert experiment.corpora["wiki"].splits == load("greedtok", text).corpora["wiki"].splits


def test_models_of_greedtok(text: Path) -> None:
    """Tables 4 and 5: BPEM, GTET and GTEP, over the first 600 million documents."""
    experiment = load("greedtok", text)
    trained = [(trained.model, trained.variant, trained.size) for trained in all_trained(experiment)]
    assert sorted(trained) == [
        ("greedtok_1b", "dclm_bpe", 65_536),
        ("greedtok_1b", "dclm_greedtok", 65_536),
        ("greedtok_1b_equal_text", "dclm_greedtok", 65_536),
    ]
    assert {run.corpus for run in experiment.runs} == {"dclm"}
    assert experiment.corpora["dclm"].source.max_documents == 600_000_000
    assert experiment.corpora["dclm_fifth"].splits["tokenizer"] == 0.2
    assert [len(suite.tasks) for suite in experiment.suites.values()] == [11]
    shares = {one.share for one in all_checkpoints(experiment)}
    assert {(one.model, one.variant) for one in all_checkpoints(experiment)} == {one[:2] for one in trained}
    assert shares == {"0.2", "0.4", "0.6", "0.8"}
    assert list(checkpoint_batches(experiment.models["greedtok_1b"], 150_000).values()) == [
        30_000,
        60_000,
        90_000,
        120_000,
    ]


def test_vocabularies_of_picky_bpe(text: Path) -> None:
    experiment = load("picky_bpe", text)
    sizes = {
        "en_de": {8192, 16384, 32768, 65536},
        "de_et": {8192},
        "uk_et": {8192},
        "en": {8192, 16384, 32768},
        "de": {8192, 16384, 32768},
    }
    built = {
        (variant.corpus, variant.construction.threshold, size)
        for name, variant in experiment.variants.items()
        if variant.construction.method == "picky_bpe" and variant.segmentation is None
        for size in experiment.sizes_of(name)
    }
    thresholds = [1.0, 0.9, 0.8, 0.7, 0.6]
    assert built == {
        (corpus, threshold, size) for corpus in sizes for threshold, size in product(thresholds, sizes[corpus])
    }
    others = Counter(
        variant.construction.method if variant.segmentation is None else variant.segmentation.method
        for variant in experiment.variants.values()
    )
    assert others == {"picky_bpe": 25, "bpe_trimmed": 4, "post_removal": 5, "unigram": 1}
    unigram = experiment.variants["en_de_unigram"].construction
    sentencepiece = (
        unigram.alphabet,
        unigram.seed_counts,
        unigram.split_by_unicode_script,
        unigram.split_by_whitespace,
    )
    assert (*sentencepiece, unigram.final_cut) == ("character", "occurrences", True, True, "score")


@pytest.mark.parametrize("name", ["picky_bpe", "small/picky_bpe"])
def test_trimmed_bpe_has_the_alphabet_of_picky_bpe(name: str, text: Path) -> None:
    variants = load(name, text).variants.values()
    alphabets = {
        method: {
            (one.construction.alphabet, one.construction.character_coverage)
            for one in variants
            if one.construction.method == method
        }
        for method in ("picky_bpe", "bpe_trimmed")
    }
    assert alphabets["picky_bpe"] == alphabets["bpe_trimmed"]
    assert len(alphabets["picky_bpe"]) == 1


def test_translations_of_picky_bpe(text: Path) -> None:
    experiment = load("picky_bpe", text)
    found = Counter(
        (
            one.source,
            one.target,
            one.size,
            one.variant == one.target_variant,
            experiment.translation_models[one.model].epochs,
        )
        for one in Translations(experiment).entries
    )
    assert found == {
        **{(source, target, 8192, True, 20): 5 for source, target in (("en", "de"), ("de", "et"), ("uk", "et"))},
        **{("en", "de", size, True, epochs): 5 for size, epochs in ((16384, 20), (32768, 25), (65536, 20))},
        **{("en", "de", size, False, epochs): 5 for size, epochs in ((8192, 20), (16384, 25), (32768, 20))},
    }
    for one in Translations(experiment).entries:
        source, target = (experiment.variants[name] for name in (one.variant, one.target_variant))
        assert source.construction == target.construction
        joint = one.variant == one.target_variant
        assert (source.corpus, target.corpus) == (
            (f"{one.source}_{one.target}",) * 2 if joint else (one.source, one.target)
        )


def test_small_translations_of_picky_bpe(text: Path) -> None:
    experiment = load("small/picky_bpe", text)
    found = {
        (experiment.variants[one.variant].construction.threshold, experiment.translation_models[one.model].seed)
        for one in Translations(experiment).entries
    }
    assert found == set(product([1.0, 0.9, 0.7, 0.6], [0, 1]))
    first, second = experiment.translation_models.values()
    assert first == second.model_copy(update={"seed": 0})
    assert {target.test for target in all_tested_translations(experiment)} == {"test2019", "test2020"}


def test_tokenizers_of_bytespan(text: Path) -> None:
    experiment = load("bytespan", text)
    assert experiment.sizes == [16000, 32000, 64000]
    spans = Counter(
        (variant.construction.signal, variant.construction.constraint, variant.construction.learning)
        for variant in experiment.variants.values()
        if variant.construction.method == "bytespan"
    )
    pairs = [("global", "incremental"), *product(["monotonic", "combined"], ["frequency", "seeding"])]
    assert spans == Counter((signal, *pair) for signal in ("surprisal", "entropy") for pair in pairs)
    assert [name for name in experiment.variants if name.startswith("bpe")] == ["bpe", "bpe_wp"]


@pytest.mark.parametrize(
    ("name", "languages", "budget"), [("bytespan", 1, 500e6), ("bytespan_25_languages", 25, 250e6)]
)
def test_text_of_the_byte_model_of_bytespan(name: str, languages: int, budget: float, text: Path) -> None:
    """Section 4: three equal subsets, one of which trains the byte model."""
    experiment = load(name, text)
    [corpus] = experiment.corpora.values()
    [recipe] = experiment.byte_lms.values()
    assert recipe.score_context == "dataset"
    assert recipe.without_score_context.model_copy(update={"device": "auto"}) == BYTE_LMS["paper_57m"]
    assert set(corpus.splits) == {"byte_lm", "tokenizer", "evaluation"}
    for share in corpus.splits.values():
        assert share * languages * corpus.source.max_bytes_per_language == pytest.approx(budget, rel=1e-3)


def test_tokenizers_of_bytespan_in_25_languages(text: Path) -> None:
    experiment = load("bytespan_25_languages", text)
    assert experiment.sizes == [128000]
    balanced = [
        variant.construction.constraint
        for variant in experiment.variants.values()
        if getattr(variant.construction, "balance_languages", False)
    ]
    assert balanced == ["monotonic", "combined"]
    assert len(experiment.variants) == 14
    signals = Counter(getattr(variant.construction, "signal", None) for variant in experiment.variants.values())
    assert signals == {None: 2, "surprisal": 7, "entropy": 5}
    source = experiment.corpora["common_corpus"].source
    assert len(source.languages or ()) == 25


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path_factory.mktemp("plans"))
    yield checkout
    checkout.close()


@pytest.mark.parametrize("name", sorted(SMALL))
def test_dry_runs_with_small_files_plan_every_tokenizer_and_model(name: str, checkout: Checkout, text: Path) -> None:
    """A dry run has a job for every tokenizer, language model and translation model, and ends in the report."""
    file = FOLDER / f"{name}.yaml"
    values = [f"{key}={json.dumps(value)}" for key, value in given(file, text).items()]
    printed = checkout.snakemake("--dry-run", "--quiet", "rules", "--configfile", str(file), "--config", *values)
    jobs = {rule: int(number) for rule, number in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)}
    experiment = load(name, text)
    assert jobs["build"] == len(all_tokenizers(experiment))
    assert jobs.get("pretrain", 0) == len(all_trained(experiment))
    assert jobs.get("train_translation", 0) == len(Translations(experiment).entries)
    assert {"tabulate", "analyse", "report"} <= jobs.keys()


def costs_in(page: str) -> set[str]:
    text = (FOLDER.parent / "results" / "published" / page / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Cost of the paper's experiment\n")[2].partition("\n## ")[0]
    return set(re.findall(r"\d\.\d\de\d+", section))


def written(*operations: float) -> set[str]:
    return {f"{one:.2e}".replace("e+", "e") for one in operations}


def test_pages_have_the_operations_of_the_papers_models(text: Path) -> None:
    """Operations by the formulas of Tokbench; GreedTok's equal text as 120,000 of 150,000 batches."""
    experiment = load("pathpiece", text)
    by_model: dict[str, list[float]] = {}
    for one in all_trained(experiment):
        asked = lm_training_operations(experiment.models[one.model], int(one.size))
        by_model.setdefault(one.model, []).append(asked or 0.0)
    large = [lm_training_operations(experiment.models[name], 40960) or 0.0 for name in by_model]
    assert costs_in("pathpiece") == written(*large, sum(map(sum, by_model.values())))
    greedtok = lm_training_operations(load("greedtok", text).models["greedtok_1b"], 65536) or 0.0
    assert costs_in("greedtok") == written(greedtok, 2.8 * greedtok)
    for name, size in (("bytespan", 5e8), ("bytespan_25_languages", 2.5e8)):
        model = load(name, text).byte_lms["llama"]
        each = byte_lm_flops_per_byte(model)
        scored = size * model.context / model.stride * each / 3
        assert costs_in(SMALL[name]) == written(model.steps * model.batch * model.context * each, scored)
    picky, sentences = load("picky_bpe", text), np.full(1000, 30)
    million = sum(
        1000 * options.epochs * translation_training_flops(options, sentences, sentences, int(one.size))
        for one in Translations(picky).entries
        for options in [picky.translation_models[one.model]]
    )
    assert costs_in("picky_bpe") == written(million, 4 * million)
