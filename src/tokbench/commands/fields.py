"""How the texts of files are read: options that several commands have."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from tokbench.inputs.endings import Fields


class EncodingName(click.ParamType):
    """The name of an encoding, or ``bytes``."""

    name = "encoding"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        from tokbench.inputs.encodings import encoding_name

        try:
            return encoding_name(value)
        except ValueError as error:
            self.fail(f"{error}.", parameter, context)


def field_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`~tokbench.inputs.endings.Fields`, as its argument ``fields``."""

    @wraps(command)
    def bundled(*args: Any, text_field: str, language_field: str, encoding: str, bad_lines: str, **given: Any) -> None:
        command(*args, fields=Fields(text_field, language_field, encoding, bad_lines), **given)

    options = (
        click.option("--text-field", help="Key or column of the text; 'text' if left out."),
        click.option(
            "--language-field", help="Key or column of the language; 'language', where there is one, if left out."
        ),
        click.option(
            "--encoding",
            type=EncodingName(),
            help="Encoding of text and JSON Lines: utf-8 (the default), utf-16, latin-1 or another of Python's, or "
            "bytes to read text as it is.",
        ),
        click.option(
            "--bad-lines",
            type=click.Choice(["reject", "skip"]),
            help="Bad lines of JSON: reject is an error (the default), skip leaves them out and counts them.",
        ),
    )
    named: Callable[..., None] = bundled
    for option in reversed(options):
        named = option(named)
    return named
