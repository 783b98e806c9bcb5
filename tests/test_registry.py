"""Methods of third parties: checks at registration, and their uses.

The examples of the page on your own tokenizer, run as printed.
"""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import Field

from tests.conftest import Tokbench
from tokbench import construction as construction_package
from tokbench.api import build as tokbench_build
from tokbench.config.load import read_all
from tokbench.construction import InitialName, construction, constructions
from tokbench.errors import TokbenchError
from tokbench.metric import Shown, Subject, direction, metric, metrics, requires_equal_n
from tokbench.options import Options
from tokbench.pretokenization import pretokenization, schemes
from tokbench.pretokens import PretokenCounts
from tokbench.report.sections.subjects import SUBJECTS, by_subject
from tokbench.resource import ResourceOptions, resource, resource_types
from tokbench.segmentation import segmentation, segmentations
from tokbench.submodules import submodules
from tokbench.vocabulary import BYTES, Vocabulary


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Methods that a test registers are removed after it."""
    kinds = (constructions, segmentations, schemes, metrics, resource_types)
    before = [dict(kind._methods) for kind in kinds]
    yield
    for kind, known in zip(kinds, before, strict=True):
        kind._methods = known


def build(counts: PretokenCounts, size: int, options: Options, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Take pairs of letters."""
    return Vocabulary(BYTES + tuple(bytes([a, b]) for a in range(97, 123) for b in range(97, 123))[: size - 256])


def no_seed(counts: Any, size: int, options: Any, *, threads: int) -> Vocabulary: ...
def too_few(counts: Any, *, seed: int, threads: int) -> Vocabulary: ...
def too_many(counts: Any, size: int, options: Any, more: int, *, seed: int, threads: int) -> Vocabulary: ...
def with_initial(counts: Any, size: int, options: Any, *, seed: int, threads: int, initial: Any) -> Vocabulary: ...


def take(seen: Any, options: Any) -> list[Any]: ...


class Method(Options):
    method: str = "mine"


class Required(Options):
    width: int


class TopDown(Options):
    initial: InitialName = "ngram"
    initial_size: int = Field(512, ge=256)


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    ("register", "said"),
    [
        (lambda: construction("mine", segmentation="greedy")(no_seed), ("'mine'", "no_seed", "seed=...", "'seed'")),
        (lambda: construction("mine", segmentation="greedy")(too_few), ("too_few", "too many positional")),
        (lambda: construction("mine", segmentation="greedy")(too_many), ("too_many", "'more'")),
        (lambda: construction("mine", segmentation="greedy")(with_initial), ("with_initial", "'initial'")),
        (lambda: construction("mine", segmentation="greedy", options=TopDown, initial=True)(build), ("'initial'",)),
        (
            lambda: construction("mine", segmentation="greedy", initial=True)(with_initial),
            ("initial and initial_size",),
        ),
        (lambda: construction("mine", segmentation="greedy", options=Method)(build), ("cannot be called 'method'",)),
        (lambda: construction("mine", segmentation="greedy", options=dict)(build), ("subclass of tokbench.options",)),  # type: ignore[arg-type]
        (lambda: construction("mine", segmentation="greedy", source="text")(build), ("'text'", "scores")),  # type: ignore[arg-type]
        (lambda: construction("mine", segmentation=None)(build), ("'mine'", "its segmentation is None")),  # type: ignore[arg-type]
        (lambda: construction("mine", segmentation="greedy", alphabet=26)(build), ("26", "256 bytes")),
        (lambda: construction("mine", segmentation="greedy", alphabet="x")(build), ("'x'", "a whole number")),  # type: ignore[arg-type]
        (lambda: construction("mine", segmentation="greedy", alphabet=300.5)(build), ("300.5", "a whole number")),  # type: ignore[arg-type]
        (lambda: construction("mine", segmentation="greedy", continuation="no")(build), ("its continuation is 'no'",)),  # type: ignore[arg-type]
        (lambda: construction("mine", segmentation="greedy", cites="@misc{a}")(build), ("'@misc{a}'", "tuple")),  # type: ignore[arg-type]
        (lambda: metric("mine", cites=(1,))(take), ("its cites is (1,)", "tuple of strings")),  # type: ignore[arg-type]
        (lambda: metric("mine", cites=("nobody1900",))(take), ("metric 'mine'", "'nobody1900' is not a key of")),
        (lambda: metric("mine", per_language=1)(take), ("its per_language is 1", "True or False")),  # type: ignore[arg-type]
        (lambda: metric("mine", better=["a"])(take), ("['a']", "highest or lowest")),  # type: ignore[arg-type]
        (lambda: metric("mine", better={5: "highest"})(take), ("{5: 'highest'}", "highest or lowest")),  # type: ignore[dict-item]
        (lambda: metric("mine", better={"a": "high"})(take), ("better end of a is 'high'",)),  # type: ignore[dict-item]
        (lambda: metric("mine", over_the_same="abc")(take), ("'abc'", "names of measurements")),
        (lambda: metric("mine", over_the_same=5)(take), ("is 5", "names of measurements")),  # type: ignore[arg-type]
        (lambda: metric("mine", shown="words")(take), ("'words'", "tuple of tokbench.metric.Shown")),  # type: ignore[arg-type]
        (lambda: metric("mine", shown=[Shown("a", "words", 5)])(take), ("column=5", "each of texts")),  # type: ignore[arg-type]
        (lambda: metric("mine", shown=[Shown("a", "word")])(take), ("subject of a is 'word'", "compression, words,")),  # type: ignore[arg-type]
        (lambda: resource("mine", gold="segmentations", files=None)(lambda p, la, o: iter(())), ("its files is None",)),  # type: ignore[arg-type]
        (
            lambda: construction("mine", segmentation="greedy", source="scores", gives_initial=True)(build),
            ("reads counts",),
        ),
        (
            lambda: construction("mine", segmentation="longest_prefix", continuation=True, gives_initial=True)(build),
            ("continuation forms", "each token once"),
        ),
        (
            lambda: construction("mine", segmentation="greedy", options=Required, gives_initial=True)(build),
            ("built with its options' defaults", "give one to width"),
        ),
        (lambda: construction("bpe", segmentation="greedy")(build), ("'bpe' is registered twice",)),
        (lambda: segmentation("mine")(lambda vocabulary: None), ("'mine'", "vocabulary, options")),
        (lambda: segmentation("mine", needs="merge")(lambda v, o: None), ("'merge'", "merges, scores, events")),  # type: ignore[arg-type]
        (lambda: pretokenization("mine", pattern=None)(lambda: np.zeros(1, np.int64)), ("pre-tokenization 'mine'",)),
        (lambda: pretokenization("mine", pattern=3)(lambda text: np.zeros(1, np.int64)), ("its pattern is 3",)),  # type: ignore[arg-type]
        (lambda: metric("mine")(lambda usage: []), ("metric 'mine'", "subject, options")),
        (lambda: metric("mine", of="texts")(lambda usage, options: []), ("'texts'", "languages")),  # type: ignore[arg-type]
        (lambda: resource("mine", gold="parts", files="*")(lambda p, la, o: iter(())), ("'parts'", "segmentations")),  # type: ignore[arg-type]
        (
            lambda: resource("mine", gold="segmentations", files="*", options=Options)(lambda p, la, o: iter(())),  # type: ignore[arg-type]
            ("tokbench.resource.ResourceOptions",),
        ),
        (
            lambda: resource("mine", gold="segmentations", files="*", options=ResourceOptions)(lambda p: iter(())),
            ("path, language, options",),
        ),
    ],
)
def test_mistakes_in_a_method_are_errors_at_registration(register: Callable[[], Any], said: tuple[str, ...]) -> None:
    if "twice" in said[0]:
        assert constructions["bpe"].name == "bpe"
    with pytest.raises(TokbenchError) as rejection:
        register()
    message = str(rejection.value)
    assert "\n" not in message
    for part in said:
        assert part in message


NAMES = ["my-lines", "my/lines", "my lines", "", "_lines", "3_lines", "zeilenlänge", "lines\n", 5, None, build]


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize(
    "decorator",
    [
        partial(construction, segmentation="greedy"),
        segmentation,
        pretokenization,
        metric,
        partial(resource, gold="segmentations", files="*"),
    ],
    ids=("construction", "segmentation", "pretokenization", "metric", "resource"),
)
def test_names_unfit_for_paths_or_wildcards_are_rejected(decorator: Callable[..., Any], name: Any) -> None:
    """Told as soon as the decorator is named: one without brackets is never given the function to register."""
    with pytest.raises(TokbenchError, match="a name is a string of letters") as rejection:
        decorator(name)
    assert "\n" not in str(rejection.value)


@pytest.mark.usefixtures("forgotten")
def test_a_rejected_method_is_not_known() -> None:
    with pytest.raises(TokbenchError):
        construction("mine", segmentation="greedy")(no_seed)
    assert "mine" not in constructions
    with pytest.raises(TokbenchError):
        metric("mine", better={"mine": "highest"})(no_seed)  # type: ignore[arg-type]
    assert direction("mine") is None


@pytest.mark.usefixtures("forgotten")
def test_a_registry_is_shown_with_its_methods() -> None:
    assert repr(schemes) == f"<pre-tokenization: {', '.join(schemes)}>"
    assert len(schemes) == len(list(schemes)) == len(schemes.methods())
    assert "gpt2" in schemes
    assert "gtp2" not in schemes
    assert 5 not in schemes
    assert bool(schemes)


@pytest.mark.usefixtures("forgotten")
def test_a_package_that_cannot_be_listed_is_not_one_without_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory, a construction was reported as unknown."""

    def listed(place: str) -> list[str]:
        raise OSError(errno.ENOMEM, "no room", place)

    [folder] = construction_package.__path__
    assert "bpe" in submodules([folder])
    monkeypatch.setattr("os.listdir", listed)
    with pytest.raises(OSError, match="no room"):
        submodules([folder])


@pytest.mark.usefixtures("forgotten")
def test_registering_gives_the_function_back() -> None:
    assert construction("pairs", segmentation="greedy")(build) is build
    method = constructions["pairs"]
    assert (method.function, method.summary) == (build, "Take pairs of letters.")
    assert (method.source, method.alphabet, method.initial, method.continuation) == ("counts", 256, False, False)


@pytest.mark.usefixtures("forgotten")
def test_anyones_construction_may_be_an_initial_vocabulary(tmp_path: Path, tokbench: Tokbench) -> None:
    construction("pairs", segmentation="greedy", gives_initial=True)(build)
    counts = tmp_path / "counts.tsv"
    counts.write_text("".join(f"{word.hex()}\t{count}\n" for word, count in ((b"abab", 5), (b"cdab", 3), (b"zz", 1))))
    options = ["--set", "initial=pairs", "--set", "initial_size=932"]
    tokbench("build", "pathpiece", "--counts", counts, "--size", 300, *options, "-o", tmp_path / "out")
    tokens = Vocabulary.read(tmp_path / "out").tokens
    assert len(tokens) == 300
    assert {b"ab", b"cd", b"zz"} <= set(tokens)


@pytest.mark.usefixtures("forgotten")
def test_configurations_take_it_and_reject_one_that_gives_none(tmp_path: Path) -> None:
    construction("pairs", segmentation="greedy", gives_initial=True)(build)
    file = tmp_path / "config.yaml"
    text = """
name: one
corpora: {pydoc: {source: embedded}}
sizes: [512]
variants:
  mine: {pretokenization: space, construction: {method: pathpiece, initial: INITIAL, initial_size: 700}}
"""
    file.write_text(text.replace("INITIAL", "pairs"))
    assert read_all([file], {}).variants["mine"].construction.initial == "pairs"
    for wrong, near in (("wordpiece", ""), ("pairz", " Did you mean 'pairs'?")):
        file.write_text(text.replace("INITIAL", wrong))
        with pytest.raises(TokbenchError) as rejection:
            read_all([file], {})
        line = (
            f"variants.mine.construction.initial: '{wrong}' is not an initial vocabulary (bpe, ngram, pairs, unigram)."
        )
        assert str(rejection.value) == f"{file}: {line}{near}"


@pytest.mark.usefixtures("forgotten")
def test_missing_segmentation_is_an_error_that_names_its_construction(tmp_path: Path, tokbench: Tokbench) -> None:
    """Segmentations may register later, before methods are listed, configurations checked or tokenizers built."""
    constructions._methods["bpe"] = replace(constructions["bpe"], segmentation="gredy")
    said = (
        f"construction 'bpe': its segmentation 'gredy' is not a segmentation ({', '.join(segmentations)}). Did you mean"
    )
    file = tmp_path / "config.yaml"
    variants = "{mine: {pretokenization: space, construction: bpe}}"
    file.write_text(f"{{name: one, corpora: {{pydoc: {{source: embedded}}}}, sizes: [300], variants: {variants}}}")
    counts = tmp_path / "counts.tsv"
    counts.write_text(f"{b'abab'.hex()}\t5\n")
    for command in (
        ("methods",),
        ("methods", "bpe", "--json"),
        ("validate", file),
        ("build", "bpe", "--counts", counts, "--size", 300, "-o", tmp_path / "out"),
    ):
        assert said in tokbench(*command).message
    assert f"variants.mine.construction: {said}" in tokbench("validate", file).message
    with pytest.raises(TokbenchError, match=re.escape(said)):
        tokbench_build("bpe", PretokenCounts.from_pairs([(b"ab", 3)]), 300)


@pytest.mark.usefixtures("forgotten")
def test_an_initial_vocabulary_has_room_for_its_alphabet(tmp_path: Path, tokbench: Tokbench) -> None:
    constructions._methods["ngram"] = replace(constructions["ngram"], alphabet=768)
    file, counts = tmp_path / "config.yaml", tmp_path / "counts.tsv"
    counts.write_text(f"{b'abab'.hex()}\t5\n")
    options = "{method: pathpiece, initial: ngram, initial_size: 300}"
    variants = f"{{mine: {{pretokenization: space, construction: {options}}}}}"
    file.write_text(f"{{name: one, corpora: {{pydoc: {{source: embedded}}}}, sizes: [300], variants: {variants}}}")
    assert tokbench("validate", file).message.endswith(
        "variants.mine.construction.initial_size: 300 is smaller than the alphabet of 'ngram'; ask for 768 or more"
    )
    build = ("build", "pathpiece", "--counts", counts, "--pretokenization", "space", "--size", 300)
    said = tokbench(*build, "--set", "initial=ngram", "--set", "initial_size=300", "-o", tmp_path / "out").message
    assert said.endswith("initial_size 300: smaller than the alphabet of 'ngram' (768); use a larger size")


@pytest.mark.usefixtures("forgotten")
def test_a_metric_says_where_a_report_shows_its_measurements() -> None:
    """After those that are there; of several places the one whose text is longest in the definition."""
    assert (*[subject.identifier for subject in SUBJECTS],) == get_args(Subject)
    places = [Shown("mine_in_words", "words"), Shown("mine_in_words", "bytes", "mine, bytes", "/ bytes")]
    metric("mine", shown=[Shown("a", "words", "first"), *places])(take)
    mine = [("mine_in_words", "things / words"), ("mine_in_words", "things / bytes"), ("mine", "things"), ("a", "b")]
    shown = by_subject([*mine, ("fertility", "tokens / pre-tokens")])
    assert [(subject.title, [name for _, name in named]) for subject, named in shown] == [
        ("Tokens per word (fertility) and whole words", ["tokens per pre-token", "first", "mine in words"]),
        ("Byte fallback and broken characters", ["mine, bytes"]),
        ("Further measures", ["mine"]),
    ]


@pytest.mark.usefixtures("forgotten")
def test_statements_of_a_family_are_removed_with_it() -> None:
    """Nothing of it is kept beside the families: not of one that is no more, nor of one before it registered."""
    assert (direction("hops"), requires_equal_n("hops", "hops / steps")) == (None, False)
    known = dict(metrics._methods)
    metric("hopping", better={"hops": "highest"}, over_the_same=("hops / steps",))(take)
    assert (direction("hops"), requires_equal_n("hops", "hops / steps"), requires_equal_n("hops", "hops")) == (
        "highest", True, False,
    )  # fmt: skip
    metrics._methods = known
    assert (direction("hops"), requires_equal_n("hops", "hops / steps")) == (None, False)


ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "own_tokenizer.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the page's package is installed."""
    place = tmp_path_factory.mktemp("package")
    for name, text in SHOWN:
        (place / "my_tokenizer" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "my_tokenizer" / name).write_text(text)
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"]
    quick = os.environ | {"CFLAGS": "-O0 -g0"}
    subprocess.run([*install, "--target", place / "site", place / "my_tokenizer"], check=True, env=quick)
    return place / "site"


def test_the_readme_shows_parts_of_its_module_and_says_how_long_it_is() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    module = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    shown = [part for part in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "whole_words" in part]
    assert [part for part in shown if part not in module] == []
    said = re.findall(r"(\d+) lines", readme)
    assert set(said) <= {str(len(module.splitlines()))}


def run(installed: Path, *arguments: object) -> str:
    command = [sys.executable, "-m", "tokbench", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, check=True, env=environment, cwd=ROOT, capture_output=True, text=True).stdout


def test_its_commands(installed: Path, tmp_path: Path) -> None:
    (commands,) = [block for block in re.findall(r"\n\n```\n(.*?)\n```", PAGE, re.DOTALL) if "my_tokenizer" in block]
    install, *ours = commands.splitlines()
    assert install == "pip install --no-build-isolation ./my_tokenizer"
    said = [run(installed, *line.replace("/tmp", str(tmp_path)).split()[1:]) for line in ours]
    assert "Take the most frequent pairs of bytes, ties in order of their bytes." in " ".join(said[0].split())
    tokens = Vocabulary.read(tmp_path / "frequent_pairs").tokens
    assert tokens[:256] == BYTES
    assert {len(token) for token in tokens[256:]} == {2}
    assert len(tokens) == 300


def test_its_compiled_module_counts_in_the_fingerprint(installed: Path) -> None:
    code = (
        "from tokbench.construction import constructions; from tokbench.workflow.fingerprint import code_behind;"
        "print(*sorted(name for name in code_behind(constructions['frequent_pairs'].module) if 'my_' in name))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])}
    said = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    assert "my_tokenizer.frequent_pairs:build my_tokenizer.pairs" in said.stdout


def test_the_module_in_a_clone(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    counts = (
        "from tokbench.pretokens import PretokenCounts\ncounts = PretokenCounts.from_pairs([(b'ab', 3), (b'c', 9)])\n"
    )
    built = "print(build(counts, 300, WholeWordsOptions()).tokens[256:])"
    said = subprocess.run(
        [sys.executable, "-c", f"{code}\n{counts}{built}"], check=True, capture_output=True, text=True
    )
    assert said.stdout == "(b'ab',)\n"


def test_the_pretokenization_with_options(tmp_path: Path) -> None:
    (tmp_path / "chunks.py").write_text(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[-1])
    use = (
        "import chunks; from tokbench.pretokenization import pretokenization_of\n"
        "for text in (b'', b'12345678', b'123456789'):\n"
        "    print(pretokenization_of({'method': 'chunks', 'width': 4}).boundaries(text).tolist())\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    said = subprocess.run([sys.executable, "-c", use], check=True, env=environment, capture_output=True, text=True)
    assert said.stdout.splitlines() == ["[0]", "[0, 4, 8]", "[0, 4, 8, 9]"]


def test_the_segmentation_and_the_metric(tmp_path: Path) -> None:
    """Both as they stand: ids that are decoded to the text, a share, its better end, and what it is from."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for name, begin in (("segmenting", '"""A pre-token that is a token'), ("measuring", '"""Pre-tokens that are one')):
        (block,) = [block for block in blocks if block.startswith(begin)]
        (tmp_path / f"{name}.py").write_text(block)
    use = (
        "import measuring, segmenting\n"
        "from tokbench.metric import direction, requires_equal_n\n"
        "from tokbench.references import bibliography\n"
        "from tokbench.pretokens.count import count_pretokens\n"
        "from tokbench.intrinsic.tokenizer import measure\n"
        "from tokbench.metric import metrics\n"
        "from tokbench.tokenizer import Tokenizer\n"
        "from tokbench.vocabulary import BYTES, Vocabulary\n"
        "tokenizer = Tokenizer(Vocabulary((*BYTES, b'the', b' cat')), 'gpt2', 'whole_or_bytes')\n"
        "text = b'the cat the\\xff'\n"
        "ids = tokenizer.encode(text).tolist()\n"
        "assert tokenizer.decode(ids) == text\n"
        "print(ids)\n"
        "family = {'whole_pretokens': metrics['whole_pretokens'].options()}\n"
        "[row] = measure(tokenizer, count_pretokens([text], 'gpt2'), families=family)\n"
        "print(row.metric, row.value, row.n, direction(row.metric), requires_equal_n(row.metric, row.definition))\n"
        "print(bibliography(metrics['whole_pretokens'].cites)[:18])\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    said = subprocess.run([sys.executable, "-c", use], check=True, env=environment, capture_output=True, text=True)
    assert said.stdout.splitlines() == [
        "[256, 257, 32, 116, 104, 101, 255]",
        "whole_pretoken_share 0.75 4 highest True",
        "@misc{somebody2026",
    ]
