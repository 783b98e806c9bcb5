"""Bits per byte of documents.

The boundary between context and choice, for every tokenizer.
"""

import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench
from tests.support.fake_results import tiny_mpt, toy_adapter
from tokbench.errors import TokbenchError
from tokbench.evaluation.coverings import (
    Spellings,
    common_prefix,
    coverings,
    encode_choices,
    greedy,
    log_covered,
    log_probability,
)
from tokbench.tokenizer import Tokenizer


@given(length=st.integers(0, 30), window=st.integers(1, 9), data=st.data())
def test_windows_predict_every_token_once(torch: ModuleType, length: int, window: int, data: st.DataObject) -> None:
    from tokbench.evaluation.bits_per_byte import TokenWindows

    stride = data.draw(st.integers(1, window))
    sequence = list(range(100, 101 + length))
    cut = list(TokenWindows(window, stride)(sequence))
    assert [target for _, targets in cut for target in targets] == sequence[1:]
    for inputs, targets in cut:
        assert len(inputs) <= window
        assert inputs[-len(targets) :] == [target - 1 for target in targets]
        assert inputs[0] == 100 or len(inputs) == window


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 12))
def test_windows_of_bytes(torch: ModuleType, sizes: list[int], span: int) -> None:
    """Every token once; of what stands before it at least ``span`` bytes are seen, or all, and less than twice that."""
    from tokbench.evaluation.bits_per_byte import ByteWindows

    sequence = [0, *range(1, len(sizes) + 1)]
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    cut = list(ByteWindows(np.array([0, *sizes], np.int64), span)(sequence))
    assert [target for _, targets in cut for target in targets] == sequence[1:]
    for inputs, targets in cut:
        assert inputs[-len(targets) :] == [target - 1 for target in targets]
        assert len({starts[target - 1] // span for target in targets}) == 1
        assert len(inputs) <= 2 * span + 1
        for target in targets:
            seen = [token for token in inputs if token < target]
            forced = seen[0] == targets[0] - 1  # a token is seen at least, however long it is
            assert forced or starts[target - 1] - (starts[seen[0] - 1] if seen[0] else 0) < 2 * span
            if seen[0]:
                before = seen[0] - 1
                assert starts[target - 1] - (starts[before - 1] if before else 0) >= span


def test_bits_per_byte_against_one_pass(torch: ModuleType) -> None:
    from tokbench.evaluation.bits_per_byte import ByteWindows, TokenWindows, bits_per_byte

    model, adapter = tiny_mpt(torch), toy_adapter()
    documents = [b"the time in the road \xff", b"", b"winter over her window"]
    start = adapter.eos_token_id

    def measure(window: int, stride: int, batch_size: int) -> float:
        value, of = bits_per_byte(
            model,
            lambda text: adapter.tokenizer.encode(text).tolist(),
            documents,
            start,
            cut=TokenWindows(window, stride),
            batch_size=batch_size,
            device="cpu",
        )
        assert of["bytes"] == sum(map(len, documents))
        assert of["tokens"] == sum(len(adapter.tokenizer.encode(document)) for document in documents)
        assert value == of["bits"] / of["bytes"]
        assert sum(document["bits"] for document in of["by_document"]) == pytest.approx(of["bits"])
        assert [document["bytes"] for document in of["by_document"]] == list(map(len, documents))
        return of["bits"]

    expected = 0.0
    for document in documents:
        ids = [start, *adapter.tokenizer.encode(document).tolist()]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected -= sum(float(logits[i - 1, ids[i]]) for i in range(1, len(ids))) / math.log(2)
    assert measure(512, 256, 2) == pytest.approx(expected, abs=1e-3)
    lengths = np.array([len(token) for token in adapter.tokenizer.vocabulary.tokens], np.int64)

    def encode(text: bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    for span, near in ((512, True), (3, False)):
        of_bytes = ByteWindows(lengths, span)
        _, of = bits_per_byte(model, encode, documents, start, cut=of_bytes, batch_size=2, device="cpu")
        assert (of["bits"] == pytest.approx(expected, abs=1e-3)) == near
        assert of["cut"] == {"span_bytes": span}
    assert measure(8, 4, 3) == pytest.approx(measure(8, 4, 1), abs=1e-3)
    with pytest.raises(TokbenchError, match="no text"):
        bits_per_byte(model, list, [b""], start, cut=TokenWindows(8, 4), batch_size=1, device="cpu")


def test_texts_are_measured_as_lm_eval_does(torch: ModuleType, tmp_path: Path) -> None:
    from functools import partial

    from lm_eval.api.instance import Instance
    from lm_eval.tasks import TaskManager

    from tokbench.evaluation.bits_per_byte import TokenWindows, bits_per_byte
    from tokbench.evaluation.coverings import Spellings
    from tokbench.evaluation.evaluate import measure_text
    from tokbench.evaluation.scoring import ScoringLM

    pages = ["the time in the road", "winter over her window , here"]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps({"page": page}) + "\n" for page in pages))
    config = {
        "task": "pages",
        "dataset_path": "json",
        "dataset_kwargs": {
            "data_files": {"test": str(tmp_path / "pages.jsonl")},
            "cache_dir": str(tmp_path / "cache"),
        },
        "output_type": "loglikelihood_rolling",
        "test_split": "test",
        "doc_to_text": "",
        "doc_to_target": "{{page}}",
        "metric_list": [{"metric": "bits_per_byte"}],
    }
    task = TaskManager(include_defaults=False).load([config])["tasks"]["pages"]
    model, adapter = tiny_mpt(torch), toy_adapter()

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    spellings = Spellings(adapter.tokenizer.vocabulary.tokens)
    lm = ScoringLM(model, adapter, encode, adapter.eos_token_id, spellings=spellings, window=8, batch_size=2)
    requests = [Instance("loglikelihood_rolling", {}, (page,), 0, ("pages", n, 1)) for n, page in enumerate(pages)]
    scores = lm.loglikelihood_rolling(requests, disable_tqdm=True)
    measure = partial(
        bits_per_byte, model, encode, start=adapter.eos_token_id, cut=TokenWindows(8, 8), batch_size=2, device="cpu"
    )
    found = measure_text("pages", task, measure)
    for document, score in zip(found["documents"], scores, strict=True):
        assert document["bits"] == pytest.approx(-score / math.log(2), abs=1e-3)
    assert found["bits_per_byte"] == pytest.approx(-sum(scores) / math.log(2) / sum(map(len, pages)), abs=1e-4)
    assert [document["bytes"] for document in found["documents"]] == [len(page) for page in pages]
    assert len(measure_text("pages", task, measure, limit=1)["documents"]) == 1


TOKENS = sorted({b"a", b"b", b" ", b"ab", b" a", b"a b", b"ba", b"b a", b" b ", b"aab"}, key=len, reverse=True)
IDS = {token: number for number, token in enumerate(TOKENS)}
MERGES = [(b"a", b"b"), (b" ", b"a"), (b"b", b"a"), (b" ", b"b"), (b"a", b" b"), (b"b", b" a"), (b"a", b"ab")]


def bytes_of(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def forward(text: str | bytes) -> list[int]:
    """Longest match from the left, with tokens that straddle spaces."""
    text, ids = bytes_of(text), []
    while text:
        token = next(token for token in TOKENS if text.startswith(token))
        ids.append(IDS[token])
        text = text[len(token) :]
    return ids


def backward(text: str | bytes) -> list[int]:
    """Longest match from the right: one more letter can change every token before it."""
    text, ids = bytes_of(text), []
    while text:
        token = next(token for token in TOKENS if text.endswith(token))
        ids.append(IDS[token])
        text = text[: -len(token)]
    return ids[::-1]


def merged(text: str | bytes) -> list[int]:
    """Merges in the order of their ranks."""
    parts = [bytes([value]) for value in bytes_of(text)]
    for pair in (pair for pair in MERGES if pair[0] + pair[1] in IDS):
        place = 0
        while place < len(parts) - 1:
            if (parts[place], parts[place + 1]) == pair:
                parts[place : place + 2] = [pair[0] + pair[1]]
            place += 1
    return [IDS[part] for part in parts]


ENCODERS = pytest.mark.parametrize("encode", [forward, backward, merged])


def spelt(ids: tuple[int, ...]) -> list[bytes]:
    return [TOKENS[number] for number in ids]


@ENCODERS
@given(context=st.text("ab ", max_size=12), choices=st.lists(st.text("ab ", min_size=1, max_size=8), min_size=1))
def test_straddling_choices_change_the_tokens_of_the_context(encode, context: str, choices: list[str]) -> None:
    encoded = encode_choices(encode, context, choices)
    assert [b"".join(spelt(whole)) for whole in encoded.wholes] == [(context + choice).encode() for choice in choices]
    assert b"".join(spelt(encoded.alone)) == context.rstrip().encode()
    for whole, straddles in zip(encoded.wholes, encoded.straddling, strict=True):
        assert straddles == (common_prefix([encoded.alone, whole]) < len(encoded.alone))


def test_a_token_across_the_end_and_one_that_moves_another() -> None:
    assert encode_choices(forward, "ba", [" b", "b"]).straddling == [False, False]
    across = encode_choices(forward, "a ", [" b", "b"])
    assert (spelt(across.alone), across.straddling) == ([b"a"], [False, True])
    assert [spelt(whole) for whole in across.wholes] == [[b"a", b" ", b" ", b"b"], [b"a b"]]
    moved = encode_choices(backward, "aba", ["b"])
    assert (spelt(moved.alone), spelt(moved.wholes[0])) == ([b"a", b"ba"], [b"ab", b"ab"])


def exact_model(encode, seed: int) -> tuple[dict[bytes, float], Callable[[tuple[int, ...]], np.ndarray]]:
    """Texts of seven letters with their probabilities, and the only right model of their tokens.

    The model gives the logarithm of the next token's probability after each of the first tokens of a sequence.
    """
    texts = [bytes(letters) for letters in product(b"ab ", repeat=7)]
    shares = dict(zip(texts, np.random.default_rng(seed).dirichlet(np.full(len(texts), 0.2)), strict=True))
    masses: dict[tuple[int, ...], float] = {}
    for text, share in shares.items():
        ids = tuple(encode(text))
        for length in range(len(ids) + 1):
            masses[ids[:length]] = masses.get(ids[:length], 0) + share

    def after(ids: tuple[int, ...]) -> np.ndarray:
        rows = []
        for length in range(len(ids) + 1):
            opening = ids[:length]
            mass = masses.get(opening, 0)
            rows.append([masses.get((*opening, token), 0) / mass if mass else 0 for token in range(len(TOKENS))])
        with np.errstate(divide="ignore"):
            return np.log(rows)

    return shares, after


MODELS = {encode: exact_model(encode, seed) for seed, encode in enumerate((forward, backward, merged))}
beginnings = st.integers(0, 3**7 - 1), st.integers(1, 4), st.integers(1, 2)


@ENCODERS
@given(beginnings[0], *beginnings[1:])
def test_coverings_have_the_probability_of_the_texts_that_begin_so(encode, number: int, length: int, more: int) -> None:
    """By brute force: the probability of every text that begins with the context, added up."""
    shares, after = MODELS[encode]
    text = list(shares)[number]
    context, whole = text[:length], tuple(encode(text[: length + more]))
    found, unwritten = coverings(Spellings(TOKENS), encode, context, [whole])
    assert all(not set(last) & set(found.get(before, ())) for before, last in unwritten.items())
    sequences = [spelt((*before, id)) for before, last in found.items() for id in last]
    assert len({tuple(sequence) for sequence in sequences}) == len(sequences)
    for *before, last in sequences:
        assert len(b"".join(before)) < len(context) <= len(b"".join([*before, last]))
        assert b"".join([*before, last]).startswith(context)
    covered = log_covered(found, after)
    assert np.exp(covered) == pytest.approx(sum(share for text, share in shares.items() if text.startswith(context)))
    assert log_probability(whole, after(whole)) <= covered + 1e-9


@ENCODERS
@given(st.text("ab ", min_size=1, max_size=5))
def test_coverings_that_count_are_written_and_of_some_tokenizers_all_that_are(encode, opening: str) -> None:
    """By brute force: the coverings of all texts that begin so and have up to two letters more, as tokens reach."""
    context, spellings = opening.encode(), Spellings(TOKENS)
    written = set()
    for more in range(3):
        for letters in product(b"ab ", repeat=more):
            ids = tuple(encode(context + bytes(letters)))
            written.add(ids[: spellings.within(ids, len(context) - 1) + 1])
    found, unwritten = coverings(spellings, encode, context, [])
    kept = {(*before, last) for before, every in found.items() for last in every}
    left_out = {(*before, last) for before, every in unwritten.items() for last in every}
    assert kept <= written
    if encode is not backward:
        assert kept == written
        assert all(tuple(encode(b"".join(spelt(ids)))) != ids for ids in left_out)


def test_a_covering_whose_tokens_would_be_merged_does_not_count() -> None:
    """After "a" the token "b a" is in no text: "ab" is merged before it."""
    found, unwritten = coverings(Spellings(TOKENS), merged, b"ab", [])
    assert (IDS[b"a"],) not in {before for before, last in found.items() if IDS[b"b a"] in last}
    assert IDS[b"b a"] in unwritten[IDS[b"a"],]


@given(st.text("ab ", min_size=1, max_size=6), st.text("ab ", min_size=1, max_size=6))
def test_coverings_after_a_settled_boundary_are_unchanged(head: str, opening: str) -> None:
    """A tokenizer that always cuts after a full stop."""

    def encode(text: str | bytes) -> list[int]:
        return [
            id for part in bytes_of(text).partition(b".") for id in ([len(TOKENS)] if part == b"." else merged(part))
        ]

    spellings = Spellings([*TOKENS, b"."])
    context = f"{head}.{opening}".encode()
    apart = coverings(spellings, encode, context, [], settled=len(head) + 1)
    assert apart[0] == coverings(spellings, encode, context, [])[0]


@pytest.fixture(scope="module")
def closed() -> dict[str, Tokenizer]:
    """Tokenizers of which the first tokens of a text are the tokens of what they spell."""
    counts = tokbench.count([b"abba ab baab a bab aab " * 3, b"ba b ab aabb abab b a" * 2], "none")
    bpe, unigram = (tokbench.build(method, counts, 290) for method in ("bpe", "unigram"))
    others = ("greedy", "longest_prefix", "shortest_path")
    return {name: Tokenizer(bpe.vocabulary, "none", name) for name in others} | {"merge": bpe, "likelihood": unigram}


@given(text=st.text("ab ", max_size=24))
@pytest.mark.parametrize("segmentation", ["merge", "greedy", "longest_prefix", "shortest_path", "likelihood"])
def test_prefixes_of_closed_tokenizers_encode_to_prefixes(
    closed: dict[str, Tokenizer], segmentation: str, text: str
) -> None:
    tokenizer = closed[segmentation]
    assert tokenizer.segmentation == segmentation
    ids = tokenizer.encode(text).tolist()
    for count in range(len(ids)):
        assert tokenizer.encode(tokenizer.decode(ids[:count])).tolist() == ids[:count]


def test_an_empty_context_has_no_covering_and_bytes_alone_have_one() -> None:
    assert coverings(Spellings(TOKENS), forward, b"", [(0,)]) == ({}, {})
    assert log_covered({}, MODELS[forward][1]) == -np.inf
    single = Spellings([b"a", b"b", b" "])
    found, unwritten = coverings(single, lambda text: [b"ab ".index(value) for value in text], b"ab", [(0, 1, 2)])
    assert (found, unwritten) == ({(0,): [1]}, {})


def test_a_completion_is_greedy_among_tokens_that_agree_with_the_context() -> None:
    spellings = Spellings([b"a", b"b", b" ", b"a b", b"ab"])
    given = np.full((1, 6), -9.0)
    given[0, [1, 5]] = -0.1, -0.01  # "b" and the special token would be likelier, but the context says "a".
    given[0, 3] = -1.0
    assert greedy(spellings, b"a", 0, (3,), given)
    given[0, 0] = -0.5
    assert not greedy(spellings, b"a", 0, (3,), given)
    assert not greedy(spellings, b"", 0, (3,), given)
