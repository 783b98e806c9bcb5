"""Whether what is printed has colours: in a terminal, unless the user wants none (no-color.org, force-color.org)."""

import os
import sys


def coloured() -> bool:
    """NO_COLOR forbids, FORCE_COLOR demands; else a terminal that can has them."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
