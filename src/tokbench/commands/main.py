"""Entry point of the command line. Each command is imported when it is called."""

import errno
import gc
import importlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from tokbench.errors import TokbenchError, nearest, on_one_line
from tokbench.runtime import exit_status
from tokbench.runtime.exit_status import message_and_status
from tokbench.runtime.standard_streams import open_closed_streams

PERSON = {
    "compare": "compare tokenizers on a text or in an experiment",
    "show": "show how tokenizers split a text",
    "check": "run sanity checks on a tokenizer",
    "encode": "encode a file with a tokenizer",
    "measure": "measure a tokenizer on a text",
    "count": "count the pre-tokens of texts",
    "build": "build a vocabulary and its tokenizer",
    "import": "import an external tokenizer",
    "methods": "list methods, metrics and types of gold data",
    "init": "write a Snakefile and a configuration into a folder",
    "validate": "check a configuration and list its errors",
    "status": "show the progress of an experiment",
}
"""Commands for interactive use, with short descriptions."""
FURTHER = {
    "decode": "decode ids with a tokenizer",
    "export": "write a tokenizer for another library",
    "check_bound": "verify the proof of a lower bound",
    "compare_experiments": "list what changed between runs",
    "trainings": "show the cost of each training",
    "cancel": "clean up after a run that was killed",
    "schema": "print the JSON schema of the configuration",
}
"""Less frequent commands for interactive use."""
STAGES = {
    "fetch": "fetch a corpus from the Hugging Face hub",
    "fetch_pairs": "fetch a parallel corpus from the Hugging Face hub",
    "fetch_tokenizer": "fetch a tokenizer from the Hugging Face hub",
    "fetch_tasks": "fetch the data of a hub suite",
    "prepare": "split a corpus and write it in shards",
    "prepare_parallel": "clean and split a parallel corpus",
    "read_sizes": "read the document sizes of a part",
    "split_corpus": "split a corpus that is prepared in parts",
    "deal_part": "assign the documents of a part to shards",
    "write_shards": "write shards from the documents of all parts",
    "find_leakage": "count evaluation text that also occurs in other splits",
    "merge_counts": "merge the counts of shards",
    "import_counts": "import pre-token counts from files",
    "train_byte_lm": "train a byte-level language model",
    "score_bytes": "score every byte of a shard",
    "count_tokens": "count the tokens of every document",
    "measure_resource": "measure a tokenizer on gold data",
    "bound": "prove a lower bound on the token count of any vocabulary",
    "ngram_bits": "measure bits per byte of token n-gram models",
    "perturb": "perturb the lines of texts",
    "measure_robustness": "measure a tokenizer on perturbed lines",
    "encode_shard": "encode a shard of a large corpus",
    "gather_tokens": "concatenate the tokens of a large corpus",
    "pack_slice": "pack a slice of a large corpus",
    "pack": "pack a corpus into sequences for pretraining",
    "pretrain": "pretrain a language model",
    "measure_embeddings": "measure the embeddings of a language model",
    "make_tasks": "make offline tasks from the evaluation split",
    "import_tasks": "make lm-eval tasks from local questions",
    "evaluate": "evaluate a language model",
    "score_tokens": "score the tokens around the end of a vocabulary",
    "train_translation": "train a translation model",
    "measure_translation_embeddings": "measure embedding norms of a translation model",
    "translate": "translate a split with a translation model",
    "score_translation": "score translations by BLEU, chrF and COMET",
    "tabulate": "collect measurements and results in tidy tables",
    "analyse": "compute statistics over the tables",
    "power": "estimate how many seeds a difference needs",
    "cut_examples": "split the sentences that the report shows",
    "draw": "draw the figures",
    "draw_bytes": "draw surprisal, entropy and spans of bytes",
    "typeset": "write the tables for publication",
    "report": "write the HTML report",
    "leaderboard": "write the scoreboard as JSON",
    "cite": "write the references as BibTeX",
    "published": "recompute numbers that the papers print",
}
"""Commands of the workflow, in its order; it also calls ``count``, ``build``, ``import`` and ``measure``."""
COMMANDS = PERSON | FURTHER | STAGES
"""All commands with short descriptions, in the order of the help."""
SECTIONS = {"Commands": PERSON, "More commands": FURTHER, "Stages of the workflow": STAGES}
EXAMPLES = {
    "compare": "tokbench compare mine.json theirs.json text.txt",
    "show": "tokbench show mine.json theirs.json 'A text to split'",
    "check": "tokbench check mine.json text.txt",
    "encode": "tokbench encode mine.json text.txt --count",
    "count": "tokbench count --pretokenization gpt2 text.txt -o counts.parquet",
    "build": "tokbench build bpe --size 1024 --counts counts.parquet -o bpe",
    "import": "tokbench import theirs.json --from tokenizer_json -o theirs",
    "measure": "tokbench measure bpe --counts counts.parquet",
    "methods": "tokbench methods bpe fertility",
    "init": "tokbench init mystudy",
    "validate": "tokbench validate mystudy/config.yaml",
    "status": "tokbench status results/demo",
}
"""Example of each command for interactive use."""
MODULES = {
    "bounds": ("bound", "check_bound", "ngram_bits"),
    "corpora": (
        "fetch",
        "fetch_pairs",
        "fetch_tokenizer",
        "prepare",
        "prepare_parallel",
        "read_sizes",
        "split_corpus",
        "deal_part",
        "write_shards",
        "find_leakage",
    ),
    "counts": ("count", "merge_counts", "import_counts", "count_tokens"),
    "encoding": ("encode", "decode"),
    "evaluation": ("make_tasks", "import_tasks", "fetch_tasks", "evaluate", "score_tokens"),
    "experiments": ("init", "validate", "status", "trainings", "cancel"),
    "inspect": ("check", "compare", "compare_experiments", "show"),
    "language_models": (
        "encode_shard",
        "gather_tokens",
        "pack_slice",
        "pack",
        "pretrain",
        "train_byte_lm",
        "score_bytes",
        "draw_bytes",
    ),
    "main": ("find",),
    "measures": ("measure", "measure_resource", "measure_embeddings", "measure_translation_embeddings"),
    "methods": ("methods", "schema"),
    "reports": (
        "tabulate",
        "analyse",
        "power",
        "cut_examples",
        "draw",
        "typeset",
        "report",
        "leaderboard",
        "cite",
        "published",
    ),
    "robustness": ("perturb", "measure_robustness"),
    "tokenizers": ("build", "import", "export"),
    "translation": ("train_translation", "translate", "score_translation"),
}
"""Commands by module; a module is imported when one of its commands is called."""
MODULE_OF = {name: module for module, names in MODULES.items() for name in names}


NO_THREADS = re.compile(r"[+-]?0+")
RARELY = 50_000
"""Number of allocations between garbage collections: imports allocate many objects that are never garbage."""


class _Ended(Exception):  # noqa: N818
    """Wrapper for exceptions that click would treat as its own: it would report a truncated file as an interrupt."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@contextmanager
def _past_click() -> Iterator[None]:
    try:
        yield
    except (EOFError, KeyboardInterrupt, BrokenPipeError) as error:
        raise _Ended(error) from error


def find_command(name: str) -> click.Command:
    """Import and return a command; only its module is imported, so that every command starts fast."""
    module = importlib.import_module(f"tokbench.commands.{MODULE_OF[name]}")
    command: click.Command = getattr(module, f"{name}_command")
    return command


class Commands(click.Group):
    """Group of all commands, each imported when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command:
        name = name if name in COMMANDS else name.replace("-", "_")
        if name not in COMMANDS:
            context.fail(f"'{name}' is not a command.{nearest(name, COMMANDS)}")
        exit_status.describe_task(COMMANDS[name])
        command: click.Command = find_command(name)
        command.short_help = COMMANDS[name]
        if example := EXAMPLES.get(name):
            command.epilog = f"\b\nExample:\n  {example}"
        return command

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _past_click():
            return super().make_context(*arguments, **more)

    def invoke(self, context: click.Context) -> Any:
        with _past_click():
            return super().invoke(context)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokbench")
def cli() -> None:
    """Train, compare and measure tokenizers.

    'tokbench COMMAND --help' explains a command. Names may be written with hyphens. 'tokbench @FILE' reads the
    arguments from a file, one a line.

    Errors are one line. Exit status: 2 for a mistake in the input, 3 if memory ran out, 70 for a bug in Tokbench.

    Completion of commands, options, methods and pre-tokenizers with the tab key; for zsh and fish, replace bash:

    \b
      eval "$(_TOKBENCH_COMPLETE=bash_source tokbench)"
    """


def _written(arguments: list[str] | None) -> list[str]:
    """Return the arguments, read from a file if ``@FILE`` is the only one: one a line, or separated by NUL bytes.

    Operating systems limit the length of a command line; the number of an experiment's files is not limited.
    """
    given = sys.argv[1:] if arguments is None else arguments
    match given:
        case [only] if only.startswith("@"):
            with open(only[1:], "rb") as file:
                written = file.read()
            end = b"\0" if b"\0" in written else b"\n"
            return [os.fsdecode(argument) for argument in written.removesuffix(end).split(end)]
    return given


def _check_threads() -> None:
    """Reject a number of threads that would make Polars abort the process."""
    if NO_THREADS.fullmatch(threads := os.environ.get("POLARS_MAX_THREADS", "")):
        raise TokbenchError(f"POLARS_MAX_THREADS: must be at least 1 (found {threads}); change it, or unset it")


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line. Exit status: 2 for a user's mistake, 3 if memory is insufficient."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # Their discovery reads every distribution.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # OpenBLAS interrupts the process if its threads cannot start.
    own_process = arguments is None
    given: list[str] = []
    if own_process:
        gc.set_threshold(RARELY)
        open_closed_streams()
    exit_status.describe_task("start")
    try:
        given[:] = _written(arguments)
        _check_threads()
        result = cli(given, prog_name="tokbench", standalone_mode=False)
        sys.stdout.flush()
        return result
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except _Ended as ended:
        _end(ended.error, given)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        called = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "tokbench"
        message = " ".join(error.format_message().split())
        stop = "" if message.endswith((".", "?")) else "."
        click.echo(f"{called}: {message}{stop} See '{called} --help'.", err=True)
        sys.exit(error.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        _end(error, given)
    finally:
        if own_process:
            gc.freeze()  # No last collection at exit: the process frees all memory.


def _end(error: BaseException, given: list[str]) -> NoReturn:
    """Exit with the error line and status of an exception; an argument with line breaks is shown on one line."""
    line, status = message_and_status(error)
    for argument in given:
        value = argument.partition("=")[2] if argument.startswith("--") else argument
        if "\n" in value.strip():
            line = line.replace(value, on_one_line(value))
    if line:
        click.echo(line, err=True)
    if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EBADF):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards unwritten output
    sys.exit(status)


if __name__ == "__main__":
    main()
