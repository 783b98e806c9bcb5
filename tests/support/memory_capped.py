"""Peak memory of a command, and the files of a folder."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000


def peak(*arguments: Any, files: int | None = None) -> int:
    """Bytes of resident memory that a command takes at most, by its own account: a parent's would count in others."""
    limits = [] if files is None else [f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))"]
    lines = ["import resource, sys", *limits, "from tokbench.commands.main import main", "main(sys.argv[1:])"]
    code = "\n".join([*lines, "print(open('/proc/self/status').read())"])
    ended = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r"VmHWM:\s+(\d+) kB", ended.stdout)
    assert found, ended.stdout
    return int(found[1]) * 1024


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
