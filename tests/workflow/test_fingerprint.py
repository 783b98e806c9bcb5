"""Fingerprints of code: changes that rerun a method's chain, and changes that do not.

The function of every stage is one that its command calls.

The data that sources name count in fingerprints.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.support.rules import COMMAND_OF, RULES, called
from tokbench.commands.declaration import declarations
from tokbench.config.load import read
from tokbench.construction import constructions
from tokbench.corpus.parallel import ParallelCorpus
from tokbench.options import validated
from tokbench.pretokenization import schemes
from tokbench.segmentation import segmentations
from tokbench.stage import stages
from tokbench.workflow import fingerprint as module
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.module_sources import parse_source
from tokbench.workflow.shell import FILES as PACKAGED
from tokbench.workflow.tokenizers import Variants

SOURCE = Path(module.__file__).parents[1]


METHODS = ("bpe", "unigram", "pathpiece", "greedtok", "ngram")
Edit = Callable[[str, str, str], None]


def forget() -> None:
    for function in (module.fingerprint, module._code_and_uses, module._source, module._locate, module._data_of):
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
    edit("construction/bpe.py", '"""Smallest count of', '"""The smallest count of')
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


def test_a_corpus_format_counts_for_corpora_of_its_files(edit: Edit) -> None:
    def prepared() -> dict[str, str]:
        modules = {name: f"tokbench.corpus.formats.{name}" for name in ("arrow", "jsonl", "text")}
        return {name: fingerprint("tokbench.corpus.prepare:prepare", module) for name, module in modules.items()}

    before = prepared()
    edit("corpus/formats/arrow.py", "ROWS = 256", "ROWS = 128")
    after = prepared()
    assert {name for name, code in before.items() if after[name] != code} == {"arrow"}


def test_a_new_method_changes_no_other(edit: Edit, tmp_path: Path) -> None:
    before = built()
    new = tmp_path / "tokbench" / "construction" / "mine.py"
    new.write_text("from tokbench.kernels.bpe import train\n")
    forget()
    assert changed(before) == set()
    assert fingerprint("tokbench.construction.mine") not in built().values()


FINGERPRINT_RULES = {
    "fetch": ("tokbench.corpus.fetch:fetch",),
    "prepare": ("tokbench.corpus.prepare:prepare",),
    "count": (
        "tokbench.corpus.text_files:read_files",
        "tokbench.pretokens.external_count:count_external",
        "tokbench.pretokenization.built_in",
    ),
    "build bpe": ("tokbench.building.files:build_from_files", "tokbench.construction.bpe:build"),
    "build unigram": ("tokbench.building.files:build_from_files", "tokbench.construction.unigram:build"),
    "cut": ("tokbench.segmentation.merge:merge",),
    "measure": (
        "tokbench.pretokens.external_count:count_texts",
        "tokbench.intrinsic.texts:measure_counted_text",
        "tokbench.metric.renyi",
    ),
    "bound": ("tokbench.optimum.bound:bound_text",),
    "encode_shard": ("tokbench.tokenizer.tokenizer:Tokenizer", "tokbench.models.pretraining.order:encode_documents"),
    "pretrain": ("tokbench.models.pretraining.train:pretrain",),
    "tabulate": ("tokbench.tabulation.results:tabulate",),
    "analyse": ("tokbench.statistics.inputs:analyse",),
    "report": ("tokbench.report.loading:load", "tokbench.report.html:render"),
}
"""Stages as rules name them."""


def fingerprints() -> dict[str, str]:
    return {rule: fingerprint(*names) for rule, names in FINGERPRINT_RULES.items()}


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("commands/tokenizers.py", "of {size:,} tokens", "with {size:,} tokens", ""),
        ("io/text_files.py", "yield from lines", "yield from map(bytes.strip, lines)", ""),
        ("errors.py", "cutoff=0.6", "cutoff=0.7", ""),
        ("runtime/exit_status.py", "allow it more", "allow more", ""),
        ("config/check_corpora.py", "1 + 1e-9", "1 + 1e-8", ""),
        ("corpus/partitions.py", "prepare the corpus again", "prepare it again", "prepare"),
        ("pretokens/count.py", "dtype=np.int64)", "dtype=np.uint64)", "count, measure"),
        ("construction/unigram.py", "scores[: len(BYTES)], scores[order]", "scores, scores[order]", "build unigram"),
        ("kernels/ngram.pyx", "import numpy as np", "import numpy as np  # Once", ""),
        ("kernels/bpe.pyx", "import numpy as np", "import numpy as np  # Once", "build bpe"),
        (
            "segmentation/merge.py",
            "ids[data[offsets[single]]] = single",
            "ids[data[offsets[single]]] = 2",
            "build bpe, cut",
        ),
        ("metric/renyi.py", 'short = f"{order:g}"', 'short = f"{order:f}"', "measure"),
        ("optimum/local_search.py", "scores > least", "scores >= least", "bound"),
        ("models/pretraining/order.py", "size = 0\n    for", "size = 1\n    for", "encode_shard"),
        ("models/pretraining/budget.py", "/ rising", "/ (1 + rising)", "pretrain"),
        ("models/training.py", "(folder)) == json", "(folder)) != json", "pretrain"),
        ("tabulation/intrinsic.py", "== 0)", "== 1)", "tabulate, report"),
        ("statistics/significance/wilcoxon.py", "mass[0] = 1.0", "mass[0] = 2.0", "analyse, report"),
        ("report/sections/evidence.py", "larger marks are", "large marks are", "report"),
        (
            "tokenizer/hugging_face.py",
            "PADDING, size + 1",
            "PADDING, size + 2",
            "build bpe, build unigram, measure, encode_shard, tabulate, report",
        ),
    ],
)
def test_changed_line_reruns_its_users(edit: Edit, file: str, old: str, new: str, changes: str) -> None:
    before = fingerprints()
    edit(file, old, new)
    changed = {rule for rule, now in fingerprints().items() if now != before[rule]}
    assert changed == {rule.strip() for rule in changes.split(",") if rule}


def test_a_definition_counts_for_those_that_use_it(edit: Edit, tmp_path: Path) -> None:
    """Of one module, what a stage does not use changes nothing for it."""
    (tmp_path / "tokbench" / "upper.py").write_text(
        "from tokbench.lower import half, other as renamed\n"
        "A = half(1)\n"
        "def first():\n    return A\n"
        "def second():\n    from tokbench import lower\n    return lower.third() + renamed()\n"
    )
    (tmp_path / "tokbench" / "lower.py").write_text(
        "def half(n):\n    return n / 2\n"
        "def other():\n    return 1\n"
        "def third():\n    return 3\n"
        "seen = []\nseen.append(1)\n"
    )
    forget()
    assert sorted(module.code_behind("tokbench.upper:first")) == [
        "tokbench.lower",
        "tokbench.lower:half",
        "tokbench.lower:seen",
        "tokbench.upper:A",
        "tokbench.upper:first",
    ]
    assert {"tokbench.lower:other", "tokbench.lower:third"} <= module.code_behind("tokbench.upper:second").keys()
    before = {name: fingerprint(f"tokbench.upper:{name}") for name in ("first", "second")}
    for old, new, changes in (
        ("n / 2", "n / 3", {"first"}),
        ("return 3", "return 4", {"second"}),
        ("append(1)", "append(2)", {"first", "second"}),
    ):
        edit("lower.py", old, new)
        assert {name for name in before if fingerprint(f"tokbench.upper:{name}") != before[name]} == changes
        edit("lower.py", new, old)


def test_a_name_that_is_not_there_is_an_error() -> None:
    for name in ("tokbench.corpus.prepare:prepared", "tokbench.corpus.nothing", "tokbench.nothing:at_all"):
        with pytest.raises(ValueError, match=f"{name}: no such definition; name one as module:definition"):
            fingerprint(name)


def test_new_statistic_changes_fingerprints_of_analyse_and_report(edit: Edit, tmp_path: Path) -> None:
    before = fingerprints()
    (tmp_path / "tokbench" / "statistics" / "mine.py").write_text(
        "from tokbench.kernels.bpe import train\nMINE = train\n"
    )
    forget()
    assert {rule for rule, now in fingerprints().items() if now != before[rule]} == {"analyse", "report"}


def test_data_count_for_the_module_that_names_them(edit: Edit) -> None:
    names = ("published.facts", "evaluation.offline_tasks", "report.html:render")
    before = {name: fingerprint(f"tokbench.{name}") for name in names}
    for file, old, new, changes in (
        ("published/cells.csv", "\n", "\n\n", {"published.facts", "report.html:render"}),
        ("evaluation/templates/last_word.yaml", "task", "task ", {"evaluation.offline_tasks"}),
        ("report/templates/report.css", "{", "{ ", {"report.html:render"}),
    ):
        edit(file, old, new)
        changed = {name for name in before if fingerprint(f"tokbench.{name}") != before[name]}
        assert changed == changes, file
        edit(file, new, old)


def test_another_suite_changes_nothing(edit: Edit) -> None:
    """A suite is spelled out in its recipe."""
    before = fingerprint("tokbench.evaluation.evaluate:evaluate", "tokbench.evaluation.suites")
    edit("evaluation/suites.yaml", "\n", "\n# Another\n")
    assert fingerprint("tokbench.evaluation.evaluate:evaluate", "tokbench.evaluation.suites") == before


# Modules of other distributions


def plug_in(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: bytes) -> None:
    """A package ``plugged`` on the search path."""
    (folder / "plugged").mkdir()
    for name, content in files.items():
        (folder / "plugged" / name.replace("__dot__", ".")).write_bytes(content)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.split(".")[0] == "plugged"]:
        monkeypatch.delitem(sys.modules, name)


def test_compiled_plug_ins_are_hashed_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        method__dot__py="# -*- coding: latin-1 -*-\nfrom .inner import ä\nfound = ä\n".encode("latin-1"),
        inner__dot__py="import plugged.deep\nfrom tokbench.kernels import bpe\nä = plugged.deep, bpe\n".encode(),
        deep__dot__py=b"import json\nVALUE = json\n",
    )
    forget()
    names = module.code_behind("plugged.method")
    assert {"plugged.inner:ä", "plugged.deep:VALUE", "tokbench.kernels.bpe"} <= names.keys()
    assert "json" not in names
    forget()


def test_nothing_heavy_is_imported() -> None:
    """The workflow fingerprints language-model code on machines that do not have its libraries."""
    code = (
        "import sys\n"
        "from tokbench.workflow.fingerprint import fingerprint\n"
        "names = ['tokbench.models.byte_lm.train', 'tokbench.models.byte_lm.score',\n"
        "         'tokbench.models.pretraining.train',\n"
        "         'tokbench.models.pretraining.pack', 'tokbench.evaluation.evaluate', 'tokbench.tokenizer']\n"
        "assert len({fingerprint(name) for name in names}) == len(names)\n"
        "heavy = {'torch', 'transformers', 'llmfoundry', 'composer', 'lm_eval', 'datasets', 'snakemake'}\n"
        "assert heavy.isdisjoint(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


PLANNED = Path(__file__).parents[1] / "support" / "workflow" / "planned.yaml"
PAIRS = validated(
    {
        "languages": ["en", "de"],
        "train": {"type": "lines", "path": {"en": __file__, "de": __file__}},
        "tests": {"held": 1},
    },
    ParallelCorpus,
    "pairs",
)
FILES = {"books": __file__, "gold": __file__, "reading": __file__, "ranks": __file__}


def recipe_name() -> str:
    [initial] = Variants(read(PLANNED, FILES)).initial(SimpleNamespace(variant="pathpiece_unigram"))
    return initial


@pytest.fixture(scope="module")
def codes() -> dict[str, list[str]]:
    """The definitions that each stage names, for wildcards of an experiment that has every kind of section."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PLANNED.parent)
        experiment = read(PLANNED, FILES).model_copy(update={"parallel_corpora": {"pairs": PAIRS}})
    wildcards = SimpleNamespace(
        variant="bpe",
        size="1024",
        scheme="gpt2",
        byte_lm="bytes",
        initial="bpe",
        initial_recipe=recipe_name(),
        resource="gold",
        model="small",
        corpus="books",
        parallel="pairs",
    )
    imported = SimpleNamespace(**vars(wildcards) | {"variant": "ranks"})
    return {stage.name: stage.code(experiment, imported if stage.name == "import" else wildcards) for stage in stages}


def test_every_rule_is_of_a_stage() -> None:
    assert {stage.name for stage in stages} == RULES.keys()


def defined(place: str, name: str) -> str:
    """Return the definition of a name that a module may import from another one."""
    source = module._source(place)
    imported = source is not None and name in source.imports and name not in source.definitions
    return ":".join(source.imports[name] if imported else (place, name))


@pytest.mark.parametrize("rule", RULES)
def test_the_function_of_a_stage_is_called_by_its_command(rule: str, codes: dict[str, list[str]]) -> None:
    command = COMMAND_OF.get(rule, rule)
    calls = {":".join(name) for name in called(command)}
    module_of_command = declarations()[command].module
    # The command may call a function of the same module that chooses between functions of stages.
    inside = {name for name in calls if name.partition(":")[0] == codes[rule][0].partition(":")[0]}
    chosen = module.code_behind(*inside) if inside else set()
    assert codes[rule][0] in {*calls, *chosen, f"tokbench.commands.{module_of_command}:{command}_command"}
    assert module.code_behind(*codes[rule])


def test_a_command_counts_without_its_declaration(edit: Edit) -> None:
    name = "tokbench.commands.robustness:perturb_command"
    before = fingerprint(name)
    edit("commands/robustness.py", "Probability that a unit is changed.", "Probability of a change.")
    assert fingerprint(name) == before
    edit("commands/robustness.py", 'compression="zstd"', 'compression="snappy"')
    assert fingerprint(name) != before


@pytest.mark.parametrize("rule", ["build", "build_initial"])
def test_only_the_chosen_methods_count(rule: str, codes: dict[str, list[str]]) -> None:
    """Of all constructions, segmentations and schemes, those that the variant names and those that these use.

    BPE with seeds continues merges, and segments the seeds.
    """
    behind = {name.partition(":")[0] for name in module.code_behind(*codes[rule])}
    methods = {method.module for kind in (constructions, segmentations, schemes) for method in kind.methods()}
    used = {"tokbench.construction.bpe", "tokbench.construction.bpe_continued", "tokbench.segmentation.merge"}
    assert methods & behind == used | ({"tokbench.pretokenization.built_in"} if rule == "build" else set())


def test_all_data_are_named() -> None:
    texts = {
        folder: [
            definition.texts
            for path in folder.glob("*.py")
            for definition in parse_source(f"tokbench.{path.stem}", path.read_bytes()).definitions.values()
        ]
        for folder in {path.parent for path in SOURCE.rglob("*.py")}
    }
    for file in [path for path in SOURCE.rglob("*") if path.suffix in module.DATA and path.parent != PACKAGED]:
        folder = file.parent.parent if file.parent.name == "templates" else file.parent
        with_it = [module._data(named, folder) for named in texts[folder]]
        assert any(with_it) or file.name in module.EXCLUDED_DATA, file
