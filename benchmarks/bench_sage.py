"""Time SaGe, its embeddings and its ablation, and compare them with the package ``sage-tokenizer``.

    python benchmarks/bench_sage.py documents.parquet initial.vocab --lines 4000 --reference venv/bin/python

The reference, which needs other versions of numpy and scipy than ours, runs in an interpreter of its own
(``requirements-sage.txt``) on the same lines in the same order with the same vocabulary and the same schedules: version
2.0's, from its first size brought to that of the initial vocabulary. Times are seconds of processor time, all threads
and processes together, which other programs on the machine disturb little, and in brackets seconds by the clock. Ours
is run before and after the reference and the better time taken.

Shown are also how many tokens of the reference's result are ours too, given its embeddings, once for each number of its
processes; the greatest difference of the losses under its embeddings; and the rank correlation of the losses under our
embeddings with those under the reference's, beside that of two runs of the reference's own embeddings with different
seeds.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from tokbench.candidates.running_text import read_documents
from tokbench.construction import sage
from tokbench.kernels.sage import UNITS
from tokbench.kernels.trie import Trie
from tokbench.vocabulary import Vocabulary, read_tokens, write_tokens

SCHEDULE = (262144, 229376, 196608, 163840, 131072, 98304, 65536, 57344, 49152, 40960, 32768, 16384)
EMBEDDING_SCHEDULE = (262144, 131072, 65536, 49152, 40960, 32768)

PARTS = """
import contextlib, io, os, time, gensim, numpy as np
from sage_tokenizer import embeddings, model, utils
from sage_tokenizer.Word2VecParams import Word2VecParams
lines = open("lines.txt", encoding="utf-8", newline="\\n").readlines()
tokenizer = model.SaGeTokenizer(utils.load_vocab("initial.vocab"))
os.makedirs("data", exist_ok=True)
now = lambda: np.array([time.process_time(), time.perf_counter()])
start = now()
first = embeddings.train_embeddings(tokenizer, lines, 1, Word2VecParams(50, 15, 0.025, 5, 1, 1))
trained = now()
with contextlib.redirect_stdout(io.StringIO()):
    losses, tokens, _, _ = utils.sage_per_chunk(0, tokenizer, lines, first)
ablated = now()
other = gensim.models.Word2Vec(corpus_file=f"data/gensim_{tokenizer.vocab_size()}.txt", vector_size=50, negative=15,
    alpha=0.025, window=5, min_count=1, sg=1, workers=1, seed=2)
second = first.copy()
for row, token in tokenizer.inv_str_vocab.items():
    if token in other.wv:
        second[row] = other.wv[token]
table = np.full(tokenizer.vocab_size(), np.nan)
table[list(losses)] = list(losses.values())
np.savez("reference.npz", first=first, second=second, losses=table, seconds=[trained - start, ablated - trained])
"""

WHOLE = """
import contextlib, io, json, os, sys, time
from sage_tokenizer.SaGeVocabBuilder import SaGeVocabBuilder
sizes, embedding_sizes, threads = json.loads(sys.argv[1])
os.makedirs(f"whole{threads}/data")
os.chdir(f"whole{threads}")
start, clock = sum(os.times()[:4]), time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    SaGeVocabBuilder(sizes, embedding_sizes, workers_number=threads).build_vocab(
        "sage", "../lines.txt", "../initial.vocab", partial_corpus_filepath="../lines.txt")
json.dump([sum(os.times()[:4]) - start, time.perf_counter() - clock], open("seconds.json", "w"))
os.rename(f"results/sage/sage_vocabs/active_vocab_{sizes[-1]}.vocab", "final.vocab")
"""


def timed(work: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, tuple[float, float]]:
    """Result; seconds of processor time, of all threads together, and by the clock."""
    start, clock = time.process_time(), time.perf_counter()
    result = work(*arguments, **named)
    return result, (time.process_time() - start, time.perf_counter() - clock)


def row(what: str, ours: tuple[float, float], theirs: tuple[float, float] | None = None) -> None:
    text = f"{what:28} {ours[0]:8.2f} ({ours[1]:.2f})"
    if theirs is not None:
        text = f"{text:48} {theirs[0]:8.2f} ({theirs[1]:.2f})"
        text = f"{text:68} {theirs[0] / ours[0]:6.1f} ({theirs[1] / ours[1]:.1f})"
    print(text, flush=True)


def embeddings_of(run: Path, vocabulary: Vocabulary) -> Iterator[NDArray[np.float32]]:
    """The reference's embeddings in the order of their training, each with the rows of the initial vocabulary."""
    place = {token: index for index, token in enumerate(vocabulary.tokens)}
    results = run / "results" / "sage"
    names = sorted((int(path.stem.split("_")[1]), path) for path in (results / "embeddings").glob("embeddings_*.npy"))
    for size, path in reversed(names):
        file = results / "sage_vocabs" / f"sage_vocab_{size}.vocab"
        rows = np.load(path)
        table = np.zeros((len(vocabulary), 64), np.float32)
        tokens = read_tokens(file) if file.exists() else vocabulary.tokens
        table[[place[token] for token in tokens], : rows.shape[1]] = rows
        yield table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents", help="documents, Parquet")
    parser.add_argument("initial", type=Path, help="vocabulary, one token in hexadecimal a line")
    parser.add_argument("--lines", type=int, default=4_000)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="for the whole of SaGe")
    parser.add_argument("--reference", type=Path, help="interpreter with sage-tokenizer")
    arguments = parser.parse_args()
    documents = read_documents([arguments.documents], "none")
    vocabulary = Vocabulary(sage.fitting(Vocabulary(read_tokens(arguments.initial)), 16))
    sizes = [max(256, size * len(vocabulary) // SCHEDULE[0]) for size in SCHEDULE]
    embedding_sizes = [size * len(vocabulary) // SCHEDULE[0] for size in EMBEDDING_SCHEDULE]
    options = sage.SageOptions(lines=arguments.lines, schedule=tuple(sizes), embedding_schedule=tuple(embedding_sizes))
    lines = sage.choose_lines(documents, options.lines, 0)
    data, offsets = vocabulary.flat()
    lengths = np.diff(offsets).astype(np.int32)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lines.txt").write_bytes(lines.data.tobytes())
        write_tokens(vocabulary.tokens, folder / "initial.vocab")

        def reference(program: str, *words: str) -> None:
            alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
            subprocess.run(
                [arguments.reference.absolute(), "-c", program, *words], cwd=folder, check=True, env=alone, stdout=2
            )

        def parts() -> tuple[Any, ...]:
            text, cutting = timed(sage.segment, lines, Trie(data, offsets), 1)
            embeddings, training = timed(sage.embed, text, len(vocabulary), options, 0)
            (losses, occurrences), ablating = timed(sage.ablate, lines, text, lengths, embeddings, 1)
            both = (cutting[0] + ablating[0], cutting[1] + ablating[1])
            return (text, embeddings, losses, occurrences), training, both

        compared = arguments.reference is not None
        (text, embeddings, losses, occurrences), training, ablating = parts()
        print(
            f"{len(lines.data)} bytes, {len(text.ids)} tokens, from {sizes[0]} to {sizes[-1]} in {len(sizes) - 1} steps"
        )
        print(f"{'seconds':28} {'ours':>16} {'reference':>22} {'ratio':>14}")
        theirs = None
        if compared:
            reference(PARTS)
            theirs = np.load(folder / "reference.npz")
            _, *again = parts()
            training, ablating = min(training, again[0]), min(ablating, again[1])
        row("embeddings", training, None if theirs is None else tuple(theirs["seconds"][0]))
        row("segmentation and ablation", ablating, None if theirs is None else tuple(theirs["seconds"][1]))
        built: dict[int, tuple[bytes, ...]] = {}
        for threads in arguments.threads:
            named = {"threads": threads, "initial": vocabulary}
            whole, seconds = timed(sage.build, documents, sizes[-1], options, **named)
            built[threads] = whole.tokens
            used = None
            if compared:
                reference(WHOLE, json.dumps([sizes, embedding_sizes, threads]))
                used = tuple(json.loads((folder / f"whole{threads}" / "seconds.json").read_text()))
                seconds = min(seconds, timed(sage.build, documents, sizes[-1], options, **named)[1])
            row(f"all, {threads} threads", seconds, used)
            if compared:
                theirs_whole = folder / f"whole{threads}"
                same = options.model_copy(update={"rows_as_released": True})
                with patch.object(sage, "embed", side_effect=embeddings_of(theirs_whole, vocabulary)):
                    retraced = set(sage.build(documents, sizes[-1], same, initial=vocabulary).tokens)
                kept = set(read_tokens(theirs_whole / "final.vocab"))
                print(f"  given the reference's embeddings, {len(kept & retraced)} of its {len(kept)} tokens are ours")
        if len(built) > 1:
            print(f"ours the same with any of these threads: {all(a == b for a, b in pairwise(built.values()))}")
        if theirs is None:
            return

    def under(table: Any) -> Any:
        padded = np.zeros(embeddings.shape, np.float32)
        padded[:, : table.shape[1]] = table
        return sage.ablate(lines, text, lengths, padded, 1)[0] / UNITS

    seen = (occurrences > 0) & (lengths > 1)
    first, second = under(theirs["first"]), under(theirs["second"])
    apart = np.abs(first - theirs["losses"])[seen]
    print(f"losses under the same embeddings differ by {apart.max():.2g} nats at most, in {np.abs(first).max():.2g}")
    for label, one in (("ours, theirs", losses / UNITS), ("theirs, theirs with another seed", second)):
        drops = [
            set(np.flatnonzero(seen)[np.argsort(table[seen])[: seen.sum() // 4]].tolist()) for table in (first, one)
        ]
        print(f"{label}: Spearman {spearmanr(first[seen], one[seen]).statistic:.4f}, ", end="")
        print(f"{len(drops[0] & drops[1]) / len(drops[0]):.3f} of the quarter dropped first in common")


if __name__ == "__main__":
    main()
