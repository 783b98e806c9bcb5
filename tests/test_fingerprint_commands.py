"""What a command's result depends on is what its module imports: the fingerprint of its rule has all of it."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.imports import each_after
from tests.support.rules import COMMAND_OF, ROOT, RULES
from tokbench.config.load import read
from tokbench.construction import constructions
from tokbench.pretokenization import schemes
from tokbench.segmentation import segmentations
from tokbench.workflow import fingerprint as module
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.syntax import parsed

PLANNED = Path(__file__).parent / "support" / "workflow" / "planned.yaml"
FILES = {"books": __file__, "gold": __file__, "reading": __file__, "ranks": __file__}


IMPORTS = """
import builtins, importlib.util, sys
from tests.support.imports import import_all

def following(name, globals=None, locals=None, fromlist=(), level=0):
    module = importing(name, globals, locals, fromlist, level)
    if globals and globals.get("__name__", "").startswith("tokbench"):
        package = importlib.util.resolve_name("." * level + name, globals["__package__"]) if level else name
        for found in (package, *(f"{package}.{inner}" for inner in fromlist or ())):
            if found.startswith("tokbench.") and found in sys.modules:
                print(globals["__name__"], found)
    return module

importing, builtins.__import__ = builtins.__import__, following
"""
"""Prints, for every import statement of ours that runs, the module that it stands in and what it reads."""


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """The modules that the import of each command really leads to, not through plumbing."""
    commands = sorted({COMMAND_OF.get(rule, rule) for rule in RULES})
    [printed] = each_after("", [IMPORTS + "".join(f"import_all('tokbench.commands.{name}')\n" for name in commands)])
    edges: dict[str, set[str]] = {}
    for line in printed.splitlines():
        importer, found = line.split()
        edges.setdefault(importer, set()).update((found, found.rpartition(".")[0]))
    reached: dict[str, set[str]] = {}
    for command in commands:
        pending, reached[command] = [f"tokbench.commands.{command}"], set()
        while pending:
            name = pending.pop()
            if name not in reached[command] and not module.is_plumbing(name):
                reached[command].add(name)
                pending += edges.get(name, set()) - module.CHOSEN.get(name, set())
    return reached


@pytest.fixture(scope="module")
def behind() -> dict[str, set[str]]:
    """The modules behind the fingerprint of every rule, for wildcards of an experiment with something of everything."""
    asked: list[tuple[str, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "code_behind", lambda *modules: asked.append(modules) or {})
        patch.chdir(PLANNED.parent)
        asks = {"experiment": read(PLANNED, FILES), "fingerprint": fingerprint}
        for path in (ROOT / "rules").glob("*.smk"):
            if path.stem != "common":
                exec(f"\n{path.read_text()}".partition("\nrule ")[0], asks)
        on = SimpleNamespace(
            variant="bpe",
            size="1024",
            scheme="gpt2",
            byte_lm="bytes",
            initial="bpe",
            resource="gold",
            model="small",
            corpus="books",
        )
        found = {}
        for name, (_, directives) in RULES.items():
            [source] = re.findall(r"source=(.*),\n", directives["params"])
            fingerprint.cache_clear()
            asked.clear()
            value = eval(source, asks)
            if callable(value):
                on.variant = "ranks" if name == "import" else "bpe"
                value(on)
            [found[name]] = asked
    fingerprint.cache_clear()
    return {name: set(module.code_behind(*modules)) for name, modules in found.items()}


@pytest.mark.parametrize("rule", RULES)
def test_fingerprint_covers_what_the_command_imports(
    rule: str, imported: dict[str, set[str]], behind: dict[str, set[str]]
) -> None:
    command = COMMAND_OF.get(rule, rule)
    assert len(imported[command]) > 2
    assert imported[command] <= behind[rule]


@pytest.mark.parametrize("rule", ["build", "build_initial"])
def test_fingerprint_covers_only_the_chosen_methods(rule: str, behind: dict[str, set[str]]) -> None:
    """Of all constructions, segmentations and schemes, those that the variant names."""
    methods = [*constructions.methods(), *segmentations.methods(), *schemes.methods()]
    names = {method.module for method in methods} & behind[rule]
    assert names == {"tokbench.construction.bpe", "tokbench.pretokenization.built_in"} | (
        {"tokbench.segmentation.merge"} if rule == "build" else set()
    )


def test_modules_that_a_command_chooses_among_are_its_own() -> None:
    """What is left out of a command's fingerprint is something that it would import otherwise."""
    for command, chosen in module.CHOSEN.items():
        path = module._locate(command)
        assert path is not None
        imports = set(module._imports(parsed(path.read_bytes()), command, is_package=False))
        assert chosen <= imports
