"""Preparation of the input files of tasks: parts of the text, words and counts, vocabularies for encoding.

    python -m benchmarks.speed.prepare novels.jsonl.gz build/benchmarks --words words_un.txt.gz counts_un.txt.gz

Peers get Tokbench's vocabulary if they accept it, so that all encode with the same tokens.
"""

import argparse
import base64
import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

from tokenizers import pre_tokenizers

from benchmarks.speed.ours import SCHEME
from benchmarks.speed.tasks import LANGUAGES
from benchmarks.speed.worker import Job
from tokbench.adapters.export_hugging_face import to_hugging_face
from tokbench.adapters.forms import ReadOptions
from tokbench.adapters.read import read_tokenizer
from tokbench.commands.files import documents_of
from tokbench.construction import constructions
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.pretokens.files import read_word_list
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer

SHARES = (1.0, 0.5, 0.25)
INITIAL_SIZE = 1 << 18
VOCABULARY_OF = {
    "merge": "bpe",
    "bpe_dropout": "bpe",
    "greedy": "bpe",
    "longest_suffix": "bpe",
    "shortest_path": "bpe",
    "cover": "greedtok",
    "events": "picky_bpe",
    "post_removal": "picky_bpe",
    "likelihood": "unigram",
    "longest_prefix": "wordpiece",
}
"""Construction of the vocabulary for each segmentation."""
GROWTH = ("merge", "likelihood")
"""Segmentations timed with vocabularies of several sizes."""


def write_text(documents: list[bytes], folder: Path, corpus: str = "", shares: Iterable[float] = SHARES) -> None:
    """Write the documents concatenated and as JSON Lines, for each share of the text, with pre-token counts."""
    ends = list(accumulate(map(len, documents)))
    for share in shares:
        job = Job(folder, share=share, corpus=corpus)
        taken = documents[: 1 + sum(end <= share * ends[-1] for end in ends[:-1])]
        job.text.write_bytes(b"".join(taken))
        with job.file("documents", "jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps({"text": text.decode()}) + "\n" for text in taken)
        count_pretokens([b"".join(taken)], SCHEME).write(job.counts)


def write_shard(documents: list[bytes], folder: Path) -> None:
    """Write the documents as a shard of a corpus."""
    with open_shards([folder / "documents.parquet"]) as write:
        for place, text in enumerate(documents):
            write(Document(place, "", text))


def write_words(counts: Iterable[tuple[bytes, int]], folder: Path, name: str) -> None:
    """Write words as Tokbench counts, and as text with U+0120 for spaces, as the reference needs them."""
    kept = dict(_spelt(counts))
    PretokenCounts.from_pairs((word.encode(), count) for word, count in kept.items()).write(folder / f"{name}.parquet")
    (folder / f"{name}.json").write_text(json.dumps(kept), encoding="utf-8")


def _spelt(counts: Iterable[tuple[bytes, int]]) -> Iterator[tuple[str, int]]:
    for word, count in counts:
        yield word.decode().replace(" ", "\u0120"), count


def write_tokenizers(folder: Path, counts: PretokenCounts, size: int, sizes: Iterable[int]) -> None:
    """Write a tokenizer for each segmentation at one size, and for those of :data:`GROWTH` at several."""
    vocabularies = {}
    for segmentation, method in VOCABULARY_OF.items():
        if segmentation not in segmentations or method not in constructions:
            continue
        for own in sorted({size, *(sizes if segmentation in GROWTH else ())}):
            if (method, own) not in vocabularies:
                construction = constructions[method]
                vocabularies[method, own] = construction.function(counts, own, construction.options())
            tokenizer = Tokenizer(vocabularies[method, own], SCHEME, segmentation)
            path = Job(folder, size=own).tokenizer(segmentation)
            path.mkdir(exist_ok=True)
            tokenizer.save(path)
            if method in ("bpe", "unigram", "wordpiece") and segmentation == constructions[method].segmentation:
                write_for_peers(tokenizer, path)


def write_languages(documents: list[bytes], folder: Path, size: int) -> dict[str, int]:
    """Write the multilingual text and a tokenizer built on it; return its facts."""
    write_text(documents, folder, LANGUAGES, SHARES[:1])
    counts = PretokenCounts.read(Job(folder, corpus=LANGUAGES).counts)
    bpe = constructions["bpe"]
    tokenizer = Tokenizer(bpe.function(counts, size, bpe.options()), SCHEME, bpe.segmentation)
    path = Job(folder, size=size).tokenizer(LANGUAGES)
    path.mkdir(exist_ok=True)
    tokenizer.save(path)
    write_for_peers(tokenizer, path)
    return facts_of(documents, counts)


def write_existing(name: str, ranks: Path, folder: Path) -> int:
    """Write an external tokenizer for Tokbench and for the peers; return its number of tokens."""
    tokenizer = read_tokenizer(ranks, "tiktoken", ReadOptions(pattern=name))
    path = Job(folder, size=len(tokenizer)).tokenizer(name)
    path.mkdir(exist_ok=True)
    tokenizer.save(path)
    converted = to_hugging_face(tokenizer)
    assert converted is not None
    converted.save(f"{path}.json")
    Path(f"{path}.tiktoken").write_bytes(ranks.read_bytes())
    return len(tokenizer)


def facts_of(documents: list[bytes], counts: PretokenCounts) -> dict[str, int]:
    """Return the facts of a text for the page."""
    return {
        "bytes": sum(map(len, documents)),
        "documents": len(documents),
        "pretokens": counts.total,
        "unique_pretokens": len(counts),
        "unique_bytes": int(counts.data.size),
    }


def texts_of(paths: Iterable[str], most: float = float("inf")) -> list[bytes]:
    """Read the documents of files as UTF-8, up to ``most`` bytes."""
    documents = [document.text.decode(errors="replace").encode() for document in documents_of(list(paths))]
    ends = list(accumulate(map(len, documents)))
    return documents[: 1 + sum(end <= most for end in ends[:-1])]


def write_for_peers(tokenizer: Tokenizer, path: Path) -> None:
    """Write ``.json`` for ``tokenizers`` with GPT-2's pre-tokenizer, and ``.tiktoken`` if there are merges."""
    converted = to_hugging_face(tokenizer)
    assert converted is not None
    converted.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    converted.save(f"{path}.json")
    if tokenizer.vocabulary.merges is not None:
        ranked = enumerate(tokenizer.vocabulary.tokens)
        lines = (base64.b64encode(token) + f" {rank}\n".encode() for rank, token in ranked)
        Path(f"{path}.tiktoken").write_bytes(b"".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", help="text, JSON Lines or Parquet")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", nargs=2, help="words and their counts, as published for the UN corpus")
    parser.add_argument("--languages", nargs="+", default=[], help="files of a multilingual text")
    parser.add_argument("--existing", nargs="+", default=[], metavar="NAME=FILE", help="tiktoken rank files")
    parser.add_argument("--size", type=int, default=32768)
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--megabytes", type=float, default=float("inf"), help="maximum size of the text")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    documents = texts_of([arguments.text], arguments.megabytes * 1e6)
    write_text(documents, folder)
    write_shard(documents, folder)
    counts = PretokenCounts.read(Job(folder).counts)
    write_words(counts.items(), folder, "text_words")
    if arguments.words:
        words = read_word_list(*arguments.words)
        write_words(words.items(), folder, "un_words")
        write_words(
            ((word, n) for word, n in words.items() if word.startswith("\u0120".encode())), folder, "un_initial"
        )
    write_tokenizers(folder, counts, arguments.size, arguments.sizes)
    ngram = constructions["ngram"]
    (folder / "ngrams").mkdir(exist_ok=True)
    ngram.function(counts, INITIAL_SIZE, ngram.options()).write(folder / "ngrams")
    languages = texts_of(arguments.languages, arguments.megabytes * 1e6) if arguments.languages else []
    named = (one.partition("=")[::2] for one in arguments.existing)
    facts = {
        **facts_of(documents, counts),
        "size": arguments.size,
        "existing": {name: write_existing(name, Path(path), folder) for name, path in named},
        "languages": write_languages(languages, folder, arguments.size) if languages else None,
    }
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main()
