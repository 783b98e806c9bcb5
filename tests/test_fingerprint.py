"""Fingerprints of code: what reruns a method's chain, and what does not."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.imports import each_after
from tests.test_workflow import COMMAND_OF, ROOT, RULES
from tokbench.config.load import read
from tokbench.construction import constructions
from tokbench.pretokenization import schemes
from tokbench.segmentation import segmentations
from tokbench.workflow import fingerprint as module
from tokbench.workflow import syntax
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.packaged import FILES as PACKAGED
from tokbench.workflow.syntax import Kept, Syntax, parsed

SOURCE = Path(module.__file__).parents[1]
PLANNED = Path(__file__).parent / "workflow" / "planned.yaml"
FILES = {"books": __file__, "gold": __file__, "reading": __file__, "ranks": __file__}
METHODS = ("bpe", "unigram", "pathpiece", "greedtok", "ngram")
Edit = Callable[[str, str, str], None]


def forget() -> None:
    for function in (module.fingerprint, module._read, module._locate, module._beside):
        function.cache_clear()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package's sources and data."""
    root = tmp_path_factory.mktemp("copy") / "tokbench"
    for file in [file for file in SOURCE.rglob("*.*") if file.suffix in (".py", ".pyx", ".pxd", *module.DATA)] + [
        SOURCE / module.FLAGS
    ]:
        target = root / file.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return root


@pytest.fixture
def edit(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Fingerprints a copy of the package, in which it replaces a piece of code; the other files are linked."""
    root = tmp_path / "tokbench"
    shutil.copytree(copy, root, copy_function=os.link)
    before = built()
    monkeypatch.setattr(module, "ROOT", root)
    forget()
    assert built() == before

    def replace(file: str, old: str, new: str) -> None:
        text = (root / file).read_text()
        assert old in text
        (root / file).unlink()
        (root / file).write_text(text.replace(old, new, 1))
        forget()

    yield replace
    forget()


@cache
def known(path: Path) -> Syntax:
    """What stands in a source; parsed once for all tests."""
    return parsed(path.read_bytes())


def built() -> dict[str, str]:
    return {name: fingerprint(f"tokbench.construction.{name}") for name in METHODS}


def changed(before: dict[str, str]) -> set[str]:
    return {name for name, now in built().items() if now != before[name]}


def test_form() -> None:
    assert all(len(value) == 16 and set(value) <= set("0123456789abcdef") for value in built().values())
    assert len(set(built().values())) == len(METHODS)


def test_documentation_and_layout_do_not_count(edit: Edit) -> None:
    before = built()
    edit("construction/bpe.py", '"""BPE: merge', '"""BPE, that is: merge')
    edit("construction/bpe.py", '"""Pairs seen less often', '"""Those pairs seen less often')
    edit("construction/bpe.py", "    pairs = train(", "    # A comment.\n\n    pairs = train(")
    assert changed(before) == set()


def test_code_counts(edit: Edit) -> None:
    before = built()
    edit("construction/bpe.py", "Field(0, ge=0)", "Field(1, ge=0)")
    assert changed(before) == {"bpe"}


def test_kernels_count_for_the_methods_that_use_them(edit: Edit) -> None:
    before = built()
    edit("kernels/bpe.pyx", "import numpy as np", "import numpy as np\n")
    assert changed(before) == {"bpe"}
    before = built()
    edit("kernels/ngram.pyx", "import numpy as np", "import numpy as np\n")
    assert changed(before) == {"ngram"}


def test_shared_kernels_count_for_all_that_use_them(edit: Edit) -> None:
    before = built()
    edit("kernels/trie.pxd", "cdef", "cdef ")
    assert changed(before) == {"bpe", "unigram", "pathpiece"}


def test_tables_that_a_kernel_reads_count(edit: Edit) -> None:
    before = fingerprint("tokbench.pretokenization.built_in")
    edit("kernels/unicode_classes.py", 'LETTERS = """', 'LETTERS = """0 ')
    assert fingerprint("tokbench.pretokenization.built_in") != before


def test_a_new_method_changes_no_other(edit: Edit, tmp_path: Path) -> None:
    before = built()
    new = tmp_path / "tokbench" / "construction" / "mine.py"
    new.write_text("from tokbench.kernels.bpe import train\n")
    forget()
    assert changed(before) == set()
    assert fingerprint("tokbench.construction.mine") not in built().values()


def test_plumbing_does_not_count(edit: Edit) -> None:
    before = built()
    edit("errors.py", "cutoff=0.5", "cutoff=0.6")
    edit("config/check.py", "1 + 1e-9", "1 + 1e-8")
    assert changed(before) == set()


@pytest.mark.parametrize(
    ("file", "old", "new", "changes", "stays"),
    [
        ("tokenizer_config.py", "size + 1", "size + 2", "build pack encode_shard", "prepare merge_counts"),
        ("inputs/files.py", "yield from file", "yield from map(bytes.strip, file)", "prepare count", "cite"),
        ("inputs/json.py", "json.loads", "json.JSONDecoder().decode", "prepare import", "merge_counts analyse"),
        ("registry.py", "iter(sorted(", "reversed(sorted(", "build measure", "prepare pretrain"),
        ("provenance.py", '"numpy", ', "", "report leaderboard", "build pretrain"),
        ("kernels/flags.json", "-ffp-contract=off", "-ffp-contract=fast", "build measure pack", "prepare analyse"),
        ("imported.py", "os.getpid()", "os.getppid()", "", "build pretrain report"),
        ("manifest.py", "indent=2", "indent=1", "", "build pretrain report"),
        ("inputs/numbers.py", "1 << 31", "1 << 30", "", "build prepare count"),
    ],
)
def test_what_can_change_a_result_counts(edit: Edit, file: str, old: str, new: str, changes: str, stays: str) -> None:
    """Readers, registries, special tokens and the compiler's options do; limits, notes and manifests do not."""

    def each(commands: str) -> dict[str, str]:
        return {command: fingerprint(f"tokbench.commands.{command}") for command in commands.split()}

    before = each(f"{changes} {stays}")
    edit(file, old, new)
    assert {name for name, now in each(f"{changes} {stays}").items() if now != before[name]} == set(changes.split())


# What a command's result depends on is what its module imports


IMPORTS = """
import builtins, importlib.util, sys
from tests.imports import import_all

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


def test_every_module_counts(edit: Edit) -> None:
    """Any line of any module behind a command changes the command's fingerprint, and that of no other."""
    commands = ("tokbench.commands.merge_counts", "tokbench.commands.import_counts", "tokbench.commands.fetch_tasks")
    closures = {command: set(module.code_behind(command)) for command in commands}
    before = {command: fingerprint(command) for command in commands}
    for name in sorted(set().union(*closures.values())):
        path = module._locate(name)
        assert path is not None
        text = path.read_text()
        path.write_text(text + "\nCHANGED = 1\n")
        forget()
        changed = {command for command in commands if fingerprint(command) != before[command]}
        assert changed == {command for command in commands if name in closures[command]}, name
        path.write_text(text)
    forget()


def test_a_new_statistic_counts_for_what_gathers_it(edit: Edit, tmp_path: Path) -> None:
    commands = ("tabulate", "analyse", "typeset", "draw", "report", "measure", "build", "published")
    before = {command: fingerprint(f"tokbench.commands.{command}") for command in commands}
    (tmp_path / "tokbench" / "statistics" / "mine.py").write_text("from tokbench.kernels.bpe import train\n")
    forget()
    changed = {command for command in commands if fingerprint(f"tokbench.commands.{command}") != before[command]}
    assert changed == {"analyse", "typeset", "draw", "report"}


def test_modules_that_a_command_chooses_among_are_its_own() -> None:
    """What is left out of a command's fingerprint is something that it would import otherwise."""
    for command, chosen in module.CHOSEN.items():
        path = module._locate(command)
        assert path is not None
        imports = set(module._imports(parsed(path.read_bytes()), command, is_package=False))
        assert chosen <= imports


# Data


def test_data_count_for_the_module_that_names_them(edit: Edit) -> None:
    names = (
        "published.facts",
        "published.tidy_facts",
        "downstream.tasks",
        "downstream.passages",
        "report.html",
    )
    before = {name: module._read(f"tokbench.{name}") for name in names}
    edit("published/cells.csv", "\n", "\n\n")
    edit("downstream/templates/last_word.yaml", "task", "task ")
    edit("report/templates/report.css", "{", "{ ")
    after = {name: module._read(f"tokbench.{name}") for name in before}
    assert {name for name in before if before[name] != after[name]} == {
        "published.facts",
        "downstream.tasks",
        "report.html",
    }


def test_all_data_are_named() -> None:
    sources = {
        folder: [known(path) for path in folder.glob("*.py")]
        for folder in {path.parent for path in SOURCE.rglob("*.py")}
    }
    for file in [path for path in SOURCE.rglob("*") if path.suffix in module.DATA and path.parent != PACKAGED]:
        folder = file.parent.parent if file.parent.name == "templates" else file.parent
        with_it = [module._data(source, folder) for source in sources[folder]]
        assert any(with_it) or file.name in module.SPELLED_OUT, file


def test_another_suite_changes_nothing(edit: Edit) -> None:
    """A suite is spelled out in its recipe."""
    before = fingerprint("tokbench.commands.evaluate")
    edit("downstream/suites.yaml", "\n", "\n# Another\n")
    assert fingerprint("tokbench.commands.evaluate") == before


# Modules of other distributions


def plug_in(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: bytes) -> None:
    """A package ``plugged`` on the search path."""
    (folder / "plugged").mkdir()
    for name, content in files.items():
        (folder / "plugged" / name.replace("__dot__", ".")).write_bytes(content)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.split(".")[0] == "plugged"]:
        monkeypatch.delitem(sys.modules, name)


def test_compiled_plug_ins_count_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(tmp_path, monkeypatch)
    compiled = tmp_path / "plugged" / "method.so"
    compiled.write_bytes(b"\x7fELF\xff\xfe")
    loaded = ModuleType("plugged.method")
    loaded.__file__ = str(compiled)
    monkeypatch.setitem(sys.modules, "plugged.method", loaded)
    forget()
    before = fingerprint("plugged.method")
    compiled.write_bytes(b"\x7fELF\xff\xff")
    forget()
    assert fingerprint("plugged.method") != before
    forget()


def test_plug_ins_count_with_their_own_modules_and_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(
        tmp_path,
        monkeypatch,
        __init____dot__py=b"",
        method__dot__py="# -*- coding: latin-1 -*-\nfrom .inner import ä\n".encode("latin-1"),
        inner__dot__py="import plugged.deep\nfrom tokbench.kernels.bpe import train\nä = 1\n".encode(),
        deep__dot__py=b"import json\n",
    )
    forget()
    names = module.code_behind("plugged.method")
    assert {"plugged", "plugged.inner", "plugged.deep", "tokbench.kernels.bpe"} <= names.keys()
    assert "json" not in names
    forget()


def test_nothing_heavy_is_imported() -> None:
    """The workflow fingerprints language-model code on machines that do not have its libraries."""
    code = (
        "import sys\n"
        "from tokbench.workflow.fingerprint import fingerprint\n"
        "names = ['tokbench.byte_lm.train', 'tokbench.byte_lm.score', 'tokbench.pretraining.train',\n"
        "         'tokbench.pretraining.pack', 'tokbench.downstream.evaluate', 'tokbench.tokenizer']\n"
        "assert len({fingerprint(name) for name in names}) == len(names)\n"
        "heavy = {'torch', 'transformers', 'llmfoundry', 'composer', 'lm_eval', 'datasets', 'snakemake'}\n"
        "assert heavy.isdisjoint(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What is kept from run to run


def test_what_is_kept_is_what_would_be_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    sources = [path.read_bytes() for path in paths]
    first = Kept(tmp_path / "syntax.json")
    expected = [first.syntax(source) for source in sources]
    first.write()
    assert expected == [known(path) for path in paths]
    monkeypatch.setattr(syntax, "parsed", None)
    second = Kept(tmp_path / "syntax.json")
    assert [second.syntax(source) for source in sources] == expected
    with pytest.raises(TypeError):
        second.syntax(b"new = 1")


@pytest.mark.parametrize("content", ["", "[]", "[1, 2]", "{}", '["edition", {}]', "\xff"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "syntax.json").write_text(content, encoding="utf-8")
    kept = Kept(tmp_path / "syntax.json")
    assert kept.syntax(b"import a.b").imports == ((None, 0, ("a.b",)),)
    kept.write()
    assert Kept(tmp_path / "syntax.json")._found


def test_other_ways_to_parse_are_another_edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path / "syntax.json")
    kept.syntax(b"a = 1")
    kept.write()
    monkeypatch.setattr(sys, "version", "4.0")
    assert not Kept(tmp_path / "syntax.json")._found


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file" / "syntax.json")
    kept.syntax(b"a = 1")
    kept.write()
