"""``tokbench build``: build a vocabulary and its tokenizer."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokbench import memory
from tokbench.adapters.tokenizer_json import export
from tokbench.atomic import atomic_folder
from tokbench.building import build_tokenizer, check_alphabet, initial_vocabulary, own_segmentation
from tokbench.candidates.running_text import Documents, read_documents
from tokbench.candidates.scored_text import ScoredDocuments, read_scores
from tokbench.commands.arguments import mapping_of, method_options, recipe, settings_of
from tokbench.commands.numbers import SEED, SIZE, THREADS
from tokbench.commands.outputs import OutputFolder
from tokbench.construction import Construction, constructions
from tokbench.errors import TokbenchError
from tokbench.manifest import write_manifest
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import segmentations
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.vocabulary import Vocabulary


@click.command("build")
@click.argument("method")
@click.option("--counts", type=click.Path(dir_okay=False), help="Pre-token counts, Parquet or TSV hex<TAB>count.")
@click.option("--scores", multiple=True, help="Byte scores, for methods that read them; may be repeated.")
@click.option("--documents", multiple=True, help="Prepared corpus or shards of one, for methods that read its text.")
@click.option(
    "--initial", type=click.Path(file_okay=False), help="Folder of the initial vocabulary; built if left out."
)
@click.option("--size", required=True, type=SIZE, help="Tokens, the 256 bytes included.")
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Option of the method; may be repeated.")
@click.option("--recipe", "options", help="All options of the method as one JSON object, instead of --set.")
@click.option("--segmentation", help="Name, or {method: name, option: value}; the method's own if left out.")
@click.option("--scheme", help="Pre-tokenization, where the counts do not say it.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--threads", type=THREADS, default=1, show_default=True)
@click.option("--name", default="", help="What tables call the tokenizer.")
@click.option("-o", "--output", required=True, type=OutputFolder("tokenizer"), help="Folder of the tokenizer.")
def command(
    method: str,
    counts: str | None,
    scores: tuple[str, ...],
    documents: tuple[str, ...],
    initial: str | None,
    size: int,
    settings: tuple[str, ...],
    options: str | None,
    segmentation: str | None,
    scheme: str | None,
    seed: int,
    threads: int,
    name: str,
    output: str,
) -> None:
    """Build a vocabulary by METHOD and write its tokenizer to a folder."""
    started = time.monotonic()
    remedy = "use fewer --threads" if threads > 1 else ""
    memory.purpose(f"build '{method}' of {size:,} tokens", remedy)
    construction = constructions[method]
    if options and settings:
        raise TokbenchError("--set, --recipe: both name options of the method; give one of them")
    given = mapping_of(options, "--recipe") if options else settings_of(settings, "--set")
    chosen = method_options(construction, given, "--recipe" if options else "--set")
    _unread(construction, {"--scores": scores, "--documents": documents, "--initial": initial})
    check_alphabet(construction, size, "--size")
    cut, cut_options = (
        recipe(segmentation, "--segmentation") if segmentation else own_segmentation(construction, chosen)
    )
    segmentation_options = method_options(segmentations[cut], cut_options, "--segmentation")

    pretokens = _counts(counts, scheme) if counts else None
    if pretokens:
        memory.purpose(f"build '{method}' of {size:,} tokens from {len(pretokens):,} unique pre-tokens", remedy)
    source = _source(construction, pretokens, scores, documents, scheme)
    start = None
    if construction.initial:
        start = (
            _read_initial(initial, chosen)
            if initial
            else initial_vocabulary(pretokens, chosen, seed=seed, threads=threads)
        )
    tokenizer = build_tokenizer(
        construction,
        source,
        size,
        chosen,
        cut,
        segmentation_options,
        initial=start,
        seed=seed,
        threads=threads,
        name=name or Path(output).name,
    )
    if len(tokenizer) < size:
        click.echo(f"the text yields {len(tokenizer):,} tokens, fewer than the {size:,} asked for", err=True)
    with atomic_folder(output, "tokenizer") as folder:
        tokenizer.origin["hugging_face"] = export(tokenizer, pretokens, folder)
        tokenizer.save(folder)
        write_manifest(folder / "manifest.json", tokenizer.origin, started)
    click.echo(
        f"{len(tokenizer):,} tokens in {time.monotonic() - started:.1f} s; {tokenizer.origin['hugging_face']}",
        err=True,
    )


def _unread(construction: Construction, given: Mapping[str, Any]) -> None:
    """Reject what the construction would not look at.

    Raises:
        TokbenchError: something of it is named.
    """
    reads = {"--" + str(construction.source), "--initial" if construction.initial else ""}
    for flag, value in given.items():
        if value and flag not in reads:
            raise TokbenchError(f"{flag}: '{construction.name}' does not read it; leave the option out")


def _read_initial(folder: str, options: Any) -> Vocabulary:
    """The vocabulary in a folder, which must be the one that the options describe, where it says what it is.

    Raises:
        TokbenchError: it is another one.
    """
    vocabulary = Vocabulary.read(Path(folder))
    if not (Path(folder) / SETTINGS).is_file():
        return vocabulary
    origin = Tokenizer.load(folder).origin
    made = (origin.get("construction", {}).get("method"), origin.get("requested_size"))
    for key, own, found in zip(("initial", "initial_size"), (options.initial, options.initial_size), made, strict=True):
        if found is not None and key in options.model_fields_set and own != found:
            raise TokbenchError(f"--initial {folder}: was made with {found}, and the option {key} says {own}; mend one")
    return vocabulary


def _counts(path: str, scheme: str | None) -> PretokenCounts:
    counts = PretokenCounts.read(path)
    if scheme and counts.scheme and scheme != counts.scheme:
        raise TokbenchError(f"--scheme {scheme}: {path} was counted with '{counts.scheme}'; leave the option out")
    if not (scheme or counts.scheme):
        click.echo(f"{path} does not say its scheme: taking 'none'; name it with --scheme", err=True)
    return PretokenCounts(counts.data, counts.offsets, counts.counts, scheme or counts.scheme or "none")


def _source(
    construction: Construction,
    counts: PretokenCounts | None,
    scores: tuple[str, ...],
    documents: tuple[str, ...],
    scheme: str | None,
) -> PretokenCounts | ScoredDocuments | Documents:
    """What the construction reads."""
    known = scheme or (counts.scheme if counts else None) or "gpt2"
    match construction.source:
        case "scores":
            if not scores:
                raise TokbenchError(f"'{construction.name}' reads byte scores; name them with --scores")
            return read_scores(scores, known)
        case "documents":
            if not documents:
                raise TokbenchError(f"'{construction.name}' reads documents; name a corpus with --documents")
            return read_documents([shard for path in documents for shard in _shards(Path(path))], known)
    if counts is None:
        raise TokbenchError(f"'{construction.name}' reads pre-token counts; name them with --counts")
    if not len(counts):
        raise TokbenchError("the counts hold no pre-token; count a text that is not empty")
    return counts


def _shards(path: Path) -> list[Path]:
    """A shard, or the shards of a prepared corpus's tokenizer split."""
    return sorted((path / "tokenizer").glob("*.parquet")) if path.is_dir() else [path]
