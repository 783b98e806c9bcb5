"""All file readers with valid files, for tests that damage these files."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from safetensors.numpy import save_file
from xlsxwriter import Workbook

from tests.conftest import EXPERIMENT, ODD
from tests.support import library_tokenizers
from tests.support.small_models import MAKER, one_job, write_mds
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.probes import probes
from tokbench.adapters.read import read_tokenizer
from tokbench.candidates.running_text import read_documents
from tokbench.candidates.scored_text import read_scores
from tokbench.commands.encoding import decoded
from tokbench.config.load import read as read_configuration
from tokbench.corpus.documents import Document, read_shard
from tokbench.corpus.formats.arrow import ArrowSource
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.partitions import partition_part, write_partitions
from tokbench.corpus.parts import write_sizes
from tokbench.corpus.prepare import UNBOUND
from tokbench.corpus.read import read_source
from tokbench.corpus.shards import open_shards, shard_paths
from tokbench.corpus.shuffle import assign_documents, read_totals
from tokbench.errors import TokbenchError
from tokbench.evaluation.answer_measures import measure_answer
from tokbench.evaluation.local_tasks import _read as read_questions
from tokbench.evaluation.suites import LocalTask
from tokbench.intrinsic.resource import read_resource
from tokbench.io.json import write_result
from tokbench.io.tables import read_frame
from tokbench.metric.embeddings import embeddings_of
from tokbench.models.byte_lm import ngram
from tokbench.models.byte_lm.options import ByteNgramOptions
from tokbench.models.byte_lm.scores import write_scores
from tokbench.models.pretraining.budget import Packing
from tokbench.models.pretraining.mds import read_mds
from tokbench.models.pretraining.order import EncodedDocument, OrderedDocuments, Slices
from tokbench.models.pretraining.pack import pack
from tokbench.models.pretraining.pack_slices import read_slice, write_tokens
from tokbench.models.training import read_occurrences
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.pretokens.files import read_languages, read_word_list, write_languages
from tokbench.resource import resource_types
from tokbench.tabulation.answers import accuracy_table, boundary_table, outcome_table, text_table
from tokbench.tabulation.intrinsic import intrinsic_table
from tokbench.tabulation.training import bits_per_byte_table, curve_table
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Event, SubstringCounts, Vocabulary

TEXT = b"the cat sat on the mat\n\n" + ODD


@dataclass(frozen=True)
class Reader:
    """A reader of files.

    Attributes:
        file: path of the file to damage, within a folder.
        make: writes valid files to the folder.
        read: reads the files of the folder completely.
    """

    file: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]


def vocabulary() -> Vocabulary:
    """Return a vocabulary with all optional data."""
    return Vocabulary(
        (*BYTES, b"ab", b"abc"),
        merges=np.array([[97, 98, 256], [256, 99, 257]], np.int32),
        scores=-np.arange(1.0, 259.0),
        continuation=np.arange(258) % 2 == 0,
        events=(Event(False, (b"a", b"b")), Event(True, (b"a", b"b"))),
        substring_counts=SubstringCounts.from_pairs([*dict.fromkeys(BYTES, 3).items(), (b"ab", 10)]),
        supermerges=((b"ab", b"c"),),
    )


def _numbered() -> Vocabulary:
    """Return a vocabulary with explicit ids."""
    return Vocabulary(BYTES, ids=np.arange(300, 44, -1, dtype=np.int32), special={3: b"<s>"}, unused={999: b" "})


def _written(name: str, content: bytes | str) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


ANY = {"encoding": "bytes"}
"""Options of sources that accept any bytes."""


def _source(name: str, kind: type[Any], **options: Any) -> Callable[[Path], object]:
    tag = {TextSource: "text", JsonLinesSource: "jsonl", ParquetSource: "parquet", ArrowSource: "arrow"}[kind]
    return lambda folder: list(read_source(kind(type=tag, path=[str(folder / name)], **options)))


def _questions(form: str, content: str) -> Reader:
    task = LocalTask(format=form, file="questions")  # type: ignore[arg-type]
    return Reader(
        "questions", _written("questions", content), lambda folder: read_questions([folder / "questions"], task)
    )


def _gold(kind: str, name: str, content: str) -> Reader:
    return Reader(
        name,
        _written(name, content),
        lambda folder: read_resource(kind, resource_types[kind].options(path=[str(folder / name)])),
    )


def _merging() -> Tokenizer:
    made = vocabulary()
    return Tokenizer(Vocabulary(made.tokens, merges=made.merges), "gpt2", "merge", name="a", origin={"seed": 1})


def _counts(folder: Path) -> None:
    count_pretokens([TEXT], "gpt2").write(folder / "counts.parquet")


def _languages(folder: Path) -> None:
    found = {tag: count_pretokens([TEXT], "gpt2") for tag in ("de", "en")}
    write_languages(found, folder / "counts.parquet")


def _shard(folder: Path) -> None:
    with open_shards([folder / "0000.parquet"]) as add:
        for number in range(3):
            add(Document(number, "en", TEXT))


def _part(folder: Path) -> None:
    documents = [Document(number, "en", TEXT) for number in range(3)]
    write_sizes(iter(documents), folder / "sizes.parquet")
    _dealt(folder, folder)


def _dealt(folder: Path, places: Path) -> None:
    """Write places from the sizes in another folder, and texts from the places."""
    source = TextSource(type="text")
    assign_documents(source, {"tokenizer": 1.0}, 0, 2, [folder / "sizes.parquet"], places, UNBOUND)
    _queued(places, places)


def _queued(places: Path, folder: Path) -> None:
    documents = iter([Document(number, "en", TEXT) for number in range(3)])
    partition_part(
        TextSource(type="text"), documents, places / "0000.parquet", [range(2)], folder / "queue.parquet", UNBOUND
    )


def _written_part(folder: Path) -> list[bytes]:
    """Write the shards from all existing files, which are checked against each other."""
    with TemporaryDirectory(dir=folder) as made:
        _dealt(folder, Path(made))
        _queued(folder, Path(made))
        paths = shard_paths(Path(made), "tokenizer", 2)
        write_partitions([folder / "queue.parquet"], range(2), read_totals(folder), paths, UNBOUND)
        return [path.read_bytes() for path in paths]


def _foreign_arrow(form: str, folder: Path) -> None:
    table = pa.table({"n": [1, 2, 3, 4], "text": ["a cat", "", "a hat", "a"], "tag": ["en", None, "de", "en"]})
    if form == "dictionary":
        table = table.set_column(1, "text", table["text"].dictionary_encode())
    with (pa.ipc.new_stream if form == "stream" else pa.ipc.new_file)(folder / "rows.arrow", table.schema) as writer:
        writer.write_table(table, 2)


def _foreign_parquet(folder: Path) -> None:
    table = pa.table({"text": [TEXT, b""], "tag": ["en", None], "n": [1, 2]})
    pq.write_table(table, folder / "rows.parquet", compression="none")


def _scores(folder: Path) -> None:
    signal = np.ones(len(TEXT), np.float32)
    write_scores([(0, "en", TEXT), (1, "", TEXT)], lambda text: (signal, signal), folder / "scores.parquet", "a model")


def _ids(folder: Path) -> None:
    np.save(folder / "ids.npy", np.array([97, 98, 99], np.int32))


def _decoded(folder: Path, name: str) -> list[bytes]:
    tokenizer = Tokenizer(Vocabulary(BYTES), "none", "greedy")
    with (folder / name).open("rb") as file:
        return list(decoded(tokenizer, file))


def _packed(folder: Path) -> None:
    write_mds(folder, [np.full((2, 4), 97, np.int32)], 4)
    save_file({"transformer.wte.weight": np.ones((256, 2), np.float32)}, folder / "model.safetensors")


def _workbook(folder: Path) -> None:
    with Workbook(folder / "words.xlsx") as book:
        sheet = book.add_worksheet()
        for place, row in enumerate((["Word", "MorphoLexSegm"], ["unbreakable", "{<un<(break)>able>}"])):
            sheet.write_row(place, 0, row)


MEASURED = {"language": "en", "metric": "m", "definition": "d", "value": 1.5, "n": 3, "reason": None}
ANSWER = {
    "document": 0,
    "group": "",
    "source_corpus": "",
    "source_document": None,
    "log_likelihoods": [-1.0, -2.0],
    "choice_bytes": [4, 6],
    "straddling_choices": [],
    "gold": 0,
    "prediction": 0,
    "correct": True,
}
TASK = {
    "accuracy": 0.5,
    "random_baseline": 0.5,
    "n": 1,
    "stderr": None,
    "num_fewshot": 0,
    "straddling": 0,
    "choices": 2,
    "straddling_questions": 0,
    "coverings": None,
    "documents": [ANSWER | measure_answer(ANSWER, "acc")],
}
RESULT = {
    "corpus": "",
    "variant": "v",
    "size": 300,
    "model": "m",
    "suite": "s",
    "tasks": {"t": TASK},
    "bits_per_byte": 1.5,
    "texts": {"wiki": {"bits_per_byte": 1.0, "bits": 8.0, "bytes": 8, "tokens": 3}},
}


def _results(folder: Path) -> None:
    file = folder / "result.json"
    accuracy_table([file])
    bits_per_byte_table([file])
    for make in (boundary_table, outcome_table, text_table):
        make([file])


def _frame(folder: Path) -> None:
    frame = pl.DataFrame({"variant": ["a", "b"], "value": [1.0, None]})
    frame.write_parquet(folder / "table.parquet", compression="zstd")


PACKING = {
    "documents": 1,
    "text_bytes": 3,
    "tokens": 4,
    "sequences": 1,
    "padding": 0,
    "sequence_length": 4,
    "vocabulary": 256,
    "end_of_text": 256,
    "tokenizer": MAKER.digest,
    "seed": 0,
    "split_bytes": 3,
    "budget": "",
    "passes": 0,
    "rest_documents": 0,
    "rest_text_bytes": 0,
    "rest_tokens": 0,
    "digest": "00",
}
ROWS = b'{"text": "a\\ud800", "language": "en", "more": [1, {"a": null}]}\n\n{"text": "b"}\n'


def byte_ngrams(folder: Path) -> None:
    """Write a model without its manifest, whose checksums would detect all damage before the counts are read."""
    ngram.train([TEXT], ByteNgramOptions(order=2), folder / "model")
    (folder / "model" / ".tokbench.json").unlink()


def _foreign(name: str, form: str, make: Callable[[], bytes | dict[str, Any]], **options: Any) -> Reader:
    """Return a reader of an external tokenizer that is also used if it is valid, and compared on few texts."""

    def read(folder: Path) -> None:
        with patch("tokbench.adapters.read.probes", lambda: probes()[::40]):
            tokenizer = read_tokenizer(folder / name, form, ReadOptions(**options))
        try:
            tokenizer.decode(tokenizer.encode(TEXT))
        except TokbenchError as error:
            raise TokbenchError(f"{folder}: {error}") from None

    return Reader(name, lambda folder: library_tokenizers.written(folder / name, make()), read)


def _adapted(folder: Path) -> None:
    lower = library_tokenizers.byte_level(300) | {"normalizer": {"type": "Lowercase"}}
    read_tokenizer(library_tokenizers.written(folder / "lower.json", lower), "tokenizer_json").save(folder)


READERS: dict[str, Reader] = {
    "tokenizer.json": _foreign("a.json", "tokenizer_json", lambda: library_tokenizers.byte_level(300)),
    "tokenizer.json of Unigram": _foreign("a.json", "tokenizer_json", library_tokenizers.metaspace),
    "tokenizer.json of WordPiece": _foreign("a.json", "tokenizer_json", library_tokenizers.bert),
    "ranks": _foreign(
        "a.tiktoken",
        "tiktoken",
        lambda: library_tokenizers.tiktoken_file(library_tokenizers.ranks(300)),
        pattern="gpt2",
    ),
    "tekken": _foreign("tekken.json", "tekken", lambda: library_tokenizers.tekken(library_tokenizers.ranks(300))),
    "SentencePiece": _foreign("a.model", "sentencepiece", library_tokenizers.sentencepiece_model),
    "merges": _foreign(
        "merges.txt",
        "merges",
        lambda: "\n".join(map(" ".join, library_tokenizers.byte_level(300)["model"]["merges"])).encode(),
    ),
    **{f"adapter {name}": Reader(name, _adapted, Tokenizer.load) for name in ("tokbench.json", "adapted")},
    **{
        f"vocabulary {name}": Reader(name, lambda folder: vocabulary().write(folder), Vocabulary.read)
        for name in (
            "tokens.vocab",
            "merges.tsv",
            "scores.txt",
            "continuation.txt",
            "events.tsv",
            "substring_counts.tsv",
            "supermerges.tsv",
        )
    },
    **{
        f"vocabulary {name}": Reader(name, lambda folder: _numbered().write(folder), Vocabulary.read)
        for name in ("ids.txt", "special_ids.tsv", "unused_ids.tsv")
    },
    **{
        f"tokenizer {name}": Reader(name, lambda folder: _merging().save(folder), Tokenizer.load)
        for name in ("tokbench.json", "tokens.vocab", "merges.tsv")
    },
    "configuration": Reader(
        "config.yaml", _written("config.yaml", EXPERIMENT), lambda folder: read_configuration(folder / "config.yaml")
    ),
    "counts": Reader("counts.parquet", _counts, lambda folder: PretokenCounts.read(folder / "counts.parquet")),
    "counts of languages": Reader(
        "counts.parquet", _languages, lambda folder: read_languages(folder / "counts.parquet")
    ),
    "counts as lines": Reader(
        "counts.tsv",
        _written("counts.tsv", "6162\t3\n20\t1\n"),
        lambda folder: PretokenCounts.read(folder / "counts.tsv"),
    ),
    **{
        f"word list {name}": Reader(
            name,
            lambda folder: (_written("words", gzip.compress(b"a b"))(folder), _written("numbers", "3\n1\n")(folder)),
            lambda folder: read_word_list(folder / "words", folder / "numbers"),
        )
        for name in ("words", "numbers")
    },
    "text": Reader("text.txt", _written("text.txt", TEXT), _source("text.txt", TextSource, documents="line", **ANY)),
    "text gzip": Reader("text.gz", _written("text.gz", gzip.compress(TEXT)), _source("text.gz", TextSource, **ANY)),
    "text zstd": Reader(
        "text.zst",
        _written("text.zst", zstandard.compress(TEXT)),
        _source("text.zst", TextSource, documents="paragraph", **ANY),
    ),
    "JSON Lines": Reader("rows.jsonl", _written("rows.jsonl", ROWS), _source("rows.jsonl", JsonLinesSource)),
    "Parquet": Reader(
        "rows.parquet", _foreign_parquet, _source("rows.parquet", ParquetSource, language_field="tag", documents="line")
    ),
    **{
        f"Arrow {form}": Reader(
            "rows.arrow", partial(_foreign_arrow, form), _source("rows.arrow", ArrowSource, language_field="tag")
        )
        for form in ("file", "stream", "dictionary")
    },
    **{
        f"part of a corpus, {name}": Reader(name, _part, _written_part)
        for name in ("sizes.parquet", "0000.parquet", "shards.parquet", "queue.parquet")
    },
    "shard": Reader("0000.parquet", _shard, lambda folder: list(read_shard(folder / "0000.parquet"))),
    "documents": Reader(
        "0000.parquet", _shard, lambda folder: list(read_documents([folder / "0000.parquet"], "gpt2").texts())
    ),
    "byte scores": Reader(
        "scores.parquet",
        _scores,
        lambda folder: [
            list(read_scores([folder / "scores.parquet"], "gpt2").documents("entropy")),
            list(read_scores([folder / "scores.parquet"], "gpt2").signals("surprisal")),
        ],
    ),
    **{
        f"byte n-grams {name}": Reader(
            f"model/{name}",
            byte_ngrams,
            lambda folder: ngram.load(folder / "model").score(TEXT),
        )
        for name in ("model.json", "windows.npy", "counts.npy")
    },
    "ids": Reader("ids.npy", _ids, lambda folder: _decoded(folder, "ids.npy")),
    "ids as numbers": Reader("ids", _written("ids", "97 98\n99"), lambda folder: _decoded(folder, "ids")),
    **{
        f"packed {name}": Reader(name, _packed, lambda folder: list(read_mds(folder)))
        for name in ("index.json", "shard.00000.mds")
    },
    "embeddings": Reader(
        "model.safetensors",
        _packed,
        lambda folder: embeddings_of(Vocabulary(BYTES), folder, np.zeros(257, np.int64)),
    ),
    "counts of tokens": Reader(
        "counts.parquet",
        lambda folder: pack(
            OrderedDocuments(7, [EncodedDocument(0, True, 7, np.arange(7, dtype=np.int32))]),
            one_job(4, 0),
            folder / "packed",
            folder / "counts.parquet",
        ),
        lambda folder: read_occurrences(folder / "counts.parquet", 256, MAKER),
    ),
    "a shard's tokens": Reader(
        "0000.parquet",
        lambda folder: write_tokens(
            [EncodedDocument(3, n == 2, 7, np.arange(7, dtype=np.int32)) for n in range(3)],
            Slices(0, 1),
            folder / "0000.parquet",
            MAKER.digest,
        ),
        lambda folder: list(read_slice(folder, 0, MAKER)),
    ),
    "packing": Reader("packing.json", _written("packing.json", json.dumps(PACKING)), Packing.read),
    "measurements": Reader(
        "measured.json",
        lambda folder: write_result(
            folder / "measured.json", {"variant": "v", "size": 300, "corpus": "c", "measurements": [MEASURED]}
        ),
        lambda folder: intrinsic_table([folder / "measured.json"]),
    ),
    "result": Reader("result.json", lambda folder: write_result(folder / "result.json", RESULT), _results),
    "curve": Reader(
        "m/v/300/curve.csv",
        lambda folder: (
            (folder / "m/v/300").mkdir(parents=True, exist_ok=True),
            _written("m/v/300/curve.csv", "batch,tokens,loss\n1,128,5.5\n2,256,5.1\n")(folder),
        ),
        lambda folder: curve_table([folder / "m/v/300"], {}),
    ),
    "table": Reader("table.parquet", _frame, lambda folder: read_frame(folder / "table.parquet", "tabulate again")),
    "choices": _questions("choices", '{"query": "2 + 2 = ", "choices": ["3", "4"], "gold": 1}\n'),
    "schemas": _questions("schemas", '{"context_options": ["Ann", "Bob "], "continuation": "ran.", "gold": 1}\n'),
    "completions": _questions("completions", '{"context": "He said ", "continuation": "no", "category": "x"}\n'),
    "minimal pairs": _questions("minimal_pairs", '{"sentence_good": "We go.", "sentence_bad": "We goes.", "UID": "a"}'),
    "MMLU": _questions("mmlu", 'question,a,b,c,d,answer\n"Why, ""now""?\nSay.",a,b,c,d,2\nWhen?,a,b,c,d,A\n'),
    "Winograd": _questions(
        "winograd", "The cup fell on Ann because [MASK] was full.\n[MASK]\nThe cup , Ann\nThe cup \n"
    ),
    "LADEC": _gold("ladec", "LADEC.csv", "stim,c1,c2,correctParse\nhandbag,hand,bag,yes\n"),
    "MorphyNet": _gold("morphynet", "eng.v1.tsv", "run\trunning\tV\trun|ing\nhappy\tunhappy\tA\tA\tun\tprefix\n"),
    "MorphScore": _gold("morphscore", "english_morph_data.csv", ",full_word,pt1,rest\n0,cats,cat,s\n"),
    "DagoBERT": _gold("dagobert", "sents_1.txt", "r|||unhappy|||happy|||a|||a unhappy b|||b\n"),
    "CompoundPiece": _gold("compoundpiece", "words.csv", "word,lang,segmentation\nhandbag,en,hand-bag\n"),
    "MorphoLex": Reader(
        "words.xlsx",
        _workbook,
        lambda folder: read_resource(
            "morpholex", resource_types["morpholex"].options(path=[str(folder / "words.xlsx")])
        ),
    ),
    "lexical decisions": _gold(
        "british_lexicon_project", "blp-items.txt", "spelling\tlexicality\trt\taccuracy\nhand\tW\t512.5\t0.97\n"
    ),
}
