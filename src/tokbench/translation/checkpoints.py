"""Where a training stands, and its checkpoints: weights, optimizer, curve, and the best weights so far."""

import csv
import json
import logging
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from tokbench.atomic import atomic_file, atomic_folder, reject_altered, remove_written
from tokbench.errors import TokbenchError
from tokbench.gauge import Pace, forget
from tokbench.inputs.files import first_line
from tokbench.resumable import own_checkpoints

log = logging.getLogger(__name__)

COLUMNS = ("step", "epoch", "tokens", "loss", "learning_rate", "dev_loss", "dev_bits_per_byte")
"""Of the curve: steps and epochs from 1, target tokens seen, mean training loss since the row before in nats a token
with smoothing; at the end of an epoch the loss on the development split, without."""
Row = tuple[int, int, int, float, float, float | None, float | None]
Weights = dict[str, torch.Tensor]


@dataclass
class Progress:
    """Where a training stands.

    Attributes:
        pace: how it goes on.
        step: steps done.
        tokens: target tokens seen.
        curve: rows of :data:`COLUMNS`.
        sums: loss and target tokens since the last row.
        kept_epoch: epoch of the best weights; 0 where none are kept.
        best: their loss on the development split.
        weights: the best weights.
        last_loss: mean of the last step.
        seconds: spent until the last checkpoint.
    """

    pace: Pace
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
        """Add a row of the curve."""
        mean = self.sums[0] / max(1, self.sums[1])
        self.curve.append((self.step, epoch, self.tokens, mean, rate, *(dev or (None, None))))
        self.sums = [0.0, 0]

    def keep_best(self, model: torch.nn.Module, wanted: bool) -> None:
        """Keep the weights if the last row's loss on the development split is the lowest so far."""
        _, epoch, _, _, _, loss, _ = self.curve[-1]
        if not wanted:
            self.kept_epoch = epoch
        elif loss is not None and loss < self.best:
            self.best, self.kept_epoch = loss, epoch
            self.weights = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}

    def restore_best(self, model: torch.nn.Module) -> None:
        """Give the model the best weights, where these are kept."""
        if self.weights is not None:
            model.load_state_dict(self.weights)

    def told(self) -> str:
        """The last row for the log."""
        step, _, _, loss, rate, dev, _ = self.curve[-1]
        shown = "" if dev is None else f", {dev:.4f} on the development split"
        return f"step {step}, loss {loss:.4f} nats a token{shown}, rate {rate:.2e}"


def save(
    checkpoints: Path, recipe: dict[str, Any], model: torch.nn.Module, optimizer: torch.optim.Optimizer, done: Progress
) -> None:
    """Write a checkpoint whole, then delete those before it."""
    older = list(checkpoints.glob("step-*"))
    with atomic_folder(checkpoints / f"step-{done.step:09d}", "checkpoint") as partial:
        safetensors.torch.save_model(model, str(partial / "model.safetensors"))
        if done.weights is not None:
            own = {name: tensor.clone() for name, tensor in done.weights.items()}
            safetensors.torch.save_file(own, str(partial / "best.safetensors"))
        torch.save(optimizer.state_dict(), partial / "optimizer.pt")
        state = {
            "recipe": recipe,
            "step": done.step,
            "tokens": done.tokens,
            "curve": done.curve,
            "sums": done.sums,
            "kept_epoch": done.kept_epoch,
            "best": done.best if math.isfinite(done.best) else None,
            "seconds": done.seconds,
            "pace": done.pace.state,
        }
        (partial / "state.json").write_text(json.dumps(state), encoding="utf-8")
    for folder in older:
        remove_written(folder, "checkpoint")


def resume(
    checkpoints: Path, recipe: dict[str, Any], model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int
) -> Progress:
    """Load the newest checkpoint of this very recipe, a training of so many steps; others are discarded.

    Raises:
        TokbenchError: it is damaged, or not as it was written.
    """
    remedy = f"delete {checkpoints} to start over"
    for folder, state in own_checkpoints(checkpoints, recipe, remedy, log):
        kept = folder / "best.safetensors"
        for path in (folder / "model.safetensors", folder / "optimizer.pt", *([kept] if kept.is_file() else [])):
            reject_altered(path, remedy)
        try:
            safetensors.torch.load_model(model, str(folder / "model.safetensors"))
            optimizer.load_state_dict(torch.load(folder / "optimizer.pt", weights_only=True))
            done = Progress(
                Pace(steps),
                step=int(state["step"]),
                tokens=int(state["tokens"]),
                curve=[tuple(row) for row in state["curve"]],
                sums=list(state["sums"]),
                kept_epoch=int(state["kept_epoch"]),
                best=math.inf if state["best"] is None else float(state["best"]),
                weights=safetensors.torch.load_file(kept) if kept.is_file() else None,
                seconds=float(state["seconds"]),
            )
            done.pace.resume(state.get("pace"))
        except Exception as error:
            raise TokbenchError(f"{folder}: a damaged checkpoint ({first_line(error)}); {remedy}") from None
        log.info("translation resumes after step %d", done.step)
        return done
    forget(checkpoints)
    return Progress(Pace(steps))


def discard(checkpoints: Path) -> None:
    """Remove what a training put there, and the folder if nothing else is in it."""
    for older in checkpoints.glob("step-*"):
        remove_written(older, "checkpoint")
    forget(checkpoints)
    (checkpoints / "curve.csv").unlink(missing_ok=True)
    if checkpoints.is_dir() and not any(checkpoints.iterdir()):
        checkpoints.rmdir()


def write_curve(curve: list[Row], path: Path) -> None:
    """Write the rows as CSV, whole."""
    with atomic_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(curve)
