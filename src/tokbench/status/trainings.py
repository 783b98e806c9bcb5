"""What the trainings of an experiment's models took, from their manifests.

What was read is in the table ``trained_on``, too. No table holds the rest: tables are the same from run to run, and
speed, memory and energy are not.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json

READ = ("text_bytes", "tokens", "flops")
MODELS = {
    "language": "models/{model}/{variant}/{size}",
    "byte": "byte_lm/{text}/{model}/model",
    "translation": "translation_models/{model}/{text}/{source}/{target}/{variant}/{target_variant}/{size}",
}
"""Kinds of models, and where they lie in an experiment's folder."""


class Training(NamedTuple):
    """One training; None where nothing is known, or where there is no such thing.

    Attributes:
        kind: of the model: one of :data:`MODELS`.
        model: its name.
        text: corpus of a byte language model; of a translation model its parallel corpus and languages, by slashes.
        variant: its tokenizer's; of two those of source and target, by a slash.
        size: vocabulary size of that.
        device: name of one.
        devices: processes, a device each.
        text_bytes: read; None where the tokens' bytes are not known, too.
        tokens: seen: of a byte language model bytes, of a translation model those of the target.
        flops: floating-point operations, by a formula.
        seconds: from first batch to last.
        tokens_per_second: of all devices.
        mfu: model FLOPs utilisation, a share.
        peak_gib: most memory of any process, or of its GPU.
        joules: of all GPUs.
        starts: times that it was begun or gone on with.
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
    """Every trained model of an experiment that stands, by kind, name, text, tokenizer and size.

    Args:
        results: the experiment's folder.
        peak: TFLOP/s of one device, in place of what is known by its name.

    Raises:
        TokbenchError: there is no model, or a manifest that is none.
    """
    found = [own for kind in MODELS for own in sorted(_of_kind(results, kind, peak), key=_by_name_and_size)]
    if not found:
        raise TokbenchError(f"{results}: no trained model stands there; name an experiment's folder that has one")
    yield from found


def _of_kind(results: Path, kind: str, peak: float | None) -> Iterator[Training]:
    place = MODELS[kind]
    for file in results.glob(f"{re.sub('{.*?}', '*', place)}/manifest.json"):
        settings = read_json(file, "train it again", lenient=True).get("settings", {})
        if settings.get("kind") == "ngram":  # Counted, not trained.
            continue
        parts = file.relative_to(results).parts
        where = {key.strip("{}"): part for key, part in zip(place.split("/"), parts, strict=False) if key[0] == "{"}
        took, read = settings.get("effort", {}), settings.get("read", {})
        mfu = took.get("mfu")
        if peak is not None and (rate := took.get("tokens_per_second")) and took.get("flops_per_token"):
            mfu = rate * took["flops_per_token"] / (peak * 1e12 * settings.get("devices", 1))
        told: dict[str, Any] = {**took, "mfu": mfu, **{name: read.get(name) for name in READ}, **where}
        told |= {name: settings.get(name) for name in ("device", "devices")}
        if kind == "translation":
            told["text"] = "/".join(where[name] for name in ("text", "source", "target"))
            told["variant"] = "/".join(dict.fromkeys((where["variant"], where["target_variant"])))
        yield Training(kind, **{name: told.get(name) for name in Training._fields[1:]})  # type: ignore[arg-type]


def _by_name_and_size(training: Training) -> tuple[str, str, str, int, str]:
    size = training.size or ""
    return training.model, training.text or "", training.variant or "", int(size) if size.isdecimal() else 0, size


FORMS = {"mfu": ".3f", "peak_gib": ",.2f", "flops": ".3e"}
"""Numbers that print otherwise than as whole ones."""


def shown(rows: Sequence[Training]) -> list[str]:
    """A line each below a heading, in columns."""
    cells = [list(Training._fields), *([_cell(*field) for field in row._asdict().items()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:{FORMS.get(name, ',.0f')}}"
    return f"{value:,}" if isinstance(value, int) else str(value)
