"""``from: python``: a function or an object of a Python file as an external tokenizer, in Python, commands and runs."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.conftest import TOPICS, Tokbench
from tests.support.workflow.checkout import Checkout
from tokbench.config.load import read
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import read_adapted, sealed_adapted
from tokbench.tokenizer.libraries.python import TRUSTED

LETTERS = """
import os
import helper

raise_when_imported = helper.VALUE

alias, library = os.system, os

class Letters:
    vocab_size = 256
    system, library = staticmethod(os.system), os

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
    """Error message of a failing command."""
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
    with pytest.raises(TokbenchError, match=r"letters.py:encode: has no decode; name an object that has one"):
        tokenizer.decode([97])
    with pytest.raises(TokbenchError, match="id 1114111; ids are 0 to 200862; define vocab_size"):
        tokenizer.encode(chr(0x10FFFF))
    from tokbench import check

    with pytest.raises(TokbenchError, match=r"check: .*letters.py:encode: has no decode; name an object that has one"):
        check(tokenizer)
    assert "letters.py:encode: has no decode; name an object" in failure(tokbench, "check", "letters.py:encode")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pieces", "letters:pieces: encode returned pieces of text; return their ids"),
        ("nothing", "encode returned None; return a list of ids"),
        ("negative", "encode returned the id -1; ids are 0 to"),
        ("broken", "encode raised ValueError: no such text; correct it"),
        ("number", "number is neither a function nor an object with encode; name one"),
        ("letter", "'letter' is not a name (.*). Did you mean 'letters'"),
        ("letters.encod", "'encod' is not a name (.*). Did you mean 'encode'"),
        ("helper", "letters.py: 'helper' is imported, not defined in this file; define a function that calls it"),
        ("helper.VALUE", "letters.py: 'helper' is imported, not defined in this file"),
        ("alias", "'alias' is of posix, not of this file; define a function that calls it"),
        ("library", "'library' is a module, not of this file"),
        ("Letters.system", "'system' is of posix, not of this file"),
        ("letters.library.system", "'library' is a module, not of this file"),
        ("number.bit_length", "'number' is neither a class of this file nor an object of one; name one"),
        ("encode.__globals__", "'encode' is neither a class of this file nor an object of one; name one"),
        ("letters.__reduce__", "'__reduce__' is of None, not of this file"),
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
        (
            "raise RuntimeError('stop')\ndef encode(text): pass\n",
            "wrong.py:encode: the import of the file raised RuntimeError: stop;",
        ),
        (
            "import sys\nsys.exit(3)\ndef encode(text): pass\n",
            "wrong.py:encode: the import of the file raised SystemExit: 3;",
        ),
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
    file = folder.resolve() / "letters.py"
    message = f"own: runs letters of letters.py; if you trust that file, set {TRUSTED}=FOLDER/letters.py:letters"
    for trusted in ("", f"{file}:Letters", f"{file}:letters.encode"):
        monkeypatch.setenv(TRUSTED, trusted)
        with pytest.raises(TokbenchError, match=message):
            Tokenizer.load("own")
    for wrong in (str(file), "letters.py:letters", f"{file}:letters:other"):
        monkeypatch.setenv(TRUSTED, wrong)
        with pytest.raises(TokbenchError, match=f"own: {TRUSTED}: '.*' is not an absolute FILE.py:NAME; write one"):
            Tokenizer.load("own")
    monkeypatch.setenv(TRUSTED, f"/else, where.py:letters:{file}:Letters:{file}:letters")
    tokbench(*measure)
    [tokens] = [
        row for row in json.loads(Path("own.json").read_text())["measurements"] if "token_count" in row["metric"]
    ][:1]
    assert tokens["value"] == len(Path("text.txt").read_bytes())
    Path("letters.py").write_text(LETTERS + "\n")
    assert "has changed since the tokenizer was imported; import the tokenizer again" in failure(tokbench, *measure)
    Path("letters.py").unlink()
    assert "is not on this machine; import the tokenizer again" in failure(tokbench, *measure)


def test_imported_function_opens_from_a_moved_file(
    folder: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder names the file without its place; the trusted file with the recorded content is run."""
    tokbench("import", folder / "letters.py:letters", "--from", "python", "-o", "own")
    assert not [file for file in Path("own").iterdir() if str(folder).encode() in file.read_bytes()]
    assert not [file for file in Path("own").iterdir() if str(folder.resolve()).encode() in file.read_bytes()]
    below = folder / "below"
    below.mkdir()
    for name in ("letters.py", "helper.py"):
        Path(name).rename(below / name)
    monkeypatch.setenv(TRUSTED, f"{below / 'letters.py'}:letters")
    assert Tokenizer.load("own").encode("ab").tolist() == [97, 98]


@pytest.mark.parametrize("name", ["os.system", "alias", "Letters.system", "letters.library.system", "helper.VALUE"])
def test_a_record_reaches_no_other_function(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A folder from somebody else that names another function of a trusted file runs nothing of that file."""
    from tokbench import load

    load("letters:letters", form="python").save("own")
    settings, content = read_adapted(Path("own"))
    record = json.dumps(json.loads(content) | {"function": name}).encode()
    Path("own", "adapted").write_bytes(record)
    Path("own", "tokbench.json").write_text(sealed_adapted(vars(settings) | {"sha256": ""}, record))
    file = folder / "letters.py"
    for trusted in (f"{file}:letters", f"{file}:{name}"):
        monkeypatch.setenv(TRUSTED, trusted)
        with pytest.raises(TokbenchError, match=r"if you trust that file|not (defined in|of) this file"):
            Tokenizer.load("own").encode("touch ran")
    assert not Path("ran").exists()


def test_the_content_that_runs_is_that_of_the_checksum(folder: Path) -> None:
    """Python may have a compiled file of another content with the same size and time."""
    import os
    import py_compile

    from tokbench import load

    time = Path("letters.py").stat().st_mtime
    Path("letters.py").write_text(LETTERS.replace("return bytes(ids)", "return b'other' "))
    os.utime("letters.py", (time, time))
    py_compile.compile("letters.py")
    Path("letters.py").write_text(LETTERS)
    os.utime("letters.py", (time, time))
    assert load("letters:letters", form="python").decode([97]) == b"a"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("try:\n    from fast import encode\nexcept ImportError:\n    def encode(text): return [1]\n", "encode"),
        ("import functools\n@functools.cache\ndef encode(text): return [1]\n", "encode"),
        ("import foreign\n@foreign.changed\ndef encode(text): return [1]\n", "encode"),
        ("encode = lambda text: [1]\n", "encode"),
        ("number = " + "+".join("1" * 2000) + "\ndef encode(text): return [1]\n", "encode"),
        ("class A:\n    def own(self, text): return [1]\nencode = A().own\n", "encode"),
        ("class A:\n    class B:\n        @staticmethod\n        def f(text): return [1]\n", "A.B.f"),
        ("class A:\n    def f(self, text): return [1]\na = A()\n", "a.f"),
        ("import foreign\ntokenizer = foreign.Tokenizer()\n", "tokenizer"),
        ("if True:\n    with open(__file__):\n        def encode(text): return [1]\n", "encode"),
    ],
)
def test_names_that_a_file_defines(folder: Path, content: str, name: str) -> None:
    from tokbench import load

    Path("foreign.py").write_text(
        "def changed(function): return lambda text: function(text)\n\n"
        "class Tokenizer:\n    def encode(self, text): return [1]\n"
    )
    Path("own.py").write_text(content)
    assert load(f"own:{name}", form="python").encode("a").tolist() == [1]


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
    assert read(configuration).external["mine"].path == "below/letters.py:letters"
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
