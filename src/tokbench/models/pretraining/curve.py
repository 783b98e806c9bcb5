"""Training curve: one row per batch, written to the checkpoint folder so that it survives a kill."""

import csv
import logging
import math
import time
from pathlib import Path

from composer.core import Callback, State
from composer.loggers import Logger
from composer.utils import dist

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file

log = logging.getLogger("tokbench.models.pretraining")

FEW = 50
"""Smallest number of batches before a loss that does not fall is an error."""

COLUMNS = ("batch", "tokens", "loss", "learning_rate", "seconds")


class Curve(Callback):
    """Callback that records the loss of every batch as CSV, and stops a training that does not learn.

    The columns are batch (from 1), tokens seen so far, mean loss of the batch in nats per token, learning rate of the
    batch, and seconds of training over all starts. Twenty batches are also logged.

    Args:
        path: the file. Rows after the batch at which training resumes are removed.
        batches: number of batches of the training.
        vocabulary: number of tokens of the tokenizer.

    Raises:
        TokbenchError: a batch's loss is not finite. Or, after half of the batches and at least :data:`FEW`, the mean
            loss of the last tenth is no better than a uniform distribution.
    """

    def __init__(self, path: str, batches: int, vocabulary: int) -> None:
        self._path = Path(path)
        self._batches = batches
        self._equal = math.log(vocabulary + 1)
        self._losses: list[float] = []
        self._rate = 0.0
        self._began = 0.0

    def fit_start(self, state: State, logger: Logger) -> None:
        batches_done = int(state.timestamp.batch)
        rows = [row for row in read_curve(self._path) if int(row["batch"]) <= batches_done]
        spent = float(rows[-1]["seconds"]) if rows else 0.0
        self._began = time.monotonic() - spent
        self._losses = [float(row["loss"]) for row in rows]
        if batches_done:
            log.info("pretraining resumes after batch %d", batches_done)
        if dist.get_global_rank() == 0:
            with atomic_file(self._path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)

    def batch_start(self, state: State, logger: Logger) -> None:
        self._rate = float(state.optimizers[0].param_groups[0]["lr"])

    def batch_end(self, state: State, logger: Logger) -> None:
        if dist.get_global_rank() != 0:
            return
        batch = int(state.timestamp.batch)
        loss = state.total_loss_dict["loss/train/total"]
        seconds = time.monotonic() - self._began
        with self._path.open("a", newline="", encoding="utf-8") as file:
            row = (batch, int(state.timestamp.token), loss, self._rate, f"{seconds:.2f}")
            csv.writer(file, lineterminator="\n").writerow(row)
        if batch % max(1, self._batches // 20) == 0 or batch == self._batches:
            log.info("pretraining batch %d/%d, loss %.4f, %.0f s", batch, self._batches, loss, seconds)
        self._reject(batch, float(loss))

    def _reject(self, batch: int, loss: float) -> None:
        """Stop a training that does not learn. Its curve is kept."""
        remedy = f"lower learning_rate or clip, or raise warmup; the curve is in {self._path}"
        if not math.isfinite(loss):
            raise TokbenchError(f"the loss of batch {batch} of {self._batches} is not a number ({loss}); {remedy}")
        self._losses.append(loss)
        tenth = self._losses[-max(1, self._batches // 10) :]
        if batch == max(FEW, self._batches // 2) and sum(tenth) / len(tenth) >= self._equal:
            raise TokbenchError(
                f"after {batch} of {self._batches} batches the loss is {sum(tenth) / len(tenth):.3f} nats a token, and "
                f"a uniform distribution has {self._equal:.3f}: the model is not learning; {remedy}"
            )


def read_curve(path: Path) -> list[dict[str, str]]:
    """Return the complete rows of a curve; an empty list if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["seconds"]]
