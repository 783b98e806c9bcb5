"""The option that names a pre-tokenization, with its options where it has any."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tokbench.pretokenization import Pretokenization

FLAG = "--pretokenization"
NAME = re.compile(r"[\w.-]*")
"""What is a name and nothing else to any reader."""


def pretokenization_option(
    meaning: str, *, required: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--pretokenization``, also called ``--scheme``: a name, or ``{method: name, option: value}``.

    Args:
        meaning: what it says of the command's input.
        required: whether it must be given.
    """
    form = "Name, or {method: name, option: value}; see 'tokbench methods'."
    return click.option(FLAG, "--scheme", "pretokenization", required=required, help=f"{meaning} {form}")


def chosen_scheme(text: str) -> "Pretokenization":
    """The pre-tokenization that the option names.

    Raises:
        TokbenchError: there is none of that name, or an option is missing, unknown or of another type.
    """
    from tokbench.pretokenization import pretokenization_of

    if NAME.fullmatch(text):
        return pretokenization_of(text, FLAG)
    from tokbench.inputs.yaml import parse_yaml

    return pretokenization_of(parse_yaml(text, FLAG), FLAG)
