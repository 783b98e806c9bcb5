"""``tokbench measure_translation_embeddings``: embeddings of a translation model against its tokens' probabilities."""

from pathlib import Path

import click

from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder


@click.command("measure_translation_embeddings")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--metrics", help="Options of metrics as JSON, by family.")
@memory_option()
@click.option("-o", "--output", required=True, type=OutputFolder("embeddings"), help="Folder of the results.")
def command(model: str, metrics: str | None, megabytes: int | None, output: str) -> None:
    """Write norm, occurrences and probability of every token of encoder and decoder, and measurements of them.

    Where a side's embeddings need more than --memory, a line says how much before they are read.
    """
    from dataclasses import asdict

    from tokbench.allowance import RESERVE, require, resident
    from tokbench.atomic import atomic_folder
    from tokbench.commands.measurements import metric_families
    from tokbench.intrinsic.embeddings import Layout, embeddings_of, room
    from tokbench.intrinsic.measure import measure_embeddings
    from tokbench.result_files import write_result
    from tokbench.spreadsheets import write_csv
    from tokbench.translation.embeddings import AGAIN, sides_of

    rows = []
    with atomic_folder(output, "embeddings") as folder:
        for side in sides_of(Path(model)):
            layout = Layout((side.tensor,), side.before, "training text", AGAIN)
            require("this measurement", resident() + RESERVE + room(Path(model), layout), megabytes)
            embeddings = embeddings_of(side.tokenizer.named, Path(model), side.occurrences, layout)
            frame = embeddings.to_frame()
            frame.write_parquet(folder / f"{side.name}.parquet", compression="zstd")
            write_csv(frame, folder / f"{side.name}.csv")
            found = measure_embeddings(embeddings, families=metric_families(metrics))
            rows += [{"side": side.name, **asdict(row)} for row in found]
        write_result(folder / "measurements.json", {"measurements": rows}, indent=1)
