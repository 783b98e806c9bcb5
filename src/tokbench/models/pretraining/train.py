"""Pretraining of a model on packed sequences: resumable, exported whole."""

import logging
import os
import time
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import failures_reported
from tokbench.io.locks import exclusive
from tokbench.models.pretraining.budget import flops_per_token
from tokbench.models.pretraining.checkpoints import discard_run, is_up_to_date, prepare_run, resume_key
from tokbench.models.pretraining.launch import LAUNCHED
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.pretraining.phases import described, read_in_all, read_phases
from tokbench.models.sampler import GAUGES, metered, peak_of, training_cost
from tokbench.vocabulary import Vocabulary

log = logging.getLogger(__name__)

TIMEOUT = 1800.0
"""Seconds that processes wait for each other: the first one alone writes, and reads what it wrote."""


def pretrain(packed: Path, tokenizer_folder: Path, options: ModelOptions, output: Path, checkpoints: Path) -> None:
    """Train a model and write it as a Hugging Face folder, whole or not at all.

    ``AutoModelForCausalLM`` loads the folder as transformers' own MPT or Llama. Beside the model stand ``curve.csv``
    (batch, tokens, loss in nats a token, learning rate, seconds), ``manifest.json`` and the tokenizer's files. A killed
    run goes on from its last checkpoint, and on one machine's CPU ends with the same weights as a run that was never
    killed. Checkpoints of other options or other sequences are discarded. Of several that share checkpoints one is at
    work and the others wait: a killed run may have left the job that the next one starts. Of many processes that a
    launcher has started (see :mod:`tokbench.models.pretraining.launch`) the first writes.

    Args:
        packed: what :func:`tokbench.models.pretraining.pack.pack` wrote, or
            :func:`tokbench.models.pretraining.pack.pack_phases`.
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

        from tokbench.models.pretraining import foundry
        from tokbench.models.pretraining.export import publish
    from tokbench.models.pretraining.budget import kept_at
    from tokbench.models.pretraining.curve import read_curve

    phases = read_phases(options, packed)
    packing, batches = phases[0].packing, sum(phase.course.batches for phase in phases)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise TokbenchError("device: 'cuda' is not available here; use 'auto' or 'cpu'")
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if options.batch % processes:
        raise TokbenchError(f"batch: {options.batch} sequences, no multiple of {processes} processes; change one")
    sent = options.fsdp.mixed_precision if options.fsdp is not None else "full"
    if processes == 1 and sent != "full":
        raise TokbenchError(f"fsdp: mixed_precision: {sent} takes several processes; train with them, or say full")
    tokenizer = tokenizer_folder if (tokenizer_folder / "tokens.vocab").is_file() else None
    unprepared = LAUNCHED not in os.environ
    with (
        foundry.joined(TIMEOUT) as first,
        exclusive(checkpoints) if first and unprepared else nullcontext(False) as waited,
    ):
        recipe = resume_key(options, phases)
        if waited and processes == 1 and is_up_to_date(output, recipe):
            log.info("%s: made by the process that was waited for", output)
            return
        if first and unprepared:
            prepare_run(phases, recipe, checkpoints)
        foundry.meet()
        threads = torch.get_num_threads()
        torch.set_num_threads(options.cpu_threads)
        try:
            rank = os.environ.get("RANK", "0")
            with failures_reported(checkpoints, checkpoints), metered(checkpoints / GAUGES / f"{rank}.csv"):
                foundry.run(options, phases, tokenizer, checkpoints)
        finally:
            torch.set_num_threads(threads)
        foundry.meet()
        if not first:
            return
        curve = checkpoints / "curve.csv"
        rows = read_curve(curve)
        last, along = rows[-1], kept_at(options, batches)
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        flops = flops_per_token(options, packing.vocabulary)
        peak = peak_of(device) if options.precision == "bf16" else None
        marks = [(int(row["tokens"]), float(row["seconds"])) for row in rows]
        settings = {
            "options": options.model_dump(mode="json"),
            "read": read_in_all(phases, _lengths(tokenizer)),
            "checkpoints": {
                share: {"batch": batch, "tokens": int(rows[batch - 1]["tokens"])} for share, batch in along.items()
            },
            "final_loss": float(last["loss"]),
            "vocabulary_rows": options.vocabulary_rows(packing.vocabulary),
            "packing": described(phases),
            "device": device,
            "devices": processes,
            "effort": training_cost(checkpoints / GAUGES, marks, flops, peak, processes),
        }
        publish(
            foundry.exported(checkpoints, batches),
            options,
            tokenizer_folder,
            curve,
            output,
            end_of_text=packing.end_of_text,
            padding=packing.vocabulary + 1,
            settings=settings,
            started=time.monotonic() - float(last["seconds"]),
            along={share: foundry.exported(checkpoints, batch) for share, batch in along.items()},
        )
        discard_run(checkpoints)


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
