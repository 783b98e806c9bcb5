"""Commands that build, import and export tokenizers."""

import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokbench.commands.completion import FORM_NAMES, PATTERN_NAMES, SEGMENTATION_NAMES, names_in
from tokbench.commands.declaration import command
from tokbench.commands.inputs import COUNTS, DOCUMENTS, SCORES, TEXT, TOKENIZER_FOLDER
from tokbench.commands.outputs import OutputFolder
from tokbench.commands.parameters import (
    ADDED,
    COUNT,
    MEMORY,
    SEED,
    SIZE,
    SPECIAL,
    THREADS,
    ConstructionName,
    Whole,
    built_in,
    field_options,
    pretokenization_option,
    special_tokens,
)
from tokbench.errors import TokbenchError, on_one_line
from tokbench.io.compression import Fields
from tokbench.runtime import exit_status

if TYPE_CHECKING:
    from tokbench.pretokens import PretokenCounts

FORMS = ("tokenizer_json", "tiktoken", "sentencepiece", "tokens")


class BuildCommand(click.Command):
    """Command that gives advice if a method's option is passed as one of its own."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(context, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            if name in ("option", "options"):
                raise click.UsageError(
                    f"No such option '{error.option_name}'. Did you mean '--set'?", context
                ) from None
            for method in built_in().intersection(given):
                if name in _options_of(method):
                    remedy = f"'{name}' is an option of {method}: --set {name}=VALUE."
                    raise click.UsageError(f"No such option '{error.option_name}'. {remedy}", context) from None
            raise


def _options_of(method: str) -> Collection[str]:
    from tokbench.construction import constructions

    return constructions[method].options.model_fields


@command(
    "build",
    "build a vocabulary and its tokenizer",
    group="essentials",
    place=70,
    example="tokbench build bpe --size 1024 --counts counts.parquet -o bpe",
    cls=BuildCommand,
)
@click.argument("method", type=ConstructionName(), shell_complete=names_in("tokbench.construction:constructions"))
@click.option("--counts", type=COUNTS, help="Pre-token counts, Parquet or TSV hex<TAB>count.")
@click.option(
    "--min-count", "least", type=COUNT, default=1, help="Leave out pre-tokens of --counts that occur less often."
)
@click.option("--scores", multiple=True, type=SCORES, help="Byte scores, for methods that need them; may be repeated.")
@click.option(
    "--documents",
    multiple=True,
    type=DOCUMENTS,
    help="Prepared corpus or shards of one, for methods that need running text.",
)
@click.option(
    "--development",
    type=COUNTS,
    help="Pre-token counts of parallel text by language, for methods that compare languages.",
)
@click.option(
    "--initial", type=click.Path(file_okay=False), help="Folder of the initial vocabulary; default: build it."
)
@click.option("--size", required=True, type=SIZE, help="Vocabulary size, including the 256 bytes.")
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Option of the method; may be repeated.")
@click.option("--recipe", "options", help="All options of the method as one JSON object, instead of --set.")
@click.option(
    "--segmentation",
    shell_complete=SEGMENTATION_NAMES,
    help="Name, or {method: name, option: value}; default: the method's own.",
)
@pretokenization_option("Pre-tokenizer, if the counts do not include it.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--threads", type=THREADS, default=1, show_default=True)
@click.option(
    "--memory",
    "megabytes",
    type=MEMORY,
    metavar="MB",
    help="Memory limit in MB; stop before starting if the estimate is higher.",
)
@click.option("--name", default="", help="Name of the tokenizer in the tables.")
@click.option("-o", "--output", required=True, type=OutputFolder("tokenizer"), help="Folder of the tokenizer.")
def build_command(
    method: str,
    counts: str | None,
    least: int,
    scores: tuple[str, ...],
    documents: tuple[str, ...],
    development: str | None,
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
    """Build a vocabulary by METHOD, such as bpe, and write its tokenizer to a folder. 'tokbench methods' lists the
    methods.
    """
    from tokbench.building import BuildRecipe, own_segmentation
    from tokbench.building.files import BuildFiles, build_from_files
    from tokbench.commands.parameters import chosen_scheme
    from tokbench.commands.recipes import mapping_of, method_options, recipe, settings_of
    from tokbench.construction import constructions
    from tokbench.segmentation import segmentations

    started = time.monotonic()
    scheme = chosen_scheme(pretokenization).text if pretokenization else None
    exit_status.describe_task(f"build '{method}' of {size:,} tokens", "use fewer --threads" if threads > 1 else "")
    construction = constructions[method]
    if options and settings:
        raise TokbenchError("--set, --recipe: both set options of the method; pass one of them")
    # Options of the method and of its segmentation.
    values = mapping_of(options, "--recipe") if options else settings_of(settings, "--set")
    chosen = method_options(construction, values, "--recipe" if options else "--set")
    cut, cut_options = (
        recipe(segmentation, "--segmentation") if segmentation else own_segmentation(construction, chosen)
    )
    tokenizer, pretokens = build_from_files(
        BuildRecipe(
            construction=construction,
            options=chosen,
            size=size,
            segmentation=cut,
            segmentation_options=method_options(segmentations[cut], cut_options, "--segmentation"),
            seed=seed,
            name=on_one_line(name or Path(output).name),
        ),
        BuildFiles(
            counts=counts,
            min_count=least,
            scores=scores,
            documents=documents,
            development=development,
            initial=initial,
            scheme=scheme,
        ),
        output,
        threads=threads,
        megabytes=megabytes,
    )
    # What a user should know of the vocabulary.
    if pretokens and (longest := getattr(chosen, "max_pretoken_bytes", None)) is not None:
        _say_left_out(pretokens, longest)
    if len(tokenizer) < size:
        click.echo(f"the text yields {len(tokenizer):,} tokens, fewer than the {size:,} asked for", err=True)
    if reason := (tokenizer.vocabulary.record or {}).get("stopped"):
        click.echo(f"stopped early: {reason}", err=True)
    click.echo(
        f"{len(tokenizer):,} tokens in {time.monotonic() - started:.1f} s; {tokenizer.origin['hugging_face']}",
        err=True,
    )


def _say_left_out(pretokens: "PretokenCounts", longest: int) -> None:
    """Report the pre-tokens that a construction does not choose tokens from, as they are too long."""
    from tokbench.optimum.bound import line_of_left_out

    _, long = pretokens.split_by_length(longest)
    if long.total:
        click.echo(line_of_left_out(long.total, long.total_bytes / pretokens.total_bytes, longest), err=True)


@command(
    "import",
    "import an external tokenizer",
    group="essentials",
    place=80,
    example="tokbench import theirs.json --from tokenizer_json -o theirs",
)
@click.argument("path")
@click.option(
    "--from",
    "form",
    metavar="FORM",
    shell_complete=FORM_NAMES,
    help="Format of the file; docs/existing.md describes them. Default: detected from its content.",
)
@click.option(
    "--pattern",
    shell_complete=PATTERN_NAMES,
    help="Pre-tokenizer name or regular expression, if the file does not include one.",
)
@click.option(
    "--segmentation",
    shell_complete=SEGMENTATION_NAMES,
    help="Segmentation; default: that of the format. Required for the format 'tokens'.",
)
@click.option(
    "--added",
    type=click.Choice(ADDED),
    default="words",
    show_default=True,
    help="Added tokens to recognise in texts: all but special ones (words), none (text), or all (tokens).",
)
@click.option("--special", multiple=True, metavar="NAME=ID", help=SPECIAL)
@click.option(
    "--end-of-text", metavar="TOKEN", help="Special or added token that ends a text; default: that of the files."
)
@click.option("--revision", help="Fetch PATH, a name on the Hugging Face hub, at this revision (a full hash).")
@click.option(
    "--check",
    "files",
    multiple=True,
    type=TEXT,
    help="Documents on which to compare ids and measure losses; may be repeated.",
)
@click.option(
    "--limit", default=1000, show_default=True, type=Whole(0), help="Maximum number of documents to check; 0 for all."
)
@field_options
@click.option("--name", default="", help="Name of the tokenizer in the tables; default: that of the folder.")
@click.option("-o", "--output", required=True, type=OutputFolder("tokenizer"), help="Folder of the tokenizer.")
def import_command(
    path: str,
    form: str | None,
    pattern: str | None,
    segmentation: str | None,
    added: str,
    special: tuple[str, ...],
    end_of_text: str | None,
    revision: str | None,
    files: tuple[str, ...],
    limit: int,
    fields: Fields,
    name: str,
    output: str,
) -> None:
    """Import the external tokenizer at PATH, a file or a folder, and write it to a folder like any other.

    It becomes a tokenizer of ours if that gives exactly the same ids. If not, it works through its own library. The
    output says which, why, and which bytes of texts are lost. Ids do not change.
    """
    from tokbench.adapters.imports import FileTexts, write_import

    exit_status.describe_task(f"import {path}")
    if not files and fields.flags:
        raise TokbenchError(f"{fields.flags}: only for files of --check; name some")
    options: dict[str, Any] = {"pattern": pattern, "segmentation": segmentation, "added": added, "revision": revision}
    options |= {"special_tokens": special_tokens(special), "end_of_text": end_of_text}
    texts = FileTexts(files, fields, limit or None) if files else None
    for line in write_import(path, form, options, output, name=on_one_line(name or Path(output).name), texts=texts):
        click.echo(line, err=True)


@command("export", "write a tokenizer for another library", group="extras", place=20)
@click.argument("folder", type=TOKENIZER_FOLDER)
@click.option("--to", "form", required=True, type=click.Choice(FORMS), help="Format to write.")
@click.option(
    "--counts",
    type=click.Path(dir_okay=False),
    help="Pre-tokens on which ids must be equal; default: those of Python's documentation and of the tokens.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("export"), help="Folder of the files.")
def export_command(folder: str, form: str, counts: str | None, output: str) -> None:
    """Write the tokenizer in FOLDER for another library if that returns the same ids; if not, print the reason."""
    from tokbench.adapters.exports import export
    from tokbench.io.atomic import atomic_folder
    from tokbench.pretokens import PretokenCounts
    from tokbench.tokenizer import Tokenizer

    exit_status.describe_task(f"export {Path(folder).name}")
    tokenizer = Tokenizer.load(folder)
    pretokens = PretokenCounts.read(counts) if counts else None
    with atomic_folder(output, "export") as made:
        message = export(tokenizer, form, pretokens, made)
    click.echo(message, err=True)
