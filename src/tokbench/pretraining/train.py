"""Pretraining of a model on packed sequences: resumable, exported whole."""

import json
import logging
import os
import shutil
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import alone, atomic_file, failures_reported
from tokbench.errors import TokbenchError
from tokbench.lean import lean_imports
from tokbench.pretraining.checkpoints import recover
from tokbench.pretraining.options import ModelOptions
from tokbench.vocabulary import Vocabulary

log = logging.getLogger(__name__)

UNUSED = ("mcli", "mlflow", "scipy")
"""Imported whether wanted or not: tracking services, and what torchmetrics measures sound with."""
NOTE = "recipe.json"
RUN = ("states", "huggingface", "curve.csv", NOTE)
"""What a run leaves among its checkpoints; the note, by which they are known as ours, goes last."""


def pretrain(packed: Path, tokenizer_folder: Path, options: ModelOptions, output: Path, checkpoints: Path) -> None:
    """Train a model and write it as a Hugging Face folder, whole or not at all.

    ``AutoModelForCausalLM`` loads the folder as transformers' own MPT or Llama. Beside the model stand ``curve.csv``
    (batch, tokens, loss in nats a token, learning rate, seconds), ``manifest.json`` and the tokenizer's files. A killed
    run goes on from its last checkpoint, and on one machine's CPU ends with the same weights as a run that was never
    killed. Checkpoints of other options or other sequences are discarded. Of several that share checkpoints one is at
    work and the others wait: a killed run may have left the job that the next one starts. Started by Composer's
    launcher, it trains on all devices and the first process writes.

    Args:
        packed: what :func:`tokbench.pretraining.pack.pack` wrote.
        tokenizer_folder: the tokenizer's files, copied into the model's folder.
        options: architecture and recipe.
        output: where the model goes.
        checkpoints: folder of this run's own, removed once the model stands.

    Raises:
        TokbenchError: sequences of another length or for another budget, too few of them or altered ones, a device that
            is not there, a folder of checkpoints that holds something else, a checkpoint that training did not write,
            or a loss that is no number or does not fall.
    """
    _environment(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        with lean_imports(hollow=UNUSED):
            from tokbench.pretraining import foundry
            from tokbench.pretraining.export import publish
    from tokbench.pretraining.curve import read_curve
    from tokbench.pretraining.phases import described, read_in_all, read_phases

    phases = read_phases(options, packed)
    packing = phases[0].packing
    if options.device == "cuda" and not torch.cuda.is_available():
        raise TokbenchError("device: 'cuda' is not available here; use 'auto' or 'cpu'")
    tokenizer = tokenizer_folder if (tokenizer_folder / "tokens.vocab").is_file() else None
    first = foundry.join()
    with alone(checkpoints) if first else nullcontext(False) as waited:
        recipe = {"options": options.model_dump(mode="json", exclude={"checkpoint_every"}), "packed": described(phases)}
        if waited and "WORLD_SIZE" not in os.environ and _made(output, recipe):
            log.info("%s: made by the process that was waited for", output)
            return
        if first:
            for phase in phases:
                phase.check()
            _prepare(checkpoints, recipe)
            recover(foundry.states(checkpoints))
        threads = torch.get_num_threads()
        torch.set_num_threads(options.cpu_threads)
        try:
            with failures_reported(checkpoints, checkpoints):
                foundry.run(options, phases, tokenizer, checkpoints)
        finally:
            torch.set_num_threads(threads)
        if not first:
            return
        curve = checkpoints / "curve.csv"
        last = read_curve(curve)[-1]
        settings = {
            "options": options.model_dump(mode="json"),
            "read": read_in_all(phases, _lengths(tokenizer)),
            "final_loss": float(last["loss"]),
            "vocabulary_rows": options.vocabulary_rows(packing.vocabulary),
            "packing": described(phases),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "devices": int(os.environ.get("WORLD_SIZE", "1")),
        }
        publish(
            foundry.exported(checkpoints, sum(phase.course.batches for phase in phases)),
            options,
            tokenizer_folder,
            curve,
            output,
            end_of_text=packing.end_of_text,
            padding=packing.vocabulary + 1,
            settings=settings,
            started=time.monotonic() - float(last["seconds"]),
        )
        _discard(checkpoints)


def _made(output: Path, recipe: dict[str, Any]) -> bool:
    """Whether a model of this recipe stands."""
    try:
        made = json.loads((output / "manifest.json").read_text(encoding="utf-8"))["settings"]
        of = {key: value for key, value in made["options"].items() if key != "checkpoint_every"}
        return {"options": of, "packed": made["packing"]} == recipe
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _lengths(tokenizer: Path | None) -> NDArray[np.int64] | None:
    """Bytes of each id; None where no vocabulary tells them."""
    if tokenizer is None:
        return None
    return np.array([len(token) for token in Vocabulary.read(tokenizer).by_id], np.int64)


def _environment(options: ModelOptions) -> None:
    """What the libraries read when they are imported: no network, and no GPU where none is wanted."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
        os.environ[name] = "1"
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    logging.getLogger("datasets").setLevel(logging.ERROR)


def _prepare(checkpoints: Path, recipe: dict[str, Any]) -> None:
    """Discard checkpoints of another recipe and note down this one."""
    note = checkpoints / NOTE
    text = json.dumps(recipe, indent=1, sort_keys=True) + "\n"
    known = _noted(note)
    if known is None and checkpoints.exists() and any(checkpoints.iterdir()):
        raise TokbenchError(f"{checkpoints}: holds files that are no checkpoints; give the run a folder of its own")
    if known == text:
        return
    if known is not None:
        log.info("%s: made with other options or other sequences; discarded", checkpoints)
        _discard(checkpoints)
    with atomic_file(note) as partial:
        partial.write_text(text, encoding="utf-8")


def _noted(note: Path) -> str | None:
    """What a run noted down; None where no run did."""
    try:
        text = note.read_text(encoding="utf-8")
        return text if json.loads(text).keys() == {"options", "packed"} else None
    except (FileNotFoundError, ValueError, AttributeError):
        return None


def _discard(checkpoints: Path) -> None:
    """Remove what a run leaves among its checkpoints, and the folder if nothing else is in it."""
    for name in RUN:
        if (checkpoints / name).is_dir():
            shutil.rmtree(checkpoints / name)
        else:
            (checkpoints / name).unlink(missing_ok=True)
    if not any(checkpoints.iterdir()):
        checkpoints.rmdir()
