"""Surprisal and entropy of every byte (ByteSpan, appendix B): strided windows, each document on its own."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from tokbench.io.paths import literal
from tokbench.models.byte_lm.model import START, LlamaForCausalLM, arithmetic, load, pick_device
from tokbench.models.byte_lm.options import ByteLmOptions
from tokbench.models.byte_lm.scores import Documents, write_scores


def score(documents: Documents, model_folder: Path, output: Path, options: ByteLmOptions) -> None:
    """Score documents and write them, whole or not at all.

    Surprisal is ``-ln p(byte | bytes before it)`` and entropy that of the distribution the byte was drawn from, both
    of the byte itself, in nats; the distribution is over the 256 bytes and the end of the document. No pass through
    the model mixes documents, so scores depend neither on sharding nor on neighbours. An empty document has empty
    lists.

    Args:
        documents: (document, text) or (document, language, text) tuples, in document order.
        model_folder: what :func:`tokbench.models.byte_lm.train.train` wrote.
        output: the file of scores, as :func:`tokbench.models.byte_lm.scores.write_scores` writes it.
        options: ``context``, ``stride``, ``score_batch``, ``precision``, ``device`` and ``cpu_threads`` matter here.

    Raises:
        TokbenchError: the folder holds no byte-level model, or the device is not there.
    """
    device = pick_device(options.device)
    model = load(model_folder)
    model.to(device).eval()  # type: ignore[arg-type]
    with arithmetic(options, device), torch.inference_mode():
        write_scores(documents, lambda text: score_text(model, text, options), output)


def score_text(
    model: LlamaForCausalLM, text: bytes, options: ByteLmOptions
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Surprisal and entropy of each byte of one document: two float32 [len(text)], in nats."""
    tokens = torch.empty(len(text) + 1, dtype=torch.int16)
    tokens[0] = START
    tokens[1:] = torch.from_numpy(np.frombuffer(text, np.uint8).astype(np.int16))
    tokens = tokens.to(next(model.parameters()).device)
    surprisal = np.empty(len(text), np.float32)
    entropy = np.empty(len(text), np.float32)
    for starts, skip, size in _passes(len(text), options):
        windows = torch.stack([tokens[start : start + size + 1] for start in starts]).long()
        hidden = model.model(input_ids=windows[:, :-1]).last_hidden_state[:, skip:]
        logs = model.lm_head(hidden).float().log_softmax(-1)
        own = -logs.gather(-1, windows[:, skip + 1 :, None]).squeeze(-1)
        spread = -(logs.exp() * logs).sum(-1)
        kept = slice(starts[0] + skip, starts[-1] + size)
        surprisal[kept] = own.flatten().cpu().numpy()
        entropy[kept] = spread.flatten().cpu().numpy()
    return surprisal, entropy


def _passes(length: int, options: ByteLmOptions) -> Iterator[tuple[list[int], int, int]]:
    """Windows that go through the model together: their starts, leading predictions to drop, and predictions in each.

    Window k starts at ``k * stride``. The first keeps all its predictions, the others those that lie beyond the
    window before: ``stride`` of them, fewer in the last, which ends with the text.
    """
    if length == 0:
        return
    yield [0], 0, min(length, options.context)
    skip = options.context - options.stride
    full = range(options.stride, length - options.context + 1, options.stride)
    for first in range(0, len(full), options.score_batch):
        yield list(full[first : first + options.score_batch]), skip, options.context
    scored = options.context + len(full) * options.stride
    if scored < length:
        start = (len(full) + 1) * options.stride
        yield [start], skip, length - start


def bits_per_byte(paths: Iterable[Path]) -> float:
    """Mean surprisal of a byte over files of scores, in bits; nan where they hold no byte.

    Each document is summed on its own in float64 and the documents exactly, so sharding cannot change the result.
    """
    totals: list[float] = []
    size = 0
    for path in paths:
        sums = pl.scan_parquet(literal(path), glob=False).select(
            total=pl.col("surprisal").list.eval(pl.element().cast(pl.Float64)).list.sum(),
            size=pl.col("text").bin.size(),
        )
        frame = sums.collect()
        totals.extend(frame["total"])
        size += int(frame["size"].sum())
    return math.fsum(totals) / (size * math.log(2)) if size else math.nan
