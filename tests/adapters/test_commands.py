"""``tokbench import``: folders, names on the hub, and mistakes; ``tokbench.load`` and ``tokbench.wrap``."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import base64
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import DATA, level, ranks, read  # noqa: F401
from tokbench.adapters.forms import FORMS
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary


def test_load_accepts_the_same_files_as_import(
    level: dict[str, Any], tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenizers import Tokenizer as FastTokenizer
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    from tokbench import load

    file = made.written(tmp_path / "mine.json", level)
    text = TOPICS[0]
    tokbench("import", file, "--from", "tokenizer_json", "-o", tmp_path / "ours")
    expected = Tokenizer.load(tmp_path / "ours")
    fast = FastTokenizer.from_file(str(file))

    def download(name: str, *, revision: str, allow_patterns: list[str], local_dir: str) -> None:
        made.written(Path(local_dir) / "tokenizer.json", level)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    sources = [file, str(file), tmp_path / "ours", expected, fast, PreTrainedTokenizerFast(tokenizer_object=fast)]
    sources.append(AutoTokenizer.from_pretrained(tmp_path / "ours"))
    loaded = [*map(load, sources), load("some/model", revision="a" * 40)]
    for tokenizer in loaded:
        assert type(tokenizer) is Tokenizer
        assert tokenizer.encode(text).tolist() == expected.encode(text).tolist()
    assert [one.name for one in loaded[:3]] == ["mine", "mine", "ours"]
    assert loaded[3] is expected
    assert load(fast, name="named").name == "named"
    assert (load(expected, name="other").name, expected.name) == ("other", "ours")
    assert loaded[-1].origin["imported"]["file"] == "some/model"
    assert {one.origin["imported"]["file"] for one in loaded[4:6]} == {
        "tokenizers.Tokenizer",
        f"transformers.{PreTrainedTokenizerFast.__name__}",
    }


def ranks_file(path: Path, ranks: dict[bytes, int]) -> Path:
    return made.written(path, "".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))


def test_load_reads_encodings_of_tiktoken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    import tiktoken

    from tokbench import load

    file = ranks_file(tmp_path / "small.tiktoken", ranks)
    from_file = load(file, pattern="gpt2", special_tokens={"<|end|>": 5000})
    encoding = tiktoken.Encoding(
        "small",
        pat_str=r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        mergeable_ranks=ranks,
        special_tokens={"<|end|>": 5000},
    )
    loaded = load(encoding)
    assert (loaded.name, loaded.pretokenization) == ("small", "gpt2")
    text = TOPICS[0].decode()
    assert loaded.encode(text).tolist() == from_file.encode(text).tolist() == encoding.encode_ordinary(text)
    assert loaded.vocabulary.special == {5000: b"<|end|>"}


def test_load_reads_models_of_sentencepiece_and_rejects_slow_tokenizers(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    from transformers import BertTokenizer, ByT5Tokenizer

    from tokbench import load

    with (tmp_path / "model").open("wb") as file:
        texts = iter(["the cat sat on the mat", "a hat and a mat"] * 20)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=file, vocab_size=40, model_type="bpe", minloglevel=2
        )
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "model"))
    loaded = load(model)
    assert (loaded.name, loaded.library_name) == ("SentencePieceProcessor", "sentencepiece")
    assert loaded.encode("the cat").tolist() == model.encode("the cat")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    assert load(BertTokenizer(str(tmp_path / "vocab.txt"))).encode("A b").tolist() == [5, 1]
    with pytest.raises(TokbenchError) as error:
        load(ByT5Tokenizer())
    assert str(error.value).startswith("load: transformers.ByT5Tokenizer: no known tokenizer")
    assert str(error.value).endswith("; pass the fast version of it, or a function through tokbench.wrap")


def test_load_rejects_other_things(ranks: dict[bytes, int], tmp_path: Path) -> None:
    from tokbench import load, wrap

    file = ranks_file(tmp_path / "ranks", ranks)
    mistakes: list[tuple[Any, dict[str, Any], str]] = [
        ("none.json", {}, "load: none.json: no such file or folder; name that of a tokenizer"),
        ("owner/name", {}, "name that of a tokenizer, or add revision for a name on the hub"),
        ("owner/name", {"revision": "main"}, "load: revision main: pass the full hash, 40 hexadecimal digits"),
        (tmp_path, {}, "no tokenizer here"),
        (file, {}, "name it, as in pattern='cl100k'"),
        (file, {"form": "rank"}, "form: 'rank' is not a form ("),
        (5, {}, "load: 5 is not a tokenizer that can be read; pass a path, or an object of a tokenizer"),
        (print, {}, "pass tokbench.wrap(function)"),
        (wrap(str.split), {"pattern": "gpt2"}, "pattern: is not for a tokenizer of Tokbench; leave it out"),
        (wrap(str.split), {"revision": "a" * 40}, "revision: is only for names and paths; leave it out"),
    ]
    for source, options, message in mistakes:
        with pytest.raises(TokbenchError) as error:
            load(source, **options)
        assert message in str(error.value)


def test_wrap_any_function(level: dict[str, Any], tmp_path: Path) -> None:
    from tokenizers import Tokenizer as FastTokenizer

    from tokbench import compare, load, measure, wrap

    fast = FastTokenizer.from_file(str(made.written(tmp_path / "mine.json", level)))
    ours = load(fast, name="ours")
    texts = ["the cat and the hat", "a mat", ""]
    wrapped = [wrap(fast.encode, fast.decode), wrap(lambda text: fast.encode(text).ids, name="sized", size=420)]
    for tokenizer in wrapped:
        assert [tokenizer.encode(text).tolist() for text in texts] == [ours.encode(text).tolist() for text in texts]
    table = compare([ours, *wrapped], texts)
    assert table["name"].to_list() == ["ours", "encode", "sized"]
    assert table["size"].to_list() == [420, None, 420]
    assert table["difference"].to_list() == [None, 0.0, 0.0]
    values = [
        dict(zip(rows["metric"], rows["value"], strict=True)) for rows in (measure(one, texts) for one in wrapped)
    ]
    assert (values[0]["vocabulary_size"], values[1]["vocabulary_size"]) == (None, 420.0)
    assert values[0]["bytes_per_token"] == values[1]["bytes_per_token"] == table["bytes_per_token"][0]
    assert wrapped[0].decode(wrapped[0].encode("the cat")) == fast.decode(fast.encode("the cat").ids).encode()


def test_wrapped_pieces_have_ids_in_their_order() -> None:
    from tokbench import wrap

    words = wrap(str.split)
    assert words.encode("b a b").tolist() == [0, 1, 0]
    assert (words.decode([1, 0]), len(words), repr(words)) == (
        b"ab",
        2,
        "WrappedTokenizer('split', Python, size unknown)",
    )
    assert (words.tokenize("a b"), words("b").tolist(), words.decode_text([1, 0])) == (["a", "b"], [0], "ab")
    assert words._repr_html_().endswith("longest tokens: <code>a</code>, <code>b</code></div>")
    again = pickle.loads(pickle.dumps(words))
    assert again.encode("a c").tolist() == [1, 2]
    assert again.byte_offsets("c").tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda wrap: wrap("no function"), "wrap: encode 'no function' is not a function; pass one"),
        (lambda wrap: wrap(len, 5), "wrap: decode 5 is not a function; pass one"),
        (lambda wrap: wrap(len, size=0), "size 0: must be a whole number from 1 to"),
        (lambda wrap: wrap(len).encode("a"), "len: encode returned 1; return the ids of the text, or its pieces"),
        (lambda wrap: wrap(lambda text: [-1], name="x").encode("a"), "x: encode returned the id -1; ids are 0 to"),
        (lambda wrap: wrap(lambda text: [9], size=9, name="x").encode("a"), "the id 9; ids are 0 to 8"),
        (lambda wrap: wrap(lambda text: [0.5], name="x").encode("a"), "x: encode returned 0.5 for an id"),
        (lambda wrap: wrap(lambda text: [0], name="x").decode([0]), "x: has no decode; pass one, as in"),
        (lambda wrap: wrap(str.split).save("folder"), "split: a wrapped function cannot be saved"),
    ],
)
def test_wrap_rejects_objects_that_are_not_tokenizers(call: Any, message: str) -> None:
    from tokbench import wrap

    with pytest.raises(TokbenchError) as error:
        call(wrap)
    assert message in str(error.value)


def test_an_exception_of_a_wrapped_function_is_the_cause_of_the_error() -> None:
    from tokbench import wrap

    with pytest.raises(TokbenchError, match="divide: encode raised ZeroDivisionError") as error:
        wrap(lambda text: 1 / 0, name="divide").encode("a")
    assert isinstance(error.value.__cause__, ZeroDivisionError)


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
    assert "its losses are not measured; name documents with --check" in told.stderr
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
        f"tokbench: {tmp_path / 'theirs'}: works through tokenizers and has no pre-tokens; pass --documents"
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
    assert "or add --revision for a name on the hub" in tokbench(*line).message
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import @ranks --from rank", "--from: 'rank' is not a form ("),
        ("import @ranks --from tiktoken", "has no pre-tokenization pattern; name it, as in --pattern cl100k"),
        ("import @ranks --from tiktoken --pattern cl100", "--pattern: 'cl100' is not a pattern"),
        (
            "import @ranks --from tiktoken --pattern (",
            "pattern: is not a regular expression (missing )",
        ),
        ("import @ranks --from tekken", "not JSON"),
        ("import @ranks --from sentencepiece", "not a model of SentencePiece"),
        ("import @ranks --from tokenizer_json --pattern gpt2", "its pattern is in the file; leave --pattern out"),
        ("import @ranks --from tokens", "name both, as in --pattern gpt2 --segmentation greedy"),
        ("import @ranks --from merges", "a part or the result of the merge is not in the vocabulary"),
        ("import @ranks --from transformers", "has no pre-tokenization pattern; name it, as in --pattern cl100k"),
        ("import @nowhere --from tokens", "no such file or folder"),
        ("import @ranks --from tokens --revision abc", "only --from transformers accepts a name on the hub"),
        ("import name --from transformers --revision main", "pass the full hash, 40 hexadecimal digits"),
        ("import @folder --from tiktoken --pattern gpt2", "a folder; name a file in it"),
        ("import @folder --from transformers", "no known tokenizer"),
        ("import @ranks --from tiktoken --pattern gpt2 --segmentation merge", "segmentation 'merge' needs merges"),
        ("import @ranks --from tiktoken --pattern gpt2 --segmentation gready", "'gready' is not a segmentation"),
        (
            "import @ranks --from tiktoken --pattern gpt2 --special <s>",
            "--special <s>: '<s>' is not a whole number; write plain digits, as in 1024; pass NAME=ID",
        ),
        ("import @ranks --from tiktoken --pattern gpt2 --special =7", "--special =7: it has no name; pass NAME=ID"),
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
            "special tokens apply only to files of ranks, not to 'tekken'; leave them out",
        ),
        (
            "import @ranks --from tiktoken --pattern gpt2 --text-field a",
            "--text-field: only for files of --check; name some",
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
        (b"YQ== 0\n", "255 of the 256 bytes are not tokens"),
        (bytes_alone + b"YQ== 300\n", "the token 61 occurs twice"),
        (bytes_alone + b"YWI= 3\n", "have the same rank, 3"),
        (bytes_alone + b"YWI= -3\n", ":257: this line is not a token"),
        (bytes_alone + b"YW!I= 300\n", ":257: this line is not a token"),
        (bytes_alone + b" 300\n", ":257:"),
        (b"\xff\xfe", ":1: "),
    ):
        path = made.written(tmp_path / "a.tiktoken", content)
        with pytest.raises(TokbenchError) as error:
            read(path, "tiktoken", pattern="gpt2")
        assert told in str(error.value)
        assert str(path) in str(error.value)


def test_a_file_without_end_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokbench.adapters.forms.files.LARGEST_TOKENIZER", 1000)
    path = made.written(tmp_path / "a.tiktoken", b"x" * 2000)
    with pytest.raises(TokbenchError, match="more than 1,000 bytes, as no tokenizer has"):
        read(path, "tiktoken", pattern="gpt2")


def test_every_form_has_a_reader() -> None:
    folder = Path(__file__).parents[2] / "src" / "tokbench" / "adapters" / "forms"
    assert all((folder / f"{form}.py").is_file() for form in FORMS)
    assert DATA  # The real ones are in test_existing_real.


def test_names_that_are_no_utf8(tmp_path: Path, tokbench: Tokbench) -> None:
    """Unusual file names do not end a command, and a folder with such a name can be opened again."""
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
            ("compare", tmp_path / "a", tmp_path / "b", text, folder),
            ("count", "--pretokenization", "gpt2", text, folder, "-o", tmp_path / "c.parquet"),
            ("measure", tmp_path / "a", "--documents", folder),
            ("check", tmp_path / "a", folder),
        ):
            told = tokbench(*command)
            assert told.status == 2
            reason = (
                f"a tokenizer after the text {text}" if command[0] == "compare" else "the folder of a tokenizer, and a"
            )
            assert told.message.startswith(f"tokbench: {folder}: {reason}")


def test_a_folder_of_several_files_of_ranks(tmp_path: Path, tokbench: Tokbench) -> None:
    """Of different files none is taken unnamed; a folder of such a name is no file."""
    ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    folder = tmp_path / "folder"
    (folder / "a.tiktoken").mkdir(parents=True)
    made.written(folder / "b.tiktoken", ranks)
    assert tokbench("check", folder, "--pattern", "gpt2").status == 0
    made.written(folder / "c.tiktoken", ranks)
    assert tokbench("check", folder, "--pattern", "gpt2").status == 0
    made.written(folder / "c.tiktoken", ranks + b"YWE= 256\n")
    told = tokbench("check", folder, "--pattern", "gpt2")
    assert told.status == 2
    message = "several files of ranks (b.tiktoken, c.tiktoken); name one of them, with from: transformers"
    assert told.message.endswith(message)


def test_export_of_a_file_is_rejected(tmp_path: Path, tokbench: Tokbench) -> None:
    file = made.written(tmp_path / "tokenizer.json", "{}")
    message = f"tokbench: {file}: a file, and a folder of a tokenizer is expected here; name the folder"
    assert tokbench("export", file, "--to", "tokens", "-o", tmp_path / "out").message == message
