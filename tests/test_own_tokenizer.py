"""What the page on a tokenizer of one's own shows, done as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tokbench.vocabulary import BYTES, Vocabulary

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "own_tokenizer.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's package is installed."""
    place = tmp_path_factory.mktemp("package")
    for name, text in SHOWN:
        (place / "my_tokenizer" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "my_tokenizer" / name).write_text(text)
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"]
    quick = os.environ | {"CFLAGS": "-O0 -g0"}
    subprocess.run([*install, "--target", place / "site", place / "my_tokenizer"], check=True, env=quick)
    return place / "site"


def test_the_readme_shows_a_part_of_its_module_and_says_how_long_it_is() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    module = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    [shown] = [part for part in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "whole_words" in part]
    assert shown in module
    said = re.search(r"\(docs/own_tokenizer.md\) has (\d+) lines", readme)
    assert said is not None
    assert int(said[1]) == len(module.splitlines())


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
        "from tokbench.better import better_end, over_the_same\n"
        "from tokbench.citations.entries import bibliography\n"
        "from tokbench.counting.count import count_pretokens\n"
        "from tokbench.intrinsic.measure import measure\n"
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
        "print(row.metric, row.value, row.n, better_end(row.metric), over_the_same(row.metric, row.definition))\n"
        "print(bibliography(metrics['whole_pretokens'].cites)[:18])\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    said = subprocess.run([sys.executable, "-c", use], check=True, env=environment, capture_output=True, text=True)
    assert said.stdout.splitlines() == [
        "[256, 257, 32, 116, 104, 101, 255]",
        "whole_pretoken_share 0.75 4 highest True",
        "@misc{somebody2026",
    ]
