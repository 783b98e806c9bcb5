"""Two phases on different documents, and a Llama of transformers' own trained in them."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.outputs import names
from tests.support.packing import Bytes, Pairs, ids_of, pieces
from tests.support.small_models import SHAPE
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.model_memory import lm_parameters
from tokbench.occurrences import read_occurrences
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.encoded import encoded
from tokbench.pretraining.order import in_order, place_of
from tokbench.pretraining.pack import pack_phases
from tokbench.pretraining.phases import read_in_all, read_phases
from tokbench.pretraining.schedule import learning_rate
from tokbench.pretraining.train import pretrain

pytestmark = pytest.mark.usefixtures("own_environment")

DOCUMENTS = [b"document %d: the cat sat on the mat %d times. " % (number, number) * 3 for number in range(60)]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phases")
    text = in_order(pieces(DOCUMENTS), 17, folder)
    counts = folder / "counts.parquet"
    pack_phases(text, 256, folder / "packed", second_phase=0.2, sequence_length=32, seed=17, counts=counts)
    return folder / "packed"


def documents_of(folder: Path) -> list[bytes]:
    """The documents that sequences hold, in their order."""
    texts = bytes(token if token < 256 else 0 for token in ids_of(folder)).split(b"\0")
    return texts[:-1]


def test_the_second_phase_reads_other_documents(packed: Path) -> None:
    first, second = (documents_of(packed / name) for name in ("first", "second"))
    order = sorted(range(len(DOCUMENTS)), key=lambda document: place_of(document, 17))
    assert first + second == [DOCUMENTS[document] for document in order]
    assert not set(first) & set(second)
    assert 0 < len(second) < len(first)
    held = [ids_of(packed / name) for name in ("first", "second")]
    occurrences = read_occurrences(packed.parent / "counts.parquet", 256)
    assert [sum(ids.count(token) for ids in held) for token in range(257)] == occurrences.tolist()


def test_documents_set_aside_are_as_many_as_asked_for() -> None:
    aside = [place_of(document, 3) >= (1 << 64) * 5 // 6 for document in range(60_000)]
    assert sum(aside) == pytest.approx(10_000, rel=0.02)


@pytest.mark.parametrize("budget", [TextBudget(0.5), TextBudget(1.7), TextBudget(text_bytes=2_345)])
def test_two_tokenizers_read_the_same_documents_in_each_phase(budget: TextBudget, tmp_path: Path) -> None:
    read = []
    options = SHAPE.model_copy(
        update={"batches": None, "epochs": budget.epochs, "text_bytes": budget.text_bytes, "batch": 1}
    )
    for name, tokenizer in (("bytes", Bytes()), ("pairs", Pairs())):
        given = [Document(number, "", text) for number, text in enumerate(DOCUMENTS)]
        text = in_order(encoded(tokenizer, given), 17, tmp_path)
        pack_phases(text, 256, tmp_path / name, second_phase=0.2, sequence_length=32, seed=17, budget=budget)
        read.append(read_in_all(read_phases(options, tmp_path / name), None))
    for phase in ("first", "second"):
        assert read[0][phase]["documents"] == read[1][phase]["documents"] > 0
        assert read[0][phase]["text_bytes"] == read[1][phase]["text_bytes"]
        assert read[0][phase]["tokens"] > read[1][phase]["tokens"]
    assert read[0]["text_bytes"] == sum(read[0][phase]["text_bytes"] for phase in ("first", "second"))
    longest = max(map(len, DOCUMENTS))
    whole = sum(map(len, DOCUMENTS))
    assert 0 <= read[0]["text_bytes"] - budget.bytes_of(whole) + 2 <= 2 * longest + 2


def test_a_phase_without_text_is_told(tmp_path: Path) -> None:
    text = in_order(pieces(DOCUMENTS[:1]), 17, tmp_path)
    with pytest.raises(TokbenchError, match=r"leave the (first|second) phase without text"):
        pack_phases(text, 256, tmp_path / "packed", second_phase=0.2, sequence_length=32, seed=17)
    assert not (tmp_path / "packed").exists()


def test_sequences_of_other_phases_are_rejected(packed: Path) -> None:
    with pytest.raises(TokbenchError, match=r"packed for a second phase of 0\.2, and the model has one of 0\.5"):
        read_phases(SHAPE.model_copy(update={"second_phase": 0.5}), packed)
    with pytest.raises(TokbenchError, match="packed for two phases, and the model has one"):
        read_phases(SHAPE.model_copy(update={"second_phase": None}), packed)
    with pytest.raises(TokbenchError, match="holds sequences of 32"):
        read_phases(SHAPE.model_copy(update={"max_seq_len": 64}), packed)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "vocabulary.txt").write_text("00\n01\n")
    return folder


@pytest.fixture(scope="module")
def trained(packed: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    pretrain(packed, tokenizer, SHAPE, place / "model", place / "checkpoints")
    return place / "model"


def curve(folder: Path) -> list[tuple[float, ...]]:
    """Every column but the seconds."""
    with (folder / "curve.csv").open(newline="") as file:
        return [tuple(map(float, row.values()))[:-1] for row in csv.DictReader(file)]


def test_two_phases_are_trained(trained: Path) -> None:
    rows = curve(trained)
    assert [rate for *_, rate in rows] == pytest.approx([learning_rate(SHAPE, batch, [10, 2]) for batch in range(12)])
    assert rows[-1][2] < rows[0][2]
    settings = json.loads((trained / "manifest.json").read_text())["settings"]
    read = settings["read"]
    assert (read["batches"], read["first"]["batches"], read["second"]["batches"]) == (12, 10, 2)
    assert read["tokens"] == rows[-1][1]
    assert settings["parameters"] == lm_parameters(SHAPE, 256)
    assert settings["packing"].keys() == {"first", "second"}


def test_is_a_native_llama_with_equal_logits(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded computes what llm-foundry's model of these weights does, but for rounding: in double precision,
    for which transformers' norm must not turn to single precision, no logit differs by more than 1e-13."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM
    from transformers import AutoModelForCausalLM
    from transformers.models.llama.modeling_llama import LlamaForCausalLM, LlamaRMSNorm

    from tokbench.pretraining.foundry import model_config
    from tokbench.pretraining.native import renamed

    model = AutoModelForCausalLM.from_pretrained(trained, attn_implementation="sdpa").eval()
    assert type(model) is LlamaForCausalLM
    described = json.loads((trained / "config.json").read_text())
    assert described["model_type"] == "llama"
    assert "auto_map" not in described
    assert (model.config.eos_token_id, model.config.pad_token_id) == (256, 257)
    ours = MPTForCausalLM(MPTConfig(**model_config(SHAPE, 320))).eval()
    weights = model.state_dict()
    names = {
        new: (old, weight.shape)
        for old, whole in ours.state_dict().items()
        for new, weight in renamed({old: whole}, SHAPE)
    }
    assert names.keys() == weights.keys() - {"lm_head.weight"}
    loaded: dict[str, list[torch.Tensor]] = {}
    for new, (old, shape) in names.items():
        assert weights[new].shape == shape
        loaded.setdefault(old, []).append(weights[new])
    ours.load_state_dict({old: torch.cat(parts) for old, parts in loaded.items()})
    ids = torch.arange(64).reshape(2, 32) * 4 % 256
    with torch.inference_mode():
        found, expected = model(input_ids=ids).logits, ours(input_ids=ids).logits
        assert float((found - expected).abs().max()) < 1e-5 * float(expected.std())
        monkeypatch.setattr(LlamaRMSNorm, "forward", torch.nn.RMSNorm.forward)
        for norm in (module for module in model.modules() if isinstance(module, LlamaRMSNorm)):
            norm.normalized_shape, norm.eps = (SHAPE.d_model,), norm.variance_epsilon
        assert float((model(input_ids=ids).logits - found).abs().max()) == 0
        found, expected = model.double()(input_ids=ids).logits, ours.double()(input_ids=ids).logits
    assert float((found - expected).abs().max()) < 1e-13


def test_interrupted_in_the_second_phase_ends_with_the_same_weights(
    trained: Path, packed: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended after batch 11 of 12; it goes on from batch 8, in the first phase."""
    from tokbench.pretraining.curve import Curve

    model, checkpoints = tmp_path / "model", tmp_path / "checkpoints"
    batch_end = Curve.batch_end

    def interrupted(self: Curve, state: Any, logger: Any) -> None:
        batch_end(self, state, logger)
        if state.timestamp.batch == 11:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Curve, "batch_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pretrain(packed, tokenizer, SHAPE, model, checkpoints)
    assert len(curve(checkpoints)) == 11
    assert "ba8.pt" in names(checkpoints / "states")
    pretrain(packed, tokenizer, SHAPE, model, checkpoints)
    assert curve(model) == curve(trained)
    assert (model / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()
