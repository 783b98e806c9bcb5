"""Entry point of the command line. Each command is imported when it is called."""

import errno
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from tokbench.commands.declaration import GROUPS, declarations, find_command
from tokbench.errors import TokbenchError, nearest, on_one_line
from tokbench.runtime import exit_status
from tokbench.runtime.exit_status import message_and_status
from tokbench.runtime.progress import notes_once
from tokbench.runtime.standard_streams import open_closed_streams

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


class Commands(click.Group):
    """Group of all commands, each imported when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(declarations())

    def get_command(self, context: click.Context, name: str) -> click.Command:
        declared = declarations()
        name = name if name in declared else name.replace("-", "_")
        if name not in declared:
            context.fail(f"'{name}' is not a command.{nearest(name, declared)}")
        exit_status.describe_task(declared[name].description)
        return find_command(name)

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _past_click():
            return super().make_context(*arguments, **more)

    def invoke(self, context: click.Context) -> Any:
        with _past_click(), notes_once():
            return super().invoke(context)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, title in GROUPS.items():
            with formatter.section(title):
                commands = [command for command in declarations().values() if command.group == group]
                formatter.write_dl([(command.name, command.description) for command in commands])


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
