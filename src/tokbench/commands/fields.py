"""Which fields of a file hold the text and its language: two options that several commands take."""

from collections.abc import Callable

import click

TEXT, LANGUAGE = "text", "language"


def field_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options ``--text-field`` and ``--language-field``."""
    language = click.option(
        "--language-field", help=f"Key or column of the language; '{LANGUAGE}', where there is one, if left out."
    )
    text = click.option("--text-field", help=f"Key or column of the text; '{TEXT}' if left out.")
    named: Callable[..., None] = text(language(command))
    return named
