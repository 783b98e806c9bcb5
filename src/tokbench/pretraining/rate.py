"""The learning rate, set before every batch."""

from composer.core import Callback, State
from composer.loggers import Logger

from tokbench.pretraining.schedule import rate


class Rate(Callback):
    """Sets the learning rate before every batch.

    Composer's own schedulers are asked before a batch is counted, so that each batch gets the rate of the one before.

    Args:
        highest: the highest learning rate.
        batches: batches of the training.
        warmup: see :func:`tokbench.pretraining.schedule.rate`.
        last: see :func:`tokbench.pretraining.schedule.rate`.
    """

    def __init__(self, highest: float, batches: int, warmup: float, last: float) -> None:
        self._highest = highest
        self._course = (batches, warmup, last)

    def batch_start(self, state: State, logger: Logger) -> None:
        for optimizer in state.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self._highest * rate(int(state.timestamp.batch), *self._course)
