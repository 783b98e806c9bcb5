"""The option that bounds a command's memory."""

import click

from tokbench.allowance import DEFAULT
from tokbench.commands.numbers import Whole

memory_option = click.option(
    "--memory",
    type=Whole(1),
    default=DEFAULT,
    show_default=True,
    metavar="MB",
    help="Memory that the whole process may take, in units of 10^6 bytes; what is written does not depend on it.",
)
