"""``tokbench build``: build a vocabulary and its tokenizer."""

import time
from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.inputs import COUNTS, DOCUMENTS, SCORES
from tokbench.commands.method_name import ConstructionName
from tokbench.commands.numbers import COUNT, MEMORY, SEED, SIZE, THREADS
from tokbench.commands.outputs import OutputFolder
from tokbench.commands.pretokenization_option import chosen_scheme, pretokenization_option
from tokbench.errors import TokbenchError, on_one_line


@click.command("build")
@click.argument("method", type=ConstructionName())
@click.option("--counts", type=COUNTS, help="Pre-token counts, Parquet or TSV hex<TAB>count.")
@click.option("--min-count", "least", type=COUNT, default=1, help="Leave out pre-tokens of --counts that are rarer.")
@click.option("--scores", multiple=True, type=SCORES, help="Byte scores, for methods that read them; may be repeated.")
@click.option(
    "--documents",
    multiple=True,
    type=DOCUMENTS,
    help="Prepared corpus or shards of one, for methods that read its text.",
)
@click.option(
    "--initial", type=click.Path(file_okay=False), help="Folder of the initial vocabulary; built if left out."
)
@click.option("--size", required=True, type=SIZE, help="Tokens, the 256 bytes included.")
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Option of the method; may be repeated.")
@click.option("--recipe", "options", help="All options of the method as one JSON object, instead of --set.")
@click.option("--segmentation", help="Name, or {method: name, option: value}; the method's own if left out.")
@pretokenization_option("How texts are cut, where the counts do not say it.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--threads", type=THREADS, default=1, show_default=True)
@click.option(
    "--memory",
    "megabytes",
    type=MEMORY,
    metavar="MB",
    help="Megabytes allowed: end at once where the method needs more by what was measured of it.",
)
@click.option("--name", default="", help="What tables call the tokenizer.")
@click.option("-o", "--output", required=True, type=OutputFolder("tokenizer"), help="Folder of the tokenizer.")
def command(
    method: str,
    counts: str | None,
    least: int,
    scores: tuple[str, ...],
    documents: tuple[str, ...],
    initial: str | None,
    size: int,
    settings: tuple[str, ...],
    options: str | None,
    segmentation: str | None,
    pretokenization: str | None,
    seed: int,
    threads: int,
    megabytes: int | None,
    name: str,
    output: str,
) -> None:
    """Build a vocabulary by METHOD and write its tokenizer to a folder."""
    from tokbench.building import build_from_files, check_alphabet, own_segmentation
    from tokbench.commands.arguments import mapping_of, method_options, recipe, settings_of
    from tokbench.commands.construction_inputs import check_needs, check_read, counts_of, source_of
    from tokbench.construction import constructions
    from tokbench.segmentation import segmentations

    started = time.monotonic()
    scheme = chosen_scheme(pretokenization).text if pretokenization else None
    remedy = "use fewer --threads" if threads > 1 else ""
    memory.purpose(f"build '{method}' of {size:,} tokens", remedy)
    construction = constructions[method]
    if options and settings:
        raise TokbenchError("--set, --recipe: both name options of the method; give one of them")
    given = mapping_of(options, "--recipe") if options else settings_of(settings, "--set")
    chosen = method_options(construction, given, "--recipe" if options else "--set")
    if least > 1 and (construction.source != "counts" or not counts):
        raise TokbenchError(f"--min-count {least}: '{method}' reads no pre-token counts; leave the option out")
    check_read(construction, {"--scores": scores, "--documents": documents, "--initial": initial})
    check_alphabet(construction, size, "--size")
    cut, cut_options = (
        recipe(segmentation, "--segmentation") if segmentation else own_segmentation(construction, chosen)
    )
    segmentation_options = method_options(segmentations[cut], cut_options, "--segmentation")

    if counts and megabytes is not None and construction.source == "counts":
        check_needs(construction, chosen, counts, least, megabytes, bool(initial))
    pretokens, left_out = counts_of(counts, scheme, least) if counts else (None, None)
    if pretokens:
        memory.purpose(f"build '{method}' of {size:,} tokens from {len(pretokens):,} unique pre-tokens", remedy)
    tokenizer = build_from_files(
        construction,
        source_of(construction, pretokens, scores, documents, scheme),
        size,
        chosen,
        cut,
        segmentation_options,
        output,
        counts=pretokens,
        left_out=left_out,
        initial=initial,
        seed=seed,
        threads=threads,
        name=on_one_line(name or Path(output).name),
        started=started,
    )
    if len(tokenizer) < size:
        click.echo(f"the text yields {len(tokenizer):,} tokens, fewer than the {size:,} asked for", err=True)
    click.echo(
        f"{len(tokenizer):,} tokens in {time.monotonic() - started:.1f} s; {tokenizer.origin['hugging_face']}",
        err=True,
    )
