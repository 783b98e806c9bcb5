"""Tasks in Tokbench, through its Python API.

As in :mod:`peers`, each function accepts a ``Job`` and returns the number of tokens or pre-tokens. Encoding accepts the
text as bytes and returns an array of ids; the tokenizer is loaded before.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.speed.peers import FIRST
from benchmarks.speed.worker import Job
from tokbench.construction import constructions
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

SCHEME = "gpt2"


def count(job: Job) -> int:
    text = job.text.read_bytes()
    count_pretokens([FIRST], SCHEME)
    with job.timed():
        counts = count_pretokens([text], SCHEME)
    return len(counts)


def _train(job: Job, method: str) -> int:
    construction = constructions[method]
    text = job.text.read_bytes()
    with job.timed():
        counts = count_pretokens([text], SCHEME)
        vocabulary = construction.function(counts, job.size, construction.options(), threads=job.threads)
    return len(vocabulary)


def train_bpe(job: Job) -> int:
    return _train(job, "bpe")


def train_wordpiece(job: Job) -> int:
    return _train(job, "wordpiece")


def train_unigram(job: Job) -> int:
    return _train(job, "unigram")


def _build(job: Job, method: str, counts: Path, size: int, **initial: Vocabulary) -> int:
    construction = constructions[method]
    pretokens = PretokenCounts.read(counts)
    with job.timed():
        vocabulary = construction.function(pretokens, size, construction.options(), threads=job.threads, **initial)
    return len(vocabulary)


def build_bpe(job: Job) -> int:
    return _build(job, "bpe", job.counts, job.size)


def build_wordpiece(job: Job) -> int:
    return _build(job, "wordpiece", job.counts, job.size)


def build_unigram(job: Job) -> int:
    return _build(job, "unigram", job.counts, job.size)


def build_pathpiece(job: Job) -> int:
    """Build from the most frequent 2^18 n-grams, which are counted before the clock starts."""
    return _build(job, "pathpiece", job.counts, job.size, initial=Vocabulary.read(job.folder / "ngrams"))


def choose_text(job: Job) -> int:
    return _build(job, "greedtok", job.folder / "text_words.parquet", 256 + job.size) - 256


def choose_un(job: Job) -> int:
    return _build(job, "greedtok", job.folder / "un_words.parquet", 256 + job.size) - 256


def cover_un(job: Job) -> int:
    return _build(job, "greedwmc", job.folder / "un_words.parquet", 256 + job.size) - 256


def picky_un(job: Job) -> int:
    """Build from the words after a space, as in the figure of the reference."""
    return _build(job, "picky_bpe", job.folder / "un_initial.parquet", job.size)


def _encode(job: Job, segmentation: str) -> int:
    tokenizer = Tokenizer.load(job.tokenizer(segmentation))
    text = job.text.read_bytes()
    tokenizer.encode(FIRST, job.threads)
    with job.timed():
        ids = tokenizer.encode(text, job.threads)
    return len(ids)


def encode_bpe(job: Job) -> int:
    return _encode(job, job.vocabulary)


def count_tokens(job: Job) -> int:
    """Count BPE tokens without their ids."""
    tokenizer = Tokenizer.load(job.tokenizer("merge"))
    text = job.text.read_bytes()
    tokenizer.count(FIRST, job.threads)
    with job.timed():
        return tokenizer.count(text, job.threads)


def __getattr__(name: str) -> Callable[[Job], int]:
    """Return ``encode_{segmentation}``, for every segmentation with a prepared tokenizer."""
    call, _, segmentation = name.partition("_")
    if call != "encode":
        raise AttributeError(name)
    return partial(_encode, segmentation=segmentation)
