"""Tables of the trained models, learning curves, and the table of docs/measured/gpu.md."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.io.atomic import atomic_file

COLUMNS = {
    "variant": "the tokenizer",
    "size": "tokens that were asked for",
    "vocabulary": "tokens that it has",
    "parameters": "of the model",
    "batches": "of the training",
    "tokens": "seen in training",
    "bytes_per_token": "of the packed text, ends of text counted as tokens",
    "gflop_per_token": "training arithmetic, see `flops_per_token`",
    "tokens_per_second": "median of ten stretches of the training without its first ten batches",
    "mfu": "that times the arithmetic, over the device's peak",
    "train_seconds": "in batches, checkpoints included, over all starts",
    "starts": "of the training: 1, and 1 for each time it was resumed",
    "allocated_gib": "most memory of the device that tensors took at once, at the last start",
    "device_gib": "most memory of the device in use, as it reports",
    "joules": "of the device from the beginning to the end of training, over all starts, as it reports",
    "loss": "nats a token, mean of the last tenth of the batches",
    "bits_per_byte": "on the evaluation split",
    "evaluation_bytes": "of the evaluation split",
    "evaluation_tokens": "of it",
    "failed": "why there are no numbers",
}
EVERY = 10
"""Interval of the learning curves in batches."""


def name_of(folder: Path) -> str:
    """Return VARIANT/SIZE of an experiment's tokenizer, else the name of the folder."""
    return f"{folder.parent.name}/{folder.name}" if folder.name.isdecimal() else folder.name


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_rows(folders: Sequence[Path], output: Path) -> list[dict[str, Any]]:
    """Return the row of every tokenizer, with the reason for missing numbers."""
    return [read_row(output, name_of(folder)) for folder in folders]


def read_row(output: Path, name: str) -> dict[str, Any]:
    file = output / "rows" / f"{name}.json"
    if file.is_file():
        return dict.fromkeys(COLUMNS) | json.loads(file.read_text(encoding="utf-8"))
    curve = output / "checkpoints" / name / "curve.csv"
    batches = max(0, len(curve.read_text().splitlines()) - 1) if curve.is_file() else 0
    variant, _, size = name.partition("/")
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {"variant": variant, "size": int(size) if size else None}
    row["failed"] = f"the limit came after {batches} batches" if batches else "the limit came before its training"
    return row


def write_tables(folders: Sequence[Path], output: Path) -> list[dict[str, Any]]:
    """Write the tables of the finished runs."""
    rows = read_rows(folders, output)
    whole = ("size", "vocabulary", "parameters", "batches", "tokens", "starts", "evaluation_bytes", "evaluation_tokens")
    kinds = {name: pa.int64() for name in whole} | dict.fromkeys(("variant", "failed"), pa.string())
    table = pa.Table.from_pylist(rows, pa.schema([(name, kinds.get(name, pa.float64())) for name in COLUMNS]))
    with atomic_file(output / "runs.parquet") as partial:
        pq.write_table(table, partial)
    with atomic_file(output / "runs.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with atomic_file(output / "curves.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["variant", "size", "batch", "loss", "seconds"])
        for row in rows:
            curve = output / "models" / name_of_row(row) / "curve.csv"
            if curve.is_file():
                for point in read_csv(curve)[EVERY - 1 :: EVERY]:
                    cells = (row["variant"], row["size"], point["batch"], f"{float(point['loss']):.4f}")
                    lines.writerow([*cells, point["seconds"]])
    with atomic_file(output / "table.md") as partial:
        partial.write_text(markdown(rows), encoding="utf-8")
    return rows


def name_of_row(row: dict[str, Any]) -> str:
    return f"{row['variant']}/{row['size']}" if row["size"] else str(row["variant"])


SHOWN: dict[str, tuple[str, str]] = {
    "variant": ("", "{}"),
    "vocabulary": ("tokens", "{:,}"),
    "parameters": ("parameters", "{:,}"),
    "batches": ("batches", "{:,}"),
    "bytes_per_token": ("bytes a token", "{:.2f}"),
    "bits_per_byte": ("bits a byte", "{:.4f}"),
    "tokens_per_second": ("tokens a second", "{:,.0f}"),
    "mfu": ("MFU", "{:.1%}"),
    "train_seconds": ("seconds", "{:.0f}"),
    "allocated_gib": ("GiB of tensors", "{:.1f}"),
    "joules": ("kilojoules", "{:.1f}"),
}


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of the page, sorted by bits per byte."""
    lines = ["| " + " | ".join(title for title, _ in SHOWN.values()) + " |", "|---" + "|--:" * (len(SHOWN) - 1) + "|"]
    for row in sorted(rows, key=lambda row: (row["bits_per_byte"] is None, row["bits_per_byte"] or 0.0)):
        values = {**row, "joules": row["joules"] and row["joules"] / 1000}
        cells = ["" if values[name] is None else form.format(values[name]) for name, (_, form) in SHOWN.items()]
        lines.append("| " + " | ".join(cells) + " |" + (f" {row['failed']} |" if row["failed"] else ""))
    return "\n".join(lines) + "\n"
