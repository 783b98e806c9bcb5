"""Files of other libraries as arguments in place of a tokenizer's folder: detected formats, options, mistakes.

The vocabularies that the authors of "Tokenization Is More Than Compression" released, at 40,960 tokens.

Table 11 and figure 5 are recomputed from them in ``test_intrinsic.py``. Here they are used: their token counts on
MiniPile are consistent, our schemes and segmentations can produce their tokens, and token counts of text have the
paper's order.
"""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import (  # noqa: F401
    ENGLISH,
    PUBLISHED,
    RUNS,
    SPECIAL,
    TIMTC,
    counted,
    counts,
    few,
    level,
    needs,
    ranks,
    read,
    released_bpe,
    texts,
    tokenizer,
    vocabulary,
)
from tokbench.adapters.forms.transformers import detect_format
from tokbench.errors import TokbenchError
from tokbench.inspection.checks.run import GROUPS
from tokbench.pretokenization import schemes
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

PATTERN = ("--pattern", "cl100k")
TEXT = "I'LL pay for it, naïve"


@pytest.fixture
def files(level: dict[str, Any], ranks: dict[bytes, int], tmp_path: Path) -> dict[str, Path]:
    """One of each form, under names that tell nothing."""
    merges = "\n".join(" ".join(pair) for pair in level["model"]["merges"])
    tokens = "".join(f"{token.hex()}\r\n" for token in (*BYTES, b"the"))
    contents: dict[str, Any] = {
        "tokenizer_json": level,
        "tiktoken": made.tiktoken_file(ranks),
        "tekken": made.tekken(ranks),
        "sentencepiece": made.sentencepiece_model(),
        "tokens": tokens,
        "merges": merges,
    }
    return {form: made.written(tmp_path / f"file_{number}", one) for number, (form, one) in enumerate(contents.items())}


def test_formats_are_detected_from_the_content_of_a_file(
    files: dict[str, Path], level: dict[str, Any], tmp_path: Path
) -> None:
    for form, path in files.items():
        assert detect_format(path) == form
        packed = path.with_suffix(".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert detect_format(packed) == form
    assert detect_format(made.written(tmp_path / "cut", files["sentencepiece"].read_bytes()[:40])) == "sentencepiece"
    assert detect_format(made.written(tmp_path / "m", "#version: 0.2\nt h\nth e\n")) == "merges"
    assert detect_format(made.written(tmp_path / "n", "\ufeff" + json.dumps(level))) == "tokenizer_json"
    for content in (
        b"",
        b"\n\n",
        b"{}",
        b'{"model": []}',
        b"a b c\n",
        b"YQ== 0\nb\n",
        b"\x0a\x05abc",
        b"\n\n\n\n",
        b"\xff\xfe",
    ):
        with pytest.raises(TokbenchError, match="not a known format; name it with --from, one of tokenizer_json,"):
            detect_format(made.written(tmp_path / "other", content))
    with pytest.raises(TokbenchError, match="not JSON"):
        detect_format(made.written(tmp_path / "other", b"{"))


def test_commands_take_files(files: dict[str, Path], tmp_path: Path, tokbench: Tokbench) -> None:
    """The file gives the ids of a folder made by ``import``."""
    text = made.written(tmp_path / "text.txt", TEXT)
    for form, more in {
        "tokenizer_json": (),
        "tiktoken": PATTERN,
        "sentencepiece": (),
        "tokens": (*PATTERN, "--segmentation", "greedy"),
    }.items():
        given = [files[form], *more]
        tokbench("import", *given, "--from", form, "-o", tmp_path / form)
        ids = tokbench("encode", tmp_path / form, text).stdout
        assert ids
        assert tokbench("encode", *given, text).stdout == ids
        made.written(tmp_path / "ids", ids)
        decoded = tokbench("decode", tmp_path / form, tmp_path / "ids").stdout
        assert tokbench("decode", *given, tmp_path / "ids").stdout == decoded
        shown = json.loads(tokbench("show", *given, "--json", TEXT).stdout)["tokenizers"]
        assert [token["id"] for token in shown[0]["tokens"]] == list(map(int, ids.split()))
        assert shown[0]["name"] == files[form].name


def test_check_of_a_file(
    files: dict[str, Path], tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ``tokenizer.json`` beside it is not an export of it; two of the checks stand for all."""
    chosen = [check for checks in GROUPS.values() for check in checks if check.name in ("exported", "every_byte")]
    monkeypatch.setattr("tokbench.inspection.checks.run.GROUPS", {"Some": chosen})
    made.written(tmp_path / "tokenizer.json", made.byte_level(300))
    outcome = tokbench("check", files["tiktoken"], *PATTERN, "--json")
    assert outcome.status == 0
    found = json.loads(outcome.stdout)
    assert (found["path"], found["size"]) == (str(files["tiktoken"]), 420)
    outcome = tokbench("check", files["sentencepiece"])
    assert outcome.status == 1
    assert b"file_3: AdaptedTokenizer('file_3', sentencepiece" in outcome.stdout


def test_several_are_read_each_as_it_is(
    files: dict[str, Path], level: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    """A pattern is of the files that do not say theirs; a folder of ``transformers`` and ours stand beside them."""
    (tmp_path / "model").mkdir()
    made.written(tmp_path / "model" / "tokenizer.json", level)
    Tokenizer(Vocabulary(BYTES), "none", "greedy").save(tmp_path / "bytes")
    names = [files["tiktoken"], files["tokenizer_json"], tmp_path / "model", tmp_path / "bytes"]
    told = json.loads(tokbench("show", *names, "--json", "pay", *PATTERN).stdout)["tokenizers"]
    assert [len(one["tokens"]) for one in told[:3]] == [len(told[0]["tokens"])] * 3
    assert len(told[3]["tokens"]) == 3
    text = made.written(tmp_path / "text.txt", TOPICS[0])
    compared = tokbench("compare", *names[:2], text, *PATTERN)
    assert compared.status == 0
    assert b"file_1" in compared.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("check @tiktoken", "has no pre-tokenization pattern; name it, as in --pattern cl100k"),
        ("check @tiktoken --from ranks", "--from: 'ranks' is not a form"),
        ("check @tokenizer_json --pattern gpt2", "its pattern is in the file; leave --pattern out"),
        ("check @text", "not a known format"),
        ("check @ours --pattern gpt2", "the folder contains all settings; leave --pattern out"),
        ("show @ours --added text x", "--added: applies to external files, and none is given; leave it out"),
        ("compare @ours @ours @text --from tokens", "--from: applies to external files, and none is given"),
        ("encode @tokens @text", "name both, as in --pattern gpt2 --segmentation greedy"),
        ("decode @nowhere @text", "does not exist"),
    ],
)
def test_mistakes(line: str, told: str, files: dict[str, Path], tmp_path: Path, tokbench: Tokbench) -> None:
    made.written(tmp_path / "text", TEXT)
    Tokenizer(Vocabulary(BYTES), "none", "greedy").save(tmp_path / "ours")
    places = {**files, "text": tmp_path / "text", "ours": tmp_path / "ours", "nowhere": tmp_path / "nowhere"}
    words = [str(places[word[1:]]) if word.startswith("@") else word for word in line.split(" ")]
    assert told in tokbench(*words).message


@pytest.mark.parametrize("file", ["tokens.vocab", "merges.tsv", "ids.txt", "special_ids.tsv", "tokbench.json"])
def test_a_pipe_in_a_folder_is_rejected(file: str, level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    """It would be waited for without an end."""
    read(made.written(tmp_path / "tokenizer.json", level), "tokenizer_json").save(tmp_path / "ours")
    text = made.written(tmp_path / "text", TEXT)
    (tmp_path / "ours" / file).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "ours" / file)
    message = f"tokbench: {tmp_path / 'ours' / file}: a pipe; write its output to a file, and name that"
    assert tokbench("encode", tmp_path / "ours", text).message == message


@pytest.mark.parametrize("form", [None, "tokenizer_json", "tiktoken", "tekken", "sentencepiece", "tokens", "merges"])
def test_a_pipe_is_no_tokenizer(form: str | None, tmp_path: Path, tokbench: Tokbench) -> None:
    pipe, text = tmp_path / "pipe", made.written(tmp_path / "text", TEXT)
    os.mkfifo(pipe)
    more = ["--from", form] if form else []
    if form in ("tiktoken", "tokens"):
        more += ["--pattern", "gpt2", "--segmentation", "greedy"]
    assert tokbench("encode", pipe, text, *more).message == (
        f"tokbench: {pipe}: a pipe; write its output to a file, and name that"
    )


def test_other_pipes_are_rejected(level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    """A configuration, ids and a file of a folder of ``transformers``; an open descriptor is accepted."""
    pipe, file = tmp_path / "pipe", made.written(tmp_path / "tokenizer.json", level)
    os.mkfifo(pipe)
    told = f"tokbench: {pipe}: a pipe; write its output to a file, and name that"
    assert tokbench("decode", file, pipe).message == told
    assert tokbench("validate", pipe).message == told
    (tmp_path / "model").mkdir()
    pipe.rename(pipe := tmp_path / "model" / "tokenizer.json")
    assert f"{pipe}: a pipe" in tokbench("encode", tmp_path / "model", made.written(tmp_path / "text", TEXT)).message
    reader, writer = os.pipe()
    os.write(writer, b"5 5")
    os.close(writer)
    try:
        assert tokbench("decode", file, f"/dev/fd/{reader}").stdout == b"&&"
    finally:
        os.close(reader)


def test_a_folder_of_ours_without_its_settings(level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    """Another file in it may be of another tokenizer; one that another class reads is complete."""
    text = made.written(tmp_path / "text", TEXT)
    for name, values in (("native", level), ("adapted", level | {"normalizer": {"type": "Lowercase"}})):
        folder = tmp_path / name
        read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json").save(folder)
        made.written(folder / "tokenizer.json", made.byte_level(300))
        (folder / "tokbench.json").unlink()
        own = "tokens.vocab" if name == "native" else "adapted"
        message = f"{folder}: tokbench.json is missing next to {own}, a file of a tokenizer that Tokbench saved"
        for line in (["encode", folder, text], ["import", folder, "--from", "transformers", "-o", tmp_path / "out"]):
            assert message in tokbench(*line).message
        assert tokbench("encode", folder / "tokenizer.json", text).status == 0
    made.written(tmp_path / "native" / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    assert tokbench("encode", tmp_path / "native", text).status == 0


@pytest.mark.parametrize(
    "name", ["tokens.vocab", "merges.tsv", "ids.txt", "special_ids.tsv", "tokbench.json", "tokenizer_config.json"]
)
def test_messages_quote_no_line_of_a_folder(
    name: str, level: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    """A link may lead out of the folder, to a file that others are not to see."""
    text, secret = made.written(tmp_path / "text", TEXT), made.written(tmp_path / "secret", "hidden:x:0\nhidden two\n")
    read(made.written(tmp_path / "tokenizer.json", level), "tokenizer_json").save(tmp_path / "ours")
    (tmp_path / "ours" / name).unlink(missing_ok=True)
    (tmp_path / "ours" / name).symlink_to(secret)
    assert "hidden" not in tokbench("encode", tmp_path / "ours", text).stderr


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tekken.json", "tokenizer.model", "merges.txt", "a.tiktoken", "vocab.json"]
)
@pytest.mark.parametrize("content", ["hidden:x:0\n", "hidden two\nhidden:x:0\n", "hidden two\n"])
def test_messages_quote_no_line_of_a_folder_of_transformers(
    name: str, content: str, level: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    text, secret = made.written(tmp_path / "text", TEXT), made.written(tmp_path / "secret", content)
    folder = tmp_path / "model"
    folder.mkdir()
    if name == "vocab.json":
        made.written(folder / "merges.txt", "t h\n")
    (folder / name).symlink_to(secret)
    for more in ([], ["--pattern", "gpt2"]):
        outcome = tokbench("encode", folder, text, *more)
        assert (outcome.status, "hidden" in outcome.stderr) == (2, False), outcome.stderr


TABLE = PUBLISHED / "tokenization_is_more_than_compression_ctc_renyi.csv"

ROWS = {1: (1, "shortest_path"), 3: (3, "merge"), 4: (3, "greedy"), 13: (3, "shortest_path"), 6: (6, "greedy")}
"""Rows of table 11: whose vocabulary, and which segmentation. Row 13 drops the tokens of more than 16 bytes."""
MINIPILE_BYTES = 5_902_108_510
PREFIX_SPACES = 993_273
"""Spaces that BPE's pre-tokenizer put before documents that do not start with one."""


@needs(TIMTC, ENGLISH, TABLE)
def test_bytes_of_minipile() -> None:
    """All three runs cut the same bytes; BPE's has the spaces that its pre-tokenizer adds, and nothing else, more."""
    seen = {}
    for rank in RUNS:
        seen[rank] = np.zeros(256, np.int64)
        for token, count in counts(rank).items():
            np.add.at(seen[rank], np.frombuffer(token, np.uint8), count)
    spaces = np.where(np.arange(256) == ord(" "), PREFIX_SPACES, 0)
    assert seen[1].sum() == MINIPILE_BYTES
    assert np.array_equal(seen[1], seen[6])
    assert np.array_equal(seen[1] + spaces, seen[3])
    never = [0xC0, 0xC1, 0xF2, *range(0xF5, 0x100)]
    for rank in RUNS:
        assert np.flatnonzero(seen[rank] == 0).tolist() == never


@needs(TIMTC, ENGLISH, TABLE)
@pytest.mark.parametrize("rank", RUNS)
def test_counted_tokens_are_in_the_vocabulary(rank: int) -> None:
    """All tokens occur but bytes that the text lacks and, by merging, two that only lead to longer ones."""
    tokens = set(vocabulary(rank).tokens)
    assert set(counted(rank)) <= tokens
    longer = {token for token in tokens - set(counted(rank)) if len(token) > 1}
    assert longer == ({b"scimon", b"medscimon"} if rank == 3 else set())
    assert set(BYTES) <= tokens


@needs(TIMTC, ENGLISH, TABLE)
@pytest.mark.parametrize("rank", RUNS)
def test_tokens_are_cut_into_themselves(rank: int) -> None:
    tokens = counted(rank)
    offsets = np.cumsum([0, *map(len, tokens)])
    segmenter = tokenizer(rank, RUNS[rank][2])._segmenter
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(tokens), np.uint8), offsets)
    assert np.diff(bounds).tolist() == [1] * len(tokens)
    assert [vocabulary(rank).tokens[index] for index in ids.tolist()] == tokens


@needs(TIMTC, ENGLISH, TABLE)
@pytest.mark.parametrize("rank", RUNS)
def test_tokens_lie_in_one_pretoken(rank: int) -> None:
    """But for a few that end or begin inside a character, which has no class before it is whole."""
    boundaries = schemes[RUNS[rank][1]].function
    across = [token for token in counted(rank) if len(boundaries(token)) > 2]
    assert len(across) == (10 if rank == 3 else 0)
    assert all("\ufffd" in token.decode(errors="replace") for token in across)


@needs(TIMTC, ENGLISH, TABLE)
@pytest.mark.parametrize(("name", "most"), [("novels", 30_000), ("arxiv_sample", 40_000)])
def test_token_counts_of_published_vocabularies_match_the_paper(name: str, most: int) -> None:
    """The order of table 11 among five rows, and tokens relative to BPE's within some percent, on other text."""
    table = pl.read_csv(TABLE).filter(pl.col("vocab_size") == 40_960)
    billions = dict(table.select("rank", "corpus_token_count_billions").iter_rows())
    documents = texts(name, most)
    found = {
        row: sum(map(len, tokenizer(rank, segmentation).encode_batch(documents)))
        for row, (rank, segmentation) in ROWS.items()
    }
    assert sorted(found, key=found.__getitem__) == sorted(ROWS, key=billions.__getitem__) == [1, 13, 4, 3, 6]
    for row in ROWS:
        assert found[row] / found[3] == pytest.approx(billions[row] / billions[3], rel=0.06)


@needs(TIMTC, ENGLISH, TABLE)
@pytest.mark.parametrize(("name", "most"), [("novels", 8_000), ("arxiv_sample", 20_000)])
def test_bpe_is_its_authors_tokenizer(name: str, most: int) -> None:
    """The released file, read by Hugging Face ``tokenizers`` as it stands, gives our ids two further on."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_str(json.dumps(released_bpe()))
    ours = tokenizer(3, "merge")
    for text in texts(name, most):
        spaced = text if text.startswith(" ") else f" {text}"
        assert theirs.encode(text).ids == (ours.encode(spaced) + len(SPECIAL)).tolist()
