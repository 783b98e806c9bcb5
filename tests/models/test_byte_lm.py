"""The byte-level language model: size, schedule, order of training, resumption, scores against one byte at a time."""

import csv
import json
import math
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pydantic import TypeAdapter, ValidationError

from tests.conftest import TOPICS, Tokbench
from tokbench.commands.recipes import byte_lm_recipe
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.errors import TokbenchError
from tokbench.models.byte_lm import ngram
from tokbench.models.byte_lm.options import PRESETS, AnyByteLm, ByteLmOptions, byte_lm_flops_per_byte

SMALL = PRESETS["tiny"].model_copy(
    update={
        "layers": 1,
        "hidden": 16,
        "feed_forward": 24,
        "heads": 2,
        "context": 16,
        "stride": 6,
        "score_batch": 3,
        "steps": 12,
        "warmup_steps": 3,
        "decay_steps": 4,
        "batch": 4,
        "checkpoint_every": 5,
    }
)


@pytest.fixture(scope="module")
def _libraries() -> None:
    """Imported with the first test, not when tests are collected: most processes that collect run none of these."""
    global torch, load_file, training, START, build, load, Windows, write_stream
    global bits_per_byte, score, score_dataset, score_joined, score_text
    import torch
    from safetensors.torch import load_file

    from tokbench.models.byte_lm import train as training
    from tokbench.models.byte_lm.model import START, build, load
    from tokbench.models.byte_lm.score import bits_per_byte, score, score_dataset, score_joined, score_text
    from tokbench.models.byte_lm.train import Windows, write_stream


DOCUMENTS = [b"the cat sat on the mat. " * 20, b"", b"\xff\x00 and then the dog sat " * 12]


def parameters(options: ByteLmOptions) -> int:
    """Embeddings; attention, gated feed-forward and two norms a layer; the last norm."""
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward + 2 * options.hidden
    return 257 * options.hidden + options.layers * layer + options.hidden


@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize(("name", "about"), [("paper_57m", 57e6), ("tiny", 123e3)])
def test_parameters_without_allocating(name: str, about: float) -> None:
    options = PRESETS[name]
    with torch.device("meta"):
        model = build(options)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert model.num_parameters() == parameters(options) == pytest.approx(about, rel=0.01)


@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"warmup_steps": 9, "decay_steps": 9}, "exceed steps"),
        ({"heads": 5}, "multiple of twice"),
        ({"stride": 17}, "stride exceeds context"),
        ({"microbatch": 3}, "must divide batch"),
    ],
)
def test_inconsistent_options_are_rejected(wrong: dict[str, int], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ByteLmOptions.model_validate(SMALL.model_dump() | wrong)


@pytest.mark.usefixtures("_libraries")
def test_rate_warms_up_stays_and_decays() -> None:
    rates = [training.learning_rate(step, SMALL) / SMALL.learning_rate for step in range(SMALL.steps)]
    assert rates == pytest.approx([1 / 3, 2 / 3, 1, 1, 1, 1, 1, 1, 4 / 5, 3 / 5, 2 / 5, 1 / 5])


@pytest.mark.usefixtures("_libraries")
def test_the_papers_model_and_schedule() -> None:
    """ByteSpan, appendix B: 2,000 steps of warm-up, 44,000 stable ones, 4,000 of decay."""
    paper = PRESETS["paper_57m"]
    shape = {"layers": 6, "hidden": 768, "feed_forward": 3072, "heads": 24, "context": 2048, "tied_embeddings": True}
    recipe = {
        "batch": 128,
        "betas": (0.9, 0.95),
        "eps": 1e-8,
        "weight_decay": 0.1,
        "clip": 1.0,
        "checkpoint_every": 2000,
    }
    assert {key: getattr(paper, key) for key in shape | recipe} == shape | recipe
    assert parameters(paper) == 56_830_464
    for step, share in {
        **{step: (step + 1) / 2_000 for step in (0, 999, 1_999)},
        **dict.fromkeys((2000, 30000, 45999), 1.0),
        **{step: (50_000 - step) / 4_001 for step in (46_000, 48_000, 49_999)},
    }.items():
        assert training.learning_rate(step, paper) == pytest.approx(6e-4 * share, rel=1e-12)


@pytest.mark.usefixtures("_libraries")
def test_every_window_is_visited_once_an_epoch(tmp_path: Path) -> None:
    write_stream(DOCUMENTS, tmp_path / "stream")
    stream = [token for document in DOCUMENTS for token in (START, *document)]
    cut = [stream[start : start + 17] for start in range(0, len(stream) - 16, 16)]
    windows = Windows(tmp_path / "stream", context=16, seed=1)
    epochs = [windows.batch(epoch, len(cut)).tolist() for epoch in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [sorted(cut)] * 2
    assert epochs[0] != epochs[1]
    assert windows.batch(3, 5).tolist() == (epochs[0] + epochs[1])[15:20]


@pytest.mark.usefixtures("_libraries")
def test_no_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="no text to train on"):
        training.train([], SMALL, tmp_path / "model", tmp_path / "checkpoints")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("byte_lm")
    training.train(DOCUMENTS, SMALL, place / "model", place / "checkpoints")
    assert not (place / "checkpoints").exists()
    return place / "model"


@pytest.mark.usefixtures("_libraries")
def test_model_folder(trained: Path) -> None:
    with (trained / "curve.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(1, SMALL.steps + 1))
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) == pytest.approx(math.log(257), abs=0.2)
    manifest = json.loads((trained / "manifest.json").read_text())["settings"]
    assert manifest["parameters"] == parameters(SMALL)
    assert manifest["devices"] == 1
    assert manifest["read"]["tokens"] == SMALL.steps * SMALL.batch * SMALL.context
    took = manifest["effort"]
    assert (took["starts"], took["joules"], took["flops_per_token"]) == (1, None, byte_lm_flops_per_byte(SMALL))
    assert took["seconds"] > 0
    assert took["peak_gib"] > 0.1
    assert manifest["stream_tokens"] == sum(map(len, DOCUMENTS)) + len(DOCUMENTS)
    of_scoring = {"stride": SMALL.stride, "score_batch": SMALL.score_batch}
    assert not manifest["options"].keys() & of_scoring.keys()
    assert ByteLmOptions.model_validate(manifest["options"] | of_scoring) == SMALL


@pytest.mark.usefixtures("_libraries")
def test_killed_run_ends_with_the_same_bits(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, checkpoints = tmp_path / "model", tmp_path / "checkpoints"

    def killed_at(step: int) -> None:
        def rate(at: int, options: ByteLmOptions) -> float:
            if at == step:
                raise KeyboardInterrupt
            return learning_rate(at, options)

        monkeypatch.setattr(training, "learning_rate", rate)
        with pytest.raises(KeyboardInterrupt):
            training.train(DOCUMENTS, SMALL, model, checkpoints)
        assert not model.exists()

    learning_rate = training.learning_rate
    killed_at(7)
    killed_at(11)
    assert [folder.name for folder in checkpoints.glob("step-*")] == ["step-000000010"]
    monkeypatch.setattr(training, "learning_rate", learning_rate)
    training.train(DOCUMENTS, SMALL, model, checkpoints)
    assert (model / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()
    assert (model / "curve.csv").read_text() == (trained / "curve.csv").read_text()
    assert json.loads((model / "manifest.json").read_text())["settings"]["effort"]["starts"] == 3
    assert not checkpoints.exists()


@pytest.mark.usefixtures("_libraries")
def test_byte_lm_made_by_a_concurrent_process_is_kept(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has waited does not train again: what rests on the model would be older than it."""

    def waited(_: Path) -> nullcontext[bool]:
        return nullcontext(True)

    def step(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "exclusive", waited)
    monkeypatch.setattr(training, "_step", step)
    before = trained.stat().st_mtime_ns
    rarer = SMALL.model_copy(update={"checkpoint_every": 3, "stride": 4})
    training.train(DOCUMENTS, rarer, trained, tmp_path / "checkpoints")
    assert trained.stat().st_mtime_ns == before
    assert not (tmp_path / "checkpoints").exists()
    for documents, options in ((DOCUMENTS[:1], SMALL), (DOCUMENTS, SMALL.model_copy(update={"seed": 1}))):
        with pytest.raises(KeyboardInterrupt):
            training.train(documents, options, trained, tmp_path / "checkpoints")
    with pytest.raises(KeyboardInterrupt):
        training.train(DOCUMENTS, SMALL, tmp_path / "nothing", tmp_path / "checkpoints")


@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ([5.0, math.nan], "the loss of step 2 of 60 is not a number (nan); lower learning_rate"),
        ([6.0] * 60, "after 50 of 60 steps the loss is 6.000 nats a byte, and a uniform distribution has 5.549"),
    ],
)
def test_a_training_that_is_none_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, losses: list[float], told: str
) -> None:
    """With its curve, and no model; a better one later starts anew."""
    options = SMALL.model_copy(update={"steps": 60, "checkpoint_every": 99})
    left = iter(losses)
    with monkeypatch.context() as patch:
        patch.setattr(training, "_step", lambda *_: next(left))
        with pytest.raises(TokbenchError, match=re.escape(told)):
            training.train(DOCUMENTS, options, tmp_path / "model", tmp_path / "checkpoints")
    rows = (tmp_path / "checkpoints" / "curve.csv").read_text().splitlines()
    assert len(rows) == 1 + min(len(losses), 50)
    assert not (tmp_path / "model").exists()
    training.train(DOCUMENTS, SMALL, tmp_path / "model", tmp_path / "checkpoints")
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.usefixtures("_libraries")
def test_checkpoints_of_other_text_are_discarded(trained: Path, tmp_path: Path) -> None:
    def killed_at_7(at: int, options: ByteLmOptions) -> float:
        if at == 7:
            raise KeyboardInterrupt
        return 1e-3

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "learning_rate", killed_at_7)
        with pytest.raises(KeyboardInterrupt):
            training.train([b"quite another text " * 9], SMALL, tmp_path / "model", tmp_path / "checkpoints")
    training.train(DOCUMENTS, SMALL, tmp_path / "model", tmp_path / "checkpoints")
    assert (tmp_path / "model/model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


@pytest.mark.usefixtures("_libraries")
def test_microbatches_change_rounding_only(trained: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"microbatch": 2})
    training.train(DOCUMENTS, options, tmp_path / "model", tmp_path / "checkpoints")
    whole, parts = (load_file(folder / "model.safetensors") for folder in (trained, tmp_path / "model"))
    assert all(torch.allclose(whole[name], parts[name], atol=1e-4) for name in whole)


@pytest.mark.usefixtures("_libraries")
@settings(max_examples=30, deadline=None)
@given(
    text=st.binary(max_size=70) | st.text("ab", max_size=70).map(str.encode),
    context=st.integers(2, 20),
    share=st.floats(0, 1),
)
def test_scores_are_those_of_one_byte_at_a_time(trained: Path, text: bytes, context: int, share: float) -> None:
    options = SMALL.model_copy(update={"context": context, "stride": max(1, round(share * context))})
    model = load(trained).eval()
    with torch.inference_mode():
        surprisal, entropy = score_text(model, text, options)
    expected = [one_byte(model, text, at, options) for at in range(len(text))]
    assert surprisal.dtype == entropy.dtype == np.float32
    np.testing.assert_allclose(surprisal, [own for own, _ in expected], atol=1e-4)
    np.testing.assert_allclose(entropy, [spread for _, spread in expected], atol=1e-4)


def one_byte(model: "torch.nn.Module", text: bytes, at: int, options: ByteLmOptions) -> tuple[float, float]:
    return one_token(model, [START, *text], at + 1, options)


def one_token(model: "torch.nn.Module", stream: list[int], at: int, options: ByteLmOptions) -> tuple[float, float]:
    """The token's own window is the first that reaches it; the model sees what precedes the token there."""
    window = max(0, -(-(at - options.context) // options.stride))
    seen = stream[window * options.stride : at]
    with torch.inference_mode():
        logs = model(input_ids=torch.tensor([seen])).logits[0, -1].double().log_softmax(-1)
    return -float(logs[stream[at]]), -float((logs.exp() * logs).sum())


@pytest.mark.usefixtures("_libraries")
@settings(max_examples=40, deadline=None)
@given(
    documents=st.lists(st.binary(max_size=40) | st.text("ab", max_size=70).map(str.encode), max_size=6),
    context=st.integers(2, 20),
    share=st.floats(0, 1),
    batch=st.integers(1, 4),
)
def test_joined_scores_are_those_of_one_byte_at_a_time(
    trained: Path, documents: list[bytes], context: int, share: float, batch: int
) -> None:
    changes = {"context": context, "stride": max(1, round(share * context)), "score_batch": batch}
    options = SMALL.model_copy(update=changes)
    model = load(trained).eval()
    with torch.inference_mode():
        scores = list(score_joined(model, documents, options))
    assert len(scores) == len(documents)
    stream: list[int] = []
    for text, (surprisal, entropy) in zip(documents, scores, strict=True):
        stream += [START, *text]
        places = range(len(stream) - len(text), len(stream))
        expected = [one_token(model, stream, at, options) for at in places]
        assert surprisal.dtype == entropy.dtype == np.float32
        np.testing.assert_allclose(surprisal, [own for own, _ in expected], atol=1e-4)
        np.testing.assert_allclose(entropy, [spread for _, spread in expected], atol=1e-4)


@pytest.mark.usefixtures("_libraries")
def test_context_of_a_documents_first_bytes(trained: Path, tmp_path: Path) -> None:
    """By ``dataset`` the document before it; by ``document`` nothing."""

    def first_bytes(before: bytes, *, joined: bool) -> list[float]:
        rows = [(0, "en", before), (1, "en", b"and then the dog sat on the mat")]
        if joined:
            score_dataset([rows], trained, tmp_path / "scores.parquet", SMALL)
        else:
            score(rows, trained, tmp_path / "scores.parquet", SMALL)
        return list(pl.read_parquet(tmp_path / "scores.parquet")["surprisal"][1][:4])

    assert first_bytes(b"the cat sat", joined=False) == first_bytes(b"\xff\x00 and", joined=False)
    assert first_bytes(b"the cat sat", joined=True) != first_bytes(b"\xff\x00 and", joined=True)


@pytest.mark.usefixtures("_libraries")
def test_score_files_of_shards(trained: Path, tmp_path: Path) -> None:
    """Shards read together have the scores of each read alone, in document order; one document has its own."""
    texts = [*DOCUMENTS, b"", *(bytes([65 + place % 3]) * place for place in range(40))]
    rows = [(place, "en", text) for place, text in enumerate(texts)]
    shards = [rows[0::2], rows[1::2], []]
    score_dataset(shards, trained, tmp_path / "all.parquet", SMALL)
    for place, shard in enumerate(shards):
        score_dataset([shard], trained, tmp_path / f"{place}.parquet", SMALL)
    frame = pl.read_parquet(tmp_path / "all.parquet")
    assert frame["text"].to_list() == texts
    assert frame.equals(
        pl.concat([pl.read_parquet(tmp_path / f"{place}.parquet") for place in range(3)]).sort("document")
    )
    score(rows[:1], trained, tmp_path / "document.parquet", SMALL)
    assert_frame_equal(frame[:1], pl.read_parquet(tmp_path / "document.parquet"))  # Batches of other sizes round.
    score_dataset([rows], trained, tmp_path / "one_shard.parquet", SMALL)
    assert not frame.equals(pl.read_parquet(tmp_path / "one_shard.parquet"))


def test_score_context_is_of_neural_models() -> None:
    recipe = TypeAdapter(AnyByteLm).validate_python({"kind": "neural", "score_context": "dataset"})
    assert recipe.score_context == "dataset"
    assert recipe.without_score_context == ByteLmOptions()
    assert byte_lm_recipe("tiny").score_context == "document"
    assert byte_lm_recipe("tiny").without_score_context == PRESETS["tiny"]
    with pytest.raises(ValidationError, match="'score_context' is an option of neural models"):
        TypeAdapter(AnyByteLm).validate_python({"kind": "ngram", "score_context": "dataset"})
    with pytest.raises(TokbenchError, match="--recipe: score_context: unknown key"):
        byte_lm_recipe("{kind: ngram, score_context: dataset}")


@pytest.mark.usefixtures("_libraries")
def test_score_files(trained: Path, tmp_path: Path) -> None:
    rows = list(enumerate(DOCUMENTS, 7))
    score(rows, trained, tmp_path / "all.parquet", SMALL)
    score(rows[:2], trained, tmp_path / "a.parquet", SMALL)
    score(rows[2:], trained, tmp_path / "b.parquet", SMALL)
    score([], trained, tmp_path / "none.parquet", SMALL)
    frame = pl.read_parquet(tmp_path / "all.parquet")
    assert frame.schema == {
        "document": pl.Int64,
        "language": pl.String,
        "text": pl.Binary,
        "surprisal": pl.List(pl.Float32),
        "entropy": pl.List(pl.Float32),
    }
    assert frame["text"].to_list() == DOCUMENTS
    assert frame["surprisal"].list.len().to_list() == frame["entropy"].list.len().to_list() == [*map(len, DOCUMENTS)]
    shards = pl.concat([pl.read_parquet(tmp_path / f"{shard}.parquet") for shard in ("a", "b")])
    assert shards.equals(frame)
    bits = frame["surprisal"].explode().drop_nulls().cast(pl.Float64).mean() / math.log(2)
    assert bits_per_byte([tmp_path / "all.parquet"]) == pytest.approx(bits)
    assert bits_per_byte([tmp_path / f"{shard}.parquet" for shard in ("b", "none", "a")]) == bits_per_byte(
        [tmp_path / "all.parquet"]
    )
    assert math.isnan(bits_per_byte([tmp_path / "none.parquet"]))


@pytest.mark.usefixtures("_libraries")
def test_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="not a byte-level model") as told:
        score([], tmp_path, tmp_path / "scores.parquet", SMALL)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "scores.parquet").exists()


@pytest.mark.usefixtures("_libraries")
def test_bytes_of_sentences_are_drawn(trained: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """By n-grams and by a neural model, each sentence scored as a document of its own."""
    ngram.train(TOPICS[:4], PRESETS["ngram"], tmp_path / "ngram")
    shard = tmp_path / "0000.parquet"
    with open_shards([shard]) as add:
        add(Document(0, "en", TOPICS[4]))
    scores = tmp_path / "scores.parquet"
    for recipe, model in (("ngram", tmp_path / "ngram"), (SMALL.model_dump_json(), trained)):
        assert tokbench("score_bytes", "--recipe", recipe, "--model", model, "-o", scores, shard).status == 0
        call = ["draw_bytes", "--recipe", recipe, "--model", model, "--pretokenization", "gpt2"]
        output = tmp_path / f"drawn {model.name}"
        done = tokbench(*call, "--text", "a sentence", "--text", "ï", "-o", output, scores)
        assert done.status == 0, done.stderr
        stems = [f"bytes-{number}{end}" for number in (1, 2) for end in ("", "-column")]
        assert {path.name for path in output.iterdir()} >= {"bytes.csv", *(f"{stem}.svg" for stem in stems)}
        frame = pl.read_csv(output / "bytes.csv")
        assert bytes(frame.filter(sentence=1)["byte"].to_list()) == b"a sentence"
        assert frame.filter(sentence=2).height == 2
    found = ngram.load(tmp_path / "ngram").score(b"a sentence")[0]
    drawn = pl.read_csv(tmp_path / "drawn ngram" / "bytes.csv").filter(sentence=1)["surprisal"]
    assert drawn.to_list() == pytest.approx(found.tolist())
