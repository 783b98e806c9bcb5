"""What long commands say while they work: a line with its time, on standard error."""

import logging
import sys


def log_to_stderr() -> None:
    """Show our own progress, and of others what is a warning."""
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("tokbench").setLevel(logging.INFO)
