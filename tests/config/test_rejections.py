"""A mistake in a configuration is a one-line error with the file, the key and the remedy, before any work."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import SCHEMES, Tokbench
from tests.support.workflow.checkout import Prepared
from tests.support.wrong_configurations import GONE, changed
from tokbench.config.load import read
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.segmentation import segmentations


def fitting(made: str) -> list[str]:
    """Segmentations that suit a construction that makes this."""
    return [method.name for method in segmentations.methods() if method.needs in (None, made)]


CONSTRUCTIONS = ", ".join(constructions)
SEGMENTATIONS = ", ".join(segmentations)
SPLITS = {"tokenizer": 0.4, "evaluation": 0.1, "byte_lm": 0.1, "pretraining": 0.1}
MISTAKES: list[tuple[str, Any, str]] = [
    # Keys that do not exist
    ("varients", {}, "varients: unknown key. Did you mean 'variants'?"),
    (
        "books",
        "x",
        "books: neither a key nor the name of a corpus, resource, suite or variant (offline, pydoc); correct",
    ),
    ("variants/bpe/segmentaton", "greedy", "variants.bpe.segmentaton: unknown key. Did you mean 'segmentation'?"),
    (
        "variants/bpe/construction",
        {"method": "bpe", "max_token_byte": 3},
        "variants.bpe.construction.max_token_byte: unknown key. Did you mean 'max_token_bytes'?",
    ),
    (
        "corpora/pydoc/splits/tokeniser",
        0.1,
        "corpora.pydoc.splits.tokeniser: 'tokeniser' is not one of byte_lm, tokenizer, evaluation, pretraining. "
        "Did you mean 'tokenizer'?",
    ),
    (
        "corpora/pydoc/source",
        {"type": "text", "pth": "x"},
        "corpora.pydoc.source.pth: unknown key. Did you mean 'path'?",
    ),
    ("byte_lms/tiny", {"preset": "tiny", "step": 3}, "byte_lms.tiny.step: unknown key. Did you mean 'steps'?"),
    ("runs/0/suite", ["offline"], "runs.0.suite: unknown key. Did you mean 'suites'?"),
    ("report", {"titel": "x"}, "report.titel: unknown key. Did you mean 'title'?"),
    (
        "corpora/pydoc/source",
        {"type": "embedded", "path": "x"},
        "corpora.pydoc.source.path: unknown key. Known here: language, languages, max_bytes_per_language, "
        "max_documents, rename_languages, type.",
    ),
    # Causal effects
    (
        "causal_effect",
        {"variants": ["bpe"], "reach": 2000},
        "causal_effect.reach: 'bpe' at 1024 has 768 learned tokens; choose at most that",
    ),
    (
        "causal_effect",
        {"variants": ["bpe"], "reach": 100, "bandwidth": 60},
        "causal_effect: bandwidth: 60 leaves no room for placebo cut-offs within a reach of 100; choose 50 or less",
    ),
    (
        "causal_effect",
        {"variants": ["bpe_greedy"]},
        "causal_effect.variants: 'bpe_greedy' is not a variant of runs (bpe)",
    ),
    # Keys that are missing
    ("name", GONE, "name: this key is missing; add it"),
    ("variants/bpe/pretokenization", GONE, "variants.bpe.pretokenization: this key is missing; add it"),
    (
        "corpora/pydoc/source",
        {"path": "x"},
        "corpora.pydoc.source: the key 'type' is missing; add it with one of arrow, counts, embedded, hub, jsonl, "
        "parallel, parquet, text",
    ),
    # Values of the wrong type
    ("seed", "one", "seed: must be a whole number (found 'one')"),
    ("seed", -1, "seed: must be at least 0 (found -1)"),
    ("sizes", 1024, "sizes: must be a list (found 1024); write [1024]"),
    ("sizes", ["big"], "sizes.0: must be a whole number (found 'big')"),
    ("sizes", [1024.5], "sizes.0: must be a whole number (found 1024.5)"),
    ("sizes", [], "sizes: needs 1 or more entries (found [])"),
    ("name", 2024, "name: must be text, in quotes if it looks like a number (found 2024)"),
    ("name", "a/b", "name: 'a/b' is not a name of letters, digits, '_' and '-' that starts with a letter or digit"),
    ("corpora", "pydoc", "corpora: must be a mapping, {key: value} (found 'pydoc')"),
    ("corpora/pydoc", None, "corpora.pydoc: must be a mapping, {key: value} (found nothing)"),
    ("corpora/pydoc/splits/tokenizer", "half", "corpora.pydoc.splits.tokenizer: must be a number or byte_lm, "),
    ("corpora/pydoc/shards", 0, "corpora.pydoc.shards: must be at least 1 (found 0)"),
    ("variants/bpe", "bpe", "variants.bpe: must be a mapping, {key: value} (found 'bpe')"),
    ("variants/bpe/construction", 3, "variants.bpe.construction: must be a name or a mapping, {key: value} (found 3)"),
    ("models/tiny", {"preset": "tiny", "microbatch": "all"}, "models.tiny.microbatch: must be a whole number or auto"),
    ("models/tiny", {"preset": "tiny", "alibi": False}, "models.tiny.alibi: false is not one of true."),
    ("tasks", {"tasks": ["lastword"]}, "tasks.tasks.0: 'lastword' is not one of continuation, last_word, unperturbed"),
    ("statistics", {"detect": 0}, "statistics.detect: must be at least 1e-06"),
    ("statistics", {"pilot": "nowhere"}, "statistics.pilot: no bits_comparisons.parquet in 'nowhere'; name the folder"),
    ("bounds", {"steps": 0}, "bounds.steps: must be at least 1 (found 0)"),
    ("bounds", {"steps": 400.5}, "bounds.steps: must be a whole number (found 400.5)"),
    ("bounds", {"step": 9}, "bounds.step: unknown key. Did you mean 'steps'?"),
    ("ngram_bits", {"order": 6}, "ngram_bits.order: must be at most 5"),
    ("ngram_bits", {"split": "evaluation"}, "ngram_bits.split: 'evaluation' is not one of tokenizer, pretraining"),
    ("ngram_bits", {"training_bytes": []}, "ngram_bits.training_bytes: "),
    # Names of methods and presets
    (
        "variants/pathpiece/construction/initial",
        "bpee",
        "variants.pathpiece.construction.initial: 'bpee' is not an initial vocabulary (bpe, ngram, unigram). "
        "Did you mean 'bpe'?",
    ),
    (
        "variants/pathpiece/construction/initial",
        {"method": "bpee"},
        "variants.pathpiece.construction.initial: 'bpee' is not an initial vocabulary (bpe, ngram, unigram). "
        "Did you mean 'bpe'?",
    ),
    (
        "variants/pathpiece/construction/initial",
        {"method": "sage"},
        "variants.pathpiece.construction.initial: 'sage' is not an initial vocabulary (bpe, ngram, unigram).",
    ),
    (
        "variants/pathpiece/construction/initial",
        {"max_token_bytes": 4},
        "variants.pathpiece.construction.initial: the key 'method' is missing; add it with one of bpe, ngram, unigram",
    ),
    (
        "variants/pathpiece/construction/initial",
        {"method": "bpe", "max_token": 4},
        "variants.pathpiece.construction.initial.max_token: unknown key. Did you mean 'max_token_bytes'?",
    ),
    (
        "variants/pathpiece/construction/initial",
        {"method": "bpe", "max_token_bytes": 1},
        "variants.pathpiece.construction.initial.max_token_bytes: must be at least 2 (found 1)",
    ),
    (
        "variants/pathpiece/construction/initial",
        {"method": "bpe", "initial": "ngram"},
        "variants.pathpiece.construction.initial.initial: unknown key. Known here: alphabet,",
    ),
    (
        "variants/pathpiece/construction/initial",
        ["bpe"],
        "variants.pathpiece.construction.initial: must be a name or a mapping, {key: value} (found ['bpe'])",
    ),
    ("variants/bpe/construction", "bpee", f"variants.bpe.construction: 'bpee' is not one of {CONSTRUCTIONS}."),
    ("variants/bpe/segmentation", "greeedy", f"variants.bpe.segmentation: 'greeedy' is not one of {SEGMENTATIONS}."),
    (
        "variants/bpe/pretokenization",
        "gtp2",
        f"variants.bpe.pretokenization: 'gtp2' is not one of {SCHEMES}. Did you mean 'gpt2'?",
    ),
    (
        "corpora/pydoc/source",
        "embeded",
        "corpora.pydoc.source: 'embeded' is not one of embedded, arrow, jsonl",
    ),
    (
        "byte_lms/tiny",
        "tinny",
        "byte_lms.tiny: 'tinny' is not a byte_lm preset (ngram, paper_57m, tiny). Did you mean 'tiny'?",
    ),
    (
        "models/tiny",
        {"preset": "mpt350m"},
        "models.tiny: 'mpt350m' is not a model preset (greedtok_1b, greedtok_1b_equal_text, mpt_1_3b, mpt_2_4b",
    ),
    ("suites/offline", "offlin", "suites.offline: 'offlin' is not a suite preset (a_partition_cover_approach_"),
    (
        "corpora/pydoc/splits",
        {**SPLITS, "evaluation": "byte_lms"},
        "corpora.pydoc.splits.evaluation: must be a number or byte_lm, tokenizer, evaluation or pretraining",
    ),
    (
        "corpora/pydoc/splits",
        {"tokenizer": 0.5, "pretraining": 0.4, "byte_lm": "tokenizer", "evaluation": "byte_lm"},
        "corpora.pydoc.splits.evaluation: 'byte_lm' has no share; give it one, or name another split",
    ),
    (
        "variants/bpe/construction",
        {"method": "greedtok", "candidates": "nowhere.txt"},
        "variants.bpe.construction.candidates: no file at 'nowhere.txt'; name an existing file",
    ),
    (
        "variants/bpe/construction",
        {"method": "bpe_continued", "tokenizer": "nowhere.json"},
        "variants.bpe.construction.tokenizer: no file or folder at 'nowhere.json'; name an existing one",
    ),
    # Sizes
    ("sizes", [512], "sizes: 512 is smaller than the alphabet of 'span'; ask for 768 or more"),
    ("variants/bpe/sizes", [255], "variants.bpe.sizes: 255 is smaller than the alphabet of 'bpe'; ask for 256 or more"),
    ("sizes", [1024, 1024], "sizes: 1024 is listed twice; remove one"),
    (
        "variants/pathpiece/sizes",
        [4096],
        "variants.pathpiece.construction.initial_size: 2048 is below the size 4096; raise it",
    ),
    # Combinations
    (
        "variants/bpe/segmentation",
        "likelihood",
        "variants.bpe.segmentation: 'likelihood' needs scores, which 'bpe' does not make; "
        f"use one of {', '.join(fitting('merges'))}",
    ),
    (
        "variants/bpe",
        {"pretokenization": "gpt2", "construction": "unigram", "segmentation": "merge"},
        "variants.bpe.segmentation: 'merge' needs merges, which 'unigram' does not make; "
        f"use one of {', '.join(fitting('scores'))}",
    ),
    (
        "variants/span/segmentation",
        "greedy",
        "variants.span.segmentation: 'greedy' ignores the forms of the tokens of 'bytespan'; use longest_prefix",
    ),
    (
        "variants/span/byte_lm",
        GONE,
        "variants.span.byte_lm: 'bytespan' reads a byte language model's scores; name one (tiny)",
    ),
    ("variants/span/byte_lm", "tinny", "variants.span.byte_lm: 'tinny' is not a byte language model (tiny)."),
    ("variants/bpe/byte_lm", "tiny", "variants.bpe.byte_lm: 'bpe' does not read scores; remove this key"),
    ("models/tiny", {"preset": "tiny", "epochs": 1}, "models.tiny: give one budget: batches (equal tokens), epochs"),
    # Corpora
    (
        "corpora/pydoc/splits",
        SPLITS | {"byte_lm": 0.6},
        "corpora.pydoc.splits: the shares add up to 1.2; lower them to 1 or less in all",
    ),
    (
        "corpora/pydoc/splits",
        SPLITS | {"byte_lm": -0.1},
        "corpora.pydoc.splits.byte_lm: a share must not be negative (found -0.1)",
    ),
    (
        "corpora/pydoc/splits",
        {"tokenizer": 0.5, "byte_lm": 0.1, "pretraining": 0.1},
        "corpora.pydoc.splits: no share for 'evaluation', which variant 'bpe' is measured on; give it one",
    ),
    (
        "corpora/pydoc/source",
        {"type": "text", "path": "absent.txt"},
        "corpora.pydoc.source.path: no file at 'absent.txt'; name an existing file, folder or pattern",
    ),
    (
        "corpora/pydoc/source",
        {"type": "hub", "dataset": "a/b", "revision": "main"},
        "corpora.pydoc.source.revision: 'main' is not a commit, 40 hexadecimal digits",
    ),
    (
        "corpora/pydoc/source",
        {"type": "hub", "dataset": "a/b"},
        "corpora.pydoc.source.revision: this key is missing; add it",
    ),
    # Gold data
    ("resources", {"mine": "ladek"}, "resources.mine: 'ladek' is not one of british_lexicon_project, compoundpiece"),
    (
        "resources",
        {"mine": {"type": "ladec", "path": "absent.csv"}},
        "resources.mine.path: no file at 'absent.csv'; name an existing file, folder or pattern",
    ),
    (
        "resources",
        {"pydoc": {"type": "ladec", "path": __file__}},
        "resources.pydoc: a corpus has this name, too, and tables contain it; rename one",
    ),
    ("resources", {"mine": {"type": "ladec", "paths": "x"}}, "resources.mine.paths: unknown key. Did you mean 'path'?"),
    ("metrics", {"reny": {}}, "metrics.reny: unknown key. Did you mean 'renyi'?"),
    ("metrics", {"renyi": {"order": [2]}}, "metrics.renyi.order: unknown key. Did you mean 'orders'?"),
    # Names that lead nowhere
    ("metrics", {"vocabulary": {"words_of": "wiki"}}, "metrics.vocabulary.words_of: 'wiki' is not a corpus (pydoc)."),
    ("variants/bpe/corpus", "pydocs", "variants.bpe.corpus: 'pydocs' is not a corpus (pydoc). Did you mean 'pydoc'?"),
    ("runs/0/variants", ["bp"], "runs.0.variants: 'bp' is not a variant (bpe, pathpiece, span). Did you mean 'bpe'?"),
    ("runs/0/models", ["tinny"], "runs.0.models: 'tinny' is not a model (tiny). Did you mean 'tiny'?"),
    ("runs/0/suites", ["online"], "runs.0.suites: 'online' is not a suite (offline). Did you mean 'offline'?"),
    ("runs/0/corpus", "x", "runs.0.corpus: 'x' is not a corpus (pydoc)."),
    ("runs/0/sizes", [2048], "runs.0.sizes: 'bpe' is not built at 2048; choose among 1024"),
    ("report", {"highlight": "bp"}, "report.highlight: 'bp' is not a variant (bpe, pathpiece, span)."),
    ("report", {"baseline": "bp"}, "report.baseline: 'bp' is not a variant (bpe, pathpiece, span)."),
    ("report", {"baseline": {"pydoc": "bp"}}, "report.baseline.pydoc: 'bp' is not a variant (bpe, pathpiece, span)."),
    ("report", {"baseline": {"docs": "bpe"}}, "report.baseline.docs: 'docs' is not a corpus (pydoc)."),
    ("report", {"venn": ["bpe", "span"]}, "report.venn: a Venn diagram compares three different variants; name three"),
    ("report", {"venn": [["bpe"]]}, "report.venn: a Venn diagram compares three different variants; name three"),
    ("report", {"venn": [["bpe", "span", "pathpiece", "bpe"]]}, "report.venn.0: accepts at most 3 entries"),
    ("report", {"venn": [["bpe", "span", "span"]]}, "report.venn.0: 'span' is listed twice; remove one"),
    ("report", {"venn": [["bpe"], "span"]}, "report.venn.1: must be a list (found 'span'); write ['span']"),
    (
        "report",
        {"venn": [["bpe", "span", "pathpiece"], ["span", "bpe", "pathpiece"]]},
        "report.venn: span, bpe, pathpiece are compared twice; remove one",
    ),
    ("report", {"venn": 3}, "report.venn: must be a list (found 3); write [3]"),
]


@pytest.mark.parametrize(("path", "value", "expected"), MISTAKES)
def test_configuration(
    path: str, value: Any, expected: str, experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changed(experiment, path, value)))
    assert tokbench("validate", file).message.startswith(f"tokbench: {file}: {expected}")


@pytest.mark.parametrize(
    ("path", "value", "key", "entry"),
    [
        ("corpora/pydoc/source", "text", "corpora.pydoc.source.path", "pydoc"),
        ("resources", {"ladec": "ladec"}, "resources.ladec.path", "ladec"),
    ],
)
def test_a_path_may_come_from_the_command_line_of_a_run(
    path: str, value: Any, key: str, entry: str, experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    """A run without it is rejected; a check of the file names the options."""
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changed(experiment, path, value)))
    with pytest.raises(TokbenchError, match=f"{key}: no path given; .* --config {entry}=PATH"):
        read(file)
    outcome = tokbench("validate", file)
    assert outcome.status == 0
    assert f"--config {entry}=PATH, and check them with --set {entry}=PATH\n" in outcome.stderr
    assert tokbench("validate", file, "--set", f"{entry}=absent").status == 2


def test_paths_of_a_parallel_corpus_and_published_files_may_be_missing(
    experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    """The note has what may be copied to the command line, and the command that makes the files."""
    file = tmp_path / "mine.yaml"
    pairs = {"languages": ["en", "de"], "train": {"type": "lines"}, "dev": 5, "tests": {"one": {"type": "tmx"}}}
    experiment["parallel_corpora"] = {"news": pairs}
    experiment["variants"]["llama"] = {"from": "tiktoken", "path": "there/llama3.tiktoken", "pattern": "llama3"}
    file.write_text(yaml.safe_dump(experiment))
    outcome = tokbench("validate", file)
    assert outcome.status == 0
    setting = "news='{train: {en: PATH, de: PATH}, one: PATH}'"
    assert f"--config {setting}, and check them with --set {setting}\n" in outcome.stderr
    assert "make them with tokbench download tokenizers there\n" in outcome.stderr
    with pytest.raises(TokbenchError) as error:
        read(file)
    assert "parallel_corpora.news: no path given; add it, or say --config news='{train:" in str(error.value)
    assert "no such file as 'there/llama3.tiktoken'; make it with tokbench download tokenizers there" in str(
        error.value
    )


def test_configuration_without_a_mistake(experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(experiment))
    assert b" with 1 corpus, 3 variants, 3 tokenizers and 1 language model\n" in tokbench("validate", file).stdout


def test_bytes_are_drawn_only_of_a_byte_model(experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    file = tmp_path / "mine.yaml"
    experiment["report"] = {"byte_signals": ["a sentence"]}
    file.write_text(yaml.safe_dump(experiment))
    assert tokbench("validate", file).status == 0
    del experiment["variants"]["span"]
    file.write_text(yaml.safe_dump(experiment))
    expected = f"tokbench: {file}: report.byte_signals: no variant reads a byte language model; add one with byte_lm"
    assert tokbench("validate", file).message.startswith(expected)


def test_several_mistakes_take_a_line_each(experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    file = tmp_path / "mine.yaml"
    experiment["sizes"], experiment["seed"] = ["big"], "one"
    file.write_text(yaml.safe_dump(experiment))
    outcome = tokbench("validate", file)
    assert outcome.status == 2
    assert [line.partition(" must")[0] for line in outcome.stderr.splitlines()] == [
        f"tokbench: {file}: seed:",
        f"{file}: sizes.0:",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ": no such configuration; name an existing file"),
        (b"", ": not a configuration; start from config.yaml"),
        (b"- a\n", ": not a configuration; start from config.yaml"),
        (b"name: [", ":1:8: not YAML (while parsing a flow node, expected the node content, but found '<stream end>')"),
        (b"name: \xff\n", ":1:7: not UTF-8 (byte 0xff); save the file as UTF-8"),
    ],
)
def test_files_that_are_no_configuration(
    content: bytes | None, expected: str, tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    if content is not None:
        file.write_bytes(content)
    assert tokbench("validate", file).message.startswith(f"tokbench: {file}{expected}")


def test_workflow_rejects_before_any_work(workflow: Prepared, experiment: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changed(experiment, "variants/bpe/construction", "bpee")))
    printed = workflow.run("-n", "-d", str(tmp_path), "--configfile", str(file), status=1)
    assert "Traceback" not in printed
    [line] = [line for line in printed.splitlines() if line.startswith("tokbench:")]
    assert line.startswith(f"tokbench: {file}: variants.bpe.construction: 'bpee' is not one of {CONSTRUCTIONS}.")


def test_a_construction_that_does_not_rank_its_tokens(
    experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    unranked = changed(experiment, "variants/bpe/construction", {"method": "unigram"})
    file.write_text(yaml.safe_dump(unranked | {"causal_effect": {}}))
    assert tokbench("validate", file).message == (
        f"tokbench: {file}: causal_effect.variants: 'bpe' is built by 'unigram', which does not rank its tokens; name "
        "variants of runs that are built by bpe, wordpiece, greedtok or picky_bpe"
    )
