"""``tokbench measure_embeddings``: hold the embeddings of a trained model against its tokens' probabilities."""

from dataclasses import replace
from pathlib import Path

import click

from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder


@click.command("measure_embeddings")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option(
    "--token-counts",
    "counts",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Each id's count in what it was trained on: 'tokbench pack' writes it.",
)
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option("--model-name", "name", required=True, help="Name of the model in the tables.")
@click.option("--variant", help="Name of the tokenizer in the tables; its own if left out.")
@click.option("--corpus", default="", help="Name of the pretraining text in the tables.")
@click.option("--metrics", help="Options of metrics as JSON, by family.")
@memory_option()
@click.option("-o", "--output", required=True, type=OutputFolder("embeddings"), help="Folder of the results.")
def command(
    model: str,
    counts: str,
    tokenizer: str,
    name: str,
    variant: str | None,
    corpus: str,
    metrics: str | None,
    megabytes: int | None,
    output: str,
) -> None:
    """Write norm, occurrences and probability of every token, and measurements of them.

    Where the embeddings need more than --memory, a line says how much before they are read.
    """
    from tokbench.allowance import RESERVE, require, resident
    from tokbench.atomic import atomic_folder
    from tokbench.commands.measurements import metric_families, write_measurements
    from tokbench.intrinsic.embeddings import embeddings_of, room
    from tokbench.intrinsic.measure import measure_embeddings
    from tokbench.occurrences import read_occurrences
    from tokbench.spreadsheets import write_csv
    from tokbench.tokenizer import Tokenizer

    loaded = Tokenizer.load(tokenizer)
    require("this measurement", resident() + RESERVE + room(Path(model)), megabytes)
    embeddings = embeddings_of(loaded.named, Path(model), read_occurrences(Path(counts), loaded.id_limit))
    rows = [
        ("", replace(row, definition=f"{row.definition}; model {name}"))
        for row in measure_embeddings(embeddings, families=metric_families(metrics))
    ]
    with atomic_folder(output, "embeddings") as folder:
        frame = embeddings.to_frame()
        frame.write_parquet(folder / "tokens.parquet", compression="zstd")
        write_csv(frame, folder / "tokens.csv")
        write_measurements(loaded, rows, variant, corpus, str(folder / "measurements.json"))
