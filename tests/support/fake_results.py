"""Random data for tests: bits of documents, a scoreboard with its report, prose, and shared Hypothesis examples.

Also downstream tasks with random prose, a toy tokenizer and untrained models. Hypothesis examples are shared by many
tests, because drawing a text takes longer than tokenizing it.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import polars as pl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

from tests.support.small_report import altered, whole
from tokbench.evaluation.offline_tasks import TaskOptions, read_paragraphs
from tokbench.report.content import ReportContent
from tokbench.statistics.accuracies.ranks import averages_by_size
from tokbench.statistics.cells import OUTCOME
from tokbench.statistics.comparisons.scoreboard import scoreboard, scoreboard_families
from tokbench.tabulation.columns import QUESTION_MEASURES
from tokbench.tabulation.documents import ALIGNMENT_BY_WORD, DOCUMENT_BITS, TOKENS_BY_DOCUMENT
from tokbench.tabulation.external_tokenizers import IMPORTED
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS
from tokbench.tabulation.table import schema
from tokbench.vocabulary import Vocabulary

VARIANTS = ("bpe", "sage", "lossy", "unigram")
SEEDS = (0, 1, 2)
"""Three identical trainings, so that intervals are over documents and questions."""
GAPS = {"bpe": 0.1, "sage": 0.05, "lossy": 0.01, "unigram": 0.06}
SIZES, FAKE_RESULTS_DOCUMENTS, QUESTIONS, WORDS = (300, 400), 12, 40, 60
Columns = dict[str, NDArray[np.float64]]


BASELINES = dict.fromkeys(VARIANTS, "bpe")
SHARED = dict.fromkeys(VARIANTS, "gpt2")
APART = {**SHARED, "unigram": "first_space", "sage": "first_space"}
"""Two pre-tokenizers with two variants each; the baseline has another one than sage and unigram."""


def drawn_apart(seeds: Mapping[str, int] | int = len(SEEDS)) -> pl.DataFrame:
    """Return the scoreboard of the same numbers for tokenizers with two pre-tokenizers.

    Args:
        seeds: number of trainings of the language model, for all variants or by variant.
    """
    inputs, _, _ = _inputs()
    of = seeds if isinstance(seeds, Mapping) else dict.fromkeys(VARIANTS, seeds)
    few = pl.col("seed") < pl.col("variant").replace_strict(of)
    undersized = [one.filter(few) if "seed" in one.columns else one for one in inputs]
    return scoreboard(scoreboard_families(*undersized, _trainings(of), {}), BASELINES, APART)


def _trainings(of: Mapping[str, int]) -> dict[tuple[str, str, int], int]:
    return {("tiny", "offline", size): min(of.values()) for size in SIZES}


@cache
def drawn() -> tuple[pl.DataFrame, NDArray[np.float64], dict[tuple[str, int], Columns]]:
    """Return a random scoreboard, the bytes of its documents, and tokens, bits and answers by variant and size."""
    inputs, sizes, found = _inputs()
    return (
        scoreboard(
            scoreboard_families(*inputs, _trainings(dict.fromkeys(VARIANTS, len(SEEDS))), {}), BASELINES, SHARED
        ),
        sizes,
        found,
    )


@cache
def _inputs() -> tuple[tuple[pl.DataFrame, ...], NDArray[np.float64], dict[tuple[str, int], Columns]]:
    rng = np.random.default_rng(14)
    sizes = rng.integers(50, 500, FAKE_RESULTS_DOCUMENTS).astype(np.float64)
    found: dict[tuple[str, int], Columns] = {}
    level = {"bpe": 0.4, "sage": 0.401, "lossy": 0.1, "unigram": 0.45}
    shared = rng.normal(0, 0.02, FAKE_RESULTS_DOCUMENTS)
    for size in SIZES:
        for variant in VARIANTS:
            share = level[variant] - size / 10_000 + shared + rng.normal(0, 0.002, FAKE_RESULTS_DOCUMENTS)
            answers = (rng.random((2, QUESTIONS)) < 0.5 + 0.4 * (variant == "sage")).astype(np.float64)
            tokens = np.round(share * sizes)
            boundaries = rng.integers(0, 3, (2, WORDS, 3)) * (rng.random((2, WORDS, 1)) < 0.7)
            boundaries[:, :, 0] += 4 * (variant != "bpe") * boundaries.any(axis=2)
            found[variant, size] = {"tokens": tokens, "bits": (2 + share) * sizes, "answers": answers}
            found[variant, size]["boundaries"] = boundaries.astype(np.float64)
    documents = [
        (variant, size, "books", order, budget, number, "", int(sizes[number]), one["bits"][number] / order,
         int(one["tokens"][number]), 0)
        for (variant, size), one in found.items() for order in (1, 2) for budget in (500, 1000)
        for number in range(FAKE_RESULTS_DOCUMENTS) if variant != "lossy"
    ]  # fmt: skip
    measured = [
        (variant, size, "books", "", name, "defined", value, n, None)
        for (variant, size), one in found.items()
        for name, value, n in (("corpus_token_count", one["tokens"].sum(), 1), ("gap", GAPS[variant], 1))
    ]
    measured += [
        (variant, size, "all resources", "", "morphological_alignment", "defined", f1(one["boundaries"]), 2, None)
        for (variant, size), one in found.items()
    ]
    words = pl.DataFrame(
        [
            (variant, size, resource, word, 1, *map(int, one["boundaries"][place, word]))
            for (variant, size), one in found.items() for place, resource in enumerate(("ladec", "morphscore"))
            for word in range(WORDS) if one["boundaries"][place, word].any()
        ],
        schema=ALIGNMENT_BY_WORD.schema,
        orient="row",
    )  # fmt: skip
    answers = [
        ("tiny", "offline", variant, size, f"task {task}", question, bool(one["answers"][task, question]))
        for (variant, size), one in found.items() for task in range(2) for question in range(QUESTIONS)
    ]  # fmt: skip
    outcomes = pl.DataFrame(answers, schema=OUTCOME, orient="row")
    keys = ["variant", "size", "model", "suite", "task"]
    accuracy = outcomes.group_by(keys).agg(accuracy=pl.col("correct").mean(), n=pl.len().cast(pl.Int64))
    accuracy = accuracy.with_columns(random_baseline=pl.lit(0.5))
    bits = [
        (*("tiny", variant, size, "offline"), "books", number, "", int(sizes[number]), one["bits"][number], 0, seed)
        for seed in SEEDS for (variant, size), one in found.items() for number in range(FAKE_RESULTS_DOCUMENTS) if
        variant != "lossy"
    ]  # fmt: skip
    lossy = dict.fromkeys(IMPORTED.schema) | {"variant": "lossy", "documents_changed": 3}
    counted = [
        (variant, size, "books", number, 1, int(sizes[number]), int(one["tokens"][number]))
        for (variant, size), one in found.items() for number in range(FAKE_RESULTS_DOCUMENTS)
    ]  # fmt: skip
    inputs = (
        pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row"),
        pl.DataFrame([lossy], schema=IMPORTED.schema),
        pl.DataFrame(counted, schema=TOKENS_BY_DOCUMENT.schema, orient="row"),
        pl.DataFrame(documents, schema=NGRAM_DOCUMENTS.schema, orient="row"),
        pl.DataFrame(bits, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row"),
        averages_by_size(accuracy),
        pl.concat([measured_answers(outcomes, seed) for seed in SEEDS]),
        words,
    )
    return inputs, sizes, found


def measured_answers(outcomes: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return outcomes as the measures of answers of one seed; each question is a cluster."""
    kinds = {**schema(QUESTION_MEASURES), "seed": pl.Int64}
    known = outcomes.with_columns(seed=pl.lit(seed), group=pl.lit(""), source_corpus=pl.lit(""), bytes=pl.lit(10))
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in kinds.items() if name not in known.columns]
    return known.with_columns(missing).select(list(kinds)).cast(kinds)


def f1(boundaries: NDArray[np.float64]) -> float:
    """Return the mean over resources of the F1 of all word boundaries."""
    right, wrong, missed = boundaries.sum(axis=1).T
    return float((right / (right + (wrong + missed) / 2)).mean())


def shown() -> ReportContent:
    board, _, _ = drawn()
    return altered(whole(), scoreboard=board, models=["tiny"], **_recipes(SHARED))


def shown_apart(seeds: int = len(SEEDS)) -> ReportContent:
    return altered(whole(), scoreboard=drawn_apart(seeds), models=["tiny"], **_recipes(APART))


def _recipes(pretokenizers: dict[str, str]) -> dict[str, Any]:
    recipes = {name: {"pretokenization": one, "construction": "bpe"} for name, one in pretokenizers.items()}
    return {"recipes": recipes, "baselines": ["bpe"]}


LEVELS = {"a": 1.9, "b": 2.0, "c": 2.001}


def documents_of(
    levels: dict[str, float], *, seeds: int = 4, documents: int = 12, noise: float = 0.004, languages: int = 1
) -> pl.DataFrame:
    """Return bits of documents in several languages; a level may be a tuple with a value per language."""
    rng = np.random.default_rng(4)
    rows = []
    own = rng.normal(0, 0.1, documents)
    for seed in range(seeds):
        for variant, level in levels.items():
            run = rng.normal(0, noise)
            for document in range(documents):
                size = 500 + 20 * document
                bits = size * (level + own[document] + run + rng.normal(0, noise))
                language = f"l{document % languages}"
                rows.append(("m (4 seeds)", variant, 1024, "words", "books", document, language, size, bits, 0, seed))
    return pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")


DOWNSTREAM_TASKS_WORDS = [
    "time",
    "hand",
    "world",
    "house",
    "river",
    "night",
    "garden",
    "letter",
    "window",
    "stone",
    "morning",
    "voice",
    "road",
    "winter",
    "friend",
    "table",
]


OFFLINE = ("continuation", "last_word", "unperturbed", "word_order")
SMALL = TaskOptions(questions=40, fewshot_pool=8)


def prose(seed: int, paragraphs: int = 60) -> bytes:
    """Return random sentences with capitals and full stops, eight per paragraph."""
    rng = Random(seed)
    written = []
    for _ in range(paragraphs):
        lines = [
            " ".join(rng.choices(DOWNSTREAM_TASKS_WORDS, k=rng.randint(9, 14))).capitalize() + "." for _ in range(8)
        ]
        written.append("\n".join(lines))
    return "\n\n".join(written).encode()


DOCUMENTS = [(3, prose(3)), (7, b"\xff\xfe not text\n" + prose(7)), (9, b"")]


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spaced(documents: list[tuple[int, bytes]]) -> str:
    return "\n\n".join(" ".join(p.words) for p in read_paragraphs(documents, 10**9)[0])


def stub(score):
    """Return an lm-eval model that scores (context, choice) with a function."""
    from lm_eval.api.model import LM

    class Stub(LM):
        def loglikelihood(self, requests, disable_tqdm=False):
            return [(score(*request.args), False) for request in requests]

        def loglikelihood_rolling(self, requests, disable_tqdm=False):
            raise AssertionError

        def generate_until(self, requests, disable_tqdm=False):
            raise AssertionError

    return Stub()


def toy_adapter():
    """Return a byte-level Hugging Face tokenizer with tokens that straddle spaces."""
    import numpy as np
    from transformers import PreTrainedTokenizer

    tokens = [bytes([value]) for value in range(256)] + [b"e h", b"d w", b"er", b" w", b"in", b"t r"]
    ids = {token: number for number, token in enumerate(tokens)}

    class Tokenizer:
        vocabulary = named = Vocabulary(tuple(tokens))
        library_name, has_explicit_ids, lossless, end_of_text = "", False, True, len(tokens)
        digest = "a toy"
        normalization = ()

        def __getstate__(self) -> dict[str, object]:
            return {}

        def encode(self, text: str | bytes):
            data = text.encode() if isinstance(text, str) else text
            found = []
            while data:
                length = next(length for length in (3, 2, 1) if data[:length] in ids)
                found.append(ids[data[:length]])
                data = data[length:]
            return np.array(found, np.int32)

        def last_cut(self, text: bytes) -> int:
            return 0

    class Adapter(PreTrainedTokenizer):
        tokenizer = Tokenizer()

        def __init__(self) -> None:
            super().__init__(eos_token="<|endoftext|>", pad_token="<|padding|>")

        @property
        def vocab_size(self) -> int:
            return len(tokens)

        def get_vocab(self) -> dict[str, int]:
            return {token.hex(): number for token, number in ids.items()}

        def _tokenize(self, text: str, **_) -> list[str]:
            return [tokens[number].hex() for number in self.tokenizer.encode(text).tolist()]

        def _convert_token_to_id(self, token: str) -> int | None:
            return ids.get(bytes.fromhex(token)) if not token.startswith("<") else None

        def _convert_id_to_token(self, index: int) -> str:
            return tokens[index].hex()

    return Adapter()


def tiny_mpt(torch: ModuleType, max_seq_len: int = 512):
    from transformers import MptConfig, MptForCausalLM

    torch.manual_seed(0)
    config = MptConfig(
        d_model=32, n_heads=2, n_layers=1, max_seq_len=max_seq_len, vocab_size=320, expansion_ratio=4, use_cache=False
    )
    return MptForCausalLM(config).eval()


def requests_of(questions: list[tuple[str, list[str]]]):
    from lm_eval.api.instance import Instance

    return [
        Instance("loglikelihood", {}, (context, choice), index, ("toy", number, 1))
        for number, (context, choices) in enumerate(questions)
        for index, choice in enumerate(choices)
    ]


Drawn = TypeVar("Drawn")


def drawn_examples_drawn(strategy: SearchStrategy[Drawn], number: int) -> list[Drawn]:
    """Draw ``number`` examples of a strategy, or fewer if it has no more."""
    found: list[Drawn] = []

    @settings(
        max_examples=number,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(strategy)
    def keep(example: Drawn) -> None:
        found.append(example)

    keep()
    return found


def some(examples: list[Drawn], number: int, of: str) -> list[Drawn]:
    """Select ``number`` of the examples, different ones for each name."""
    return Random(of).sample(examples, min(number, len(examples)))
