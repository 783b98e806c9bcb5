"""Program that simulates every interval and test, and writes docs/measured/coverage.md.

python -m benchmarks.coverage.run [--times 500] [--processes 2] [--shares build/coverage.jsonl] [--page-only]
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.coverage.cases import Case, core_cases
from benchmarks.coverage.measures import measure_cases
from benchmarks.coverage.others import other_cases
from benchmarks.coverage.page import page
from benchmarks.coverage.simulate import Share, simulate

PAGE = Path("docs/measured/coverage.md")


def all_cases(times: int) -> list[Case]:
    """Return all cells of the page.

    Args:
        times: number of draws; some tables have twice the number, slow ones fewer.
    """
    return [*core_cases(times), *measure_cases(times), *other_cases(times)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=500, help="draws of a cell (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--shares", type=Path, default=Path("build/coverage.jsonl"), help="file of the shares")
    parser.add_argument("--page-only", action="store_true", help="write the page of the shares that the file has")
    chosen = parser.parse_args(arguments)
    if not chosen.page_only:
        chosen.shares.parent.mkdir(parents=True, exist_ok=True)
        with chosen.shares.open("w", encoding="utf-8") as file:
            for share in simulate(all_cases(chosen.times), chosen.processes):
                print(json.dumps(asdict(share)), file=file, flush=True)
    PAGE.write_text(page(read(chosen.shares)), encoding="utf-8")


def read(shares: Path) -> list[Share]:
    """Return the shares of a file, one JSON object a line."""
    lines = map(json.loads, shares.read_text(encoding="utf-8").splitlines())
    return [Share(**{**line, "row": tuple(line["row"])}) for line in lines]


if __name__ == "__main__":
    main()
