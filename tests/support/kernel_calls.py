"""Calls that cover every kernel that allocates memory, each with a small input.

``python -m tests.support.kernel_calls ALLOCATIONS_SO`` makes each allocation of each kernel fail in turn.

The library of ``tests/kernels/allocations.cpp`` is loaded first. Each case is a call. It runs once without failures,
then with a failing first, second, third (and so on) allocation within kernels. Each case has a separate process, which
writes a JSON line for each failure that neither raised the right error nor returned the same result.
"""

import ctypes
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.conftest import ODD, TOPICS
from tokbench.candidates.scored_text import ScoredDocument
from tokbench.construction import constructions
from tokbench.kernels.count import Counter
from tokbench.kernels.edit_distance import distances
from tokbench.kernels.encode import Encoder
from tokbench.kernels.ids import decimals, from_decimals
from tokbench.kernels.json_fields import find_fields
from tokbench.kernels.ngram_lm import ByteNgramModel, WindowCounter
from tokbench.kernels.runs import Merge
from tokbench.kernels.token_ngrams import TokenNgrams
from tokbench.kernels.trie import Trie
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.pretokenization.patterns.scanner import compile_scanner
from tokbench.pretokens.count import count_pretokens, merge_counts
from tokbench.runtime.exit_status import shortage_in
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer

TEXT = TOPICS[0][:2500] + ODD
COUNTS = count_pretokens([TEXT], "gpt2")
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bytespan": [
        {"learning": learning, **more}
        for learning, more in (("frequency", {}), ("seeding", {}), ("incremental", {"constraint": "global"}))
    ],
    "parity_bpe": [{}, {"hybrid_share": 0.5, "window": 7, "exhausted": "skip"}],
    "pathpiece": [{"initial_size": 600}, {"initial_size": 600, "initial": "bpe"}],
    "randtrain": [{"initial_size": 600}, {"initial_size": 600, "initial": "bpe"}],
    "sage": [{"initial_size": 500, "dimensions": 4, "epochs": 1}],
    "unigram": [{}, {"pruning_loss": "tokenizers"}],
    "wordpiece": [{}, {"objective": "likelihood"}],
    "boundlessbpe": [{}, {"tau": 0.8, "removed_as": "parts", "split_runs": True}],
    "shortest_path": [{}, {"ties": "random"}],
    "bpe_dropout": [{}, {"draws": "pretoken"}],
}
"""Options that reach special code paths of a method; other methods have their defaults."""
SIZES = {"bpe_wp": 900, "bytespan": 900, "wordpiece": 700}
"""Sizes of methods with large alphabets."""
MAKERS = {
    "events": "picky_bpe",
    "likelihood": "unigram",
    "likeliest_shortest_path": "mingram",
    "post_removal": "bpe_trimmed",
    "split_tree": "toast",
    "merge_tuples": "bpe_knockout",
    "superwords": "boundlessbpe",
    "merge_scores": "unigram",
}
"""Constructions for segmentations whose data BPE vocabularies do not have."""


@dataclass(frozen=True)
class Texts:
    """In-memory sources of constructions."""

    scheme: str = "gpt2"

    def texts(self) -> Iterator[bytes]:
        yield from TEXT.splitlines(keepends=True)

    def documents(self, signal: str) -> Iterator[ScoredDocument]:
        for number, text in enumerate(self.texts()):
            yield ScoredDocument(number, "en", text, np.frombuffer(text, np.uint8).astype(np.float32))

    def signals(self, signal: str) -> Iterator[Any]:
        yield from (document.signal for document in self.documents(signal))

    def parts(self) -> list["Texts"]:
        return [self]


def encoded_again(segmenter: Any) -> Any:
    """Return ids of an encoder after a possible earlier failure during caching."""
    encoder = Encoder(KERNEL_SCHEMES["gpt2"], segmenter)
    with suppress(MemoryError):
        encoder.encode(TEXT)
    return encoder.encode(TEXT)


def calls() -> dict[str, Callable[[], Any]]:
    """Return the cases by name."""
    found: dict[str, Callable[[], Any]] = {}
    for method in constructions.methods():
        for number, settings in enumerate(SETTINGS.get(method.name, [{}])):
            found[f"build {method.name} {number}"] = partial(built, method.name, settings)
    for method in segmentations.methods():
        vocabulary = built(MAKERS.get(method.name, "bpe"), {})
        for number, settings in enumerate(SETTINGS.get(method.name, [{}])):
            made = partial(Tokenizer, vocabulary, "gpt2", method.name, method.options(**settings))
            found[f"make {method.name} {number}"] = partial(used, made, lambda tokenizer: None)
            if not method.segments_documents:
                found[f"segment {method.name} {number}"] = partial(used, made, lambda each: each.segment(COUNTS))
            found[f"encode {method.name} {number}"] = partial(used, made, lambda tokenizer: tokenizer.encode(TEXT))
    for scheme in KERNEL_SCHEMES:
        found[f"count {scheme}"] = partial(count_pretokens, [TEXT, ODD], scheme)
    found["scan by a pattern"] = partial(by_a_pattern, r" ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    found["merge counts"] = partial(merge_counts, [COUNTS, COUNTS])
    found["spill counts"] = spilled
    tokenizer = Tokenizer(built("bpe", {}), "gpt2", "merge")
    merge = segmentations["merge"].function(built("bpe", {}), segmentations["merge"].options())
    found["encode after a shortage"] = partial(encoded_again, merge)
    ids = tokenizer.encode(TEXT)
    found["count tokens"] = partial(
        used, partial(Tokenizer, tokenizer.vocabulary, "gpt2", "merge"), lambda made: made.count(TEXT)
    )
    found["encode several texts"] = partial(
        used, partial(Tokenizer, tokenizer.vocabulary, "gpt2", "merge"), lambda made: made.encode_flat([TEXT, ODD, b""])
    )
    found["decode"] = partial(tokenizer.decode, ids)
    found["decimals"] = partial(decimals, ids)
    found["from decimals"] = partial(from_decimals, decimals(ids))
    found["byte n-grams"] = ngrams
    found["token n-grams"] = token_ngrams
    found["subtrees"] = subtrees
    bounds = np.array([0, len(ids)])
    found["edit distances"] = partial(distances, ids, bounds, ids[::-1].copy(), bounds)
    found["fields of JSON"] = partial(find_fields, b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", 0, (b"a",))
    return found


def built(name: str, settings: dict[str, Any]) -> Any:
    method = constructions[name]
    options = method.options(**settings)
    source = COUNTS if method.source == "counts" else Texts()
    extra: dict[str, Any] = {}
    if method.initial:
        start = constructions[options.initial]
        extra["initial"] = start.function(COUNTS, options.initial_size, start.options(), seed=0, threads=1)
    return method.function(source, SIZES.get(name, 400), options, seed=0, threads=1, **extra)


def used(make: Callable[[], Tokenizer], use: Callable[[Tokenizer], Any]) -> Any:
    return use(make())


def by_a_pattern(pattern: str) -> Any:
    counter = Counter(compile_scanner(pattern))
    counter.add(TEXT)
    return counter.counts()


def ngrams() -> Any:
    counter = WindowCounter(3)
    counter.add(TEXT)
    return ByteNgramModel(*counter.counts(), 3).score(TEXT)


def token_ngrams() -> Any:
    document = [256] * 4 + [*TEXT] + [257]
    models = TokenNgrams(np.array(2 * document, np.int32), len(document), 258, 256, 5)
    return models.unseen(), models.bits(held=1000)


def subtrees() -> Any:
    """Return a trie large enough for separate subtrees."""
    tokens = [bytes((number % 50, number // 50, 7)) for number in range(2500)]
    offsets = np.arange(0, 3 * len(tokens) + 1, 3)
    made = Trie(np.frombuffer(b"".join(tokens), np.uint8), offsets)
    return made.nodes, [made.find(token) for token in tokens[::100]]


def spilled() -> None:
    """Merge runs of a few pre-tokens by bytes, then sort and merge them by count."""
    with TemporaryDirectory() as folder:
        counter, runs, ordered = Counter(KERNEL_SCHEMES["gpt2"]), [], []
        counter.lease(50, 1 << 20)
        start = 0
        while start < len(TEXT):
            start = counter.add(TEXT, start)
            runs.append(f"{folder}/{len(runs)}".encode())
            counter.spill(runs[-1], wider=len(runs) == 2)
        merge = Merge(runs)
        while merge.resort(run := f"{folder}/ordered-{len(ordered)}".encode(), 1 << 11):
            ordered.append(run)
        Merge(ordered, by_count=True).write(f"{folder}/whole".encode())


ALL_OF = 120
"""Number of first allocations that all fail in turn."""
SOME_OF = 40
"""Number of later, evenly spread allocations that fail."""


class RawAllocator(ctypes.Structure):
    """``PyMemAllocatorEx``."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


def frozen(value: Any) -> Any:
    """Return a result in a form that compares by content."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [frozen(item) for item in value]
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return [frozen(getattr(value, field.name)) for field in fields(value)]
    return value


def kernels_in_memory() -> dict[str, list[tuple[int, int]]]:
    """Return the address ranges of each loaded kernel."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) r-x.*/kernels/(\w+)\.[^/]*\.so$", line):
            found.setdefault(match[3], []).append((int(match[1], 16), int(match[2], 16)))
    return found


def failing_places(total: int) -> list[int]:
    """Return the indices of the allocations to fail."""
    later = np.linspace(ALL_OF + 1, total, SOME_OF).astype(int).tolist() if total > ALL_OF else []
    return [*range(1, min(total, ALL_OF) + 1), *sorted(set(later))]


def walk(call: Callable[[], Any], library: ctypes.CDLL) -> Iterator[str]:
    """Yield JSON lines of the errors in a case, and last the number of allocations."""
    ignored: list[str] = []
    sys.unraisablehook = lambda told: ignored.append(f"{told.exc_value!r} ignored in {told.object!r}")
    call()  # Imports and caches are ready.
    library.arm(0)
    whole = frozen(call())
    total = library.disarm()
    rejected = 0
    for n in failing_places(total):
        ignored.clear()
        print(json.dumps({"failing": n}), flush=True)
        try:
            library.arm(n)
            result = call()
        except BaseException as error:
            library.disarm()
            rejected += 1
            if shortage_in(error) is None:
                yield f"allocation {n} of {total}: {error!r}"
        else:
            library.disarm()
            if frozen(result) != whole:
                yield f"allocation {n} of {total}: another result"
        if ignored:
            yield f"allocation {n} of {total}: {ignored[0]}"
    if frozen(call()) != whole:
        yield "another result after all failures"
    print(json.dumps({"total": total, "rejected": rejected}), flush=True)


def main(path: str) -> None:
    library = ctypes.CDLL(path)
    cases = calls()
    hooks = [
        ctypes.cast(getattr(library, f"raw_{name}"), ctypes.c_void_p).value
        for name in ("malloc", "calloc", "realloc", "free")
    ]
    ctypes.pythonapi.PyMem_SetAllocator(0, ctypes.byref(RawAllocator(None, *hooks)))
    places = [(kernel, place) for kernel, found in kernels_in_memory().items() for place in found]
    for _, (start, end) in places:
        library.allocations_of(ctypes.c_size_t(start), ctypes.c_size_t(end))
    for name, call in cases.items():
        print(json.dumps({"case": name}), flush=True)
        child = os.fork()
        if child == 0:
            for wrong in walk(call, library):
                print(json.dumps({"wrong": wrong}), flush=True)
            seen = sorted({kernel for index, (kernel, _) in enumerate(places) if library.count_of(index)})
            print(json.dumps({"kernels": seen}), flush=True)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            print(json.dumps({"wrong": f"ended with {status}"}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
