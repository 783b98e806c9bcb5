"""``from: python``: a function or an object of a Python file as an external tokenizer, in Python, commands and runs."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.conftest import TOPICS, Tokbench
from tests.support.workflow.checkout import Checkout
from tokbench.adapters.libraries.python import TRUSTED
from tokbench.config.load import read
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer

LETTERS = """
import helper

raise_when_imported = helper.VALUE

class Letters:
    vocab_size = 256

    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(ids)


letters = Letters()


def encode(text):
    return [ord(letter) for letter in text]


def pieces(text):
    return text.split()


def nothing(text):
    return None


def negative(text):
    return [-1]


def broken(text):
    raise ValueError("no such text")


number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two files of Python and a text."""
    monkeypatch.setenv(TRUSTED, "")
    monkeypatch.chdir(tmp_path)
    Path("letters.py").write_text(LETTERS)
    Path("helper.py").write_text("VALUE = 1\n")
    Path("text.txt").write_bytes(TOPICS[0])
    return tmp_path


def failure(tokbench: Tokbench, *arguments: object) -> str:
    """What a command that fails prints."""
    outcome = tokbench(*arguments)
    assert outcome.status == 2
    return outcome.stderr


@pytest.mark.parametrize("name", ["Letters", "letters"])
def test_objects_and_classes(folder: Path, name: str) -> None:
    from tokbench import load

    tokenizer = load(f"letters:{name}", form="python")
    assert (tokenizer.name, len(tokenizer), tokenizer.id_limit) == ("letters", 256, 256)
    assert tokenizer.encode("naïve").tolist() == list("naïve".encode())
    assert tokenizer.decode(tokenizer.encode("naïve")) == "naïve".encode()
    assert load(f"letters.py:{name}").encode("ab").tolist() == [97, 98]
    imported = tokenizer.origin["imported"]
    assert (imported["form"], imported["how"], imported["file"]) == ("python", "python", f"letters:{name}")
    assert len(imported["sha256"]) == 64


def test_a_function_without_decode_and_size(folder: Path, tokbench: Tokbench) -> None:
    printed = tokbench("import", "letters:encode", "--from", "python", "-o", "own", "--check", "text.txt").stderr
    assert "no decode: texts are not restored" in printed
    assert "no vocab_size: 200,863, by the largest id" in printed
    tokenizer = Tokenizer.load("own")
    assert len(tokenizer) == 200_863
    assert tokenizer.bytes_lost(b"abc") == 3
    with pytest.raises(TokbenchError, match="encode has no decode; name an object that has one"):
        tokenizer.decode([97])
    with pytest.raises(TokbenchError, match="id 1114111; ids are 0 to 200862; define vocab_size"):
        tokenizer.encode(chr(0x10FFFF))
    from tokbench import check

    with pytest.raises(TokbenchError, match="check: own has no decode; add one"):
        check(tokenizer)
    assert "has no decode, which the checks need" in failure(tokbench, "check", "letters.py:encode")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pieces", "letters.py: pieces: encode returned pieces of text; return their ids"),
        ("nothing", "encode returned None; return a list of ids"),
        ("negative", "encode returned the id -1; ids are 0 to"),
        ("broken", "encode raised ValueError: no such text; correct it"),
        ("number", "number is neither a function nor an object with encode; name one"),
        ("letter", "'letter' is not a name (.*). Did you mean 'letters'"),
        ("letters.encod", "'encod' is not a name (.*). Did you mean 'encode'"),
    ],
)
def test_mistakes_are_one_line(folder: Path, tokbench: Tokbench, name: str, message: str) -> None:
    printed = failure(tokbench, "import", f"letters:{name}", "--from", "python", "-o", "own")
    assert printed.count("\n") == 1
    with pytest.raises(TokbenchError, match=message):
        raise TokbenchError(printed)


def test_files_that_cannot_be_run(folder: Path, tokbench: Tokbench) -> None:
    for content, message in (
        ("def encode(text:\n", "is not Python"),
        ("raise RuntimeError('stop')\ndef encode(text): pass\n", "cannot be imported (RuntimeError: stop)"),
        ("import sys\nsys.exit(3)\ndef encode(text): pass\n", "cannot be imported (SystemExit: 3)"),
    ):
        Path("wrong.py").write_text(content)
        printed = failure(tokbench, "encode", "wrong.py:encode", "text.txt")
        assert message in printed
    assert "no file 'other.py'" in failure(tokbench, "import", "other:f", "--from", "python", "-o", "own")
    assert "is not a function of a module" in failure(tokbench, "import", "a b", "--from", "python", "-o", "own")
    arguments = ("encode", "letters.py:letters", "text.txt", "--pattern", "gpt2")
    assert "--pattern: is not for functions" in failure(tokbench, *arguments)


def test_commands_accept_a_file_and_a_function(folder: Path, tokbench: Tokbench) -> None:
    data = Path("text.txt").read_bytes()
    assert tokbench("encode", "letters.py:letters", "text.txt", "--count").stdout.decode().strip() == str(len(data))
    assert (
        "letters.py:letters"
        in tokbench("compare", "letters.py:letters", "letters.py:encode", "text.txt").stdout.decode()
    )
    assert "letters.py:letters: AdaptedTokenizer" in tokbench("check", "letters.py:letters").stdout.decode()


def test_an_imported_folder_runs_only_trusted_files(
    folder: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs because a folder says so: neither unknown, nor changed, nor missing files."""
    tokbench("import", "letters:letters", "--from", "python", "-o", "own")
    measure = ("measure", "own", "--documents", "text.txt", "-o", "own.json")
    monkeypatch.setenv(TRUSTED, "")
    file = folder.resolve() / "letters.py"
    with pytest.raises(TokbenchError, match=f"runs code of {file}; if you trust that file, set {TRUSTED}={file}"):
        Tokenizer.load("own")
    monkeypatch.setenv(TRUSTED, f"/elsewhere.py:{file}")
    tokbench(*measure)
    [tokens] = [
        row for row in json.loads(Path("own.json").read_text())["measurements"] if "token_count" in row["metric"]
    ][:1]
    assert tokens["value"] == len(Path("text.txt").read_bytes())
    Path("letters.py").write_text(LETTERS + "\n")
    assert "has changed since the tokenizer was imported; import the tokenizer again" in failure(tokbench, *measure)
    Path("letters.py").unlink()
    assert "which is not on this machine; import the tokenizer here" in failure(tokbench, *measure)


def experiment(folder: Path, **variant: object) -> Path:
    """A configuration in ``folder`` with one built tokenizer and one of Python."""
    path = folder / "mine.yaml"
    mine = {"from": "python", "path": "letters:letters"} | variant
    built = {"pretokenization": "gpt2", "construction": "bpe"}
    corpus = {
        "source": {"type": "text", "path": "books.txt", "documents": "line"},
        "splits": {"tokenizer": 0.5, "evaluation": 0.5},
    }
    values = {"name": "mine", "corpora": {"books": corpus}, "variants": {"bpe": built, "mine": mine}, "sizes": [300]}
    path.write_text(yaml.safe_dump(values))
    return path


def test_validation_runs_nothing(folder: Path, tokbench: Tokbench) -> None:
    """The module is a file of the configuration's folder. It is parsed, and its names are looked up."""
    Path("books.txt").write_bytes(b"\n".join(TOPICS[:4]))
    below = folder / "below"
    below.mkdir()
    (below / "letters.py").write_text("open('ran', 'w')\n" + LETTERS)
    configuration = experiment(below)
    tokbench("validate", configuration)
    assert read(configuration).elsewhere["mine"].path == "below/letters.py:letters"
    assert not Path("ran").exists()
    for changed, message in (
        ({"path": "letters:leters"}, "variants.mine.path: below/letters.py: 'leters' is not a name"),
        ({"path": "other:encode"}, "variants.mine.path: no file 'below/other.py'"),
        ({"path": "letters"}, "variants.mine.path: 'letters' is not a function of a module; write MODULE:FUNCTION"),
        ({"path": None}, "variants.mine.path: no path given; write MODULE:FUNCTION"),
        ({"pattern": "gpt2"}, "variants.mine.pattern: is not for from: python; leave it out"),
        ({"special_tokens": {"a": 1}}, "variants.mine.special_tokens: is not for from: python"),
    ):
        assert message in failure(tokbench, "validate", experiment(below, **changed))
    assert not Path("ran").exists()


def test_a_run_measures_it_and_an_edit_reruns_its_chain(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    for name, content in (
        ("letters.py", LETTERS),
        ("helper.py", "VALUE = 1\n"),
        ("books.txt", b"\n".join(TOPICS[:8]).decode()),
    ):
        (tmp_path / name).write_text(content)
    experiment(tmp_path)
    targets = ("results/mine/tables", "--configfile", "mine.yaml")
    checkout.snakemake("--cores", "2", *targets)
    rows = pl.read_parquet(tmp_path / "results/mine/tables/intrinsic.parquet")
    assert rows.filter(variant="mine", metric="corpus_token_count").height
    with checkout.edited("letters.py", "list(text.encode())", "[*text.encode()]"):
        pending = {name for name, again in checkout.summary("mine.yaml").items() if again}
    assert {"tokenizers/mine/own", "intrinsic/mine/own.json", "tables"} <= pending
    assert not {"tokenizers/bpe/300", "intrinsic/bpe/300.json", "corpus/books"} & pending
    checkout.close()
