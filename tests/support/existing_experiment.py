"""A small experiment on existing tokenizers of different sizes, on sentences of two languages."""

import json
from pathlib import Path
from typing import Any

from tests.conftest import TOPICS
from tests.support import library_tokenizers as made
from tests.support.pipeline import call
from tokbench.config.load import validate
from tokbench.report.content import ReportContent
from tokbench.report.loading import load
from tokbench.stages.report import report_settings
from tokbench.stages.tables import recipes

SIZES = {"small": 300, "medium": 420, "large": 600}
"""Tokens of each external tokenizer, in the order of the configuration."""
CORPUS = "books"
BUILT = "bpe"


def sentences() -> list[dict[str, str]]:
    """Return 24 documents of English and 24 of German, with equal numbers of lines."""
    lines = [line for line in TOPICS[2].decode().split("\n") if len(line) > 30][:24]
    german = [f"{number} zwölf Boxkämpfer jagen Viktor über Größe {line[:20]}" for number, line in enumerate(lines)]
    return [
        {"language": language, "text": text} for language, texts in (("en", lines), ("de", german)) for text in texts
    ]


def configuration(folder: Path, *, built: bool) -> dict[str, Any]:
    """Return the configuration of the experiment.

    Args:
        folder: folder of the files.
        built: True if the experiment also builds a tokenizer at two sizes.
    """
    variants: dict[str, Any] = {
        name: {"corpus": CORPUS, "from": "tokenizer_json", "path": str(folder / f"{name}.json")} for name in SIZES
    }
    sizes = {}
    if built:
        variants |= {
            name: {"corpus": CORPUS, "pretokenization": "gpt2", "construction": "bpe", "segmentation": segmentation}
            for name, segmentation in ((BUILT, "merge"), ("bpe_greedy", "greedy"))
        }
        sizes = {"sizes": [512]}
    source = {"type": "jsonl", "path": str(folder / "text.jsonl")}
    splits = {"evaluation": 1} if not built else {"evaluation": 0.5, "tokenizer": 0.5}
    return {
        "name": "trial",
        "seed": 0,
        **sizes,
        "corpora": {CORPUS: {"source": source, "splits": splits}},
        "variants": variants,
    }


def run(folder: Path, *, built: bool = False) -> ReportContent:
    """Run the commands of the experiment, to tables, statistics and leaderboard, and return the report's content."""
    for name, size in SIZES.items():
        (folder / f"{name}.json").write_text(json.dumps(made.byte_level(size)))
    lines = (json.dumps(document, ensure_ascii=False) for document in sentences())
    (folder / "text.jsonl").write_text("\n".join(lines) + "\n")
    values = configuration(folder, built=built)
    experiment = validate(values, "trial.yaml")
    source = {"type": "jsonl", "path": str(folder / "text.jsonl")}
    recipe = {"source": source, "splits": values["corpora"][CORPUS]["splits"], "seed": 0, "shards": 1}
    call("prepare", "--recipe", recipe, "-o", str(folder / "corpus"))
    shard = {split: str(folder / "corpus" / split / "0000.parquet") for split in recipe["splits"]}
    flags = []
    for name in values["variants"]:
        size = "own" if name in SIZES else "512"
        tokenizer = str(folder / "tokenizers" / name / size)
        files = {kind: str(folder / kind / f"{name}.json") for kind in ("intrinsic", "tokens")}
        for file in (tokenizer, *files.values()):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
        text = [f"--documents={shard['evaluation']}"]
        if name in SIZES:
            call("import", "--name", name, "--limit", "0", f"--check={shard['evaluation']}", "-o", tokenizer, "--",
                 str(folder / f"{name}.json"))  # fmt: skip
        else:
            counts = str(folder / "counts.parquet")
            call("count", "--pretokenization", "gpt2", shard["tokenizer"], "-o", counts)
            cut = f"--segmentation={values['variants'][name]['segmentation']}"
            call("build", "bpe", "--counts", counts, cut, "--size", size, "--name", name, "-o", tokenizer)
            call("count", "--pretokenization", "gpt2", shard["evaluation"], "-o", str(folder / "evaluation.parquet"))
            text = [f"--counts={folder / 'evaluation.parquet'}"]
        call("measure", *text, "--corpus", CORPUS, "-o", files["intrinsic"], "--", tokenizer)
        call("count_tokens", "--corpus", CORPUS, "-o", files["tokens"], "--", tokenizer, shard["evaluation"])
        flags += [f"--tokenizer={tokenizer}", f"--intrinsic={files['intrinsic']}", f"--tokens={files['tokens']}"]
    call("tabulate", *flags, "-o", str(folder / "tables"))
    baseline = experiment.baselines()[CORPUS]
    call("analyse", "--recipes", recipes(experiment), "--baseline", f"{CORPUS}={baseline}",
         "-o", str(folder / "statistics"), "--", str(folder / "tables"))  # fmt: skip
    call("leaderboard", "--name", "trial", "--statistics", str(folder / "statistics"),
         *(flag for flag in flags if flag.startswith("--tokenizer=")), "--table", str(folder / "leaderboard.csv"), "-o",
         str(folder / "leaderboard.json"))  # fmt: skip
    folders = {name: folder / name for name in ("tables", "statistics")}
    return load(folders, experiment, report_settings(experiment)["configuration"])
