"""Training of a translation model, with resumption from checkpoints, selection of the best weights, and atomic export.

A checkpoint contains weights, optimizer, curve, and the best weights so far.
"""

import csv
import hashlib
import json
import logging
import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

from tokbench.corpus.parallel_read import Sentences, read_sentences
from tokbench.errors import TokbenchError
from tokbench.io.atomic import NOT_CONTENT, atomic_file, atomic_folder, reject_altered, remove_written
from tokbench.io.identity import Maker, made_from
from tokbench.io.locks import exclusive
from tokbench.io.provenance import write_manifest
from tokbench.io.text_files import first_line
from tokbench.models.sampler import GAUGES, ThroughputLog, peak_of, remove_samples, sample_resources, training_cost
from tokbench.models.training import is_made, matching_checkpoints, write_occurrences
from tokbench.models.translation.embeddings import ROLES, counts_of, occurrences
from tokbench.models.translation.model import (
    Sides,
    build,
    dev_loss,
    encode_sentences,
    fixed_threads,
    pick_device,
    update,
)
from tokbench.models.translation.options import OF_SEARCH, TranslationOptions, translation_training_flops
from tokbench.tokenizer import Tokenizer

COLUMNS = ("step", "epoch", "tokens", "loss", "learning_rate", "dev_loss", "dev_bits_per_byte")
"""Columns of the curve: steps and epochs from 1, target tokens seen, mean training loss since the previous row in nats
per token with smoothing. At the end of an epoch also the loss on the development split, without smoothing."""
Row = tuple[int, int, int, float, float, float | None, float | None]
Weights = dict[str, torch.Tensor]
OF_NO_WEIGHT = {"checkpoint_every", *OF_SEARCH}
"""Options that do not affect training."""
CURVE_STEPS = 50
"""Steps per row of the curve."""


@dataclass
class Progress:
    """State of a training.

    Attributes:
        pace: log of its speed.
        step: steps done.
        tokens: target tokens seen.
        curve: rows of :data:`COLUMNS`.
        sums: loss and target tokens since the last row.
        kept_epoch: epoch of the best weights; 0 if there are none.
        best: their loss on the development split.
        weights: the best weights.
        last_loss: mean loss of the last step.
        seconds: seconds until the last checkpoint.
    """

    pace: ThroughputLog
    step: int = 0
    tokens: int = 0
    curve: list[Row] = field(default_factory=list)
    sums: list[float] = field(default_factory=lambda: [0.0, 0])
    kept_epoch: int = 0
    best: float = math.inf
    weights: Weights | None = None
    last_loss: float = math.nan
    seconds: float = 0.0

    def add(self, loss: float, tokens: int) -> None:
        """Count a step."""
        self.step += 1
        self.tokens += tokens
        self.sums[0] += loss
        self.sums[1] += tokens
        self.last_loss = loss / tokens
        self.pace.mark(self.step, self.tokens)

    def row(self, epoch: int, rate: float, dev: tuple[float, float] | None) -> None:
        """Add a row to the curve."""
        mean = self.sums[0] / max(1, self.sums[1])
        self.curve.append((self.step, epoch, self.tokens, mean, rate, *(dev or (None, None))))
        self.sums = [0.0, 0]

    def keep_best(self, model: torch.nn.Module, by_loss: bool) -> None:
        """Keep the weights if the last row's loss on the development split is the lowest so far."""
        _, epoch, _, _, _, loss, _ = self.curve[-1]
        if not by_loss:
            self.kept_epoch = epoch
        elif loss is not None and loss < self.best:
            self.best, self.kept_epoch = loss, epoch
            self.weights = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}

    def restore_best(self, model: torch.nn.Module) -> None:
        """Load the best weights into the model, if there are any."""
        if self.weights is not None:
            model.load_state_dict(self.weights)

    def describe(self) -> str:
        """Return the last row as text for the log."""
        step, _, _, loss, rate, dev, _ = self.curve[-1]
        dev_loss_text = "" if dev is None else f", {dev:.4f} on the development split"
        return f"step {step}, loss {loss:.4f} nats a token{dev_loss_text}, rate {rate:.2e}"


def save(
    checkpoints: Path,
    recipe: dict[str, Any],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    """Write a checkpoint atomically, then delete older ones."""
    older = list(checkpoints.glob("step-*"))
    with atomic_folder(checkpoints / f"step-{progress.step:09d}", "checkpoint") as partial:
        safetensors.torch.save_model(model, str(partial / "model.safetensors"))
        if progress.weights is not None:
            weights = {name: tensor.clone() for name, tensor in progress.weights.items()}
            safetensors.torch.save_file(weights, str(partial / "best.safetensors"))
        torch.save(optimizer.state_dict(), partial / "optimizer.pt")
        state = {
            "recipe": recipe,
            "step": progress.step,
            "tokens": progress.tokens,
            "curve": progress.curve,
            "sums": progress.sums,
            "kept_epoch": progress.kept_epoch,
            "best": progress.best if math.isfinite(progress.best) else None,
            "seconds": progress.seconds,
            "pace": progress.pace.state,
        }
        (partial / "state.json").write_text(json.dumps(state), encoding="utf-8")
    for folder in older:
        remove_written(folder, "checkpoint")


def resume(
    checkpoints: Path, recipe: dict[str, Any], model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int
) -> Progress:
    """Load the newest checkpoint of this recipe, with ``steps`` steps in total, and discard others.

    Raises:
        TokbenchError: it is damaged or was changed.
    """
    remedy = f"delete {checkpoints} to start over"
    for folder, state in matching_checkpoints(checkpoints, recipe, remedy, log):
        # Reject files that changed since they were written.
        best_weights = folder / "best.safetensors"
        for path in (
            folder / "model.safetensors",
            folder / "optimizer.pt",
            *([best_weights] if best_weights.is_file() else []),
        ):
            reject_altered(path, remedy)
        # Restore model, optimizer and progress.
        try:
            safetensors.torch.load_model(model, str(folder / "model.safetensors"))
            optimizer.load_state_dict(torch.load(folder / "optimizer.pt", weights_only=True))
            progress = Progress(
                ThroughputLog(steps),
                step=int(state["step"]),
                tokens=int(state["tokens"]),
                curve=[tuple(row) for row in state["curve"]],
                sums=list(state["sums"]),
                kept_epoch=int(state["kept_epoch"]),
                best=math.inf if state["best"] is None else float(state["best"]),
                weights=safetensors.torch.load_file(best_weights) if best_weights.is_file() else None,
                seconds=float(state["seconds"]),
            )
            progress.pace.resume(state.get("pace"))
        except Exception as error:
            raise TokbenchError(f"{folder}: a damaged checkpoint ({first_line(error)}); {remedy}") from None
        log.info("translation resumes after step %d", progress.step)
        return progress
    # No checkpoint of this recipe: start over.
    remove_samples(checkpoints)
    return Progress(ThroughputLog(steps))


def discard(checkpoints: Path) -> None:
    """Remove the checkpoints of a training, and their folder if it is then empty."""
    for older in checkpoints.glob("step-*"):
        remove_written(older, "checkpoint")
    remove_samples(checkpoints)
    (checkpoints / "curve.csv").unlink(missing_ok=True)
    if checkpoints.is_dir() and not any(checkpoints.iterdir()):
        checkpoints.rmdir()


def write_curve(curve: list[Row], path: Path) -> None:
    """Write the rows as CSV, atomically."""
    with atomic_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(curve)


log = logging.getLogger(__name__)


def train(
    corpus: Path,
    direction: tuple[str, str],
    tokenizers: tuple[Path, Path],
    options: TranslationOptions,
    output: Path,
    checkpoints: Path,
) -> None:
    """Train a model and write it atomically as a Hugging Face folder.

    ``MarianMTModel`` loads it. The folder also contains ``curve.csv``, ``manifest.json``, the tokenizers in ``source/``
    and ``target/``, and the counts of their tokens in the training pairs. A killed run resumes from its last
    checkpoint. On the CPU of one machine it ends with the same bits as an uninterrupted run, because each step's
    dropout is drawn from the seed and the step. Checkpoints with other options, text or tokenizers are discarded. Runs
    that share a checkpoint folder wait for each other, and leave a model that was finished meanwhile unchanged.

    Args:
        corpus: a prepared parallel corpus.
        direction: source language and target language.
        tokenizers: folders of the source's and the target's tokenizer; the same one for a joint vocabulary.
        options: architecture and recipe.
        output: output folder.
        checkpoints: checkpoint folder of this run. Its checkpoints are removed when the model is complete.

    Raises:
        TokbenchError: no pair fits into a batch, the device does not exist, a checkpoint is damaged, or the loss is not
            finite or does not fall.
    """
    with exclusive(checkpoints) as waited, fixed_threads(options.cpu_threads):
        _train(corpus, direction, tokenizers, options, output, checkpoints, waited)


def _train(
    corpus: Path,
    direction: tuple[str, str],
    folders: tuple[Path, Path],
    options: TranslationOptions,
    output: Path,
    checkpoints: Path,
    waited: bool,
) -> None:
    began = time.monotonic()
    device = pick_device(options.device)
    tokenizers = tuple(Tokenizer.load(folder) for folder in folders)
    joint = folders[0].resolve() == folders[1].resolve()
    pairs = _sides(read_sentences(corpus / "train.parquet", *direction), tokenizers, options)
    dev = None
    if (corpus / "dev.parquet").is_file():
        dev = _sides(read_sentences(corpus / "dev.parquet", *direction), tokenizers, options)
    recipe: dict[str, Any] = {
        "options": options.model_dump(mode="json", exclude=OF_NO_WEIGHT),
        "direction": list(direction),
        "joint": joint,
        "pairs": _digest(pairs, dev),
        "tokenizers": [tokenizer.digest for tokenizer in tokenizers],
    }
    if waited and is_made(output, recipe, _recipe_in):
        log.info("%s: already made by the process that held the lock", output)
        return
    model = build(options, tokenizers[0].id_limit, tokenizers[1].id_limit, joint=joint)
    model.to(device)  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=options.learning_rate,
        betas=options.betas,
        eps=options.eps,
        weight_decay=options.weight_decay,
    )
    in_epoch = len(pairs.batches(options.batch_tokens, (options.seed, 0)))
    steps = in_epoch * options.epochs
    progress = resume(checkpoints, recipe, model, optimizer, steps)
    spent = progress.seconds
    with sample_resources(checkpoints / GAUGES / "0.csv", on_gpu=device.type == "cuda"):
        while progress.step < steps:
            epoch, first = divmod(progress.step, in_epoch)
            dealt = pairs.batches(options.batch_tokens, (options.seed, epoch))
            for batch in dealt[first:]:
                rate = learning_rate(progress.step, options)
                progress.add(*update(model, optimizer, pairs.of(batch), rate, progress.step, options, device))
                _reject(progress, steps, tokenizers[1].id_limit, checkpoints)
                ends = progress.step % in_epoch == 0
                if ends or progress.step % CURVE_STEPS == 0:
                    with progress.pace.pause():
                        loss = dev_loss(model, dev, options, device) if ends and dev else None
                    progress.row(epoch + 1, rate, loss)
                if ends:
                    progress.keep_best(model, options.select == "best" and dev is not None)
                    log.info("translation epoch %d/%d, %s", epoch + 1, options.epochs, progress.describe())
                if (ends or progress.step % options.checkpoint_every == 0) and progress.step < steps:
                    progress.seconds = spent + time.monotonic() - began
                    save(checkpoints, recipe, model, optimizer, progress)
    progress.restore_best(model)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    peak = peak_of(name) if options.precision == "bf16" else None
    source, target = (np.array([len(ids) for ids in side], np.int64) for side in (pairs.source, pairs.target))
    flops = translation_training_flops(options, source, target, max(tokenizers[0].id_limit, tokenizers[1].id_limit))
    settings = {
        "options": options.model_dump(mode="json"),
        "direction": list(direction),
        "joint": joint,
        "parameters": model.num_parameters(only_trainable=True),
        "pairs": len(pairs.source),
        "pairs_left_out": pairs.left_out,
        "pairs_digest": recipe["pairs"],
        "tokenizers": recipe["tokenizers"],
        "steps": steps,
        "kept_epoch": progress.kept_epoch,
        "read": {"tokens": progress.tokens},
        "device": name,
        "devices": 1,
        "effort": training_cost(checkpoints / GAUGES, progress.pace.marks, flops / int(target.sum()), peak),
    }
    model.config.update(made_from(**dict(zip(ROLES, recipe["tokenizers"], strict=True))))
    with atomic_folder(output, "translation model") as partial:
        model.save_pretrained(partial, safe_serialization=True)
        write_curve(progress.curve, partial / "curve.csv")
        for side, folder, tokenizer in zip(("source", "target"), folders, tokenizers, strict=True):
            shutil.copytree(folder, partial / side, ignore=shutil.ignore_patterns(*NOT_CONTENT))
            counts, maker = occurrences(getattr(pairs, side), tokenizer.id_limit), Maker(tokenizer.digest, folder)
            write_occurrences(counts, partial / counts_of(side), maker)
        write_manifest(partial / "manifest.json", settings, began - spent)
    discard(checkpoints)


def _recipe_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in settings["options"].items() if name not in OF_NO_WEIGHT}
    direction, joint, tokenizers = (settings[name] for name in ("direction", "joint", "tokenizers"))
    pairs = settings["pairs_digest"]
    return {"options": options, "direction": direction, "joint": joint, "pairs": pairs, "tokenizers": tokenizers}


def _sides(sentences: Sentences, tokenizers: tuple[Tokenizer, ...], options: TranslationOptions) -> Sides:
    max_ids = min(options.max_positions, options.batch_tokens)
    source, target = (
        encode_sentences(tokenizer, side, max_ids + 1)
        for tokenizer, side in zip(tokenizers, (sentences.source, sentences.target), strict=True)
    )
    fit = [place for place, ids in enumerate(source) if max(len(ids), len(target[place])) <= max_ids]
    if not fit:
        raise TokbenchError(f"no pair has {max_ids} tokens or fewer; raise batch_tokens or max_positions")
    size = sum(len(sentences.target[place].encode()) for place in fit)
    return Sides([source[place] for place in fit], [target[place] for place in fit], size, len(source) - len(fit))


def _digest(pairs: Sides, dev: Sides | None) -> str:
    digest = hashlib.sha256()
    for side in (pairs.source, pairs.target, *((dev.source, dev.target) if dev else ())):
        digest.update(len(side).to_bytes(8, "little"))
        for ids in side:
            digest.update(ids.tobytes())
    return digest.hexdigest()


def learning_rate(step: int, options: TranslationOptions) -> float:
    """Return the learning rate of a step, counted from 0: linear warm-up, then inverse square root (Vaswani et al.
    2017)."""
    number = step + 1
    return options.learning_rate * min(number / options.warmup_steps, math.sqrt(options.warmup_steps / number))


def _reject(progress: Progress, steps: int, vocabulary: int, checkpoints: Path) -> None:
    """Stop a training that does not learn, and leave its curve in the checkpoint folder.

    Raises:
        TokbenchError: the last loss is not finite. Or, after half of the steps and at least :data:`EVERY`, it is no
            better than a uniform distribution.
    """
    loss = progress.last_loss
    message = ""
    if not math.isfinite(loss):
        message = f"the loss of step {progress.step} of {steps} is not a number ({loss})"
    elif progress.step == max(CURVE_STEPS, steps // 2) and loss >= math.log(vocabulary + 1):
        message = (
            f"after {progress.step} of {steps} steps the loss is {loss:.3f} nats a token, and a uniform distribution "
            f"has {math.log(vocabulary + 1):.3f}: the model is not learning"
        )
    if message:
        curve_file = checkpoints / "curve.csv"
        try:
            progress.row(0, 0.0, None)
            write_curve(progress.curve, curve_file)
        except OSError as error:
            log.info("%s: cannot be written (%s)", curve_file, first_line(error))
        raise TokbenchError(
            f"{message}; lower learning_rate, or raise warmup_steps or set clip; the curve is in {curve_file}"
        )
