"""Surprisal and entropy of every byte (ByteSpan, appendix B), from strided windows over single documents or shards."""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from tokbench.io.identity import model_digest
from tokbench.io.paths import literal
from tokbench.models.byte_lm.model import START, LlamaForCausalLM, arithmetic, load, pick_device
from tokbench.models.byte_lm.options import ByteLmOptions
from tokbench.models.byte_lm.scores import Documents, write_scores


def score(documents: Documents, model_folder: Path, output: Path, options: ByteLmOptions) -> None:
    """Score documents and write the scores atomically.

    Surprisal is ``-ln p(byte | preceding bytes)``. Entropy is that of the byte's predicted distribution over the 256
    bytes and the end of the document. Both are in nats. No pass through the model mixes documents, so scores depend
    neither on sharding nor on other documents. An empty document has empty lists.

    Args:
        documents: (document, text) or (document, language, text) tuples, in document order.
        model_folder: folder written by :func:`tokbench.models.byte_lm.train.train`.
        output: file of scores, see :func:`tokbench.models.byte_lm.scores.write_scores`.
        options: only ``context``, ``stride``, ``score_batch``, ``precision``, ``device`` and ``cpu_threads`` matter.

    Raises:
        TokbenchError: the folder does not contain a byte-level model, or the device does not exist.
    """
    device = pick_device(options.device)
    model = load(model_folder)
    model.to(device).eval()  # type: ignore[arg-type]
    with arithmetic(options, device), torch.inference_mode():
        write_scores(documents, lambda text: score_text(model, text, options), output, model_digest(model_folder))


def score_texts(
    texts: Iterable[bytes], model_folder: Path, options: ByteLmOptions
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return surprisal and entropy of each byte of texts, scored one by one; see :func:`score_text`.

    Raises:
        TokbenchError: the folder does not contain a byte-level model, or the device does not exist.
    """
    device = pick_device(options.device)
    model = load(model_folder)
    model.to(device).eval()  # type: ignore[arg-type]
    with arithmetic(options, device), torch.inference_mode():
        return [score_text(model, text, options) for text in texts]


def score_text(
    model: LlamaForCausalLM, text: bytes, options: ByteLmOptions
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return surprisal and entropy of each byte of one document: two float32 [len(text)], in nats."""
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
        of_bytes = -logs.gather(-1, windows[:, skip + 1 :, None]).squeeze(-1)
        spread = -(logs.exp() * logs).sum(-1)
        places = slice(starts[0] + skip, starts[-1] + size)
        surprisal[places] = of_bytes.flatten().cpu().numpy()
        entropy[places] = spread.flatten().cpu().numpy()
    return surprisal, entropy


def _passes(length: int, options: ByteLmOptions) -> Iterator[tuple[list[int], int, int]]:
    """Yield the starts of the windows in each pass, leading predictions to drop, and predictions per window.

    Window k starts at ``k * stride``. The first window yields all its predictions. The others yield only those beyond
    the previous window: ``stride`` of them, or fewer in the last window, which ends with the text.
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


def score_dataset(shards: Sequence[Documents], model_folder: Path, output: Path, options: ByteLmOptions) -> None:
    """Score the documents of shards and write the scores in document order, atomically.

    The documents of a shard are concatenated, each after a start token, as in training. Windows of ``context`` tokens
    are shifted by ``stride``. Every byte except the first ones of a shard is therefore predicted from at least
    ``context - stride`` tokens. No window covers two shards, so scores depend only on the document's own shard.

    Args:
        shards: the documents of each shard, in document order.
        model_folder: see :func:`score`.
        output: see :func:`score`.
        options: see :func:`score`.

    Raises:
        TokbenchError: the folder does not contain a byte-level model, or the device does not exist.
    """
    device = pick_device(options.device)
    model = load(model_folder)
    model.to(device).eval()  # type: ignore[arg-type]
    with arithmetic(options, device), torch.inference_mode():
        rows = heapq.merge(*(_score_shard(model, shard, options) for shard in shards), key=lambda row: row[0][0])
        documents, scores = tee(rows)
        write_scores(
            (document for document, _ in documents), lambda _: next(scores)[1], output, model_digest(model_folder)
        )


def _score_shard(
    model: LlamaForCausalLM, documents: Documents, options: ByteLmOptions
) -> Iterator[tuple[tuple[int, bytes] | tuple[int, str, bytes], tuple[NDArray[np.float32], NDArray[np.float32]]]]:
    documents, copies = tee(documents)
    return zip(documents, score_joined(model, (copy[-1] for copy in copies), options), strict=True)


def score_joined(
    model: LlamaForCausalLM, texts: Iterable[bytes], options: ByteLmOptions
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Yield surprisal and entropy of each byte of concatenated documents: two float32 [n] per document, in nats.

    Texts are read only as far ahead as one pass through the model needs.
    """
    texts, copies = tee(texts)
    passes = _join_passes(model, copies, options)
    rest = np.zeros((2, 1), np.float32)  # The first start token has no prediction.
    for text in texts:
        signals = np.empty((2, len(text) + 1), np.float32)
        filled = 0
        while filled <= len(text):
            if not rest.size:
                rest = next(passes)
            part = rest[:, : len(text) + 1 - filled]
            signals[:, filled : filled + part.shape[1]] = part
            filled += part.shape[1]
            rest = rest[:, part.shape[1] :]
        surprisal, entropy = signals[:, 1:]
        yield surprisal, entropy


def _join_passes(
    model: LlamaForCausalLM, texts: Iterable[bytes], options: ByteLmOptions
) -> Iterator[NDArray[np.float32]]:
    """Yield surprisal and entropy of the stream's tokens after the first, float32 [2, n] per pass through the model."""
    device = next(model.parameters()).device
    for windows, skip in _join_windows(texts, options):
        tokens = windows.to(device).long()
        hidden = model.model(input_ids=tokens[:, :-1]).last_hidden_state[:, skip:]
        logs = model.lm_head(hidden).float().log_softmax(-1)
        surprisal = -logs.gather(-1, tokens[:, skip + 1 :, None]).squeeze(-1)
        entropy = -(logs.exp() * logs).sum(-1)
        yield torch.stack([surprisal.flatten(), entropy.flatten()]).cpu().numpy()


def _join_windows(texts: Iterable[bytes], options: ByteLmOptions) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield the windows of each pass, int16 [windows, predictions + 1], and the leading predictions to drop.

    The windows are those of :func:`_passes` over the stream as one text. The first window and a shorter last one are
    passes of one window; the others are in passes of ``score_batch``.
    """
    stream, skip, batch = torch.empty(0, dtype=torch.int16), 0, 1
    for text in texts:
        tokens = np.append(np.int16(START), np.frombuffer(text, np.uint8))
        stream = torch.cat([stream, torch.from_numpy(tokens)])
        while len(stream) > options.context + (batch - 1) * options.stride:
            yield stream.unfold(0, options.context + 1, options.stride)[:batch], skip
            stream = stream[batch * options.stride :]
            skip, batch = options.context - options.stride, options.score_batch
    if len(stream) > options.context:
        windows = stream.unfold(0, options.context + 1, options.stride)
        yield windows, skip
        stream = stream[len(windows) * options.stride :]
    if len(stream) > skip + 1:
        yield stream[None], skip


def bits_per_byte(paths: Iterable[Path]) -> float:
    """Return the mean surprisal of a byte over files of scores, in bits; nan if they contain no byte.

    Each document is summed in float64, and the documents are summed exactly, so the result does not depend on sharding.
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
