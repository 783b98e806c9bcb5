"""Run one task with one library in this process, and print one line of JSON for each measurement.

    python -m benchmarks.speed.worker tiktoken text '{"folder": "build/speed", "text": "unseen", "tokenizer": "own"}'
    python -m benchmarks.speed.worker --versions tokenizers tiktoken

The first argument is a module of :mod:`benchmarks.speed.peers`, the second a function of this module. Importing the
library, loading the tokenizer, reading the text and a first call on :func:`before_clock` precede the clock.
:func:`first` has no such call, and :func:`start` measures all of it.

Only the standard library is used, because the interpreter of the peers runs this module, too.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

FIRST = b"Hello world 123."
"""Text of :func:`start`."""
FIRST_BYTES = 5_000_000
"""Bytes of the text of :func:`first`, which ends at the next line break."""
LENGTHS = (10**5, 10**6, 10**7)
"""Bytes of the texts of :func:`long`."""
Measurement = dict[str, Any]


def words() -> bytes:
    """Return 8,000 made-up words, 64 kB."""
    numbers = b" ".join(b"%07d" % (number * 7_654_321 % 9_999_991) for number in range(8000))
    return numbers.translate(bytes.maketrans(b"0123456789", b"etaoinsrhl"))


def before_clock() -> bytes:
    """Return the text of the call that precedes the clock: words, and a run of letters, for which Tokbench builds its
    tables at once."""
    return words() + b" " + b"etaoinsrhl" * 100


def flat_ids(ids: Any) -> Any:
    """Return ids as one array, uint32 [tokens]: arrays, bytes of uint32, ints, sequences of these or (ids, bounds)."""
    import numpy as np

    if isinstance(ids, tuple):
        return flat_ids(ids[0])
    if isinstance(ids, bytes):
        return np.frombuffer(ids, np.uint32)
    if hasattr(ids, "layout"):
        import awkward as ak

        return np.asarray(ak.flatten(ids)).astype(np.uint32)
    if isinstance(ids, list) and ids and not isinstance(ids[0], int):
        return np.concatenate([flat_ids(part) for part in ids])
    return np.asarray(ids).astype(np.uint32)


def clocked(measure: str, size: int, work: Callable[[], Any]) -> tuple[Measurement, Any]:
    """Return the wall-clock time and the processor time of a call that reads ``size`` bytes, and its result."""
    start, processor = time.perf_counter(), time.process_time()
    result = work()
    processor, seconds = time.process_time() - processor, time.perf_counter() - start
    return {"measure": measure, "seconds": seconds, "processor": processor, "bytes": size}, result


def timed(measure: str, size: int, work: Callable[[], Any]) -> Measurement:
    """Return the times of a call that encodes ``size`` bytes, and a digest of the ids that it returns."""
    import hashlib

    times, ids = clocked(measure, size, work)
    array = flat_ids(ids)
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
    return {**times, "tokens": len(array), "ids": digest}


def as_text(peer: Any, data: bytes) -> Any:
    """Return a text in the type that the library accepts."""
    return data if peer.TEXT is bytes else data.decode()


def passes(peer: Any, texts: Sequence[Any], encode: Callable[[Any], Any]) -> Iterator[Measurement]:
    """Encode the first half of a text with an empty cache, the second half for the first time, and that one again."""
    sizes = [len(text.encode()) if isinstance(text, str) else len(text) for text in map(_joined, texts)]
    called = as_text(peer, before_clock())
    encode(called if isinstance(texts[0], (str, bytes)) else [called])
    for measure, half in (("cold", 0), ("new", 1), ("warm", 1)):
        yield timed(measure, sizes[half], lambda: encode(texts[half]))  # noqa: B023


def _joined(text: Any) -> Any:
    return text if isinstance(text, (str, bytes)) else type(text[0])().join(text)


def text(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Encode the halves of a text, each as one text."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    halves = [as_text(peer, (job["folder"] / f"{job['text']}_{half}.txt").read_bytes()) for half in (0, 1)]
    yield from passes(peer, halves, lambda text: peer.encode(tokenizer, text))


def first(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Encode a text of 5 MB as the first text of the process, so that tables which libraries build are part of it."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    data = (job["folder"] / f"{job['text']}_0.txt").read_bytes()
    content = as_text(peer, data[: data.index(b"\n", FIRST_BYTES)])
    yield timed("first", len(content), lambda: peer.encode(tokenizer, content))


def _texts(peer: Any, job: dict[str, Any]) -> list[list[Any]]:
    texts = json.loads((job["folder"] / f"{job['text']}.json").read_text(encoding="utf-8"))
    typed = [as_text(peer, text.encode()) for text in texts]
    return [typed[0::2], typed[1::2]]


def loop(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Encode texts one by one."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    encode = getattr(peer, "encode_short", peer.encode)
    yield from passes(peer, _texts(peer, job), lambda texts: [encode(tokenizer, text) for text in texts])


def batch(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Encode texts in one call."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    yield from passes(peer, _texts(peer, job), lambda texts: peer.encode_batch(tokenizer, texts, job["threads"]))


def large(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Encode one large text with an empty cache."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    data = (job["folder"] / f"{job['text']}.txt").read_bytes()
    content = as_text(peer, data)
    peer.encode(tokenizer, as_text(peer, before_clock()))
    yield timed("cold", len(data), lambda: peer.encode(tokenizer, content))


def start(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Measure the time from the start of the process, at ``job["started"]``, to the first ids, and to those of a longer
    text after them."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    first = getattr(peer, "encode_short", peer.encode)
    for measure, encode, content in (("start", first, lambda: FIRST), ("longer", peer.encode, words)):
        ids = encode(tokenizer, as_text(peer, content()))
        times = {"seconds": time.monotonic() - job["started"], "processor": time.process_time()}
        yield {**timed(measure, len(content()), lambda: ids), **times}  # noqa: B023


def decode(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Decode the ids of the first half of a text, as the library's ``encode`` returns them or as a list of ints.

    The text is compared with the original.
    """
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    data = (job["folder"] / f"{job['text']}_0.txt").read_bytes()
    ids = peer.encode(tokenizer, as_text(peer, data))
    if not getattr(peer, "DECODES_ARRAYS", False):
        ids = flat_ids(ids).tolist()
    peer.decode(tokenizer, ids[:10])
    times, decoded = clocked("decode", len(data), lambda: peer.decode(tokenizer, ids))
    same = (decoded.encode() if isinstance(decoded, str) else bytes(decoded)) == data
    yield {**times, "tokens": len(ids), "ids": str(same)}


def run_of(kind: str, length: int, folder: Path) -> bytes:
    """Return a text of one pre-token: one letter, blanks, random letters, or Chinese without spaces."""
    import random

    if kind == "chinese":
        characters = (folder / "chinese.txt").read_text(encoding="utf-8")
        return (characters * (1 + length // (3 * len(characters)))).encode()[: length // 3 * 3]
    if kind == "letters":
        return "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz", k=length)).encode()
    return {"a": b"a", "blanks": b" "}[kind] * length


def long(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Encode one long pre-token of several lengths."""
    tokenizer = peer.load(job["folder"], job["tokenizer"])
    peer.encode(tokenizer, as_text(peer, before_clock()))
    for length in LENGTHS:
        data = run_of(job["text"], length, job["folder"])
        content = as_text(peer, data)
        yield timed(f"{length}", len(data), lambda: peer.encode(tokenizer, content))  # noqa: B023


def count(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Count the pre-tokens of a text."""
    data = (job["folder"] / f"{job['text']}.txt").read_bytes()
    peer.count(words())
    times, unique = clocked("count", len(data), lambda: peer.count(data))
    yield {**times, "tokens": unique}


def train(peer: Any, job: dict[str, Any]) -> Iterator[Measurement]:
    """Train a vocabulary with the method ``job["tokenizer"]``; a library that needs a file reads it."""
    path = job["folder"] / f"{job['text']}.txt"
    documents = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    function = getattr(peer, f"train_{job['tokenizer']}")
    if peer.__name__.endswith(".tokbench"):
        peer.import_constructions()
    times, tokens = clocked("train", path.stat().st_size, lambda: function(path, documents, job["size"]))
    yield {**times, "tokens": tokens}


def versions(packages: Sequence[str]) -> dict[str, str | None]:
    """Return the installed version of each package, None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    installed: dict[str, str | None] = dict.fromkeys(packages)
    for package in packages:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def main() -> None:
    if sys.argv[1] == "--versions":
        print(json.dumps(versions(sys.argv[2:])))
        return
    module, function, settings = sys.argv[1:]
    job = json.loads(settings)
    job["folder"] = Path(job["folder"])
    peer = importlib.import_module(f"benchmarks.speed.peers.{module}")
    for measurement in globals()[function](peer, job):
        print(json.dumps(measurement), flush=True)


if __name__ == "__main__":
    main()
