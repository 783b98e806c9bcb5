"""Training cost of an experiment's models, read from their manifests: speed, memory and energy.

They are in no table, as tables are identical between runs. The amount of text read is in the table ``trained_on``, too.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.io.json import read_json

AMOUNTS = ("text_bytes", "tokens", "flops")
MODELS = {
    "language": "models/{model}/{variant}/{size}",
    "byte": "byte_lm/{text}/{model}/model",
    "translation": "translation_models/{model}/{text}/{source}/{target}/{variant}/{target_variant}/{size}",
}
"""Kinds of models, and their paths in an experiment's folder."""
FORMS = {"mfu": ".3f", "peak_gib": ",.2f", "flops": ".3e"}
"""Formats of numbers that are not printed as integers."""


class Training(NamedTuple):
    """One training; None where a value is unknown or not applicable.

    Attributes:
        kind: kind of the model: a key of :data:`MODELS`.
        model: its name.
        text: corpus of a byte language model; parallel corpus and languages of a translation model, separated by
            slashes.
        variant: variant of its tokenizer; two are source and target, separated by a slash.
        size: vocabulary size of the tokenizer.
        device: name of a device.
        devices: number of processes, one device each.
        text_bytes: bytes read; None if the bytes of tokens are not known, too.
        tokens: tokens seen: bytes for a byte language model, target tokens for a translation model.
        flops: floating-point operations, by a formula.
        seconds: seconds from first batch to last.
        tokens_per_second: tokens per second of all devices.
        mfu: model FLOPs utilisation, a fraction.
        peak_gib: peak memory of any process, or of its GPU, in GiB.
        joules: energy of all GPUs.
        starts: number of times that it was started or continued.
    """

    kind: str
    model: str
    text: str | None
    variant: str | None
    size: str | None
    device: str | None
    devices: int | None
    text_bytes: int | None
    tokens: int | None
    flops: float | None
    seconds: float | None
    tokens_per_second: float | None
    mfu: float | None
    peak_gib: float | None
    joules: float | None
    starts: int | None


def trainings(results: Path, peak: float | None = None) -> Iterator[Training]:
    """Yield the trained models of an experiment, sorted by kind, name, text, tokenizer and size.

    Args:
        results: the experiment's folder.
        peak: peak TFLOP/s of one device (default: known by its name).

    Raises:
        TokbenchError: there is no model, or a manifest is not valid.
    """
    rows = [row for kind in MODELS for row in sorted(_of_kind(results, kind, peak), key=_by_name_and_size)]
    if not rows:
        raise TokbenchError(f"{results}: no trained model; name an experiment's folder that has one")
    yield from rows


def _of_kind(results: Path, kind: str, peak: float | None) -> Iterator[Training]:
    place = MODELS[kind]
    for file in results.glob(f"{re.sub('{.*?}', '*', place)}/manifest.json"):
        settings = read_json(file, "train it again", lenient=True).get("settings", {})
        if settings.get("kind") == "ngram":  # Counted, not trained.
            continue
        parts = file.relative_to(results).parts
        where = {key.strip("{}"): part for key, part in zip(place.split("/"), parts, strict=False) if key[0] == "{"}
        cost, read = settings.get("effort", {}), settings.get("read", {})
        mfu = cost.get("mfu")
        if peak is not None and (rate := cost.get("tokens_per_second")) and cost.get("flops_per_token"):
            mfu = rate * cost["flops_per_token"] / (peak * 1e12 * settings.get("devices", 1))
        values: dict[str, Any] = {**cost, "mfu": mfu, **{name: read.get(name) for name in AMOUNTS}, **where}
        values |= {name: settings.get(name) for name in ("device", "devices")}
        if kind == "translation":
            values["text"] = "/".join(where[name] for name in ("text", "source", "target"))
            values["variant"] = "/".join(dict.fromkeys((where["variant"], where["target_variant"])))
        yield Training(kind, **{name: values.get(name) for name in Training._fields[1:]})  # type: ignore[arg-type]


def _by_name_and_size(training: Training) -> tuple[str, str, str, int, str]:
    size = training.size or ""
    return training.model, training.text or "", training.variant or "", int(size) if size.isdecimal() else 0, size


def trainings_text(rows: Sequence[Training]) -> list[str]:
    """Return a header and one line per training, in aligned columns."""
    cells = [list(Training._fields), *([_cell(*field) for field in row._asdict().items()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:{FORMS.get(name, ',.0f')}}"
    return f"{value:,}" if isinstance(value, int) else str(value)
