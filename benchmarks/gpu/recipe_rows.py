"""Trainings of :mod:`benchmarks.gpu.recipes`, and the tables of their measurements."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gpu.recipe_runs import curve_of
from benchmarks.gpu.tables import write
from tokbench.io.atomic import atomic_file
from tokbench.models.byte_lm.options import ByteLmOptions, byte_lm_flops_per_byte
from tokbench.models.memory import byte_lm_parameters, lm_parameters
from tokbench.models.presets import BYTE_LM_RECIPES, MODEL_RECIPES
from tokbench.models.pretraining.budget import Packing, flops_per_token
from tokbench.models.pretraining.options import ModelOptions, architecture_of
from tokbench.models.pretraining.pack import FOLDERS
from tokbench.models.sampler import PEAKS

COLUMNS = {
    "run": "the training",
    "preset": "its recipe",
    "changed": "options that differ from the preset, as JSON",
    "device": "",
    "vocabulary": "tokens of the tokenizer; 256 for bytes",
    "parameters": "of the model",
    "sequence_length": "tokens",
    "recipe_batch": "sequences per batch in the preset",
    "microbatch": "sequences in one pass through the model",
    "largest_microbatch": "largest that fits on the device",
    "batches": "updates of the weights, over all starts",
    "tokens": "of the measured time",
    "seconds": "of it; the warm-up is excluded",
    "update_seconds": "median time of an update of the weights",
    "tokens_per_second": "tokens over seconds; for the byte model the median of ten stretches",
    "recipe_tokens_per_second": "the same if the batch had the size of the preset",
    "gflop_per_token": "training arithmetic, see `flops_per_token`",
    "mfu": "recipe_tokens_per_second times the arithmetic, over the device's peak",
    "allocated_gib": "most memory of the device in tensors at once",
    "reserved_gib": "most memory of the device that PyTorch reserved",
    "watts": "mean power of the device",
    "first_loss": "nats a token, of the first batch",
    "last_loss": "of the last batch",
    "budget_tokens": "of the paper's training",
    "h100_gpu_days": "of the paper's training on H100, at this MFU",
    "h100_x8_days": "days on eight of them, without loss by communication",
    "a100_gpu_days": "the same on A100",
    "a100_x8_days": "",
    "failed": "why there are no numbers",
}
TITLES: dict[str, tuple[str, str]] = {
    "run": ("", "{}"),
    "parameters": ("parameters", "{:,}"),
    "microbatch": ("microbatch", "{}"),
    "largest_microbatch": ("largest", "{}"),
    "batches": ("batches", "{:,}"),
    "seconds": ("seconds", "{:.0f}"),
    "recipe_tokens_per_second": ("tokens a second", "{:,.0f}"),
    "mfu": ("MFU", "{:.1%}"),
    "allocated_gib": ("GiB of tensors", "{:.1f}"),
    "first_loss": ("first loss", "{:.3f}"),
    "last_loss": ("last loss", "{:.3f}"),
    "h100_gpu_days": ("GPU-days, H100", "{:,.0f}"),
    "h100_x8_days": ("days, 8 x H100", "{:,.1f}"),
    "a100_x8_days": ("days, 8 x A100", "{:,.1f}"),
    "changed": ("changed", "`{}`"),
}
H100, A100 = PEAKS["NVIDIA H100 80GB HBM3"], PEAKS["NVIDIA A100"]
DAY = 86400.0
KILLED, RESUMED = "mpt_350m_killed", "mpt_350m_resumed"
EVERY, SHORT = 10, 100
"""Interval of the curves in batches, and the batches of a curve that is written completely."""


@dataclass(frozen=True, slots=True)
class Run:
    """A training.

    Attributes:
        name: its name.
        preset: its recipe.
        seconds: measured seconds, if the limit allows. 0 for a training that ends by a kill.
        changes: options that replace those of the preset.
        folder: name of its folder of checkpoints. Default: its own name.
        kill_after: batches after which it is killed. Default: None.
    """

    name: str
    preset: str
    seconds: float
    changes: Mapping[str, object] = field(default_factory=dict)
    folder: str = ""
    kill_after: int | None = None

    @property
    def is_of_bytes(self) -> bool:
        return self.preset in BYTE_LM_RECIPES

    def recipe(self, changes: Mapping[str, object] | None = None) -> ModelOptions | ByteLmOptions:
        """Return the options of the preset, with changes. Default: without."""
        if self.is_of_bytes:
            return ByteLmOptions.model_validate({**BYTE_LM_RECIPES[self.preset], **(changes or {})})
        values = {**MODEL_RECIPES[self.preset], **(changes or {})}
        return architecture_of(values).model_validate(values)


SMALL = {"batch": 64, "warmup_batches": 20, "checkpoint_every": 20}
"""Batches of a second each, of which the first twenty reach a checkpoint and the full learning rate."""
PLAN = (
    Run("bytespan_57m", "paper_57m", 36),
    Run("mpt_350m", "mpt_350m", 58),
    Run(KILLED, "mpt_350m", 0, SMALL, "killed", kill_after=30),
    Run("mpt_1_3b", "mpt_1_3b", 45, {"batch": 128, "warmup_batches": 20}),
    Run(RESUMED, "mpt_350m", 20, SMALL, "killed"),
    Run("greedtok_1b", "greedtok_1b", 45, {"batch": 64, "warmup_batches": 50}),
    Run("mpt_2_4b", "mpt_2_4b", 45, {"batch": 64, "warmup_batches": 20}),
)


def vocabulary_of(packed: Path) -> int:
    """Return the number of tokens of a folder of packed sequences."""
    folder = packed if (packed / "packing.json").is_file() else packed / FOLDERS[0]
    return Packing.read(folder).vocabulary


def arithmetic_of(options: ModelOptions | ByteLmOptions, vocabulary: int) -> float:
    """Return floating-point operations of training per token."""
    if isinstance(options, ByteLmOptions):
        return byte_lm_flops_per_byte(options)
    return flops_per_token(options, vocabulary)


def budget_of(options: ModelOptions | ByteLmOptions) -> int | None:
    """Return the tokens of a full training; None if the budget is not in batches."""
    if isinstance(options, ByteLmOptions):
        return options.steps * options.batch * options.context
    return None if options.batches is None else options.batches * options.batch * options.max_seq_len


def full_training(budget: float, flops: float, mfu: float, peak: float) -> float:
    """Return the GPU-days of a full training.

    Args:
        budget: tokens.
        flops: floating-point operations per token.
        mfu: share of the peak that is reached.
        peak: TFLOP/s of the GPU.
    """
    return budget * flops / (mfu * peak * 1e12) / DAY


def recipe_speed(measured: Mapping[str, Any], tokens_per_batch: int) -> float | None:
    """Return tokens per second with batches of this size: passes at the measured speed, and one update per batch."""
    passes, update = measured.get("pass_tokens_per_second"), measured.get("update_seconds")
    if passes is None:
        return None
    return float(tokens_per_batch / (tokens_per_batch / passes + (update or 0.0)))


def row_of(run: Run, changes: Mapping[str, object], machine: Mapping[str, Any], output: Path) -> dict[str, Any]:
    """Return the row of a training, with the reason if it has no measurements."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    recipe, used = run.recipe(), run.recipe(changes)
    vocabulary = 256 if run.is_of_bytes else int(machine["vocabularies"].get(run.preset, 0))
    measured = read_measures(output / "rows" / f"{run.name}.json")
    if isinstance(used, ByteLmOptions):
        parameters, length = byte_lm_parameters(used), used.context
    else:
        parameters, length = lm_parameters(used, vocabulary), used.max_seq_len
    curve = curve_of(output / "runs" / (run.folder or run.name))
    if run.kill_after is not None:
        curve = curve_of(output / "runs" / KILLED) or curve
    flops, peak = arithmetic_of(used, vocabulary), machine.get("peak_tflops")
    speed = recipe_speed(measured, recipe.batch * length)
    mfu = speed * flops / peak / 1e12 if speed and peak else None
    budget = budget_of(recipe)
    row |= {name: measured[name] for name in COLUMNS if name in measured}
    row |= {
        "run": run.name,
        "preset": run.preset,
        "changed": json.dumps(dict(changes)) if changes else None,
        "device": machine.get("device"),
        "vocabulary": vocabulary,
        "parameters": parameters,
        "sequence_length": length,
        "recipe_batch": recipe.batch,
        "largest_microbatch": read_measures(output / "search.json").get(run.preset, {}).get("largest_microbatch"),
        "recipe_tokens_per_second": speed,
        "gflop_per_token": flops / 1e9,
        "mfu": mfu,
        "first_loss": float(curve[0]["loss"]) if curve else None,
        "last_loss": float(curve[-1]["loss"]) if curve else None,
        "budget_tokens": budget,
    }
    if mfu and budget:
        for name, each in (("h100", H100), ("a100", A100)):
            days = full_training(budget, flops, mfu, each)
            row |= {f"{name}_gpu_days": days, f"{name}_x8_days": days / 8}
    if not measured:
        row["failed"] = "no time was left for it"
    return row


def read_measures(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; empty if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def resumption(output: Path) -> dict[str, Any]:
    """Compare the curve of the killed training with that of the resumed one.

    Returns:
        ``killed_after`` and ``resumed_from`` (batches), ``batches`` (of both), ``repeated`` (batches that both have),
        and ``largest_difference`` of their losses; empty if there is no resumed training.
    """
    before = {int(row["batch"]): float(row["loss"]) for row in curve_of(output / "runs" / KILLED)}
    resumed = read_measures(output / "rows" / f"{RESUMED}.json")
    if not before or "resumed_from" not in resumed:
        return {}
    after = {int(row["batch"]): float(row["loss"]) for row in curve_of(output / "runs" / "killed")}
    first = int(resumed["resumed_from"])
    repeated = [batch for batch in before if batch > first and batch in after]
    return {
        "killed_after": max(before),
        "resumed_from": first,
        "batches": max(after, default=first),
        "repeated": len(repeated),
        "largest_difference": max((abs(before[batch] - after[batch]) for batch in repeated), default=None),
    }


def write_tables(
    plan: Sequence[Run], changes: Mapping[str, Mapping[str, object]], machine: Mapping[str, Any], output: Path
) -> list[dict[str, Any]]:
    """Write the tables of all measurements so far, and return the rows."""
    rows = [row_of(run, changes[run.name], machine, output) for run in plan]
    write_csv(output / "recipes.csv", list(COLUMNS), rows)
    points = [
        {"run": run.name, **point}
        for run in plan
        for point in thinned(curve_of(output / "runs" / (KILLED if run.kill_after else run.folder or run.name)))
    ]
    write_csv(output / "curves.csv", ["run", "batch", "loss"], points)
    trials = [
        {"preset": preset, **trial}
        for preset, measure in read_measures(output / "search.json").items()
        for trial in measure["trials"]
    ]
    write_csv(output / "search.csv", ["preset", "microbatch", "tokens_per_second", "allocated_gib"], trials)
    write(output / "resume.json", resumption(output))
    with atomic_file(output / "table.md") as partial_file:
        partial_file.write_text(markdown(rows), encoding="utf-8")
    return rows


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with atomic_file(path) as partial_file, partial_file.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def thinned(curve: Sequence[dict[str, str]]) -> Sequence[dict[str, str]]:
    """Return all rows of a short curve, and every tenth of a longer one."""
    return curve if len(curve) < SHORT else curve[EVERY - 1 :: EVERY]


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| " + " | ".join(title for title, _ in TITLES.values()) + " |", "|---" + "|--:" * (len(TITLES) - 1) + "|"]
    for row in rows:
        cells = ["" if row[name] is None else form.format(row[name]) for name, (_, form) in TITLES.items()]
        lines.append("| " + " | ".join(cells) + " |" + (f" {row['failed']} |" if row["failed"] else ""))
    return "\n".join(lines) + "\n"
