"""Pretraining of a model on packed sequences, with resumption from checkpoints and atomic export."""

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
from tokbench.models.pretraining.phases import describe_phases, read_phases, total_text
from tokbench.models.sampler import GAUGES, peak_of, sample_resources, training_cost
from tokbench.vocabulary import Vocabulary

log = logging.getLogger(__name__)

TIMEOUT = 1800.0
"""Timeout in seconds of processes that wait for each other. Only the first process writes, and reads back its
output."""


def pretrain(packed: Path, tokenizer_folder: Path, options: ModelOptions, output: Path, checkpoints: Path) -> None:
    """Train a model and write it atomically as a Hugging Face folder.

    ``AutoModelForCausalLM`` loads the folder as the MPT or Llama of ``transformers``. In addition to the model it
    contains ``curve.csv`` (batch, tokens, loss in nats per token, learning rate, seconds), ``manifest.json`` and the
    tokenizer's files. A killed run resumes from its last checkpoint. On the CPU of one machine it ends with the same
    weights as an uninterrupted run. Checkpoints with other options or other sequences are discarded. Runs that share a
    checkpoint folder wait for each other, because the job of a killed run may still be active. Of several launched
    processes (see :mod:`tokbench.models.pretraining.launch`) only the first writes.

    Args:
        packed: folder written by :func:`tokbench.models.pretraining.pack.pack`.
        tokenizer_folder: the tokenizer's files, copied into the model's folder; see
            :func:`tokbench.models.pretraining.phases.require_tokenizer`.
        options: architecture and recipe.
        output: output folder.
        checkpoints: checkpoint folder of this run, removed when the model is complete.

    Raises:
        TokbenchError: the sequences have another length or budget, are too few or were changed; the device does not
            exist; the checkpoint folder contains other files or a checkpoint that training did not write; or the loss
            is not finite or does not fall.
    """
    _environment(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        from tokbench.models.pretraining import foundry
        from tokbench.models.pretraining.export import publish
    from tokbench.models.pretraining.budget import checkpoint_batches
    from tokbench.models.pretraining.curve import read_curve

    # Check options against the packed text and this machine.
    phases = read_phases(options, packed)
    packing, batches = phases[0].packing, sum(phase.course.batches for phase in phases)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise TokbenchError("device: 'cuda' is not available here; use 'auto' or 'cpu'")
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if options.batch % processes:
        raise TokbenchError(f"batch: {options.batch} sequences, not a multiple of {processes} processes; change one")
    sent = options.fsdp.mixed_precision if options.fsdp is not None else "full"
    if processes == 1 and sent != "full":
        raise TokbenchError(f"fsdp: mixed_precision: {sent} needs several processes; use them, or set full")
    tokenizer = tokenizer_folder if (tokenizer_folder / "tokens.vocab").is_file() else None
    # One process prepares the run; the others wait.
    unprepared = LAUNCHED not in os.environ
    with (
        foundry.join_processes(TIMEOUT) as first,
        exclusive(checkpoints) if first and unprepared else nullcontext(False) as waited,
    ):
        recipe = resume_key(options, phases)
        if waited and processes == 1 and is_up_to_date(output, recipe):
            log.info("%s: already made by the process that held the lock", output)
            return
        if first and unprepared:
            prepare_run(phases, recipe, checkpoints)
        # Train.
        foundry.wait_for_all()
        threads = torch.get_num_threads()
        torch.set_num_threads(options.cpu_threads)
        try:
            rank = os.environ.get("RANK", "0")
            with failures_reported(checkpoints, checkpoints), sample_resources(checkpoints / GAUGES / f"{rank}.csv"):
                foundry.run(options, phases, tokenizer, checkpoints)
        finally:
            torch.set_num_threads(threads)
        foundry.wait_for_all()
        # The first process writes the model.
        if not first:
            return
        curve = checkpoints / "curve.csv"
        rows = read_curve(curve)
        last, batch_by_share = rows[-1], checkpoint_batches(options, batches)
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        flops = flops_per_token(options, packing.vocabulary)
        peak = peak_of(device) if options.precision == "bf16" else None
        marks = [(int(row["tokens"]), float(row["seconds"])) for row in rows]
        # Settings and costs, for the manifest.
        settings = {
            "options": options.model_dump(mode="json"),
            "read": total_text(phases, _lengths(tokenizer)),
            "checkpoints": {
                share: {"batch": batch, "tokens": int(rows[batch - 1]["tokens"])}
                for share, batch in batch_by_share.items()
            },
            "final_loss": float(last["loss"]),
            "vocabulary_rows": options.vocabulary_rows(packing.vocabulary),
            "packing": describe_phases(phases),
            "device": device,
            "devices": processes,
            "effort": training_cost(checkpoints / GAUGES, marks, flops, peak, processes),
        }
        # Export, then delete the checkpoints.
        publish(
            foundry.exported_folder(checkpoints, batches),
            options,
            tokenizer_folder,
            curve,
            output,
            end_of_text=packing.end_of_text,
            padding=packing.vocabulary + 1,
            tokenizer=packing.tokenizer,
            settings=settings,
            started=time.monotonic() - float(last["seconds"]),
            checkpoint_folders={
                share: foundry.exported_folder(checkpoints, batch) for share, batch in batch_by_share.items()
            },
        )
        discard_run(checkpoints)


def _lengths(tokenizer: Path | None) -> NDArray[np.int64] | None:
    """Return the bytes of each id, int64; None if there is no vocabulary."""
    if tokenizer is None:
        return None
    return np.array([len(token) for token in Vocabulary.read(tokenizer).by_id], np.int64)


def _environment(options: ModelOptions) -> None:
    """Set the environment before the libraries are imported: no network, and no GPU if ``device`` is cpu."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
        os.environ[name] = "1"
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    logging.getLogger("datasets").setLevel(logging.ERROR)
