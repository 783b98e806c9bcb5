"""Other segmentations into the tokens of a vocabulary: against plain Python, and read by models of known
probabilities."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import tokbench
from tests.support.fake_results import DOCUMENTS, requests_of, tiny_mpt
from tokbench.corpus.documents import Document
from tokbench.evaluation.answer_measures import measure_answer
from tokbench.evaluation.other_segmentations import NO_TEXT, NORMALIZED, OtherSegmentation, why_none
from tokbench.evaluation.suites import SuiteOptions, named_suite
from tokbench.io.json import read_result, write_result
from tokbench.reference import other_segmentations as twin
from tokbench.reference.segmentation import every_segmentation
from tokbench.statistics.comparisons.segmentations import compare_segmentation_losses, segmentation_losses
from tokbench.tabulation.segmentations import (
    SEGMENTED_DOCUMENTS,
    SEGMENTED_QUESTIONS,
    segmented_documents_table,
    segmented_questions_table,
    segmented_texts_table,
)
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

KINDS = ("characters", "random", "digits_right")
TOKENS = (b"ab", b"aba", b"ba", b" a", b" ab", "é".encode(), b"12", b"34", b"234", b"1234", b" 1", b" 12", b"4a", b"23")
TEXTS = st.one_of(
    st.text(st.sampled_from("ab é1234 ☃"), max_size=24).map(str.encode),
    st.lists(st.sampled_from([b"a", b" ", b"1", b"234", b"\xff", b"\xc3"]), max_size=8).map(b"".join),
)
PLAIN = Tokenizer(Vocabulary((*BYTES, *TOKENS)), "gpt2", "greedy")


def many_tokenizers() -> list[Tokenizer]:
    """Return tokenizers of several kinds: trained ones, with continuation tokens, with ids, and with superwords."""
    counts = tokbench.count(b"abab aba 1234 234 12 ab 2024 caf\xc3\xa9 ba" * 9)
    sizes = {"bpe": 270, "wordpiece": 530, "unigram": 270, "greedtok": 270}
    built = [tokbench.build(name, counts, size) for name, size in sizes.items()]
    size = len(BYTES) + len(TOKENS)
    shuffled = Vocabulary((*BYTES, *TOKENS), ids=np.random.default_rng(0).permutation(size + 5)[:size].astype(np.int32))
    added = Vocabulary((*BYTES, *TOKENS), added=np.arange(size) == size - 1)
    others = [
        Tokenizer(shuffled, "gpt2", "greedy"),
        Tokenizer(added, "gpt2", "greedy"),
        Tokenizer(Vocabulary((*BYTES, *TOKENS)), "none", "longest_suffix"),
        Tokenizer(Vocabulary((*BYTES, *TOKENS)), "cl100k", "greedy"),
    ]
    return [*built, *others]


MANY = many_tokenizers()


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS, choice=st.sampled_from(["", " 1234", "b", " ab"]), seed=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_text_is_restored(kind: str, text: bytes, choice: str, seed: int) -> None:
    for tokenizer in MANY:
        other = OtherSegmentation(tokenizer, kind, seed)
        ids = other.encode(text)
        assert tokenizer.decode(ids) == text
        assert ids == other.encode(text) == OtherSegmentation(tokenizer, kind, seed).encode(text)
        context = text.decode(errors="replace")
        encoded, _ = other.encode_choices(context, [choice, " a"])
        assert tokenizer.decode(encoded.alone) == context.rstrip().encode()
        assert encoded.alone == tuple(other.encode(context.rstrip()))
        for whole, continued in zip(encoded.wholes, (choice, " a"), strict=True):
            assert whole[: len(encoded.alone)] == encoded.alone
            assert tokenizer.decode(whole) == (context + continued).encode()


@given(text=TEXTS, seed=st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_each_kind_equals_its_twin(text: bytes, seed: int) -> None:
    tokens = {token: id for id, token in enumerate(PLAIN.vocabulary.tokens)}
    borders = PLAIN.scheme.boundaries(text).tolist()
    expected: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    for start, end in pairwise(borders):
        pretoken = text[start:end]
        draw = Random(b"%d %d " % (seed, start) + pretoken)
        expected["characters"] += twin.characters(pretoken, tokens)
        expected["random"] += twin.random(pretoken, tokens, iter(draw.random, None))
        own = [PLAIN.vocabulary.tokens[id] for id in PLAIN.encode(pretoken)]
        expected["digits_right"] += twin.digits_right(own, tokens)
    for kind, spelt in expected.items():
        assert OtherSegmentation(PLAIN, kind, seed).encode(text) == [tokens[token] for token in spelt]


def spelt(kind: str, text: str, tokenizer: Tokenizer = PLAIN) -> list[str]:
    return [tokenizer.decode_text([id]) for id in OtherSegmentation(tokenizer, kind).encode(text)]


def test_kinds_by_hand() -> None:
    assert spelt("characters", "ab é☃") == ["a", "b", " ", "é", "�", "�", "�"]
    assert spelt("digits_right", "ab 1234 12 21234") == ["ab", " 1", "234", " 12", " ", "2", "1", "234"]
    left = Tokenizer(Vocabulary((*BYTES, *TOKENS)), "cl100k", "greedy")
    assert [left.decode_text([id]) for id in left.encode("1234")] == ["12", "3", "4"]
    assert spelt("digits_right", "1234", left) == ["1", "234"], "no border between two digits"
    assert spelt("digits_right", "ab ba", left) == ["ab", " ", "ba"]


def test_draws_are_uniform() -> None:
    """Over the positions of a text. 16 cells of 4,000 draws: chi-square below 37.7 with probability 0.999."""
    words = b"abaaba"
    every = {tuple(way) for way in every_segmentation(words, {*BYTES, *TOKENS})}
    other = OtherSegmentation(PLAIN, "random", 7)
    for token in (b" a", b" ab"):
        del other.starts[token]
    ids = other.encode(b" ".join([words] * 4000))
    found = Counter(map(tuple, split_at_spaces([PLAIN.vocabulary.tokens[id] for id in ids])))
    assert set(found) == every
    expected = 4000 / len(every)
    assert sum((count - expected) ** 2 / expected for count in found.values()) < 37.7
    assert len(every) == 16


def split_at_spaces(tokens: list[bytes]) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    for token in tokens:
        parts += [[]] if token == b" " else []
        parts[-1] += [] if token == b" " else [token]
    return parts


def test_counts_beyond_the_largest_double() -> None:
    """A pre-token of 3,000 bytes has more than 2**1024 segmentations. About half of the borders are drawn."""
    tokenizer = Tokenizer(Vocabulary((*BYTES, b"aa", b"aaa")), "none", "greedy")
    ids = OtherSegmentation(tokenizer, "random").encode(b"a" * 3000)
    counts = Counter(len(tokenizer.vocabulary.tokens[id]) for id in ids)
    assert sum(size * count for size, count in counts.items()) == 3000
    ratio = 1.8392867552  # Growth of tribonacci numbers: a token of n bytes has the share ratio**-n.
    for size, count in counts.items():
        share = ratio**-size
        assert abs(count - share * len(ids)) < 4 * math.sqrt(len(ids) * share * (1 - share))


def test_tokenizers_without_other_segmentations() -> None:
    composed = Tokenizer(Vocabulary((*BYTES, b"ab")), "gpt2", "greedy", normalization=["nfc"])
    assert why_none(composed) == NORMALIZED
    assert why_none(PLAIN) is None
    never = Vocabulary((*BYTES, b"ab"), scores=np.array([*[-1.0] * 256, -np.inf]))
    without = Tokenizer(never, "gpt2", "likelihood")
    for seed in range(9):
        assert OtherSegmentation(without, "random", seed).encode(b"ab") == [97, 98], "a token that no text has"


def adapter_of(tokenizer: Tokenizer, folder: Path) -> Any:
    from tokbench.adapters.transformers import TokbenchTokenizer

    tokenizer.save(folder)
    return TokbenchTokenizer.from_folder(folder)


QUESTIONS = [
    ("ab ba", [" ab 1234", " aba", " 12"]),
    ("x y", [" z", " w"]),
    ("", [" 2024", "☃"]),
    ("1234 ", ["23", "ab"]),
]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_questions(torch: ModuleType, tmp_path: Path, kind: str) -> None:
    """A score is the log-probability of the choice's tokens after those of the context."""
    from tokbench.evaluation.resegmented import ResegmentedLM
    from tokbench.evaluation.scoring import ScoringLM

    model, reference, other = tiny_mpt(torch, 8), tiny_mpt(torch), OtherSegmentation(PLAIN, kind)

    def encode(text: str | bytes) -> list[int]:
        ids: list[int] = PLAIN.encode(text).tolist()
        return ids

    lm = ScoringLM(
        model,
        adapter_of(PLAIN, tmp_path / "plain"),
        encode,
        PLAIN.end_of_text,
        spellings=None,
        window=8,
        batch_size=3,
        start_token="every_context",
    )
    resegmented = ResegmentedLM(lm, other)
    scores = [score for score, _ in resegmented.loglikelihood(requests_of(QUESTIONS))]
    own = {number for number, (context, choices) in enumerate(QUESTIONS)
           if all(other.encode(context + choice) == encode(context + choice) for choice in choices)}  # fmt: skip
    assert resegmented.own["toy"] == own == {1, 2}
    expected = []
    for number, (context, choices) in enumerate(QUESTIONS):
        for choice in choices:
            ids, head = other.encode(context + choice), other.encode(context.rstrip())
            assert ids[: len(head)] == head
            with torch.inference_mode():
                logits = reference(input_ids=torch.tensor([[PLAIN.end_of_text, *ids]])).logits[0]
            logs = logits.double().log_softmax(-1)
            terms = [float(logs[place, id]) for place, id in enumerate(ids) if place >= len(head)]
            expected.append(0.0 if number in own else math.fsum(terms))
    assert scores == pytest.approx(expected, abs=1e-5)
    longest = [max(len(other.encode(context + choice)) for choice in choices) for context, choices in QUESTIONS]
    assert resegmented.longer["toy"] == {number for number, length in enumerate(longest) if length > 8} - own
    assert (longest[0] > 8) == (kind != "digits_right")


def test_bits_of_a_model_of_known_probabilities(torch: ModuleType, tmp_path: Path) -> None:
    """The model expects each byte with probability 2**-9, and each longer token with 2**-6."""
    from types import SimpleNamespace

    from tokbench.evaluation.bits_per_byte import ByteWindows, bits_per_byte
    from tokbench.evaluation.resegmented import measure_resegmented
    from tokbench.evaluation.scoring import ScoringLM

    bits = [9.0 if len(token) == 1 else 6.0 for token in PLAIN.vocabulary.tokens]
    logs = torch.tensor([*[-math.log(2) * one for one in bits], math.log(0.5 - len(TOKENS) / 64)])

    class Model(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, input_ids: Any) -> Any:
            return SimpleNamespace(logits=logs.expand(*input_ids.shape, -1))

    texts = [b"ab ab 1234", b"x y z", b"abab 12 1234" * 5]
    documents = [Document(number, "en", text) for number, text in enumerate(texts, 3)]
    lm = ScoringLM(
        tiny_mpt(torch),
        adapter_of(PLAIN, tmp_path / "plain"),
        lambda text: PLAIN.encode(text).tolist(),
        PLAIN.end_of_text,
        spellings=None,
        window=64,
        batch_size=3,
    )

    def measure(encode: Any, texts: Any, *, cut: Any) -> Any:
        return bits_per_byte(Model(), encode, texts, PLAIN.end_of_text, cut=cut, batch_size=2, device="cpu")

    windows = ByteWindows(np.array([len(token) for token in PLAIN.vocabulary.tokens]), 7)
    _, own = measure(lm.encode, texts, cut=windows)
    found = measure_resegmented(PLAIN, KINDS, 0, lm, lambda other: {"tasks": {}}, documents, measure, (windows, own))
    for kind in KINDS:
        assert found[kind]["reason"] is None
        assert found[kind]["documents_left_out"] == 1
        assert [row["document"] for row in found[kind]["documents"]] == [3, 5]
        for row in found[kind]["documents"]:
            text = texts[row["document"] - 3]
            for key, ids in (("own_", lm.encode(text)), ("", OtherSegmentation(PLAIN, kind).encode(text))):
                assert row[f"{key}bits"] == pytest.approx(sum(bits[id] for id in ids), abs=1e-3)
                assert row[f"{key}tokens"] == len(ids)
    without = measure_resegmented(
        PLAIN, ["digits_right"], 0, lm, lambda other: {"tasks": {}}, documents[1:2], measure, (windows, own)
    )
    assert without["digits_right"]["reason"] == NO_TEXT
    composed = Tokenizer(PLAIN.vocabulary, "gpt2", "greedy", normalization=["nfc"])
    refused = measure_resegmented(composed, KINDS[:1], 0, lm, lambda other: {}, documents, measure, (windows, own))
    assert refused["characters"] == {"reason": NORMALIZED, "documents": [], "documents_left_out": 3, "tasks": {}}


def test_evaluation_with_other_segmentations(torch: ModuleType, offline_tasks: Path, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate

    tokenizer = Tokenizer(Vocabulary((*BYTES, b" the", b" ri", b"er", b"in")), "gpt2", "greedy", name="mine")
    tokenizer.save(tmp_path / "tokenizer")
    tiny_mpt(torch, 64).save_pretrained(tmp_path / "model")
    plain = named_suite("offline").model_copy(update={"tasks": ("last_word", "continuation")})
    suite = plain.model_copy(update={"other_segmentations": KINDS, "segmentation_seed": 3})
    documents = [Document(number, "en", text[:300]) for number, text in DOCUMENTS]
    results = []
    for name, asked in (("plain", plain), ("one", suite), ("two", suite)):
        evaluate(
            tmp_path / "model",
            tmp_path / "tokenizer",
            offline_tasks,
            asked,
            tmp_path / f"{name}.json",
            limit=4,
            bits_per_byte_documents=documents,
        )
        results.append(read_result(tmp_path / f"{name}.json", ""))
    options = [result.pop("manifest")["options"] for result in results]
    assert "other_segmentations" not in options[0]
    assert "segmentation_seed" not in options[0]
    assert options[1]["segmentation_seed"] == 3
    measured = results[1].pop("other_segmentations")
    assert results[2].pop("other_segmentations") == measured
    assert results[0] == results[1] == results[2], "the other results are unchanged"
    assert list(measured) == [*KINDS]
    assert measured["digits_right"]["reason"] == NO_TEXT
    assert [task["left_out"] for task in measured["digits_right"]["tasks"].values()] == [4, 4]
    for kind in KINDS[:2]:
        rows = measured[kind]["documents"]
        assert [row["document"] for row in rows] == [number for number, text in DOCUMENTS if text]
        assert all(row["own_tokens"] < row["tokens"] <= 300 for row in rows)
        for row, own in zip(rows, results[0]["bits_per_byte_equal_context_of"]["by_document"], strict=False):
            assert (row["own_bits"], row["own_tokens"]) == (own["bits"], own["tokens"])
        for name, task in measured[kind]["tasks"].items():
            asked_before = results[0]["tasks"][name]["documents"]
            assert (task["n"], task["left_out"]) == (4, 0)
            for question, before in zip(task["documents"], asked_before, strict=True):
                assert question["bytes"] == before["bytes"]
                assert question["log_likelihoods"] != before["log_likelihoods"]


def written(folder: Path, model: str, shift: float, reason: str | None = None) -> Path:
    """Write a result of two documents and three questions; ``shift`` is added to the bits of the other segmentation."""

    def question(number: int, right: float) -> dict[str, Any]:
        scores = [-right * math.log(2), -3 * math.log(2)]
        answer = {"log_likelihoods": scores, "choice_bytes": [2, 2], "straddling_choices": [], "gold": 0}
        place = {"document": number, "group": "", "source_corpus": "novels", "source_document": number % 2}
        return {**place, **answer, "correct": right < 3, **measure_answer(answer, "acc")}

    documents = [
        {"document": number, "language": "en", "bytes": 10, "own_bits": 20.0, "bits": 20 + shift + number,
         "own_tokens": 4, "tokens": 9}
        for number in range(2)
    ]  # fmt: skip
    task = {"metric": "acc", "n": 2, "left_out": 1, "longer_documents": 1, "truncated_documents": 0,
            "documents": [question(0, 2 + shift), question(2, 2.0)]}  # fmt: skip
    kinds: dict[str, Any] = {
        "random": {"reason": None, "documents": documents, "documents_left_out": 3, "tasks": {"words": task}},
        "digits_right": {"reason": NO_TEXT, "documents": [], "documents_left_out": 5, "tasks": {}},
    }
    result = {"model": model, "variant": "bpe", "size": 300, "suite": "offline", "corpus": "novels", "texts": {},
              "tasks": {"words": {"documents": [question(number, 1.0) for number in range(3)]}},
              "other_segmentations": kinds}  # fmt: skip
    path = folder / f"{model}.json"
    write_result(path, result)
    return path


def test_tables_and_losses_by_hand(tmp_path: Path) -> None:
    results = [written(tmp_path, "tiny", 1.0), written(tmp_path, "twin", 1.0)]
    documents, questions = segmented_documents_table(results), segmented_questions_table(results)
    assert len(documents) == len(questions) == 4
    [row, *_] = segmented_texts_table(results).rows(named=True)
    assert (row["segmentation"], row["reason"], row["tokens_ratio"]) == ("digits_right", NO_TEXT, None)
    [*_, row] = segmented_texts_table(results).rows(named=True)
    assert row["tokens_ratio"] == 9 / 4
    assert (row["documents"], row["documents_left_out"]) == (2, 3)
    assert (row["questions"], row["questions_left_out"], row["longer"]) == (2, 1, 1)
    unseeded = pl.lit(None, pl.Int64)
    losses = segmentation_losses(
        *(frame.filter(model="tiny").with_columns(seed=unseeded) for frame in (documents, questions))
    )
    found = {(row["measure"], row["task"]): row for row in losses.rows(named=True)}
    bits = found["bits_per_byte", ""]
    assert (bits["own"], bits["other"], bits["loss"]) == pytest.approx((2, 2.15, 0.15))
    assert bits["high"] - bits["loss"] == pytest.approx(12.7062 * 0.05, rel=1e-4), "Student's t of one degree"
    assert (bits["texts"], bits["seeds"]) == (2, 1)
    accuracy = found["accuracy", "words"]
    assert (accuracy["own"], accuracy["other"], accuracy["loss"]) == (1, 0.5, 0.5), "of the two changed questions"
    answers = found["answer_bits_per_byte", ""]
    assert (answers["own"], answers["other"], answers["loss"]) == pytest.approx((0.5, 1.25, 0.75))
    assert accuracy["reason"].startswith("one cluster")


def test_comparisons_of_losses_over_seeds(tmp_path: Path) -> None:
    """The loss of b is larger by 0.1 bits per byte with each of three seeds; one training has no verdict."""
    documents = pl.DataFrame(
        [
            ("tiny", variant, 300, "offline", "novels", "random", number, "en", 100, 200.0,
             200.0 + 10 * (variant == "b") + 3 * (seed * number % 3), 30, 60, seed)
            for variant in "ab" for number in range(8) for seed in range(3)
        ],
        schema={**SEGMENTED_DOCUMENTS.schema, "seed": pl.Int64}, orient="row",
    )  # fmt: skip
    questions = pl.DataFrame(
        [
            ("tiny", variant, 300, "offline", "random", "words", number, "", "novels", number, True, variant == "a",
             1.0, 1.1 + 0.2 * (variant == "b"), seed)
            for variant in "ab" for number in range(8) for seed in range(3)
        ],
        schema={**SEGMENTED_QUESTIONS.schema, "seed": pl.Int64}, orient="row",
    )  # fmt: skip
    compared = compare_segmentation_losses(documents, questions, {})
    rows = {(row["measure"], row["task"]): row for row in compared.rows(named=True)}
    bits = rows["bits_per_byte", ""]
    assert (bits["difference"], bits["verdict"], bits["texts"]) == (pytest.approx(-0.1), "better", 8)
    assert bits["low"] <= bits["difference"] <= bits["high"] < 0
    assert rows["accuracy", "words"]["difference"] == -1
    assert rows["answer_bits_per_byte", ""]["difference"] == pytest.approx(-0.2)
    losses = segmentation_losses(documents, questions).filter(measure="bits_per_byte")
    assert losses["loss"].to_list() == pytest.approx([0.01875, 0.11875])
    assert (bits["n"], bits["unit"]) == (8, "documents")
    named = compare_segmentation_losses(documents, questions, {}, unit_names={"novels": "authors"})
    assert set(named.filter(measure="bits_per_byte")["unit"]) == {"authors"}
    once = compare_segmentation_losses(documents.filter(seed=0), questions.filter(seed=0), {})
    assert set(once["verdict"]) == {"not tested"}
    empty = compare_segmentation_losses(documents.clear(), questions.clear(), {})
    assert empty.is_empty()
    assert segmentation_losses(documents.clear(), questions.clear()).is_empty()


def test_options_of_a_suite() -> None:
    plain = SuiteOptions(tasks=("a",))
    assert "other_segmentations" not in plain.model_dump()
    chosen = SuiteOptions(tasks=("a",), other_segmentations=("random",))
    assert SuiteOptions(**chosen.model_dump(mode="json")) == chosen
    with pytest.raises(ValidationError, match="other_segmentations"):
        SuiteOptions(tasks=("a",), other_segmentations=("words",))
