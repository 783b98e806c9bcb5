"""Declaration of commands: each names its group, its place in the help and its example where it is defined.

The declarations are read from the sources of this package, so that help and usage errors import no command.
"""

import importlib
import os
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import click

GROUPS = {"essentials": "Commands", "extras": "More commands", "stages": "Stages of the workflow"}
"""Groups of commands in the order of the help, with their titles. ``stages`` are the commands of the workflow."""
DECLARATION = re.compile(
    r'^@command\(\s*"(?P<name>\w+)",\s*"(?P<description>[^"]+)",\s*group="(?P<group>\w+)",\s*place=(?P<place>\d+)'
    r'(?:,\s*example="(?P<example>[^"]+)")?',
    re.MULTILINE,
)
"""A declaration in a source: the arguments of :func:`command` in their order, as plain strings and numbers."""


class Declaration(NamedTuple):
    """Declaration of a command.

    Attributes:
        name: name on the command line, with underscores.
        description: short description for the help, without a capital and a full stop.
        group: key of ``GROUPS``.
        place: order within the group; numbers are spaced so that others fit between them.
        example: call for the help of the command; empty for none.
        module: name of the module in this package.
    """

    name: str
    description: str
    group: str
    place: int
    example: str
    module: str


registered: dict[str, tuple[Declaration, click.Command]] = {}
"""Declarations and commands of the modules that are imported, by name."""


def command(
    name: str,
    description: str,
    *,
    group: str,
    place: int,
    example: str = "",
    cls: type[click.Command] = click.Command,
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function a command of ``tokbench``.

    The arguments are those of :class:`Declaration`. They must be plain strings and numbers in this order, because
    :func:`declarations` reads them from the source.

    Args:
        name: name on the command line.
        description: short description.
        group: key of ``GROUPS``.
        place: order within the group.
        example: call for the help. Default: none.
        cls: class of the command. Default: :class:`click.Command`.
    """
    epilog = f"\b\nExample:\n  {example}" if example else None

    def declare(function: Callable[..., None]) -> click.Command:
        made = click.command(name, cls=cls, short_help=description, epilog=epilog)(function)
        module = function.__module__.rpartition(".")[2]
        registered[name] = Declaration(name, description, group, place, example, module), made
        return made

    return declare


@cache
def declarations() -> dict[str, Declaration]:
    """Return the declarations of all commands by name, in the order of the help, without importing any.

    Raises:
        OSError: a source of this package cannot be read.
    """
    declared: list[Declaration] = []
    with os.scandir(os.path.dirname(__file__)) as files:
        for file in files:
            module, ending = os.path.splitext(file.name)
            if ending == ".py":
                with open(file, encoding="utf-8") as source:
                    matches = DECLARATION.finditer(source.read())
                for name, description, group, place, example in (match.groups("") for match in matches):
                    declared.append(Declaration(name, description, group, int(place), example, module))
    order = list(GROUPS)
    declared.sort(key=lambda declaration: (order.index(declaration.group), declaration.place, declaration.name))
    return {declaration.name: declaration for declaration in declared}


def find_command(name: str) -> click.Command:
    """Import and return a command; only its module is imported, so that every command starts fast.

    Raises:
        KeyError: there is no such command.
    """
    importlib.import_module(f"{__package__}.{declarations()[name].module}")
    return registered[name][1]
