"""Fingerprints of code: what reruns a method's chain, and what does not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tokbench.workflow import fingerprint as module
from tokbench.workflow.fingerprint import fingerprint

SOURCE = Path(module.__file__).parents[1]


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
        ("inputs/files.py", "yield from lines", "yield from map(bytes.strip, lines)", "prepare count", "cite"),
        ("inputs/json.py", "json.loads", "json.JSONDecoder().decode", "prepare import", "merge_counts analyse"),
        ("registry.py", "iter(sorted(", "reversed(sorted(", "build measure", "prepare pretrain"),
        ("provenance.py", '"numpy", ', "", "report leaderboard", "build pretrain"),
        ("kernels/flags.json", "-ffp-contract=off", "-ffp-contract=fast", "build measure pack prepare", "analyse"),
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
