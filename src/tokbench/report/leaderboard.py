"""Leaderboard: the scoreboard with its provenance and checksums of corpora and tokenizers, for other sites.

docs/programs.md documents the files key by key.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.corpus.documents import SplitContents, counts_of, splits_of
from tokbench.io.json import read_json
from tokbench.io.provenance import provenance
from tokbench.io.tables import read_frame
from tokbench.report.sentences import baseline_sentence, sentence
from tokbench.statistics.comparisons.families import TOKENS
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.tabulation.table import TidyTable
from tokbench.tokenizer.folder import SETTINGS

NAME = "leaderboard.json"
FORMAT = 1
"""Version of the format, increased when a key changes its meaning or is removed."""
AGAIN = "build the tokenizer again"


def leaderboard(
    name: str,
    scores: pl.DataFrame,
    tokenizers: Iterable[Path],
    models: Iterable[Path],
    corpora: Mapping[str, SplitContents],
    made: Mapping[str, Any],
) -> dict[str, Any]:
    """Build the leaderboard of an experiment. It contains no times, so equal results make equal files.

    Args:
        name: name of the experiment.
        scores: table of the scoreboard.
        tokenizers: folders of the tokenizers.
        models: folders ``MODEL/VARIANT/SIZE`` of the language models.
        corpora: contents of the splits, by ``CORPUS/SPLIT``.
        made: provenance, see :func:`tokbench.io.provenance.provenance`.

    Raises:
        TokbenchError: the settings of a tokenizer cannot be read.
    """
    versions = dict(made["versions"])
    return {
        "format": FORMAT,
        "experiment": name,
        "tokbench": {"version": versions.pop("tokbench", None), "revision": made["revision"]},
        "versions": {**versions, "python": made["hardware"]["python"]},
        "corpora": [
            dict(zip(("corpus", "split"), key.split("/", 1), strict=True)) | contents._asdict()
            for key, contents in sorted(corpora.items())
        ],
        "tokenizers": sorted(map(_tokenizer, tokenizers), key=lambda entry: (entry["variant"], str(entry["size"]))),
        "models": sorted(map(_model, models), key=lambda model: (model["model"], model["variant"], model["size"])),
        "scores": scores.to_dicts(),
    }


def read_splits(path: Path | str) -> dict[tuple[str, str], tuple[int | None, int | None]]:
    """Return documents and bytes of each split, by corpus and split; None if unknown.

    Args:
        path: a leaderboard.

    Raises:
        TokbenchError: the file cannot be read.
    """
    corpora = read_json(path, remedy="write the leaderboard again")["corpora"]
    return {(split["corpus"], split["split"]): (split["documents"], split["bytes"]) for split in corpora}


def answer(folder: Path | str) -> str:
    """Return one sentence on an experiment: the fewest tokens against the baseline, at the largest size.

    Only tokenizers with the pre-tokenizer of the baseline are compared, and only significant differences count. If no
    size has a baseline, the sentence is on existing tokenizers at their own sizes.

    Args:
        folder: folder of the experiment.

    Raises:
        TokbenchError: the folder has no leaderboard.
    """
    scores = read_json(Path(folder) / NAME, remedy="run the experiment")["scores"]
    counted = [row for row in scores if row["measure"] == TOKENS and isinstance(row["size"], int)]
    sizes = {(row["corpus"], row["variant"], row["size"]) for row in counted}
    of_size = [row for row in counted if (row["corpus"], row["baseline"], row["size"]) in sizes]
    rows = [
        row for row in of_size
        if row["pretokenization"] is not None and row["pretokenization"] == row["baseline_pretokenization"]
    ]  # fmt: skip
    if len({row["variant"] for row in rows}) < 2 and (existing := [row for row in counted if row not in of_size]):
        return _answer_of_existing(existing, {(row["corpus"], row["variant"]): row["size"] for row in counted})
    if not rows:
        return sentence("no baseline")
    size = max(row["size"] for row in rows)
    corpus = rows[0]["corpus"]
    rows = [row for row in rows if (row["corpus"], row["size"]) == (corpus, size)]
    better = [row for row in rows if row["difference_verdict"] == "better"]
    at = f"At {size:,} tokens, with the pre-tokenizer {rows[0]['pretokenization']}, on {corpus}:"
    if not better:
        return sentence("none better", at=at, baseline=rows[0]["baseline"])
    best = min(better, key=lambda row: row["difference"])
    return sentence("fewest tokens", at=at, comparison=baseline_sentence(best))


def _answer_of_existing(rows: list[dict[str, Any]], sizes: Mapping[tuple[str, str], int]) -> str:
    """Return the sentence on the existing tokenizer with the fewest tokens of the first corpus, with sizes.

    Args:
        rows: scores of tokens of the tokenizers that are not the baseline.
        sizes: size by corpus and variant.
    """
    corpus = rows[0]["corpus"]
    better = [row for row in rows if row["corpus"] == corpus and row["difference_verdict"] == "better"]
    at = f"On {corpus}:"
    if not better:
        return sentence("none better", at=at, baseline=rows[0]["baseline"])
    best = min(better, key=lambda row: row["difference"])
    of_sizes = {"size_a": best["size"], "size_b": sizes.get((corpus, best["baseline"]))}
    return sentence("fewest tokens", at=at, comparison=baseline_sentence(best, of_sizes))


def leaderboard_of(
    name: str,
    statistics: Path | str,
    tokenizers: Iterable[str],
    documents: Iterable[str],
    counts: Iterable[str],
    models: Iterable[str] = (),
) -> dict[str, Any]:
    """Build the leaderboard of an experiment from its files.

    Args:
        name: name of the experiment.
        statistics: folder of its statistics.
        tokenizers: folders of its tokenizers.
        documents: folders of its corpora.
        counts: files ``CORPUS/SPLIT/SCHEME.parquet`` of corpora without documents.
        models: folders ``MODEL/VARIANT/SIZE`` of its language models. Default: none.

    Raises:
        TokbenchError: a file is missing or damaged.
    """
    scores = read_frame(Path(statistics) / f"{SCOREBOARD.name}.parquet", "compute the statistics again")
    SCOREBOARD.check(scores)
    corpora: dict[str, SplitContents] = {}
    for folder in documents:
        corpora |= splits_of(Path(folder))
    for file in counts:
        corpora |= counts_of(Path(file))
    return leaderboard(name, scores, map(Path, tokenizers), map(Path, models), corpora, provenance())


def as_table(board: Mapping[str, Any], declared: TidyTable = SCOREBOARD) -> pl.DataFrame:
    """Return the scores as a table; every row also has the experiment, version, revision and checksums."""
    evaluated = {entry["corpus"]: entry["sha256"] for entry in board["corpora"] if entry["split"] == "evaluation"}
    vocabularies = {(entry["variant"], entry["size"]): entry["sha256"] for entry in board["tokenizers"]}
    scores = pl.DataFrame(board["scores"], schema=declared.schema)
    return scores.with_columns(
        pl.lit(board["experiment"]).alias("experiment"),
        pl.lit(board["tokbench"]["version"]).alias("tokbench"),
        pl.lit(board["tokbench"]["revision"], pl.String).alias("revision"),
        pl.Series("corpus_sha256", [evaluated.get(name) for name in scores["corpus"]], pl.String),
        pl.Series(
            "tokenizer_sha256",
            [vocabularies.get(key) for key in scores.select("variant", "size").iter_rows()],
            pl.String,
        ),
    )


def _tokenizer(folder: Path) -> dict[str, Any]:
    """Return the entry of a tokenizer; its size is the requested one, as in the tables."""
    settings = read_json(folder / SETTINGS, AGAIN, lenient=True)
    origin = settings.get("origin") or {}
    asked = origin.get("requested_size")
    return {
        "variant": settings.get("name"),
        "size": settings.get("size") if asked is None else asked,
        "tokens": settings.get("size"),
        "sha256": settings.get("sha256"),
        "pretokenization": settings.get("pretokenization"),
        "construction": (origin.get("construction") or {}).get("method"),
        "segmentation": (settings.get("segmentation") or {}).get("method"),
        "versions": _versions(folder),
    }


def _model(folder: Path) -> dict[str, Any]:
    """Return the entry of a language model."""
    return {**dict(zip(("model", "variant", "size"), folder.parts[-3:], strict=True)), "versions": _versions(folder)}


def _versions(folder: Path) -> dict[str, str]:
    """Return the versions of the packages that made a result; empty if no manifest in its folder has them."""
    manifest = folder / "manifest.json"
    made = read_json(manifest, AGAIN, lenient=True) if manifest.is_file() else {}
    versions: dict[str, str] = made.get("versions", {})
    return versions
