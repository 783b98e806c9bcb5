"""Write the texts and tokenizers that the tasks read.

    python -m benchmarks.speed.texts build/speed --english novels.jsonl.gz --languages flores101.jsonl.gz \
        --unseen train.en.gz train.de.gz --existing cl100k=cl100k_base.tiktoken

A file is JSON Lines with a field ``text`` if its name contains ``.jsonl``, else one document of plain text; both may be
compressed with gzip. Of each text there are two halves, which alternate by document (English) or line (the others), at
most :data:`HALF` bytes each: one can be encoded after another of the same kind. All libraries get the same vocabulary.
"""

import argparse
import base64
import gzip
import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tokenizers import pre_tokenizers

from benchmarks.speed.peers import GPT2
from tokbench.adapters.export_hugging_face import to_hugging_face
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.read import read_tokenizer
from tokbench.construction import constructions
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer

HALF = 8_000_000
"""Bytes of a half, at most, up to the end of its last document or line."""
SHORT, SHORTEST, LONGEST = 100_000, 30, 300
"""Number of short texts, and their bytes: lines of the unseen text."""
LARGE = 250_000_000
"""Bytes of the large text: all other texts, repeated."""
SIZE = 32_768
"""Tokens of the tokenizer ``own``."""
HAN = re.compile("[\u4e00-\u9fff]")


def read(path: Path) -> list[str]:
    """Return the documents of a file."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    return [json.loads(line)["text"] for line in text.splitlines()] if ".jsonl" in path.name else [text]


def halves(parts: Sequence[str], most: int = HALF) -> list[list[str]]:
    """Return two lists of alternating parts, each up to the part that reaches ``most`` bytes."""
    chosen: list[list[str]] = [[], []]
    sizes = [0, 0]
    for place, part in enumerate(parts):
        half = place % 2
        if sizes[half] < most:
            chosen[half].append(part)
            sizes[half] += len(part.encode())
    return chosen


def lines_of(documents: Iterable[str]) -> list[str]:
    """Return the lines of documents, with their ends."""
    return [line for document in documents for line in document.splitlines(keepends=True)]


def write_text(folder: Path, name: str, documents: Sequence[str], by_line: bool) -> dict[str, Any]:
    """Write the halves, and both together as one text and as documents; return the sizes for the page."""
    if by_line:
        split = [halves(lines_of([document])) for document in documents]
        parts = [["".join(pair[half]) for pair in split] for half in (0, 1)]
    else:
        parts = halves(documents)
    for half in (0, 1):
        (folder / f"{name}_{half}.txt").write_text("".join(parts[half]), encoding="utf-8", newline="")
    both = [part for pair in zip_longest(*parts, fillvalue="") for part in pair]
    joined = "".join(both).encode()
    (folder / f"{name}.txt").write_bytes(joined)
    (folder / f"{name}.json").write_text(json.dumps(both), encoding="utf-8")
    counts = count_pretokens([joined], "gpt2")
    return {
        "documents": len(documents),
        "halves": [len("".join(half).encode()) for half in parts],
        "bytes": len(joined),
        "pretokens": counts.total,
        "unique": len(counts),
    }


def write_large(folder: Path, texts: Iterable[str], size: int) -> int:
    """Write all texts after one another, repeated, up to a number of bytes; return the bytes of one repetition."""
    once = b"".join((folder / f"{name}.txt").read_bytes() for name in texts)
    with (folder / "large.txt").open("wb") as target:
        for _ in range(size // len(once)):
            target.write(once)
        target.write(once[: size % len(once)].decode("utf-8", "ignore").encode())
    return len(once)


def write_tokenizer(folder: Path, name: str, tokenizer: Tokenizer, ranks: bytes) -> None:
    """Write a tokenizer as a folder, as ``tokenizer.json`` and as ranks."""
    (folder / name).mkdir(exist_ok=True)
    tokenizer.save(folder / name)
    converted = to_hugging_face(tokenizer)
    assert converted is not None
    if name == "own":
        converted.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    converted.save(str(folder / f"{name}.json"))
    (folder / f"{name}.tiktoken").write_bytes(ranks)


def write_own(folder: Path, texts: Iterable[str]) -> None:
    """Train BPE on the texts and write it."""
    bpe = constructions["bpe"]
    counts = count_pretokens([(folder / f"{name}_0.txt").read_bytes() for name in texts], "gpt2")
    tokenizer = Tokenizer(bpe.function(counts, SIZE, bpe.options()), "gpt2", bpe.segmentation)
    lines = (base64.b64encode(token) + f" {rank}\n".encode() for rank, token in enumerate(tokenizer.vocabulary.tokens))
    write_tokenizer(folder, "own", tokenizer, b"".join(lines))


def write_existing(folder: Path, name: str, path: Path) -> None:
    """Write an external tokenizer from its ranks, which may be compressed with gzip."""
    data = path.read_bytes()
    ranks = gzip.decompress(data) if path.suffix == ".gz" else data
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "ranks.tiktoken")
        file.write_bytes(ranks)
        tokenizer = read_tokenizer(file, "tiktoken", ReadOptions(pattern=name))
    write_tokenizer(folder, name, tokenizer, ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    for option in ("english", "languages", "unseen"):
        parser.add_argument(f"--{option}", type=Path, nargs="+", required=True)
    parser.add_argument("--existing", nargs="*", default=[], metavar="NAME=FILE", help="ranks of cl100k, o200k")
    parser.add_argument("--patterns", type=Path, required=True, help="JSON with the pattern of each NAME_base")
    parser.add_argument("--large", type=int, default=LARGE, help="bytes of the large text (default: %(default)s)")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"texts": {}}
    for name in ("english", "languages", "unseen"):
        documents = [document for path in getattr(arguments, name) for document in read(path)]
        facts["texts"][name] = write_text(folder, name, documents, name != "english")
    unseen = lines_of(json.loads((folder / "unseen.json").read_text(encoding="utf-8")))
    short = [line for line in map(str.strip, unseen) if SHORTEST <= len(line.encode()) <= LONGEST][:SHORT]
    (folder / "short.json").write_text(json.dumps(short), encoding="utf-8")
    facts["short"] = {"texts": len(short), "bytes": sum(len(text.encode()) for text in short)}
    characters = HAN.findall((folder / "languages.txt").read_text(encoding="utf-8"))
    (folder / "chinese.txt").write_text("".join(characters), encoding="utf-8")
    facts["large"] = {"bytes": arguments.large, "once": write_large(folder, facts["texts"], arguments.large)}
    write_own(folder, ("english", "languages"))
    facts["patterns"] = {"own": GPT2}
    published = json.loads(arguments.patterns.read_text(encoding="utf-8"))
    for name, _, path in (pair.partition("=") for pair in arguments.existing):
        write_existing(folder, name, Path(path))
        facts["patterns"][name] = published[f"{name}_base"]["pattern"]
    (folder / "facts.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
