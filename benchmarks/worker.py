"""Do one job in this process and print what came of it, as one line of JSON.

    python benchmarks/worker.py peers.tiktoken encode_bpe '{"folder": "build/benchmarks"}'
    python benchmarks/worker.py --versions tokenizers tiktoken

The module is ``ours`` or one of ``peers``; the function takes a :class:`job.Job`, puts the clock around its work and
returns how many tokens came of it.
"""

import importlib
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from job import Job


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    if sys.argv[1] == "--versions":
        print(json.dumps({package: version_of(package) for package in sys.argv[2:]}))
        return
    module, function, settings = sys.argv[1:]
    values = json.loads(settings)
    job = Job(**{**values, "folder": Path(values["folder"])})
    tokens = getattr(importlib.import_module(module), function)(job)
    print(json.dumps({"work": job.seconds, "work_processor": job.processor_seconds, "tokens": tokens}))


if __name__ == "__main__":
    main()
