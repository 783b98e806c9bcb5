"""The tidy tables, assembled from the files that the stages leave, and the wide table of a paper."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.atomic import Kind, atomic_folder
from tokbench.errors import TokbenchError, unknown
from tokbench.inputs.files import first_line
from tokbench.inputs.json import read_json
from tokbench.spreadsheets import write_csv
from tokbench.statistics.cells import ACCURACY, INTRINSIC, require
from tokbench.statistics.ranks import averages, averages_by_size

AGAIN = "make the result again"
HEAD = ("variant", "size", "model", "suite")
"""Keys by which a downstream result says what it is of."""

RESULTS = {**ACCURACY, "stderr": pl.Float64, "num_fewshot": pl.Int64, "straddling": pl.Int64}
"""Columns of the table of accuracies as it is assembled: what the statistics need, the standard error, the examples in
the prompt, and the choices whose first token straddles the end of the context."""

BITS_PER_BYTE = {
    "variant": pl.String,
    "size": pl.Int64,
    "model": pl.String,
    "suite": pl.String,
    "value": pl.Float64,
    "reason": pl.String,
}


CURVES = {
    "model": pl.String,
    "variant": pl.String,
    "size": pl.Int64,
    "batch": pl.Int64,
    "tokens": pl.Int64,
    "loss": pl.Float64,
}


def accuracy_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """Accuracies of every model on every task.

    Args:
        results: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`RESULTS`, one row per model, suite, size, variant and task,
        in this order. A task that the file leaves without accuracy is a null.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [_frame([], RESULTS, "")]
    for path in results:
        result = read_json(path, AGAIN, lenient=True)
        head = [_take(result, key, path) for key in HEAD]
        rows = []
        for name, task in _take(result, "tasks", path, kind=dict).items():
            keys = ("accuracy", "random_baseline", "n", "accuracy_stderr", "num_fewshot", "straddling")
            rows.append((*head, name, *(_take(task, key, path, f"tasks.{name}.") for key in keys)))
        frames.append(_frame(rows, RESULTS, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant", "task")


def bits_per_byte_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """Bits per byte of every model.

    Returns:
        Columns ``variant``, ``size``, ``model``, ``suite``, ``value``, ``reason``, one row per file; a file
        without the figure gives a null with a reason.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [_frame([], BITS_PER_BYTE, "")]
    for path in results:
        result = read_json(path, AGAIN, lenient=True)
        value = result.get("bits_per_byte")
        reason = "the suite did not measure bits per byte" if value is None else None
        row = (*(_take(result, key, path) for key in HEAD), value, reason)
        frames.append(_frame([row], BITS_PER_BYTE, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant")


def curve_table(models: Iterable[Path | str]) -> pl.DataFrame:
    """Training curves of every model.

    Args:
        models: folders ``.../{model}/{variant}/{size}`` with a ``curve.csv`` of batch, tokens and loss.

    Returns:
        Columns ``model``, ``variant``, ``size``, ``batch``, ``tokens``, ``loss`` (nats per token), in the order given.

    Raises:
        TokbenchError: a folder has no readable curve.
    """
    frames = [pl.DataFrame(schema=CURVES)]
    for folder in map(Path, models):
        model, variant, size = folder.parts[-3:]
        try:
            curve = pl.read_csv(folder / "curve.csv", columns=["batch", "tokens", "loss"])
            names = {"model": pl.lit(model), "variant": pl.lit(variant), "size": pl.lit(int(size), pl.Int64)}
            frames.append(curve.with_columns(**names).select(list(CURVES)).cast(CURVES))  # type: ignore[arg-type]
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = first_line(error)
            raise TokbenchError(f"{folder / 'curve.csv'}: not a training curve ({reason}); pretrain again") from None
    return pl.concat(frames)


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path, kind: Kind = "tables") -> None:
    """Write each table as ``{name}.parquet`` and ``{name}.csv``, all of them or none; in the latter text is guarded."""
    with atomic_folder(folder, kind) as partial:
        for name, table in tables.items():
            table.write_parquet(partial / f"{name}.parquet", compression="zstd")
            write_csv(table, partial / f"{name}.csv")


def intrinsic_table(measurements: Iterable[Path | str]) -> pl.DataFrame:
    """Intrinsic metrics of every tokenizer.

    Args:
        measurements: files ``{"variant", "size", "corpus", "measurements": [{"language", "metric", "definition",
            "value", "n", "reason"}, ...]}``, in any order.

    Returns:
        The columns of :data:`tokbench.statistics.cells.INTRINSIC`, ordered by corpus, language, metric, definition,
        size and variant.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [_frame([], INTRINSIC, "")]
    for path in measurements:
        content = read_json(path, AGAIN, lenient=True)
        head = [_take(content, key, path) for key in ("variant", "size", "corpus")]
        rows = []
        for index, row in enumerate(_take(content, "measurements", path, kind=list)):
            keys = ("language", "metric", "definition", "value", "n", "reason")
            rows.append((*head, *(_take(row, key, path, f"measurements[{index}].") for key in keys)))
        frames.append(_frame(rows, INTRINSIC, path))
    return pl.concat(frames).sort("corpus", "language", "metric", "definition", "size", "variant")


def wide_table(accuracy: pl.DataFrame, model: str, suite: str) -> pl.DataFrame:
    """Variants by tasks for one model and suite, with averages and ranks, as papers print it.

    Args:
        accuracy: the tidy table of accuracies.
        model: the model to show.
        suite: the suite to show.

    Returns:
        For each size, and then for the average over sizes (``size`` null): ``size``, ``rank``, ``variant``, one
        column per task, ``average``, ``above_random``, ``reason``. Rows follow the rank. A task's accuracy over
        sizes is null where one of the sizes lacks it.

    Raises:
        TokbenchError: no such model or suite, a missing column, or a cell that stands twice.
    """
    require(accuracy, ACCURACY, "accuracy table")
    for name, column in ((model, "model"), (suite, "suite")):
        if name not in (known := accuracy[column].unique().to_list()):
            raise TokbenchError(f"accuracy table: {unknown(name, column, known)}")
    chosen = accuracy.filter(pl.col("model") == model, pl.col("suite") == suite)
    tasks = chosen["task"].unique().sort().to_list()
    sizes = chosen["size"].n_unique()
    by_size = averages_by_size(chosen)
    over_sizes = averages(chosen).with_columns(size=pl.lit(None, pl.Int64))
    cells = chosen.pivot("task", index=["size", "variant"], values="accuracy")
    whole = pl.when(pl.col("accuracy").count() == sizes).then(pl.col("accuracy").mean())
    means = chosen.sort("size").group_by("variant", "task", maintain_order=True).agg(whole)
    columns = ["size", "rank", "variant", *tasks, "average", "above_random", "reason"]
    return pl.concat(
        [
            by_size.join(cells, on=["size", "variant"], how="left", maintain_order="left").select(columns),
            over_sizes.join(
                means.pivot("task", index="variant", values="accuracy"), on="variant", how="left", maintain_order="left"
            ).select(columns),
        ]
    )


def _take(content: Any, key: str, path: Path | str, within: str = "", kind: type = object) -> Any:
    if not isinstance(content, dict) or key not in content:
        raise TokbenchError(f"{path}: no key {within}{key}; {AGAIN}")
    if not isinstance(content[key], kind):
        raise TokbenchError(f"{path}: {within}{key} holds {type(content[key]).__name__}, not {kind.__name__}; {AGAIN}")
    return content[key]


def _frame(rows: list[tuple[Any, ...]], schema: dict[str, Any], path: Path | str) -> pl.DataFrame:
    try:
        frame = pl.DataFrame(rows, schema=schema, orient="row")
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise TokbenchError(f"{path}: a value of the wrong type ({first_line(error)}); {AGAIN}") from None
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))
