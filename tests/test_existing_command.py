"""``tokbench import``: folders, names on the hub, and mistakes."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_data import DATA
from tests.support.external_tokenizers import few, level, ranks, read  # noqa: F401
from tokbench.adapters.forms import FORMS
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

# The command line


def test_import(level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    """Both kinds of folder go where others go; what needs counts says so of an adapter."""
    ours = made.written(tmp_path / "ours.json", level)
    theirs = made.written(tmp_path / "theirs.json", level | {"normalizer": {"type": "Lowercase"}})
    text = made.written(tmp_path / "text.txt", TOPICS[0] + b" Straight")
    told = tokbench("import", ours, "--from", "tokenizer_json", "-o", tmp_path / "ours", "--check", text)
    assert told.status == 0
    assert "native: merge; ids equal those of tokenizers on" in told.stderr
    assert "and 1 documents" in told.stderr
    assert "420 tokens that a text can give, ids below 420" in told.stderr
    assert "nothing lost of 1 documents" in told.stderr
    told = tokbench("import", theirs, "--from", "tokenizer_json", "-o", tmp_path / "theirs", "--check", text)
    assert "by tokenizers; it normalises texts (Lowercase)" in told.stderr
    assert "1 of 1 documents are not restored" in told.stderr
    loss = json.loads((tmp_path / "theirs" / "tokbench.json").read_text())["origin"]["imported"]["loss"]
    assert (loss["documents"], loss["documents_changed"]) == (1, 1)
    told = tokbench("import", theirs, "--from", "tokenizer_json", "-o", tmp_path / "theirs")
    assert "what it loses is not measured; name documents with --check" in told.stderr
    for name in ("ours", "theirs"):
        folder = tmp_path / name
        number = int(tokbench("encode", folder, text, "--count").stdout)
        assert number == len(Tokenizer.load(folder).encode(text.read_bytes()))
        tokbench("encode", folder, text, "-o", tmp_path / f"{name}.ids")
        decoded = tokbench("decode", folder, tmp_path / f"{name}.ids").stdout
        assert decoded == (text.read_bytes().lower() if name == "theirs" else text.read_bytes())
    assert tokbench("compare", tmp_path / "ours", tmp_path / "theirs", text).status == 0
    assert tokbench("count", "--scheme", "gpt2", text, "-o", tmp_path / "counts.parquet").status == 0
    assert tokbench("measure", tmp_path / "ours", "--counts", tmp_path / "counts.parquet").status == 0
    line = tokbench("measure", tmp_path / "theirs", "--counts", tmp_path / "counts.parquet").message
    assert line == (
        f"tokbench: {tmp_path / 'theirs'}: works through tokenizers and has no pre-tokens; give --documents"
    )


def test_a_name_on_the_hub(
    level: dict[str, Any], tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tokenizer's files alone are fetched, at the revision that is named; the hub is not asked without one."""
    asked = []

    def download(name: str, *, revision: str, allow_patterns: list[str], local_dir: str) -> None:
        asked.append((name, revision))
        assert not any(pattern.endswith((".py", ".bin", "*")) for pattern in allow_patterns)
        if revision.startswith("0"):
            raise OSError("not there\nat all")
        made.written(Path(local_dir) / "tokenizer.json", level)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    revision = "a" * 40
    line = ["import", "some/model", "--from", "transformers", "-o", tmp_path / "out"]
    assert tokbench(*line, "--revision", revision).status == 0
    assert asked == [("some/model", revision)]
    imported = Tokenizer.load(tmp_path / "out").origin["imported"]
    assert (imported["file"], imported["options"]["revision"]) == ("some/model", revision)
    assert "some/model at 00000000: cannot be fetched (not there)" in tokbench(*line, "--revision", "0" * 40).message
    assert "name one, or a name on the hub with its --revision" in tokbench(*line).message
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import @ranks --from rank", "--from: 'rank' is not a form ("),
        ("import @ranks --from tiktoken", "does not say how texts are cut; name the pattern, as in --pattern cl100k"),
        ("import @ranks --from tiktoken --pattern cl100", "--pattern: 'cl100' is not a pattern"),
        (
            "import @ranks --from tiktoken --pattern (",
            "pattern: is no regular expression (missing )",
        ),
        ("import @ranks --from tekken", "not JSON"),
        ("import @ranks --from sentencepiece", "not a model of SentencePiece"),
        ("import @ranks --from tokenizer_json --pattern gpt2", "how it cuts texts is in the file; leave --pattern out"),
        ("import @ranks --from tokens", "name both, as in --pattern gpt2 --segmentation greedy"),
        ("import @ranks --from merges", "a part or the result of the merge is no token"),
        ("import @ranks --from transformers", "no folder of transformers"),
        ("import @nowhere --from tokens", "no such file or folder"),
        ("import @ranks --from tokens --revision abc", "only --from transformers takes a name on the hub"),
        ("import name --from transformers --revision main", "give the full hash, 40 hexadecimal digits"),
        ("import @folder --from tiktoken --pattern gpt2", "a folder; name a file in it"),
        ("import @folder --from transformers", "no tokenizer that is known"),
        ("import @ranks --from tiktoken --pattern gpt2 --segmentation merge", "segmentation 'merge' needs merges"),
        ("import @ranks --from tiktoken --pattern gpt2 --segmentation gready", "'gready' is not a segmentation"),
        (
            "import @ranks --from tiktoken --pattern gpt2 --special <s>",
            "--special <s>: '<s>' is not a whole number; write plain digits, as in 1024; give NAME=ID",
        ),
        ("import @ranks --from tiktoken --pattern gpt2 --special =7", "--special =7: it has no name; give NAME=ID"),
        (
            "import @ranks --from tiktoken --pattern gpt2 --special <s>=500 --special <s>=501",
            "--special <s>=501: '<s>' has the ids 500 and 501",
        ),
        (
            "import @ranks --from tiktoken --pattern gpt2 --special <s>=500 --special </s>=500",
            "special tokens: '<s>' and '</s>' have one id, 500; give each its own",
        ),
        (
            "import @ranks --from tiktoken --pattern gpt2 --special <s>=3",
            "special tokens: '<s>' has the id 3, which is a rank of the file; give it another",
        ),
        (
            "import @ranks --from tekken --special <s>=500",
            "special tokens are given with files of ranks alone, not with 'tekken'; leave them out",
        ),
        (
            "import @ranks --from tiktoken --pattern gpt2 --text-field a",
            "--text-field: for files of --check only; name some",
        ),
    ],
)
def test_mistakes(line: str, told: str, ranks: dict[bytes, int], tmp_path: Path, tokbench: Tokbench) -> None:
    made.written(tmp_path / "ranks", made.tiktoken_file(ranks))
    (tmp_path / "folder").mkdir()
    words = [str(tmp_path / word[1:]) if word.startswith("@") else word for word in line.split(" ")]
    message = tokbench(*words, "-o", tmp_path / "out").message
    assert told in message
    assert not (tmp_path / "out").exists()


def test_damaged_ranks(tmp_path: Path) -> None:
    bytes_alone = made.tiktoken_file({byte: rank for rank, byte in enumerate(BYTES)})
    for content, told in (
        (b"YQ== 0\n", "255 of the 256 bytes are no tokens"),
        (bytes_alone + b"YQ== 300\n", "the token 61 stands twice"),
        (bytes_alone + b"YWI= 3\n", "have one rank, 3"),
        (bytes_alone + b"YWI= -3\n", ":257: this line is no token"),
        (bytes_alone + b"YW!I= 300\n", ":257: this line is no token"),
        (bytes_alone + b" 300\n", ":257:"),
        (b"\xff\xfe", ":1: "),
    ):
        path = made.written(tmp_path / "a.tiktoken", content)
        with pytest.raises(TokbenchError) as error:
            read(path, "tiktoken", pattern="gpt2")
        assert told in str(error.value)
        assert str(path) in str(error.value)


def test_a_file_without_end_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokbench.adapters.forms.files.LARGEST_FILE", 1000)
    path = made.written(tmp_path / "a.tiktoken", b"x" * 2000)
    with pytest.raises(TokbenchError, match="more than 1,000 bytes, as no tokenizer has"):
        read(path, "tiktoken", pattern="gpt2")


def test_every_form_has_a_reader() -> None:
    folder = Path(__file__).parents[1] / "src" / "tokbench" / "adapters" / "forms"
    assert all((folder / f"{form}.py").is_file() for form in FORMS)
    assert DATA  # The real ones are in test_existing_real.


def test_names_that_are_no_utf8(tmp_path: Path, tokbench: Tokbench) -> None:
    """What a file is called does not end a command, and a folder of such a name is opened again."""
    ranks, text, folder = (tmp_path / os.fsdecode(name) for name in (b"r\xff.tiktoken", b"t\xff.txt", b"o\xff"))
    made.written(ranks, b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)))
    made.written(text, TOPICS[0])
    counts, none = tmp_path / "counts.parquet", tmp_path / os.fsdecode(b"c\xff.parquet")
    assert tokbench("count", "--pretokenization", "gpt2", text, "-o", counts).status == 0
    built = ("build", "bpe", "--counts", counts, "--size", 260, "-o", folder)
    for command in (("count", "--pretokenization", "gpt2", text, "-o", none), built):
        told = tokbench(*command)
        assert told.status == 2
        assert told.message.endswith("the name is not UTF-8, as is needed here; rename it")
    assert tokbench("import", ranks, "--from", "tiktoken", "--pattern", "gpt2", "-o", folder).status == 0
    assert Tokenizer.load(folder).name == r"o\udcff"
    assert int(tokbench("encode", folder, text, "--count").stdout) == len(TOPICS[0])
    assert tokbench("measure", folder, "--counts", counts).status == 0
    other = tmp_path / "other"
    assert tokbench(*built[:-1], other).status == 0
    assert tokbench("compare", folder, other, text).status == 0
    assert tokbench("check", ranks, "--pattern", "gpt2").status == 0
    trained = ("ngram_bits", folder, "--train", text, "--test", text, "-o", tmp_path / "bits.json")
    assert tokbench(*trained).status == 0
    counts.rename(none)
    assert tokbench("measure", folder, "--counts", none).message.endswith(
        "the name is not UTF-8, as is needed here; rename it"
    )


def test_a_tokenizers_folder_is_no_text(level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    """A third tokenizer of 'compare' is no text of the other two, wherever texts are named."""
    for name in ("a", "b"):
        Tokenizer(Vocabulary(BYTES), "gpt2" if name == "a" else "none", "greedy", name=name).save(tmp_path / name)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    made.written(theirs / "tokenizer.json", level)
    text = made.written(tmp_path / "text.txt", TOPICS[0])
    for folder in (tmp_path / "a", theirs):
        for command in (
            ("compare", tmp_path / "a", tmp_path / "b", folder, text),
            ("count", "--pretokenization", "gpt2", text, folder, "-o", tmp_path / "c.parquet"),
            ("measure", tmp_path / "a", "--documents", folder),
            ("check", tmp_path / "a", folder),
        ):
            told = tokbench(*command)
            assert told.status == 2
            assert told.message == (
                f"tokbench: {folder}: a tokenizer's folder, and a text is read here; name a file or folder of text"
            )


def test_a_folder_of_several_files_of_ranks(tmp_path: Path, tokbench: Tokbench) -> None:
    """None is taken unnamed; a folder of such a name is no file."""
    ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    folder = tmp_path / "folder"
    (folder / "a.tiktoken").mkdir(parents=True)
    made.written(folder / "b.tiktoken", ranks)
    assert tokbench("check", folder, "--pattern", "gpt2").status == 0
    made.written(folder / "c.tiktoken", ranks)
    told = tokbench("check", folder, "--pattern", "gpt2")
    assert told.status == 2
    assert told.message.endswith("several files of ranks (b.tiktoken, c.tiktoken); name one of them")
