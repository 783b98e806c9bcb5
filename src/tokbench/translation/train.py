"""Training of a translation model: resumable, the best weights kept, written whole."""

import hashlib
import logging
import math
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tokbench.atomic import NOT_CONTENT, alone, atomic_folder
from tokbench.corpus.parallel.pairs import Sentences, read_sentences
from tokbench.errors import TokbenchError
from tokbench.gauge import GAUGES, effort, metered, peak_of
from tokbench.inputs.files import first_line
from tokbench.manifest import write_manifest
from tokbench.model_memory import translation_training_flops
from tokbench.occurrences import write_occurrences
from tokbench.resumable import is_made
from tokbench.tokenizer import Tokenizer
from tokbench.translation.batches import encoded
from tokbench.translation.checkpoints import Progress, discard, resume, save, write_curve
from tokbench.translation.embeddings import counts_of, occurrences
from tokbench.translation.loss import Sides, dev_loss, update
from tokbench.translation.model import build, fixed_threads, pick_device
from tokbench.translation.options import OF_SEARCH, TranslationOptions

log = logging.getLogger(__name__)

OF_NO_WEIGHT = {"checkpoint_every", *OF_SEARCH}
"""Options by which training does not go."""

EVERY = 50
"""Steps of a row of the curve."""


def train(
    corpus: Path,
    direction: tuple[str, str],
    tokenizers: tuple[Path, Path],
    options: TranslationOptions,
    output: Path,
    checkpoints: Path,
) -> None:
    """Train a model and write it as a Hugging Face folder, whole or not at all.

    ``MarianMTModel`` loads it. Beside it stand ``curve.csv``, ``manifest.json``, the tokenizers, in ``source/`` and
    ``target/``, and how often it met their tokens. A killed run goes on from its last checkpoint, and on one machine's
    CPU ends with the same bits as a run that was never killed: each step's dropout is drawn anew from the seed and the
    step. Checkpoints of other options, text or tokenizers are discarded. Of several that share checkpoints one is at
    work and the others wait; what it has made by then they leave as it is.

    Args:
        corpus: a prepared parallel corpus.
        direction: language that is translated and the language that it is translated into.
        tokenizers: folders of the source's and the target's; the same one for a joint vocabulary.
        options: architecture and recipe.
        output: where the model goes.
        checkpoints: folder of this run's own, emptied once the model stands.

    Raises:
        TokbenchError: no pair fits a batch, the device is not there, a checkpoint is damaged, or the loss is no number
            or does not fall.
    """
    with alone(checkpoints) as waited, fixed_threads(options.cpu_threads):
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
    own = tuple(Tokenizer.load(folder) for folder in folders)
    joint = folders[0].resolve() == folders[1].resolve()
    pairs = _sides(read_sentences(corpus / "train.parquet", *direction), own, options)
    dev = None
    if (corpus / "dev.parquet").is_file():
        dev = _sides(read_sentences(corpus / "dev.parquet", *direction), own, options)
    recipe: dict[str, Any] = {
        "options": options.model_dump(mode="json", exclude=OF_NO_WEIGHT),
        "direction": list(direction),
        "joint": joint,
        "pairs": _digest(pairs, dev),
    }
    if waited and is_made(output, recipe, _recipe_in):
        log.info("%s: made by the process that was waited for", output)
        return
    model = build(options, own[0].id_limit, own[1].id_limit, joint=joint)
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
    done = resume(checkpoints, recipe, model, optimizer, steps)
    spent = done.seconds
    with metered(checkpoints / GAUGES / "0.csv", on_gpu=device.type == "cuda"):
        while done.step < steps:
            epoch, first = divmod(done.step, in_epoch)
            dealt = pairs.batches(options.batch_tokens, (options.seed, epoch))
            for batch in dealt[first:]:
                rate = learning_rate(done.step, options)
                done.add(*update(model, optimizer, pairs.of(batch), rate, done.step, options, device))
                _reject(done, steps, own[1].id_limit, checkpoints)
                ends = done.step % in_epoch == 0
                if ends or done.step % EVERY == 0:
                    with done.pace.aside():
                        loss = dev_loss(model, dev, options, device) if ends and dev else None
                    done.row(epoch + 1, rate, loss)
                if ends:
                    done.keep_best(model, options.select == "best" and dev is not None)
                    log.info("translation epoch %d/%d, %s", epoch + 1, options.epochs, done.told())
                if (ends or done.step % options.checkpoint_every == 0) and done.step < steps:
                    done.seconds = spent + time.monotonic() - began
                    save(checkpoints, recipe, model, optimizer, done)
    done.restore_best(model)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    peak = peak_of(name) if options.precision == "bf16" else None
    source, target = (np.array([len(ids) for ids in side], np.int64) for side in (pairs.source, pairs.target))
    flops = translation_training_flops(options, source, target, max(own[0].id_limit, own[1].id_limit))
    settings = {
        "options": options.model_dump(mode="json"),
        "direction": list(direction),
        "joint": joint,
        "parameters": model.num_parameters(only_trainable=True),
        "pairs": len(pairs.source),
        "pairs_left_out": pairs.left_out,
        "pairs_digest": recipe["pairs"],
        "steps": steps,
        "kept_epoch": done.kept_epoch,
        "read": {"tokens": done.tokens},
        "device": name,
        "devices": 1,
        "effort": effort(checkpoints / GAUGES, done.pace.marks, flops / int(target.sum()), peak),
    }
    with atomic_folder(output, "translation model") as partial:
        model.save_pretrained(partial, safe_serialization=True)
        write_curve(done.curve, partial / "curve.csv")
        for side, folder, tokenizer in zip(("source", "target"), folders, own, strict=True):
            shutil.copytree(folder, partial / side, ignore=shutil.ignore_patterns(*NOT_CONTENT))
            write_occurrences(occurrences(getattr(pairs, side), tokenizer.id_limit), partial / counts_of(side))
        write_manifest(partial / "manifest.json", settings, began - spent)
    discard(checkpoints)


def _recipe_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in settings["options"].items() if name not in OF_NO_WEIGHT}
    direction, joint, pairs = (settings[name] for name in ("direction", "joint", "pairs_digest"))
    return {"options": options, "direction": direction, "joint": joint, "pairs": pairs}


def _sides(sentences: Sentences, own: tuple[Tokenizer, ...], options: TranslationOptions) -> Sides:
    most = min(options.max_positions, options.batch_tokens)
    source, target = (
        encoded(tokenizer, side, most + 1)
        for tokenizer, side in zip(own, (sentences.source, sentences.target), strict=True)
    )
    fit = [place for place, ids in enumerate(source) if max(len(ids), len(target[place])) <= most]
    if not fit:
        raise TokbenchError(f"no pair has {most} tokens or fewer; raise batch_tokens or max_positions")
    size = sum(len(sentences.target[place].encode()) for place in fit)
    return Sides([source[place] for place in fit], [target[place] for place in fit], size, len(source) - len(fit))


def _digest(pairs: Sides, dev: Sides | None) -> str:
    found = hashlib.sha256()
    for side in (pairs.source, pairs.target, *((dev.source, dev.target) if dev else ())):
        found.update(len(side).to_bytes(8, "little"))
        for ids in side:
            found.update(ids.tobytes())
    return found.hexdigest()


def learning_rate(step: int, options: TranslationOptions) -> float:
    """Rate of a step, counted from 0: a linear rise, then the inverse square root of the step (Vaswani et al. 2017)."""
    number = step + 1
    return options.learning_rate * min(number / options.warmup_steps, math.sqrt(options.warmup_steps / number))


def _reject(done: Progress, steps: int, vocabulary: int, checkpoints: Path) -> None:
    """End a training that learns nothing; its curve is left among its checkpoints.

    Raises:
        TokbenchError: the last loss is no number; or after half of the steps, as many as a row of the curve or more,
            it is no better than equal probabilities.
    """
    loss = done.last_loss
    told = ""
    if not math.isfinite(loss):
        told = f"the loss of step {done.step} of {steps} is no number ({loss})"
    elif done.step == max(EVERY, steps // 2) and loss >= math.log(vocabulary + 1):
        told = (
            f"after {done.step} of {steps} steps the loss is {loss:.3f} nats a token, and equal probabilities have "
            f"{math.log(vocabulary + 1):.3f}: the model learns nothing"
        )
    if told:
        kept = checkpoints / "curve.csv"
        try:
            done.row(0, 0.0, None)
            write_curve(done.curve, kept)
        except OSError as error:
            log.info("%s: cannot be written (%s)", kept, first_line(error))
        raise TokbenchError(f"{told}; lower learning_rate, or raise warmup_steps or set clip; the curve is in {kept}")
