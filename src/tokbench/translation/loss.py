"""One update, and the loss of a batch and of the development split."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tokbench.translation.batches import Ids, batches, padded
from tokbench.translation.options import TranslationOptions
from tokbench.translation.special import PADDING


@dataclass(frozen=True)
class Sides:
    """Pairs as ids.

    Attributes:
        source, target: ids of each sentence.
        bytes: of all target sentences.
        left_out: pairs with too many tokens.
    """

    source: Ids
    target: Ids
    bytes: int
    left_out: int

    def batches(self, tokens: int, seed: tuple[int, ...]) -> list[NDArray[np.int64]]:
        """Batches of an epoch, see :func:`tokbench.translation.batches.batches`."""
        source, target = (np.array([len(ids) for ids in side], np.int64) for side in (self.source, self.target))
        return batches(source, target, tokens, seed)

    def of(self, batch: NDArray[np.int64]) -> list[Ids]:
        """Ids of the pairs of a batch: sources, targets."""
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
    """One update; the summed loss of the batch in nats, and its target tokens."""
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
    source, target = (torch.from_numpy(padded(side)).to(device) for side in sides)
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
    """Nats a token and bits a byte of the development split, without smoothing."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.no_grad():
        for batch in dev.batches(options.batch_tokens, (0,)):
            loss, count = _loss(model, dev.of(batch), 0.0, "fp32", device)
            total += float(loss.item())
            tokens += count
    return total / tokens, total / math.log(2) / max(1, dev.bytes)
