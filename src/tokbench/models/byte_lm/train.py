"""Training of the byte-level model (ByteSpan, appendix B): AdamW with warm-up, stable learning rate and decay.

The training text is one stream of tokens on disk. Its windows are visited in a seeded random order.
"""

import csv
import hashlib
import json
import logging
import math
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file, atomic_folder, reject_altered, remove_written
from tokbench.io.locks import exclusive
from tokbench.io.provenance import write_manifest
from tokbench.io.text_files import first_line
from tokbench.models.byte_lm.model import START, arithmetic, build, pick_device
from tokbench.models.byte_lm.options import ByteLmOptions, byte_lm_flops_per_byte
from tokbench.models.sampler import GAUGES, ThroughputLog, peak_of, remove_samples, sample_resources, training_cost
from tokbench.models.training import is_made, matching_checkpoints

OF_SCORING = ("stride", "score_batch")
"""Options that do not affect training. The training rule sets them to fixed values."""
Curve = list[tuple[int, float, float]]
FEW = 50
"""Smallest number of steps before a loss that does not fall is an error."""


def write_stream(documents: Iterable[bytes], path: Path) -> str:
    """Write concatenated documents, each after a start token, as little-endian uint16; return a digest of the
    stream."""
    digest = hashlib.blake2b(digest_size=16)
    with atomic_file(path) as partial, partial.open("wb") as file:
        for document in documents:
            tokens = np.empty(len(document) + 1, "<u2")
            tokens[0] = START
            tokens[1:] = np.frombuffer(document, np.uint8)
            data = tokens.tobytes()
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


class Windows:
    """Disjoint windows of a stream, each visited once per epoch, in an order drawn from the seed and the epoch.

    A batch depends only on its step, so a resumed training sees the same batches.

    Args:
        path: the stream.
        context: predictions per window, reduced if the stream is shorter.
        seed: seed of the order.

    Attributes:
        context: predictions per window.

    Raises:
        TokbenchError: the stream contains no byte.
    """

    def __init__(self, path: Path, context: int, seed: int) -> None:
        size = path.stat().st_size // 2
        if size < 2:
            raise TokbenchError("the byte_lm split contains no text to train on; give it documents")
        self._stream = np.memmap(path, "<u2", "r")
        self.context = min(context, size - 1)
        self._count = (size - 1) // self.context
        self._seed = seed
        self._epoch = -1
        self._order = np.empty(0, np.int64)

    def batch(self, step: int, size: int) -> NDArray[np.int64]:
        """Return the windows of one step (counted from 0): int64 [size, context + 1], inputs and their successors."""
        return np.stack([self._window(index) for index in range(step * size, (step + 1) * size)])

    def _window(self, index: int) -> NDArray[np.int64]:
        epoch, position = divmod(index, self._count)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = np.random.default_rng([self._seed, epoch]).permutation(self._count)
        start = int(self._order[position]) * self.context
        return self._stream[start : start + self.context + 1].astype(np.int64)


log = logging.getLogger(__name__)


def train(documents: Iterable[bytes], options: ByteLmOptions, folder: Path, checkpoints: Path) -> None:
    """Train a model and write it atomically as a Hugging Face folder.

    In addition to ``config.json`` and ``model.safetensors``, the folder contains ``curve.csv`` (step, mean loss of the
    step in nats per byte, learning rate) and ``manifest.json``. A killed run resumes from its last checkpoint. On the
    CPU of one machine it ends with the same bits as an uninterrupted run. Checkpoints with other options or other text
    are discarded. Runs that share a checkpoint folder wait for each other, and leave a model that was finished
    meanwhile unchanged.

    Args:
        documents: training text, in document order.
        options: architecture and recipe.
        folder: output folder.
        checkpoints: checkpoint folder of this run. Its checkpoints are removed when the model is complete.

    Raises:
        TokbenchError: there is no text, the device does not exist, or the loss is not finite or does not fall.
    """
    with exclusive(checkpoints) as waited:
        _train(documents, options, folder, checkpoints, waited)


def _train(documents: Iterable[bytes], options: ByteLmOptions, folder: Path, checkpoints: Path, waited: bool) -> None:
    began = time.monotonic()
    device = pick_device(options.device)
    stream = checkpoints / "stream.u16"
    recipe: dict[str, object] = {
        "options": options.model_dump(mode="json", exclude={"checkpoint_every", "stride", "score_batch"}),
        "stream": write_stream(documents, stream),
    }
    if waited and is_made(folder, recipe, _recipe_in):
        log.info("%s: already made by the process that held the lock", folder)
        _clear(checkpoints, stream)
        return
    windows = Windows(stream, options.context, options.seed)
    model = build(options)
    model.to(device).train()  # type: ignore[arg-type]
    optimizer = _optimizer(model, options)
    pace = ThroughputLog(options.steps)
    step, curve, spent = _resume(checkpoints, recipe, model, optimizer, pace)
    if not step:
        remove_samples(checkpoints)
    tokens = options.batch * windows.context
    with arithmetic(options, device), sample_resources(checkpoints / GAUGES / "0.csv", on_gpu=device.type == "cuda"):
        while step < options.steps:
            rate = learning_rate(step, options)
            loss = _step(model, optimizer, torch.from_numpy(windows.batch(step, options.batch)), rate, options)
            step += 1
            curve.append((step, loss, rate))
            pace.mark(step, step * tokens)
            _reject(curve, options, checkpoints)
            if step % max(1, options.steps // 20) == 0 or step == options.steps:
                log.info("byte LM step %d/%d, loss %.4f nats a byte, rate %.2e", step, options.steps, loss, rate)
            if step % options.checkpoint_every == 0 and step < options.steps:
                _save(checkpoints, recipe, model, optimizer, curve, pace, spent + time.monotonic() - began)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    peak = peak_of(name) if options.precision == "bf16" else None
    flops = byte_lm_flops_per_byte(options.model_copy(update={"context": windows.context}))
    with atomic_folder(folder, "byte language model") as partial:
        model.save_pretrained(partial, safe_serialization=True)
        _write_curve(curve, partial / "curve.csv")
        settings = {
            "options": options.model_dump(mode="json", exclude=set(OF_SCORING)),
            "parameters": model.num_parameters(),
            "stream": recipe["stream"],
            "stream_tokens": stream.stat().st_size // 2,
            "final_loss": curve[-1][1],
            "read": {"tokens": options.steps * tokens},
            "device": name,
            "devices": 1,
            "effort": training_cost(checkpoints / GAUGES, pace.marks, flops, peak),
        }
        write_manifest(partial / "manifest.json", settings, began - spent)
    _clear(checkpoints, stream)


def _recipe_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in settings["options"].items() if name != "checkpoint_every"}
    return {"options": options, "stream": settings["stream"]}


def _clear(checkpoints: Path, stream: Path) -> None:
    """Remove the checkpoints of a training, and their folder if it is then empty."""
    for older in checkpoints.glob("step-*"):
        remove_written(older, "checkpoint")
    remove_samples(checkpoints)
    stream.unlink(missing_ok=True)
    (checkpoints / "curve.csv").unlink(missing_ok=True)
    if checkpoints.is_dir() and not any(checkpoints.iterdir()):
        checkpoints.rmdir()


def _reject(curve: Curve, options: ByteLmOptions, checkpoints: Path) -> None:
    """Stop a training that does not learn, and leave its curve in the checkpoint folder.

    Raises:
        TokbenchError: the last loss is not finite. Or, after half of the steps and at least :data:`FEW`, the mean loss
            of the last tenth is no better than a uniform distribution.
    """
    step, loss, _ = curve[-1]
    message = ""
    if not math.isfinite(loss):
        message = f"the loss of step {step} of {options.steps} is not a number ({loss})"
    elif step == max(FEW, options.steps // 2):
        tenth = [value for _, value, _ in curve[-max(1, options.steps // 10) :]]
        mean, equal = math.fsum(tenth) / len(tenth), math.log(START + 1)
        if mean >= equal:
            message = (
                f"after {step} of {options.steps} steps the loss is {mean:.3f} nats a byte, and a uniform distribution "
                f"has {equal:.3f}: the model is not learning"
            )
    if message:
        curve_file = checkpoints / "curve.csv"
        with atomic_file(curve_file) as partial:
            _write_curve(curve, partial)
        raise TokbenchError(
            f"{message}; lower learning_rate or clip, or raise warmup_steps; the curve is in {curve_file}"
        )


def learning_rate(step: int, options: ByteLmOptions) -> float:
    """Return the learning rate of a step, counted from 0: linear warm-up, stable, then linear decay towards zero."""
    warmup = (step + 1) / options.warmup_steps if step < options.warmup_steps else 1.0
    left = options.steps - step
    decay = left / (options.decay_steps + 1) if left <= options.decay_steps else 1.0
    return options.learning_rate * min(warmup, decay)


def _optimizer(model: torch.nn.Module, options: ByteLmOptions) -> torch.optim.AdamW:
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=options.learning_rate,
        betas=options.betas,
        eps=options.eps,
    )


def _step(
    model: torch.nn.Module, optimizer: torch.optim.AdamW, batch: torch.Tensor, rate: float, options: ByteLmOptions
) -> float:
    """Run one update and return the batch's mean loss in nats."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    device = next(model.parameters()).device
    size = options.microbatch or options.batch
    total = 0.0
    for part in batch.to(device).split(size):
        logits = model(input_ids=part[:, :-1]).logits.float()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten()) * size / options.batch
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total


def _save(
    checkpoints: Path,
    recipe: dict[str, object],
    model: torch.nn.Module,
    optimizer: torch.optim.AdamW,
    curve: Curve,
    pace: ThroughputLog,
    seconds: float,
) -> None:
    older = list(checkpoints.glob("step-*"))
    with atomic_folder(checkpoints / f"step-{curve[-1][0]:09d}", "checkpoint") as partial:
        safetensors.torch.save_model(model, str(partial / "model.safetensors"))
        torch.save(optimizer.state_dict(), partial / "optimizer.pt")
        state = {"recipe": recipe, "curve": curve, "seconds": seconds, "pace": pace.state}
        (partial / "state.json").write_text(json.dumps(state), encoding="utf-8")
    for folder in older:
        remove_written(folder, "checkpoint")


def _resume(
    checkpoints: Path,
    recipe: dict[str, object],
    model: torch.nn.Module,
    optimizer: torch.optim.AdamW,
    pace: ThroughputLog,
) -> tuple[int, Curve, float]:
    """Load the newest checkpoint of this recipe; return the steps done, their curve, and the seconds spent on them."""
    remedy = f"delete {checkpoints} to start over"
    for folder, state in matching_checkpoints(checkpoints, recipe, remedy, log):
        for name in ("model.safetensors", "optimizer.pt"):
            reject_altered(folder / name, remedy)
        try:
            safetensors.torch.load_model(model, str(folder / "model.safetensors"))
            optimizer.load_state_dict(torch.load(folder / "optimizer.pt", weights_only=True))
            curve = [(int(step), float(loss), float(rate)) for step, loss, rate in state["curve"]]
            seconds = float(state["seconds"])
            pace.resume(state.get("pace"))
        except Exception as error:
            raise TokbenchError(f"{folder}: a damaged checkpoint ({first_line(error)}); {remedy}") from None
        log.info("byte LM resumes after step %d", len(curve))
        return len(curve), curve, seconds
    return 0, [], 0.0


def _write_curve(curve: Curve, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["step", "loss", "learning_rate"])
        writer.writerows(curve)
