"""How long jobs took, from the benchmarks that the workflow engine writes."""

import os
from functools import cache
from typing import NamedTuple

LOG_END = 4096
"""Bytes of a log's end that are looked through for its last message."""
SHOWN = 300


class Times(NamedTuple):
    """Seconds of a job: on the clock, and of processors; None where it ended before they were taken.

    The engine first takes them half a second after a job's start; of a shorter job it writes 0, which is true of none.
    """

    wall: float
    cpu: float | None


def times(path: str) -> Times | None:
    """What a job's benchmark says; None where there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        head, row = os.read(descriptor, 4096).split(b"\n")[:2]
        wall, cpu = _columns(head)
        values = row.split(b"\t")
        return Times(float(values[wall]), _number(values[cpu]) or None)
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(descriptor)


@cache
def _columns(head: bytes) -> tuple[int, int]:
    """Where the two times stand in a benchmark's rows."""
    names = head.rstrip().split(b"\t")
    return names.index(b"s"), names.index(b"cpu_time")


def last_message(path: str) -> str | None:
    """The last line of a log that says anything; None where none does."""
    try:
        with open(path, "rb") as log:
            log.seek(max(os.fstat(log.fileno()).st_size - LOG_END, 0))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    said = [line.strip() for line in lines if line.strip()]
    plain = "".join(letter if letter.isprintable() else "?" for letter in said[-1]) if said else None
    return plain if plain is None or len(plain) <= SHOWN else f"{plain[:SHOWN]}..."


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
