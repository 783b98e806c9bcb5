"""Benchmark tasks, with the libraries measured on each.

To add a peer, write a module in :mod:`peers`, name its package in ``requirements.txt`` and its functions here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

OURS = "tokbench"


@dataclass(frozen=True)
class Contestant:
    """A function of a library for a task.

    Attributes:
        package: the library.
        function: name of the function in :mod:`ours`, or in the package's module of :mod:`peers`.
        way: short description in tables.
        same_ids: True if its number of tokens must equal Tokbench's, except at document boundaries.
    """

    package: str
    function: str
    way: str = ""
    same_ids: bool = False

    @property
    def label(self) -> str:
        return f"{self.package} ({self.way})" if self.way else self.package


@dataclass(frozen=True)
class Task:
    """A task: one row of the tables.

    Attributes:
        key: name in result files.
        title: name in tables.
        ours: function of Tokbench.
        command: the same task as a sequence of commands, with ``{...}`` for files of the job.
        peers: other libraries.
        size, threads, share, corpus, vocabulary: as in :class:`.worker.Job`.
        reported: published seconds of a program that is not available; not measured here.
        section: table of the row: "peers", "existing", "ours" or "growth".
    """

    key: str
    title: str
    ours: str
    peers: tuple[Contestant, ...] = ()
    command: tuple[str, ...] = ()
    size: int = 32768
    threads: int = 1
    share: float = 1.0
    corpus: str = ""
    vocabulary: str = "merge"
    section: str = "peers"
    reported: float | None = None

    def settings(self, folder: str) -> dict[str, object]:
        """Return the fields of the :class:`.worker.Job`."""
        own = ("size", "threads", "share", "corpus", "vocabulary")
        return {"folder": folder, **{name: getattr(self, name) for name in own}}


COUNT = "count --scheme gpt2 {text} -o {scratch}.parquet"
BUILD = "build {method} --counts {scratch}.parquet --size {size} --threads {threads} -o {scratch}"
ENCODE = "encode {tokenizer} {text} -o {scratch}.npy"


def _train(method: str) -> tuple[str, ...]:
    return COUNT, BUILD.replace("{method}", method)


def _encode(segmentation: str) -> tuple[str, ...]:
    return (ENCODE.replace("{tokenizer}", f"{{folder}}/{segmentation}_{{size}}"),)


COUNTING = Task(
    "count",
    "count pre-tokens",
    "count",
    (Contestant("tokenizers", "count"), Contestant("gigatoken", "count")),
    (COUNT,),
)
TRAINING = (
    Task(
        "train_bpe",
        "train BPE",
        "train_bpe",
        tuple(
            Contestant(name, "train_bpe") for name in ("tokenizers", "sentencepiece", "gigatoken", "rustbpe", "bpeasy")
        ),
        _train("bpe"),
    ),
    Task(
        "train_wordpiece",
        "train WordPiece",
        "train_wordpiece",
        (Contestant("tokenizers", "train_wordpiece"),),
        _train("wordpiece"),
    ),
    Task(
        "train_unigram",
        "train Unigram",
        "train_unigram",
        (Contestant("tokenizers", "train_unigram"), Contestant("sentencepiece", "train_unigram")),
        _train("unigram"),
    ),
)
BPE_ENCODERS = (
    Contestant("tokenizers", "encode_bpe_documents", "documents"),
    Contestant("tokenizers", "encode_bpe", "lines"),
    Contestant("tiktoken", "encode_bpe", same_ids=True),
    Contestant("gigatoken", "encode_bpe", same_ids=True),
    Contestant("tokie", "encode_bpe", same_ids=True),
)
ENCODING = (
    Task(
        "encode_bpe",
        "encode, BPE",
        "encode_bpe",
        BPE_ENCODERS,
        _encode("merge"),
    ),
    Task(
        "count_tokens_bpe",
        "count tokens, BPE",
        "count_tokens",
        (Contestant("tokie", "count_bpe", same_ids=True),),
        ("encode {folder}/merge_{size} {text} --count",),
    ),
    Task(
        "encode_unigram",
        "encode, Unigram",
        "encode_likelihood",
        (
            Contestant("tokenizers", "encode_unigram", "lines"),
            Contestant("sentencepiece", "encode_unigram", "its own model"),
            Contestant("tokie", "encode_unigram", same_ids=True),
        ),
        _encode("likelihood"),
    ),
    Task(
        "encode_wordpiece",
        "encode, WordPiece",
        "encode_longest_prefix",
        (
            Contestant("tokenizers", "encode_wordpiece", "lines"),
            Contestant("tokie", "encode_wordpiece", same_ids=True),
        ),
        _encode("longest_prefix"),
    ),
)
LANGUAGES = "languages"
"""Name of the multilingual corpus."""


def existing(facts: dict[str, Any]) -> list[Task]:
    """Return the tasks of encoding with external tokenizers, and of encoding the multilingual text.

    Args:
        facts: output of ``prepare.py``: ``existing`` (names and sizes), and ``languages`` if there is such a text.
    """
    corpora = {"": "the text", LANGUAGES: "many languages"} if facts["languages"] else {"": "the text"}
    tokenizers = {**facts["existing"], LANGUAGES: facts["size"]}
    return [
        Task(
            "_".join(dict.fromkeys(part for part in ("encode", name, corpus) if part)),
            f"{'BPE of its own' if name == LANGUAGES else name}, {size:,} tokens; {title}",
            "encode_bpe",
            BPE_ENCODERS,
            size=size,
            corpus=corpus,
            vocabulary=name,
            section="existing",
        )
        for corpus, title in corpora.items()
        for name, size in tokenizers.items()
        if name != LANGUAGES or corpus
    ]


GREEDTOK = tuple(
    Task(
        f"greedtok_{words}",
        f"GreedTok, {title}",
        f"choose_{words}",
        (Contestant("greedtok", f"choose_{words}"),),
        (f"build greedtok --counts {{folder}}/{words}_words.parquet --scheme gpt2 --size 5256 -o {{scratch}}",),
        size=5000,
    )
    for words, title in (("un", "words of the UN"), ("text", "words of the text"))
)
SEGMENTATIONS = (
    "merge",
    "greedy",
    "longest_prefix",
    "longest_suffix",
    "shortest_path",
    "likelihood",
    "cover",
    "events",
    "post_removal",
    "bpe_dropout",
)
ALONE = tuple(
    replace(task, section="ours")
    for task in (
        Task("build_bpe", "BPE from counts", "build_bpe"),
        Task("build_wordpiece", "WordPiece from counts", "build_wordpiece"),
        Task("build_unigram", "Unigram from counts", "build_unigram"),
        Task("build_pathpiece", "PathPiece from counts, 262,144 n-grams first", "build_pathpiece"),
        Task("greedwmc_un", "GreedWMC, words of the UN", "cover_un", size=5000),
        Task("picky_un", "Picky BPE, words of the UN that follow a space", "picky_un", size=8192, reported=155.0),
        *(Task(f"encode_{name}", f"encode by {name}", f"encode_{name}") for name in SEGMENTATIONS),
    )
)
GROWING = (
    Task("count", "count", "count"),
    Task("build_bpe", "BPE from counts", "build_bpe"),
    Task("build_wordpiece", "WordPiece from counts", "build_wordpiece"),
    Task("build_unigram", "Unigram from counts", "build_unigram"),
    Task("build_pathpiece", "PathPiece from counts", "build_pathpiece"),
    Task("encode_merge", "encode by merge", "encode_merge"),
    Task("encode_likelihood", "encode by likelihood", "encode_likelihood"),
)
SHARES = (0.25, 0.5, 1.0)
THREADED = ("build_unigram", "build_pathpiece", "encode_merge", "encode_likelihood")


def growth(size: int, sizes: Iterable[int], threads: int) -> list[Task]:
    """Return the tasks of :data:`GROWING` on parts of the text, at other sizes, and with up to ``threads`` threads."""
    by_share = [replace(task, share=share, size=size) for task in GROWING for share in SHARES]
    by_size = [replace(task, size=other) for task in GROWING[1:] for other in sizes if other != size]
    threaded = [replace(task, size=size) for task in GROWING if task.key in THREADED]
    by_threads = [replace(task, threads=more) for task in threaded for more in range(2, threads + 1)]
    return [replace(task, section="growth") for task in (*by_share, *by_size, *by_threads)]
