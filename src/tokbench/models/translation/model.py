"""Translation model: the Marian of ``transformers``, with sinusoidal positions and post-norm as in fairseq.

The module also encodes sentences, builds batches, and computes updates and losses.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.models.marian.configuration_marian import MarianConfig
from transformers.models.marian.modeling_marian import MarianMTModel

from tokbench.errors import TokbenchError
from tokbench.io.atomic import reject_altered
from tokbench.io.text_files import first_line
from tokbench.models.translation.options import END, PADDING, SPECIAL, TranslationOptions
from tokbench.tokenizer import Tokenizer

Ids = list[NDArray[np.int32]]


def encode_sentences(tokenizer: Tokenizer, sentences: Sequence[str], max_ids: int) -> Ids:
    """Encode each sentence as int32 [tokens + 1], including its end. Longer ones are cut to ``most`` ids."""
    end = np.array([END], np.int32)
    return [np.concatenate([ids[: max_ids - 1] + SPECIAL, end]) for ids in tokenizer.encode_batch(sentences)]


def decode_sentence(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Decode ids up to the end of the sentence. Bytes that are not UTF-8 become replacement characters."""
    sentence_ids = list(ids)
    sentence_ids = sentence_ids[: sentence_ids.index(END)] if END in sentence_ids else sentence_ids
    return (
        tokenizer.decode([number - SPECIAL for number in sentence_ids if number >= SPECIAL])
        .decode("utf-8", "replace")
        .strip()
    )


def batches(
    source: NDArray[np.int64], target: NDArray[np.int64], tokens: int, seed: Sequence[int]
) -> list[NDArray[np.int64]]:
    """Return the pairs of each batch of an epoch. Pairs of similar length are batched, and batches are in random order.

    The number of batches is the same for every seed.

    Args:
        source, target: number of tokens of each sentence, at most ``tokens``.
        tokens: limit of the number of sentences times the longest of them, on each side of a batch.
        seed: seed of the order, also among equally long pairs.

    Returns:
        Indices of pairs, int64 [pairs of the batch] per batch; each pair is in one batch.
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(source)), source, target))
    widths = np.maximum(source, target)[order]
    cuts = [0]
    width = 0
    for place, pair_width in enumerate(widths.tolist()):
        width = max(width, pair_width)
        if width * (place + 1 - cuts[-1]) > tokens:
            cuts.append(place)
            width = pair_width
    epoch_batches = np.split(order, cuts[1:])
    return [epoch_batches[place] for place in rng.permutation(len(epoch_batches))]


def pad(sentences: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Pad several sentences to int64 [sentences, longest]."""
    rows = np.full((len(sentences), max(map(len, sentences))), PADDING, np.int64)
    for row, ids in zip(rows, sentences, strict=True):
        row[: len(ids)] = ids
    return rows


def build(options: TranslationOptions, source: int, target: int, *, joint: bool) -> MarianMTModel:
    """Build a model with weights drawn from the seed.

    Marian's two embeddings have equal numbers of rows: those of the larger vocabulary. A joint vocabulary has one
    embedding for both sides and the output layer. Otherwise the output layer shares the decoder's embedding.

    Args:
        options: sizes of the model.
        source, target: number of ids of the tokenizers.
        joint: True if both sides share one tokenizer.
    """
    rows = max(source, target) + SPECIAL
    # Transformer of Vaswani et al. (2017), with sinusoidal positions as in Marian.
    config = MarianConfig(
        vocab_size=rows,
        decoder_vocab_size=rows,
        share_encoder_decoder_embeddings=joint,
        d_model=options.d_model,
        encoder_layers=options.encoder_layers,
        decoder_layers=options.decoder_layers,
        encoder_attention_heads=options.heads,
        decoder_attention_heads=options.heads,
        encoder_ffn_dim=options.feed_forward,
        decoder_ffn_dim=options.feed_forward,
        dropout=options.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        max_position_embeddings=options.max_positions,
        init_std=options.d_model**-0.5,
        scale_embedding=True,
        pad_token_id=PADDING,
        eos_token_id=END,
        decoder_start_token_id=PADDING,
        forced_eos_token_id=None,
    )
    # Draw the weights from the seed only.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        model = MarianMTModel(config)
        for module in model.modules():
            if isinstance(module, torch.nn.Linear) and module is not model.lm_head:
                torch.nn.init.xavier_uniform_(module.weight)
    return model


def load(folder: Path) -> MarianMTModel:
    """Load a trained model from safetensors.

    Raises:
        TokbenchError: the folder does not contain one, or its weights were changed after writing.
    """
    reject_altered(folder / "model.safetensors", "delete its folder and train it again")
    try:
        return MarianMTModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError) as error:
        raise TokbenchError(
            f"{folder}: not a translation model ({first_line(error)}); make one with 'tokbench train_translation'"
        ) from error


def pick_device(requested: str) -> torch.device:
    """Return the device to compute on.

    Raises:
        TokbenchError: a GPU is requested and there is none.
    """
    if requested == "cuda" and not torch.cuda.is_available():
        raise TokbenchError("device: 'cuda' is not available here; use 'auto' or 'cpu'")
    return torch.device("cuda" if requested != "cpu" and torch.cuda.is_available() else "cpu")


@contextmanager
def fixed_threads(threads: int) -> Iterator[None]:
    """Limit a CPU's matrix products to ``threads`` threads within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Sides:
    """Pairs as ids.

    Attributes:
        source, target: ids of each sentence.
        bytes: bytes of all target sentences.
        left_out: number of pairs left out because they have too many tokens.
    """

    source: Ids
    target: Ids
    bytes: int
    left_out: int

    def batches(self, tokens: int, seed: tuple[int, ...]) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, see :func:`tokbench.models.translation.model.batches`."""
        source, target = (np.array([len(ids) for ids in side], np.int64) for side in (self.source, self.target))
        return batches(source, target, tokens, seed)

    def of(self, batch: NDArray[np.int64]) -> list[Ids]:
        """Return the ids of the pairs of a batch: sources, targets."""
        return [[side[place] for place in batch] for side in (self.source, self.target)]


def update(
    model: Any,
    optimizer: torch.optim.Optimizer,
    sides: list[Ids],
    rate: float,
    step: int,
    options: TranslationOptions,
    device: torch.device,
) -> tuple[float, int]:
    """Run one update; return the summed loss of the batch in nats, and its number of target tokens."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    torch.manual_seed(options.seed * 1_000_003 + step)
    model.train()
    loss, tokens = _loss(model, sides, options.label_smoothing, options.precision, device)
    (loss / tokens).backward()
    if options.clip is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.item()), tokens


def _loss(
    model: Any, sides: list[Ids], smoothing: float, precision: str, device: torch.device
) -> tuple[torch.Tensor, int]:
    source, target = (torch.from_numpy(pad(side)).to(device) for side in sides)
    begin = torch.full((len(target), 1), PADDING, device=device)
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        logits = model(
            input_ids=source,
            attention_mask=(source != PADDING).long(),
            decoder_input_ids=torch.cat([begin, target[:, :-1]], 1),
            use_cache=False,
        ).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1),
        target.flatten(),
        ignore_index=PADDING,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return loss, sum(map(len, sides[1]))


def dev_loss(model: Any, dev: Sides, options: TranslationOptions, device: torch.device) -> tuple[float, float]:
    """Return nats per token and bits per byte of the development split, without label smoothing."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.no_grad():
        for batch in dev.batches(options.batch_tokens, (0,)):
            loss, count = _loss(model, dev.of(batch), 0.0, "fp32", device)
            total += float(loss.item())
            tokens += count
    return total / tokens, total / math.log(2) / max(1, dev.bytes)
