"""Write the text of experiments/ladder.yaml: english.jsonl.gz, code.jsonl.gz and units.csv in the working directory.

    python experiments/ladder_text.py novels.jsonl.gz gutenberg.jsonl.gz

The files are JSON Lines with ``title`` and ``text``; the title begins with the author, as in ``Austen_Emma_1815`` or
``austen-emma``. The code is the standard library of this Python without its tests. Documents are parts of about 20 kB,
cut at line ends. The unit of English is an author, that of code a top-level module.
"""

import csv
import gzip
import json
import re
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

PART = 20_000
"""Bytes after which a document ends at the next line end."""
SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "pydoc_data", "encodings"}
"""Folders of the standard library that are tests, data or made by programs."""


def english(paths: list[str]) -> Mapping[str, list[str]]:
    """Return the texts of each author."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                texts[re.split("[_-]", record["title"])[0].lower()].append(record["text"])
    return texts


def code() -> Mapping[str, list[str]]:
    """Return the sources of each top-level module of the standard library."""
    root = Path(sysconfig.get_paths()["stdlib"])
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if not SKIPPED & set(parts):
            texts[parts[0].removesuffix(".py")].append(path.read_text(encoding="utf-8", errors="ignore"))
    return texts


def parts_of(text: str) -> Iterator[str]:
    """Yield a text in parts."""
    part, size = [], 0
    for line in text.splitlines(keepends=True):
        part.append(line)
        size += len(line.encode())
        if size >= PART:
            yield "".join(part)
            part, size = [], 0
    yield "".join(part)


def main() -> None:
    with open("units.csv", "w", newline="", encoding="utf-8") as table:
        units = csv.writer(table)
        units.writerow(("domain", "document", "unit"))
        for domain, texts in (("code", code()), ("english", english(sys.argv[1:]))):
            number = 0
            with gzip.open(f"{domain}.jsonl.gz", "wt", encoding="utf-8") as file:
                for unit in sorted(texts):
                    for part in filter(str.strip, (part for text in texts[unit] for part in parts_of(text))):
                        file.write(json.dumps({"text": part}, ensure_ascii=False) + "\n")
                        units.writerow((domain, number, f"{domain}: {unit}"))
                        number += 1
            print(f"{domain}: {number:,} documents, {len(texts):,} units")


if __name__ == "__main__":
    main()
