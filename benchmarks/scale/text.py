"""Large texts for the benchmark of scale: documents of a folder as JSON Lines, in random order.

    python -m benchmarks.scale.text FOLDER text.jsonl --gigabytes 0.25 0.5 1 2

Each file is a document if it is UTF-8 without NUL bytes; in JSON Lines, each line is (key ``text``). Documents are
sorted by a hash of their position, so that all parts have the same distribution. The output is one line of JSON with
the end position of each size.
"""

import argparse
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

GIGABYTE = 1_000_000_000
LARGEST = 1 << 28
"""Maximum size of a file in bytes; larger ones are skipped as archives."""


def places(folder: Path) -> list[tuple[Path, int, int]]:
    """Return file, first byte and size of each document, in order of a hash of its position."""
    found = [place for path in _files(folder) for place in (_lines(path) if path.suffix == ".jsonl" else _whole(path))]

    def drawn(place: tuple[Path, int, int]) -> bytes:
        return hashlib.sha256(b"%d %b" % (place[1], os.fsencode(place[0].relative_to(folder)))).digest()

    return sorted(found, key=drawn)


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _lines(path: Path) -> Iterator[tuple[Path, int, int]]:
    start = 0
    with path.open("rb") as lines:
        for line in lines:
            yield path, start, len(line)
            start += len(line)


def _whole(path: Path) -> Iterator[tuple[Path, int, int]]:
    size = path.stat().st_size
    if 0 < size <= LARGEST:
        yield path, 0, size


def text_of(path: Path, start: int, size: int) -> str:
    """Read a document; empty if it is not text."""
    with path.open("rb") as file:
        file.seek(start)
        read = file.read(size)
    if path.suffix == ".jsonl":
        text: str = json.loads(read)["text"]
        return text
    try:
        return "" if b"\0" in read else read.decode()
    except UnicodeDecodeError:
        return ""


def write(folder: Path, target: Path, sizes: Sequence[int]) -> list[dict[str, int]]:
    """Write documents until the largest size is reached.

    Args:
        folder: folder of files, searched recursively.
        target: output file, JSON Lines.
        sizes: bytes of text, in ascending order.

    Returns:
        For each size that is reached: ``size``, ``documents``, ``text_bytes``, and ``end``, the position after its last
        line.

    Raises:
        SystemExit: the folder has less text than the smallest size.
    """
    left, marks = list(sizes), []
    documents = text_bytes = end = 0
    with target.open("wb") as lines:
        for text in filter(None, (text_of(*place) for place in places(folder))):
            if not left:
                break
            end += lines.write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
            documents += 1
            text_bytes += len(text.encode())
            while left and text_bytes >= left[0]:
                marks.append({"size": left.pop(0), "documents": documents, "text_bytes": text_bytes, "end": end})
    if not marks:
        raise SystemExit(
            f"{folder}: {text_bytes:,} bytes of text, fewer than {sizes[0]:,}; bring more, or ask for less"
        )
    return marks


def cut(source: Path, target: Path, end: int) -> None:
    """Copy the first ``end`` bytes of a file."""
    with source.open("rb") as whole, target.open("wb") as part:
        copied = 0
        while copied < end:
            copied += os.sendfile(part.fileno(), whole.fileno(), copied, end - copied)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--gigabytes", type=float, nargs="+", required=True)
    arguments = parser.parse_args()
    sizes = sorted(round(size * GIGABYTE) for size in arguments.gigabytes)
    print(json.dumps(write(arguments.folder, arguments.target, sizes)))


if __name__ == "__main__":
    main()
