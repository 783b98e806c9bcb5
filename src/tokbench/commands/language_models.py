"""Commands that pack text, pretrain language models, and train and apply byte-level ones."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import ENCODED, FOLDER, SCORES, SHARD, TOKENIZER_FOLDER, ContentPath
from tokbench.commands.outputs import OutputFolder, columns, output_file
from tokbench.commands.parameters import (
    Real,
    Whole,
    chosen_scheme,
    keep_option,
    memory_option,
    order_options,
    packing_options,
    pretokenization_option,
)
from tokbench.errors import TokbenchError, listed
from tokbench.models.presets import BYTE_LM_RECIPES, MODEL_RECIPES
from tokbench.runtime import exit_status
from tokbench.runtime.memory_limit import allowance, check_memory

if TYPE_CHECKING:
    from tokbench.candidates import SignalName


@command("encode_shard", "encode shards of a large corpus", group="stages", place=220)
@click.argument("folder", type=TOKENIZER_FOLDER)
@click.argument("shards", nargs=-1, required=True, type=ContentPath("corpus shard"))
@order_options
@click.option("--slices", "number", default=1, show_default=True, type=Whole(1, 9999), help="Number of slices.")
@output_file(mark=columns("document", "ends", "text_bytes", "ids"), required=True, help="Parquet file of the tokens.")
@memory_option()
def encode_shard_command(
    folder: str,
    shards: tuple[str, ...],
    seed: int,
    second_phase: float | None,
    number: int,
    output: str,
    megabytes: int | None,
) -> None:
    """Encode corpus SHARDS with the tokenizer in FOLDER, to be packed together with others.

    The seed draws one document order for the corpus, which is then cut into slices. Pass the same seed, slices
    and second phase for all shards. Then run 'tokbench gather_tokens', and 'tokbench pack_slice' for each slice.
    """
    from tokbench.corpus.documents import read_documents
    from tokbench.models.pretraining.order import Slices, encode_documents, reject_repeated, sort_documents
    from tokbench.models.pretraining.pack_slices import write_tokens
    from tokbench.tokenizer import Tokenizer

    exit_status.describe_task(f"encode {listed(shards)} with {folder}")
    tokenizer = Tokenizer.load(folder)
    check_memory(megabytes)
    documents = reject_repeated(read_documents(shards))
    pieces = sort_documents(encode_documents(tokenizer, documents), seed, Path(output).parent).pieces
    write_tokens(pieces, Slices(seed, number, second_phase), Path(output), tokenizer.digest)


@command("gather_tokens", "concatenate the tokens of a large corpus", group="stages", place=230)
@click.option("-o", "--output", required=True, type=OutputFolder("tokens"), help="Folder of the tokens.")
@click.argument("shards", nargs=-1, required=True, type=ENCODED)
def gather_tokens_command(output: str, shards: tuple[str, ...]) -> None:
    """Collect the outputs of 'tokbench encode_shard' for all SHARDS and sum the contents of their slices."""
    from tokbench.io.atomic import atomic_folder
    from tokbench.models.pretraining.pack_slices import gather

    with atomic_folder(output, "tokens") as folder:
        contents = gather([Path(shard) for shard in shards], folder)
    tokens = sum(read.tokens for read in contents.read)
    click.echo(f"{len(shards):,} shards, {contents.slices.number:,} slices, {tokens:,} tokens", err=True)


@command("pack_slice", "pack a slice of a large corpus", group="stages", place=240)
@click.argument("folder", type=TOKENIZER_FOLDER)
@click.argument("tokens", type=FOLDER)
@click.option("--slice", "number", required=True, type=Whole(0, 9998), help="Number of the slice, from 0.")
@packing_options
@click.option("-o", "--output", required=True, type=OutputFolder("slice"), help="Folder of the slice's sequences.")
@memory_option()
def pack_slice_command(
    folder: str,
    tokens: str,
    number: int,
    sequence_length: int,
    seed: int,
    second_phase: float | None,
    epochs: float | None,
    text_bytes: int | None,
    output: str,
    megabytes: int | None,
) -> None:
    """Pack one slice of TOKENS, the output of 'tokbench gather_tokens', with the tokenizer in FOLDER.

    Then run 'tokbench pack' with the same options to join the slices.
    """
    from tokbench.commands.parameters import text_budget
    from tokbench.io.identity import Maker
    from tokbench.models.pretraining.pack import SliceForm
    from tokbench.models.pretraining.pack_slices import pack_slice, read_contents
    from tokbench.tokenizer import Tokenizer

    if megabytes is not None:
        allowance(megabytes)
    exit_status.describe_task(f"pack slice {number} of {tokens}")
    slices = read_contents(Path(tokens)).slices
    if (slices.seed, slices.second_phase) != (seed, second_phase):
        message = f"in the order of seed {slices.seed} and a second phase of {slices.second_phase}"
        raise TokbenchError(f"{tokens}: {message}; name these, or encode the shards again")
    tokenizer = Tokenizer.load(folder)
    budget = text_budget(epochs, text_bytes)
    maker = Maker(tokenizer.digest, folder)
    form = SliceForm(slices, sequence_length, tokenizer.id_limit, tokenizer.end_of_text, maker, budget)
    packed = pack_slice(Path(tokens), number, form, Path(output))
    click.echo(f"{packed.read.documents:,} documents, {packed.read.tokens:,} tokens", err=True)


@command("pack", "pack a corpus into sequences for pretraining", group="stages", place=250)
@click.argument("folder", type=TOKENIZER_FOLDER)
@packing_options
@click.option("-o", "--output", required=True, type=OutputFolder("packed sequences"), help="Folder of MDS shards.")
@output_file("--token-counts", "counts", mark=columns("id", "occurrences"), help="Parquet file of occurrences by id.")
@memory_option()
@click.argument("shards", nargs=-1, required=True, type=SHARD)
def pack_command(
    folder: str,
    sequence_length: int,
    seed: int,
    second_phase: float | None,
    epochs: float | None,
    text_bytes: int | None,
    output: str,
    counts: str | None,
    megabytes: int | None,
    shards: tuple[str, ...],
) -> None:
    """Encode corpus SHARDS with the tokenizer in FOLDER and pack them into sequences of equal length.

    The seed draws the document order, the same for every tokenizer. SHARDS may also be the outputs of 'tokbench
    pack_slice' for all slices; the sequences are equal. With --second-phase, the last documents are packed separately,
    for a phase that reads only them.
    """
    from tokbench.commands.parameters import text_budget
    from tokbench.corpus.documents import read_documents
    from tokbench.io.identity import Maker
    from tokbench.models.pretraining.order import Slices, encode_documents, reject_repeated, sort_documents
    from tokbench.models.pretraining.pack import SliceForm, is_slice, join, pack
    from tokbench.tokenizer import Tokenizer

    budget = text_budget(epochs, text_bytes)
    sliced = is_slice(shards[0])
    encoding = f"encode {len(shards):,} shards with {folder} into sequences"
    exit_status.describe_task(f"put {len(shards):,} slices together" if sliced else encoding)
    tokenizer = Tokenizer.load(folder)
    check_memory(megabytes)
    target, occurrences = Path(output), None if counts is None else Path(counts)
    slices = Slices(seed, len(shards), second_phase) if sliced else Slices.one_per_phase(seed, second_phase)
    maker = Maker(tokenizer.digest, folder)
    form = SliceForm(slices, sequence_length, tokenizer.id_limit, tokenizer.end_of_text, maker, budget)
    if sliced:
        packed = join([Path(shard) for shard in shards], form, target, occurrences)
    else:
        text = sort_documents(encode_documents(tokenizer, reject_repeated(read_documents(shards))), seed, target.parent)
        packed = pack(text, form, target, occurrences)
    for packing in packed:
        click.echo(packing.describe(), err=True)


@command("pretrain", "pretrain a language model", group="stages", place=260)
@click.option("--recipe", required=True, help=f"A preset ({', '.join(MODEL_RECIPES)}) or options as JSON.")
@click.option("--packed", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of MDS shards.")
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder of checkpoints; default: next to the output."
)
@keep_option
@click.option("--nodes", type=Whole(1), default=1, show_default=True, help="Number of machines, those of a SLURM job.")
@click.option(
    "--processes-per-node",
    type=Whole(1),
    default=1,
    show_default=True,
    help="Processes on each machine, one for each GPU.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("model"), help="Folder of the model.")
@memory_option()
def pretrain_command(
    recipe: str,
    packed: str,
    tokenizer: str,
    checkpoints: str | None,
    keep_checkpoints: str | None,
    nodes: int,
    processes_per_node: int,
    output: str,
    megabytes: int | None,
) -> None:
    """Pretrain a language model with llm-foundry. An interrupted run resumes from its checkpoint.

    If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.commands.parameters import log_to_stderr
    from tokbench.commands.recipes import recipe_options
    from tokbench.io.yaml import parse_yaml
    from tokbench.models.kept_checkpoints import kept_checkpoints
    from tokbench.models.pretraining.options import PRESETS, MptOptions, TrainingResources, architecture_of
    from tokbench.models.pretraining_run import run_pretraining
    from tokbench.options import validated

    log_to_stderr()
    named = parse_yaml(recipe, "--recipe")
    options = recipe_options(recipe, architecture_of(named) if isinstance(named, dict) else MptOptions, PRESETS)
    if options.resources != TrainingResources():
        raise TokbenchError("--recipe: resources: not part of a model's recipe; use --nodes and --processes-per-node")
    resources = {"nodes": nodes, "processes_per_node": processes_per_node}
    options = validated(options.recipe() | {"resources": resources}, type(options), "--recipe")
    folders = Path(output), Path(checkpoints or f"{output}.checkpoints")
    with kept_checkpoints(folders[1], keep_checkpoints):
        if status := run_pretraining(Path(packed), Path(tokenizer), options, *folders, megabytes=megabytes):
            raise SystemExit(status)


@command("train_byte_lm", "train a byte-level language model", group="stages", place=140)
@click.option("--recipe", required=True, help=f"A preset ({', '.join(BYTE_LM_RECIPES)}) or options as JSON.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder of checkpoints; default: next to the output."
)
@keep_option
@click.option("-o", "--output", required=True, type=OutputFolder("byte language model"), help="Folder of the model.")
@memory_option()
@click.argument("shards", nargs=-1, required=True, type=SHARD)
def train_byte_lm_command(
    recipe: str,
    checkpoints: str | None,
    keep_checkpoints: str | None,
    output: str,
    megabytes: int | None,
    shards: tuple[str, ...],
) -> None:
    """Train a byte-level language model on corpus SHARDS. An interrupted run resumes from its checkpoint.

    If the n-grams of a count-based model do not fit into --memory, they are sorted on disk, next to the output. If a
    neural model needs more, it stops with one line before it starts.
    """
    from tokbench.commands.parameters import log_to_stderr
    from tokbench.commands.recipes import byte_lm_recipe
    from tokbench.models.byte_shards import train_byte_lm
    from tokbench.models.kept_checkpoints import kept_checkpoints

    log_to_stderr()
    folders = Path(output), Path(checkpoints or f"{output}.checkpoints")
    with kept_checkpoints(folders[1], keep_checkpoints):
        train_byte_lm(shards, byte_lm_recipe(recipe), *folders, megabytes=megabytes)


@command("score_bytes", "score every byte of a shard", group="stages", place=150)
@click.option("--recipe", required=True, help=f"The model's preset ({', '.join(BYTE_LM_RECIPES)}) or options as JSON.")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@output_file(
    mark=columns("document", "language", "text", "surprisal", "entropy"), required=True, help="Parquet file of scores."
)
@memory_option()
@click.argument("shards", nargs=-1, required=True, type=SHARD)
def score_bytes_command(recipe: str, model: str, output: str, megabytes: int | None, shards: tuple[str, ...]) -> None:
    """Write surprisal and entropy of every byte of corpus SHARDS.

    With 'score_context: dataset' the documents of a shard are joined; scores do not depend on other shards. If it needs
    more than --memory, it stops with one line before it starts.
    """
    from tokbench.commands.parameters import log_to_stderr
    from tokbench.commands.recipes import byte_lm_recipe
    from tokbench.models.byte_shards import score_bytes

    log_to_stderr()
    score_bytes(shards, Path(model), byte_lm_recipe(recipe), Path(output), megabytes=megabytes)


@command("draw_bytes", "draw surprisal, entropy and spans of bytes", group="stages", place=410)
@click.option("--recipe", required=True, help="The byte model's preset or options as JSON.")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--text", "texts", multiple=True, required=True, help="A sentence; may be repeated.")
@pretokenization_option("Pre-tokenizer of the sentences.", required=True)
@click.option("--signal", default="surprisal", show_default=True, type=click.Choice(["surprisal", "entropy"]))
@click.option(
    "--percentile",
    default=30.0,
    show_default=True,
    type=Real(0, 100),
    help="Percentile of the scores that is the threshold.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("figures"), help="Folder of the figures.")
@memory_option()
@click.argument("scores", nargs=-1, required=True, type=SCORES)
def draw_bytes_command(
    recipe: str,
    model: str,
    texts: tuple[str, ...],
    pretokenization: str,
    signal: "SignalName",
    percentile: float,
    output: str,
    megabytes: int | None,
    scores: tuple[str, ...],
) -> None:
    """Draw surprisal and entropy of each byte of sentences by a byte language model, with the spans of ByteSpan's three
    constraints. The threshold is a percentile of SCORES. Writes a figure for each sentence, and bytes.csv.
    """
    from tokbench.commands.recipes import byte_lm_recipe
    from tokbench.io.atomic import atomic_folder
    from tokbench.models.byte_sentences import score_sentences
    from tokbench.report.figures.signals import byte_signals, read_threshold, write_signals

    options, scheme = byte_lm_recipe(recipe), chosen_scheme(pretokenization)
    encoded_texts = [text.encode() for text in texts]
    if not all(encoded_texts):
        raise TokbenchError("--text: an empty sentence; pass one with a byte or more")
    threshold = read_threshold(scores, Path(model), scheme.text, signal, percentile)
    scored = score_sentences(encoded_texts, Path(model), options, megabytes=megabytes)
    sentences = [
        byte_signals(text, values, scheme.boundaries(text), signal, threshold)
        for text, values in zip(encoded_texts, scored, strict=True)
    ]
    with atomic_folder(output, "figures") as folder:
        write_signals(sentences, folder)
