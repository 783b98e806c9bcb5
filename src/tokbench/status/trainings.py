"""What the trainings of an experiment's language models took, from their manifests.

What was read is in the table ``trained_on``, too. No table holds the rest: tables are the same from run to run, and
speed, memory and energy are not.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json

READ = ("text_bytes", "tokens", "flops")


class Training(NamedTuple):
    """One training; None where nothing is known.

    Attributes:
        model: its name.
        variant: its tokenizer's.
        size: vocabulary size of that.
        device: name of one.
        devices: processes, a device each.
        text_bytes: read; None where the tokens' bytes are not known, too.
        tokens: seen.
        flops: floating-point operations, by a formula.
        seconds: from first batch to last.
        tokens_per_second: of all devices.
        mfu: model FLOPs utilisation, a share.
        peak_gib: most memory of any process, or of its GPU.
        joules: of all GPUs.
        starts: times that it was begun or gone on with.
    """

    model: str
    variant: str
    size: str
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
    """Every language model of an experiment that stands, by name, tokenizer and size.

    Args:
        results: the experiment's folder.
        peak: TFLOP/s of one device, in place of what is known by its name.

    Raises:
        TokbenchError: there is no model, or a manifest that is none.
    """
    files = sorted(results.glob("models/*/*/*/manifest.json"), key=_by_name_and_size)
    if not files:
        raise TokbenchError(f"{results}: no language model stands there; name an experiment's folder that has one")
    for file in files:
        settings = read_json(file, "pretrain again", lenient=True).get("settings", {})
        took, read = settings.get("effort", {}), settings.get("read", {})
        mfu = took.get("mfu")
        if peak is not None and (rate := took.get("tokens_per_second")) and took.get("flops_per_token"):
            mfu = rate * took["flops_per_token"] / (peak * 1e12 * settings.get("devices", 1))
        told: dict[str, Any] = {**took, "mfu": mfu, **{name: read.get(name) for name in READ}}
        told |= {name: settings.get(name) for name in ("device", "devices")}
        model, variant, size = file.parts[-4:-1]
        yield Training(model, variant, size, **{name: told.get(name) for name in Training._fields[3:]})


def _by_name_and_size(manifest: Path) -> tuple[str, str, int, str]:
    model, variant, size = manifest.parts[-4:-1]
    return model, variant, int(size) if size.isdecimal() else 0, size


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
