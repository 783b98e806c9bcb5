"""The learning rate, set before every batch."""

from collections.abc import Sequence
from typing import Any

from composer.core import Callback, State
from composer.loggers import Logger

from tokbench.pretraining.options import architecture_of
from tokbench.pretraining.schedule import learning_rate


class Rate(Callback):
    """Sets the learning rate before every batch.

    A callback and none of Composer's schedulers: these are asked before a batch is counted, so that each batch gets the
    rate of the one before.

    Args:
        options: the recipe, as a mapping.
        phases: batches of each phase of the training.
    """

    def __init__(self, options: dict[str, Any], phases: Sequence[int]) -> None:
        self._options = architecture_of(options).model_validate(options)
        self._phases = tuple(phases)

    def batch_start(self, state: State, logger: Logger) -> None:
        rate = learning_rate(self._options, int(state.timestamp.batch), self._phases)
        for optimizer in state.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
