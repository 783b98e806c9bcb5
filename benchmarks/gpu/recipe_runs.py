"""Processes of :mod:`benchmarks.gpu.recipes`: trainings that measure themselves.

Each process writes a JSON file of its measurements. It writes the file again after every batch, so a killed process
leaves its results.
"""

import gc
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.gpu.tables import read_csv, write
from tokbench.models.byte_lm.options import ByteLmOptions
from tokbench.models.pretraining.options import ModelOptions

WARM_SECONDS = 5.0
"""Seconds after the first microbatch that are not measured, because libraries choose their kernels in them."""
WARM_PASSES = 3
"""Microbatches that are not measured, at least."""
TRIAL_STEPS = 12
"""Steps of the byte model's first training. Its time gives the number of steps of the second."""
LEAST_STEPS = 31
"""Steps of the byte model's second training, at least: those from which a speed is computed."""


def reason_of(error: Exception) -> str:
    """Return one line that says why there are no results."""
    if type(error).__name__ == "OutOfMemoryError":
        return "out of memory"
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def memory() -> dict[str, float | None]:
    """Return the largest memory of tensors and of PyTorch's allocator in GiB; None without a GPU."""
    import torch

    if not torch.cuda.is_available():
        return {"allocated_gib": None, "reserved_gib": None}
    gib = 2**30
    return {
        "allocated_gib": torch.cuda.max_memory_allocated() / gib,
        "reserved_gib": torch.cuda.max_memory_reserved() / gib,
    }


def synchronize() -> None:
    """Wait for the GPU, if there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def energy_meter() -> Callable[[], float | None]:
    """Return a function that returns the joules of the GPU since this call; None without a GPU or a counter."""
    from tokbench.models.sampler import device_counters

    try:
        read = device_counters()
    except Exception:  # No GPU, or a GPU without counters.
        return lambda: None
    return lambda: read()[0]


class Window:
    """Measured part of a training: its tokens, its seconds, and those of them that the optimizer needs.

    Args:
        length: tokens of a sequence.
        clock: function that returns seconds.
        warm_seconds: seconds after the first microbatch that are not measured.
    """

    def __init__(
        self, length: int, clock: Callable[[], float] = time.monotonic, warm_seconds: float = WARM_SECONDS
    ) -> None:
        self._length = length
        self._clock = clock
        self._warm_seconds = warm_seconds
        self._passes = 0
        self._first = 0.0
        self._began: float | None = None
        self._end = 0.0
        self._sequences = 0
        self._updates: list[float] = []

    @property
    def is_open(self) -> bool:
        """True after the warm-up."""
        return self._began is not None

    @property
    def seconds(self) -> float:
        """Seconds from the end of the warm-up to the last microbatch or update."""
        return 0.0 if self._began is None else self._end - self._began

    def add_pass(self, sequences: int) -> None:
        """Count a microbatch that has just ended."""
        now = self._clock()
        self._passes += 1
        if self._passes == 1:
            self._first = now
        if self._began is not None:
            self._sequences += sequences
        elif self._passes >= WARM_PASSES and now - self._first >= self._warm_seconds:
            self._began = now
        self._end = now

    def add_update(self, seconds: float) -> None:
        """Count an update of the weights that has just ended."""
        self._end = self._clock()
        if self._began is not None:
            self._updates.append(seconds)

    def measures(self) -> dict[str, Any]:
        """Return ``tokens``, ``seconds``, ``update_seconds`` (median of an update), ``tokens_per_second``, and
        ``pass_tokens_per_second`` without the updates. Values without a measurement are None."""
        tokens, spent = self._sequences * self._length, sum(self._updates)
        measured = tokens > 0 and self.seconds > spent
        return {
            "tokens": tokens,
            "seconds": self.seconds,
            "update_seconds": statistics.median(self._updates) if self._updates else None,
            "tokens_per_second": tokens / self.seconds if measured else None,
            "pass_tokens_per_second": tokens / (self.seconds - spent) if measured else None,
        }


def train_model(
    packed: Path, tokenizer: Path, options: ModelOptions, folder: Path, row: Path, parent: Connection
) -> None:
    """Train a model with the code of ``tokbench pretrain`` until its time is over, and measure it.

    The process imports the libraries, waits for a message, builds the model, sends a message, and waits for its limit
    in seconds of measured time (None for no limit). So a model is built while another is trained.

    Args:
        packed: packed sequences.
        tokenizer: folder of the tokenizer.
        options: the recipe.
        folder: folder of the checkpoints. The model is never complete, so none is written.
        row: JSON file of the measurements.
        parent: connection to the process that started this one.
    """
    from composer.core import State
    from composer.loggers import Logger
    from llmfoundry import registry

    from tokbench.models.pretraining import foundry  # noqa: F401
    from tokbench.models.pretraining.curve import Curve
    from tokbench.models.pretraining.train import pretrain

    window = Window(options.max_seq_len)

    class MeasuredCurve(Curve):
        """The curve of a training, which also measures it and ends it after its limit."""

        def fit_start(self, state: State, logger: Logger) -> None:
            parent.send("built")
            self._limit = parent.recv()
            super().fit_start(state, logger)
            self._resumed = int(state.timestamp.batch)
            self._joules: Callable[[], float | None] | None = None
            self._updated = False

        def after_backward(self, state: State, logger: Logger) -> None:
            was_open = window.is_open
            window.add_pass(len(state.batch["input_ids"]))
            if window.is_open and not was_open:
                self._joules = energy_meter()
            if self._updated and self._limit is not None and window.seconds >= self._limit:
                synchronize()
                window.add_pass(0)
                self._write(state)
                os._exit(0)

        def after_train_batch(self, state: State, logger: Logger) -> None:
            synchronize()
            self._started = time.monotonic()

        def batch_end(self, state: State, logger: Logger) -> None:
            synchronize()
            window.add_update(time.monotonic() - self._started)
            super().batch_end(state, logger)
            self._updated = True
            self._write(state)

        def _write(self, state: State) -> None:
            joules = None if self._joules is None else self._joules()
            measured: dict[str, Any] = {
                **window.measures(),
                **memory(),
                "watts": None if joules is None or not window.seconds else joules / window.seconds,
                "microbatch": state.device_train_microbatch_size,
                "batches": int(state.timestamp.batch),
                "resumed_from": self._resumed,
            }
            write(row, measured)

    registry.callbacks.register("tokbench_curve", func=MeasuredCurve)
    parent.recv()
    try:
        pretrain(packed, tokenizer, options, folder / "model", folder / "checkpoints")
    except Exception as error:
        write(row, {**memory(), "failed": reason_of(error)})
        print(f"{row.stem}: {reason_of(error)}", file=sys.stderr, flush=True)
        os._exit(1)


def train_byte_model(
    texts: Callable[[], Iterable[bytes]], options: ByteLmOptions, folder: Path, row: Path, parent: Connection
) -> None:
    """Train the byte model with the code of ``tokbench train_byte_lm`` for a number of steps that fits its limit.

    A short training gives the time of a step. The steps of warm-up and decay are shortened with the others.

    Args:
        texts: function that returns the documents.
        options: the recipe.
        folder: folder of the model and its checkpoints.
        row: JSON file of the measurements.
        parent: connection to the process that started this one.
    """
    import torch

    from tokbench.io.provenance import settings_of
    from tokbench.models.byte_lm.train import train

    parent.recv()
    parent.send("built")
    limit = parent.recv()
    try:
        trial, model = folder / "trial", folder / "model"
        train(texts(), shortened(options, TRIAL_STEPS), trial, folder / "checkpoints")
        step = float(settings_of(trial)["effort"]["seconds"]) / TRIAL_STEPS
        steps = options.steps if limit is None else max(LEAST_STEPS, min(options.steps, int(limit / step)))
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        joules, began = energy_meter(), time.monotonic()
        train(texts(), shortened(options, steps), model, folder / "checkpoints")
        spent, used = time.monotonic() - began, joules()
        effort = settings_of(model)["effort"]
        shutil.copy(model / "curve.csv", folder / "curve.csv")
        measured: dict[str, Any] = {
            "tokens": steps * options.batch * options.context,
            "seconds": effort["seconds"],
            "update_seconds": None,
            "tokens_per_second": effort["tokens_per_second"],
            "pass_tokens_per_second": effort["tokens_per_second"],
            **memory(),
            "watts": None if used is None else used / spent,
            "microbatch": options.microbatch or options.batch,
            "batches": steps,
        }
        write(row, measured)
    except Exception as error:
        write(row, {**memory(), "failed": reason_of(error)})
        print(f"{row.stem}: {reason_of(error)}", file=sys.stderr, flush=True)
        os._exit(1)


def shortened(options: ByteLmOptions, steps: int) -> ByteLmOptions:
    """Return the recipe with fewer steps, a quarter of them warm-up and an eighth decay, and without checkpoints."""
    changes = {"steps": steps, "warmup_steps": steps // 4, "decay_steps": steps // 8, "checkpoint_every": steps}
    return ByteLmOptions.model_validate(options.model_dump() | changes)


def curve_of(folder: Path) -> list[dict[str, str]]:
    """Return the complete rows of a training's curve, with the keys ``batch`` and ``loss``; empty if there is none."""
    paths: Sequence[Path] = (folder / "curve.csv", folder / "checkpoints" / "curve.csv")
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return []
    rows = read_csv(path)
    return [{"batch": row.get("batch") or row["step"], "loss": row["loss"]} for row in rows if None not in row.values()]
