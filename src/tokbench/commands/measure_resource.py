"""``tokbench measure_resource``: measure a tokenizer on the gold data of a resource."""

from typing import cast

import click

from tokbench.commands.marks import keys
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import output_file
from tokbench.errors import TokbenchError


@click.command("measure_resource")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--recipe", "text", required=True, help="Type of the resource, or its options as JSON: {type: ladec}.")
@click.option("--name", help="Name of the resource in the tables; its type if left out.")
@click.option("--variant", help="Name of the tokenizer in the tables; its own if left out.")
@click.option("--metrics", help="Options of metrics as JSON, by family.")
@memory_option()
@output_file("--by-word", help="JSON file of every word's boundaries, for intervals.")
@output_file(mark=keys("variant", "size", "corpus", "measurements"), help="JSON file; standard output if left out.")
@click.argument("files", nargs=-1)
def command(
    folder: str,
    text: str,
    name: str | None,
    variant: str | None,
    metrics: str | None,
    megabytes: int | None,
    by_word: str | None,
    output: str | None,
    files: tuple[str, ...],
) -> None:
    """Measure the tokenizer in FOLDER on the words of a resource, whose FILES may be named here; print JSON.

    With --by-word, what each word adds to the alignment with morphemes is written too; nothing of a resource that has
    none. Where the resource needs more than --memory, a line says how much before anything of it is read.
    """
    from tokbench.allowance import RESERVE, require, resident
    from tokbench.commands.arguments import check_same_files, mapping_of
    from tokbench.commands.measurements import metric_families, write_measurements
    from tokbench.intrinsic.alignment_by_word import boundaries_by_word, nothing_by_word
    from tokbench.intrinsic.measure import measure_cut_words
    from tokbench.intrinsic.read_resource import read_resource, room
    from tokbench.intrinsic.resource_files import resource_files
    from tokbench.intrinsic.words import words_of
    from tokbench.options import validated
    from tokbench.resource import ResourceOptions, resource_types
    from tokbench.result_files import write_result
    from tokbench.tokenizer import Tokenizer

    values = mapping_of(text, "--recipe") if text.lstrip().startswith("{") else {"type": text}
    kind = str(values.pop("type", ""))
    options = validated(values, cast(type[ResourceOptions], resource_types[kind].options), f"--recipe ({kind})")
    if files and options.path:
        check_same_files(files, [path for _, path in resource_files(kind, options)], f"--recipe ({kind})")
    elif files:
        options = options.model_copy(update={"path": list(files)})
    if not options.path:
        raise TokbenchError(f"--recipe {kind}: no file of the resource; name its files after FOLDER")
    if megabytes is not None:
        require(f"'{name or kind}'", resident() + RESERVE + room(kind, options), megabytes)
    gold = read_resource(kind, options)
    tokenizer = Tokenizer.load(folder)
    of, families = resource_types[kind].gold, metric_families(metrics)
    found = nothing_by_word()
    if tokenizer.library_name:
        from tokbench.intrinsic.measure_encoded import words_without_values

        rows = words_without_values(gold, of, families=families, library=tokenizer.library_name)
    else:
        words = words_of(tokenizer, gold)
        rows = measure_cut_words(words, of, families=families)
        if by_word is not None and of == "segmentations":
            found = boundaries_by_word(words)
    if by_word is not None:
        head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": name or kind}
        write_result(by_word, head | found)
    write_measurements(tokenizer, rows, variant, name or kind, output)
