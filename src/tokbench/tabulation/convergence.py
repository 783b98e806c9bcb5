"""What models can do on their way: scores of the checkpoints that were kept, one row a checkpoint and suite."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.inputs.json import read_json
from tokbench.result_files import read_result
from tokbench.tabulation.reading import AGAIN, HEAD, framed, run_of, taken
from tokbench.tidy.columns import MODEL, SIZE, SUITE, VARIANT
from tokbench.tidy.table import SHARE, Column, Print, TidyTable

PRETRAIN = "pretrain again"
Reached = Mapping[str, Mapping[str, Any]]
"""Batches and tokens at each kept checkpoint, by the share of the training."""


def convergence_table(
    along: Iterable[Path | str],
    downstream: Iterable[Path | str],
    models: Iterable[Path | str],
    own_sizes: Mapping[str, int],
) -> pl.DataFrame:
    """Scores of kept checkpoints and of the models that they became.

    Args:
        along: results ``.../{model}/{variant}/{size}/{share}/{suite}.json`` of checkpoints.
        downstream: results of models; of those without checkpoints nothing is taken.
        models: folders of the models, whose manifests tell how far each checkpoint was.
        own_sizes: sizes of the tokenizers that were made elsewhere, by variant.

    Returns:
        The columns of :data:`CONVERGENCE`, one row per model, suite, size, variant and checkpoint, in this order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    files = [(Path(path), Path(path).parts[-2]) for path in along]
    reached = dict(_reached(models, own_sizes)) if files else {}
    rows = []
    for path, share in (*files, *((Path(path), "1.0") for path in downstream if files)):
        result = read_result(path, AGAIN, lenient=True)
        variant, size, model, suite = (taken(result, key, path) for key in HEAD)
        if share not in (at := reached.get((model, variant, size), {})):
            continue
        found = [taken(task, "accuracy", path) for task in taken(result, "tasks", path, kind=dict).values()]
        known = [one for one in found if one is not None]
        accuracy = sum(known) / len(known) if known and len(known) == len(found) else None
        batch, tokens = (taken(at[share], key, path) for key in ("batch", "tokens"))
        bits = result.get("bits_per_byte")
        rows.append((variant, size, model, suite, float(share), batch, tokens, accuracy, len(found), bits))
    return framed(rows, CONVERGENCE.schema, "").sort("model", "suite", "size", "variant", "share")


def _reached(
    models: Iterable[Path | str], own_sizes: Mapping[str, int]
) -> Iterator[tuple[tuple[str, str, int], Reached]]:
    """What the manifests of models with kept checkpoints tell, by model, variant and size."""
    for folder in map(Path, models):
        file = folder / "manifest.json"
        settings = taken(read_json(file, PRETRAIN, lenient=True), "settings", file, kind=dict)
        if checkpoints := settings.get("checkpoints"):
            yield (
                run_of(folder, own_sizes),
                {**checkpoints, "1.0": _end(taken(settings, "read", file, kind=dict), file)},
            )


def _end(read: Mapping[str, Any], file: Path) -> dict[str, Any]:
    return {"batch": taken(read, "batches", file), "tokens": taken(read, "tokens", file)}


CONVERGENCE = TidyTable(
    "convergence",
    "a checkpoint of a model with a tokenizer, or the model that it became, on a suite",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        Column("share", pl.Float64, "how much of the training was done", SHARE, "trained"),
        Column("batch", pl.Int64, "batches trained on", "batches"),
        Column("tokens", pl.Int64, "tokens seen", "tokens"),
        Column(
            "accuracy", pl.Float64, "unweighted mean over the suite's tasks", SHARE,
            empty="the suite has no tasks, or one without accuracy",
        ),
        Column("tasks", pl.Int64, "tasks of the suite", "tasks"),
        Column(
            "bits_per_byte", pl.Float64, "what the checkpoint spends on the evaluation split", "bits per byte",
            "bits per byte", 4, empty="the suite did not measure bits per byte",
        ),
    ),
    maker=convergence_table,
    takes=("along", "downstream", "models", "own_sizes"),
    keys=("variant", "size", "model", "suite", "share"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Convergence of {model} on {suite}: what checkpoints along the training spend on the evaluation split, and "
            "their accuracy, unweighted over the tasks, against tokens seen. The last point is the model itself. One "
            "training each, and one learning rate's course: a model whose budget ended there would have a lower rate "
            "there, and do better.",
            by=("model", "suite"),
            files=(
                "convergence/{model}/{variant}/{size}/*/{suite}.json",
                "downstream/{model}/{variant}/{size}/{suite}.json",
            ),
            arranged=True,
            form="figure",
        ),
        Print(
            "models",
            "Convergence of {model} on {suite} in numbers: accuracy in percent, unweighted over the tasks.",
            by=("model", "suite"),
            shown=("variant", "size", "share", "batch", "tokens", "accuracy", "bits_per_byte"),
            files=(
                "convergence/{model}/{variant}/{size}/*/{suite}.json",
                "downstream/{model}/{variant}/{size}/{suite}.json",
            ),
            folds_above=12,
            name="convergence-in-numbers",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
