"""The callback that has checkpoints sealed once they are whole."""

from pathlib import Path

from composer.core import Callback, State
from composer.loggers import Logger
from composer.utils import dist

from tokbench.pretraining.checkpoints import seal


class Sealing(Callback):
    """Seals what Composer, whose own callback for checkpoints comes last in a batch, has written since.

    Args:
        folder: where Composer keeps its checkpoints.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def batch_start(self, state: State, logger: Logger) -> None:
        self._seal()

    def fit_end(self, state: State, logger: Logger) -> None:
        self._seal()

    def _seal(self) -> None:
        if dist.get_global_rank() == 0:
            seal(self._folder)
