"""Clock of each Python process of a workflow: seconds of processor time until the program starts, in imports, in
imports of Tokbench's modules without those of libraries, and in all.

Python imports this module at its start if its folder is in ``PYTHONPATH``. With ``TOKBENCH_CLOCK=FOLDER`` in the
environment, each process writes a line of JSON to a file of its own in the folder.
"""

import atexit
import builtins
import json
import os
import sys
import time
from typing import Any

FOLDER = os.environ.get("TOKBENCH_CLOCK")


class Clock:
    """Processor time of this process, and the parts of it that are spent in imports, in seconds."""

    def __init__(self) -> None:
        self.start = time.process_time()
        self.imports = 0.0
        self.own_imports = 0.0
        self.command = ""
        self._depth = 0
        self._inner = 0.0  # Seconds of the imports within the present one.
        self._import = builtins.__import__
        builtins.__import__ = self._timed
        atexit.register(self._write)

    def _timed(self, *arguments: Any, **more: Any) -> Any:
        began, before, self._inner = time.process_time(), self._inner, 0.0
        self._depth += 1
        try:
            return self._import(*arguments, **more)
        finally:
            self._depth -= 1
            spent = time.process_time() - began
            if arguments[0].partition(".")[0] == "tokbench":
                self.own_imports += spent - self._inner
            self._inner = before + spent
            if not self._depth:
                self.imports += spent
                self._note_command()

    def _note_command(self) -> None:
        """Have the name of Tokbench's command noted, which is in a file of arguments."""
        main: Any = sys.modules.get("tokbench.commands.main")
        if self.command or not hasattr(main, "find_command"):
            return
        self.command, find = "tokbench", main.find_command

        def find_noted(name: str) -> Any:
            self.command = name
            return find(name)

        main.find_command = find_noted

    def _write(self) -> None:
        row = {
            "program": self.command or os.path.basename(sys.argv[0]),
            "start": self.start,
            "imports": self.imports,
            "own_imports": self.own_imports,
            "total": time.process_time(),
        }
        with open(os.path.join(FOLDER or "", f"{os.getpid()}-{time.time_ns()}.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if FOLDER:
    Clock()
