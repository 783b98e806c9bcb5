"""The rules' conda environments: written from the lock, and holding whatever a rule's command may import."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import tool_of
from tests.support.rules import COMMAND_OF, RULES
from tests.support.workflow.checkout import ROOT
from tokbench.construction import constructions
from tokbench.metric import metrics
from tokbench.pretokenization import schemes
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.tidy.modules import PLACES, modules_in
from tokbench.workflow import fingerprint as module

REGISTRIES = (constructions, segmentations, schemes, metrics, resource_types)
PINNED = re.compile(r"^      - ([a-z0-9-]+)(\[[a-z,]+\])?==", re.MULTILINE)


def test_environments_are_written_from_the_lock() -> None:
    tool = tool_of("make_environments")
    written = tool.environments()
    assert written.keys() == set((ROOT / "envs").glob("*.yaml"))
    for path, text in written.items():
        assert path.read_text() == text, "run python tools/make_environments.py"


def test_the_lock_for_transformers_5_fits_the_package() -> None:
    """It has a version of everything that the package and the tests need, and no address of a registry."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = (ROOT / "transformers5.lock").read_text().splitlines()
    locked = dict(line.split("==") for line in lines)
    group = project["dependency-groups"]["transformers5"]
    for wanted in map(Requirement, [*project["project"]["dependencies"], *group]):
        assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)]), f"{wanted}: run make lock"


@cache
def installed(environment: str) -> set[str]:
    """The distributions of an environment and all that they require."""
    text = (ROOT / "envs" / f"{environment}.yaml").read_text()
    pending = [(name, frozenset(extras.strip("[]").split(","))) for name, extras in PINNED.findall(text)]
    seen: set[str] = set()
    while pending:
        name, extras = pending.pop()
        seen.add(name)
        try:
            wanted = map(Requirement, requires(name) or ())
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed here")
        for requirement in wanted:
            applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in extras)
            key = canonicalize_name(requirement.name)
            if applies and key not in seen:
                pending.append((key, frozenset(requirement.extras or {""})))
    return seen


held_by = cache(packages_distributions)
"""The distributions that bring each package, asked once: all that is installed is gone through."""


@cache
def ours_in(name: str) -> set[str]:
    """Our modules that a module imports, at once or later, and the packages that it lies in."""
    path = module._locate(name)
    source = path.read_text(encoding="utf-8") if path else ""
    lines = module.KERNEL_IMPORT.findall(source) if path and path.suffix != ".py" else []
    read = [(parent, word.split()[0]) for parent, *words in lines for word in "".join(words).split(",") if word.split()]
    commands: list[str] = []
    for node in ast.walk(ast.parse(source)) if path and path.suffix == ".py" else ():
        if isinstance(node, ast.ImportFrom) and node.module:
            read += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == module.GATHERING:
            commands += [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    found = {f"{parent}.{word}" if module._locate(f"{parent}.{word}") else parent for parent, word in read}
    for place in (place for command in commands for place in PLACES[command]):
        where = module._locate(place)
        folder = [str(where.parent)] if where is not None and where.name == "__init__.py" else None
        found.update((place, *modules_in(place, folder)))
    parts = name.split(".")
    return {one for one in found if one.startswith("tokbench.")} | {
        ".".join(parts[:end]) for end in range(2, len(parts))
    }


def behind(names: Iterable[str]) -> set[str]:
    """Modules, and our modules behind them; plumbing other than commands left out."""
    pending, found = list(names), set[str]()
    while pending:
        name = pending.pop()
        if name not in found and (name.startswith("tokbench.commands") or not module.is_plumbing(name)):
            found.add(name)
            pending += ours_in(name)
    return found


def modules_of(name: str) -> set[str]:
    """Our modules that a command may import, those of every method that it may call included."""
    found = behind([f"tokbench.commands.{name}"])
    while True:
        reached = [registry for registry in REGISTRIES if registry.package in found]
        more = behind({method.module for registry in reached for method in registry.methods()}) - found
        if not more:
            return found
        found |= more


@cache
def imported(name: str) -> set[str]:
    """The packages of others that a module imports, at once or later."""
    path = module._locate(name)
    if path is None or path.suffix != ".py":
        return {"numpy"}
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found - {"tokbench"} - sys.stdlib_module_names


@pytest.mark.parametrize("rule", RULES)
def test_environment_holds_what_the_command_imports(rule: str) -> None:
    [environment] = re.findall(r"envs/(\w+)\.yaml", RULES[rule][1]["conda"])
    held = installed(environment)
    distributions = held_by()
    for name in sorted(modules_of(COMMAND_OF.get(rule, rule))):
        for package in imported(name):
            candidates = {canonicalize_name(found) for found in distributions.get(package, [package])}
            assert candidates & held, f"{name} imports {package}, which envs/{environment}.yaml does not install"
