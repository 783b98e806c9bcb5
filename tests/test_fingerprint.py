"""Fingerprints of code: what reruns a method's chain, and what does not."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.config import fingerprint as module
from tokbench.config.fingerprint import fingerprint

SOURCE = Path(module.__file__).parents[1]
METHODS = ("bpe", "unigram", "pathpiece", "greedtok", "ngram")
Edit = Callable[[str, str, str], None]


def forget() -> None:
    for function in (module.fingerprint, module._read, module._locate):
        function.cache_clear()


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Fingerprints a copy of the package, in which it replaces a piece of code."""
    root = tmp_path / "tokbench"
    wanted = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyx"), *SOURCE.rglob("*.pxd")]
    for file in wanted:
        target = root / file.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    before = constructions()
    monkeypatch.setattr(module, "ROOT", root)
    forget()
    assert constructions() == before

    def replace(file: str, old: str, new: str) -> None:
        text = (root / file).read_text()
        assert old in text
        (root / file).write_text(text.replace(old, new, 1))
        forget()

    yield replace
    forget()


def constructions() -> dict[str, str]:
    return {name: fingerprint(f"tokbench.vocabulary.{name}") for name in METHODS}


def changed(before: dict[str, str]) -> set[str]:
    return {name for name, now in constructions().items() if now != before[name]}


def test_form() -> None:
    assert all(len(value) == 16 and set(value) <= set("0123456789abcdef") for value in constructions().values())
    assert len(set(constructions().values())) == len(METHODS)


def test_documentation_and_layout_do_not_count(edit: Edit) -> None:
    before = constructions()
    edit("vocabulary/bpe.py", '"""BPE: merge', '"""BPE, that is: merge')
    edit("vocabulary/bpe.py", '"""Pairs seen less often', '"""Those pairs seen less often')
    edit("vocabulary/bpe.py", "    pairs = train(", "    # A comment.\n\n    pairs = train(")
    assert changed(before) == set()


def test_code_counts(edit: Edit) -> None:
    before = constructions()
    edit("vocabulary/bpe.py", "Field(0, ge=0)", "Field(1, ge=0)")
    assert changed(before) == {"bpe"}


def test_kernels_count_for_the_methods_that_use_them(edit: Edit) -> None:
    before = constructions()
    edit("kernels/bpe.pyx", "import numpy as np", "import numpy as np\n")
    assert changed(before) == {"bpe"}
    before = constructions()
    edit("kernels/ngram.pyx", "import numpy as np", "import numpy as np\n")
    assert changed(before) == {"ngram"}


def test_shared_kernels_count_for_all_that_use_them(edit: Edit) -> None:
    before = constructions()
    edit("kernels/trie.pxd", "cdef", "cdef ")
    assert changed(before) == {"bpe", "unigram", "pathpiece"}


def test_tables_that_a_kernel_reads_count(edit: Edit) -> None:
    before = fingerprint("tokbench.pretokenization.built_in")
    edit("kernels/unicode_classes.py", 'LETTERS = """', 'LETTERS = """0 ')
    assert fingerprint("tokbench.pretokenization.built_in") != before


def test_a_new_method_changes_no_other(edit: Edit, tmp_path: Path) -> None:
    before = constructions()
    new = tmp_path / "tokbench" / "vocabulary" / "mine.py"
    new.write_text("from tokbench.kernels.bpe import train\n")
    forget()
    assert changed(before) == set()
    assert fingerprint("tokbench.vocabulary.mine") not in constructions().values()


def test_plumbing_does_not_count(edit: Edit) -> None:
    before = constructions()
    edit("registry.py", "cutoff=0.5", "cutoff=0.6")
    edit("config/check.py", "1 + 1e-9", "1 + 1e-8")
    assert changed(before) == set()


def test_nothing_heavy_is_imported() -> None:
    """The workflow fingerprints language-model code on machines that do not have its libraries."""
    code = (
        "import sys\n"
        "from tokbench.config.fingerprint import fingerprint\n"
        "names = ['tokbench.byte_lm.train', 'tokbench.byte_lm.score', 'tokbench.pretraining.train',\n"
        "         'tokbench.pretraining.pack', 'tokbench.downstream.evaluate', 'tokbench.tokenizer']\n"
        "assert len({fingerprint(name) for name in names}) == len(names)\n"
        "heavy = {'torch', 'transformers', 'llmfoundry', 'composer', 'lm_eval', 'datasets', 'snakemake'}\n"
        "assert heavy.isdisjoint(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
