"""Imports without what nothing here calls: absent or hollow while a block lasts, as ever after it."""

import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.imports import each_after
from tokbench import lean
from tokbench.lean import lean_imports


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two packages that nothing has imported yet, in a process that has imported nothing."""
    monkeypatch.setattr(lean, "ABSENT", {})
    monkeypatch.setattr(lean, "HOLLOW", {})
    monkeypatch.delitem(sys.modules, "transformers", raising=False)
    (tmp_path / "wanted.py").write_text("value = 1\n")
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "__init__.py").write_text("")
    (tmp_path / "service" / "client.py").write_text("class Client:\n    port = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("wanted", "service", "service.client"):
        sys.modules.pop(name, None)


def test_absent_packages_are_as_if_not_installed() -> None:
    with lean_imports(absent=("wanted",)):
        assert find_spec("wanted") is None
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("wanted")
    assert importlib.import_module("wanted").value == 1


def test_hollow_packages_have_every_name_and_nothing_in_it() -> None:
    with lean_imports(absent=(), hollow=("service",)):
        client = importlib.import_module("service.client")
        assert isinstance(client.Client, type)
        assert client.Client.port is not client.Client
        assert not hasattr(client, "__all__")
    assert "service" not in sys.modules
    assert importlib.import_module("service.client").Client.port == 1


def test_what_is_imported_already_stays() -> None:
    wanted, client = importlib.import_module("wanted"), importlib.import_module("service.client")
    with lean_imports(absent=("wanted",), hollow=("service",)):
        assert importlib.import_module("wanted") is wanted
        assert importlib.import_module("service.client") is client
    assert sys.modules["wanted"] is wanted
    assert sys.modules["service.client"] is client


def test_what_transformers_may_have_found_is_there_as_long_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks once which packages there are, and imports those later."""
    monkeypatch.setitem(sys.modules, "transformers", ModuleType("transformers"))
    with lean_imports(absent=("wanted",)):
        assert importlib.import_module("wanted").value == 1


def test_what_transformers_has_not_found_is_not_found_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with lean_imports(absent=("wanted",)):
        monkeypatch.setitem(sys.modules, "transformers", ModuleType("transformers"))
    with lean_imports(absent=("wanted",)):
        assert find_spec("wanted") is None


def test_an_error_in_the_block_leaves_nothing_behind() -> None:
    before = list(sys.meta_path)
    with pytest.raises(ValueError, match="stop"), lean_imports(absent=("wanted",), hollow=("service",)):
        raise ValueError("stop")
    assert sys.meta_path == before
    assert importlib.import_module("wanted").value == 1


NOT_CALLED = {
    "tokbench.byte_lm.train": ("sklearn", "torchvision", "accelerate"),
    "tokbench.byte_lm.score": ("sklearn", "torchvision"),
}
"""Libraries that stages could import, but call nothing of."""


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """Every library that is there after the import of each stage."""
    told = "print(*{name.partition('.')[0] for name in sys.modules})"
    lines = each_after("", [f"import sys, {module}; {told}" for module in NOT_CALLED])
    return {module: set(line.split()) for module, line in zip(NOT_CALLED, lines, strict=True)}


@pytest.mark.parametrize("module", NOT_CALLED)
def test_heavy_stages_import_no_more_than_they_call(module: str, imported: dict[str, set[str]]) -> None:
    assert "transformers" in imported[module]
    assert not imported[module] & {*NOT_CALLED[module]}
