"""Examples in the docstrings of the reference implementations, and the links to them from kernels and methods."""

import doctest
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import tokbench
from tokbench.commands.method_listing import KINDS, reference_of
from tokbench.commands.methods import methods_command

PACKAGE = Path(tokbench.__file__).parent
MODULES = sorted(path.stem for path in (PACKAGE / "reference").glob("*.py") if path.stem != "__init__")
LINK = re.compile(r"(?:``(\w+)``\s+in\s+)?:mod:`tokbench\.reference\.(\w+)`")
LINKING = ("kernels", "construction", "segmentation", "metric", "pretokenization", "statistics", "evaluation")
"""Packages whose modules link to references."""


def reference_module(name: str) -> ModuleType:
    return importlib.import_module(f"tokbench.reference.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name: str) -> None:
    result = doctest.testmod(reference_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


def test_links_name_functions_that_exist_and_every_module_is_linked() -> None:
    paths = [path for folder in LINKING for path in (PACKAGE / folder).rglob("*.py*") if path.suffix in {".py", ".pyx"}]
    links = {link for path in paths for link in LINK.findall(path.read_text(encoding="utf-8"))}
    assert {module for _, module in links} == set(MODULES)
    for function, module in links:
        assert not function or callable(getattr(reference_module(module), function)), (function, module)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_name_a_reference_that_exists(kind: str) -> None:
    methods = [method for method in KINDS[kind].methods() if method.module.startswith("tokbench.")]
    references = {method.name: reference_of(method) for method in methods}
    for path, _ in filter(None, references.values()):
        module, *function = path.removeprefix("tokbench.reference.").split(".")
        assert not function or callable(getattr(reference_module(module), function[0])), path
    without = {name for name, reference in references.items() if reference is None}
    assert kind not in ("construction", "segmentation") or not without
    assert kind != "pre-tokenization" or without == {"scripts"}


def test_listing_of_methods_shows_the_path_of_the_reference() -> None:
    output = CliRunner().invoke(methods_command, ["picky_bpe"]).output
    assert "In plain Python: tokbench.reference.bpe.train_picky_bpe" in " ".join(output.split())
