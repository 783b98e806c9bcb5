"""Time SaGe's embeddings and ablation, and compare them with the package ``sage-tokenizer``.

    python benchmarks/bench_sage.py documents.parquet initial.vocab --lines 20000 --reference venv/bin/python

The reference, which needs other versions of numpy and scipy than ours, runs in an interpreter of its own on the same
lines with the same vocabulary, in one process. Shown are both speeds in processor time, which other programs on the
machine disturb little; the greatest difference of the losses under the reference's embeddings; and the rank correlation
of the losses under our embeddings with those under the reference's, beside that of two runs of the reference's own
embeddings with different seeds.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from tokbench.kernels.sage import UNITS
from tokbench.kernels.trie import Trie
from tokbench.tokens import Vocabulary, read_tokens, write_tokens
from tokbench.vocabulary import sage
from tokbench.vocabulary.documents import read_documents

REFERENCE = """
import contextlib, io, os, time, gensim, numpy as np
from sage_tokenizer import embeddings, model, utils
from sage_tokenizer.Word2VecParams import Word2VecParams
lines = open("lines.txt", encoding="utf-8", newline="\\n").readlines()
tokenizer = model.SaGeTokenizer(utils.load_vocab("initial.vocab"))
os.makedirs("data")
start = time.process_time()
first = embeddings.train_embeddings(tokenizer, lines, 1, Word2VecParams(50, 15, 0.025, 5, 1, 1))
trained = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    losses, tokens, _, _ = utils.sage_per_chunk(0, tokenizer, lines, first)
ablated = time.process_time()
start_again = time.process_time()
other = gensim.models.Word2Vec(corpus_file=f"data/gensim_{tokenizer.vocab_size()}.txt", vector_size=50, negative=15,
    alpha=0.025, window=5, min_count=1, sg=1, workers=1, seed=2)
gensim_alone = time.process_time() - start_again
second = first.copy()
for row, token in tokenizer.inv_str_vocab.items():
    if token in other.wv:
        second[row] = other.wv[token]
table = np.full(tokenizer.vocab_size(), np.nan)
table[list(losses)] = list(losses.values())
np.savez("reference.npz", first=first, second=second, losses=table,
    seconds=[trained - start, gensim_alone, ablated - trained])
"""


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Result and seconds of processor time, of all threads together."""
    start = time.process_time()
    return work(*arguments), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents", help="documents, Parquet")
    parser.add_argument("initial", type=Path, help="vocabulary, one token in hexadecimal a line")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reference", type=Path, help="interpreter with sage-tokenizer")
    arguments = parser.parse_args()
    options = sage.SageOptions(lines=arguments.lines)
    vocabulary = Vocabulary(read_tokens(arguments.initial))
    data, offsets = vocabulary.flat()
    lengths = np.diff(offsets).astype(np.int32)
    lines = sage.choose_lines(read_documents([arguments.documents], "none"), options.lines, 0)
    text, cutting = timed(sage.segment, lines, Trie(data, offsets), arguments.threads)
    embeddings, training = timed(sage.embed, text, len(vocabulary), options, 0)
    (losses, occurrences), ablating = timed(sage.ablate, lines, text, lengths, embeddings, arguments.threads)
    print(f"{len(lines.data)} bytes, {len(text.ids)} tokens, {arguments.threads} threads")
    print(f"tokbench   segmentation {cutting:.2f} s, embeddings {training:.2f} s, ablation {ablating:.3f} s")
    print(f"           ablation {len(text.ids) / (cutting + ablating):.0f} tokens/s, segmentation included")
    if arguments.reference is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lines.txt").write_bytes(lines.data.tobytes())
        write_tokens(vocabulary.tokens, folder / "initial.vocab")
        one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run([arguments.reference.absolute(), "-c", REFERENCE], cwd=folder, check=True, env=one_thread)
        theirs = np.load(folder / "reference.npz")
    embedding, gensim, ablation = theirs["seconds"].tolist()
    print(f"reference  embeddings {embedding:.2f} s (gensim alone {gensim:.2f} s), ablation {ablation:.2f} s")
    print(f"ratios     embeddings {embedding / training:.1f}, gensim alone {gensim / training:.1f}, ", end="")
    print(f"ablation with segmentation {ablation / (cutting + ablating):.1f}")

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
