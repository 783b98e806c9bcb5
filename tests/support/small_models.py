"""Models so small that a test trains them, and a training by two processes that is interrupted."""

import os
import shutil
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from tokbench.commands.main import main
from tokbench.pretraining import launch
from tokbench.pretraining.options import PRESETS, LlamaOptions

SMALL = PRESETS["tiny"].model_copy(
    update={
        "d_model": 16,
        "n_heads": 2,
        "n_layers": 1,
        "max_seq_len": 32,
        "batch": 4,
        "microbatch": 2,
        "batches": 8,
        "checkpoint_every": 3,
    }
)

SHAPE = LlamaOptions.model_validate(
    PRESETS["greedtok_1b"].model_dump()
    | {
        "d_model": 24,
        "n_layers": 2,
        "n_heads": 6,
        "kv_heads": 2,
        "feed_forward": 64,
        "max_seq_len": 32,
        "learning_rate": 0.02,
        "amplitude": 0.3,
        "warmup_batches": 2,
        "batch": 4,
        "microbatch": 2,
        "batches": 12,
        "precision": "fp32",
        "checkpoint_every": 4,
        "device": "cpu",
    }
)
"""GreedTok's model in small: the same number of query heads for each pair of keys and values, a gated layer 2.67 times
as wide, and its schedule: ten batches and two."""


def train_watched() -> None:
    """Run a command of Tokbench whose processes are those of :func:`watch`."""
    launch.PROGRAM = ("-m", __name__)
    main(sys.argv[1:])


def watch() -> None:
    """Have rank 1 kill itself after batch ``KILLED_AT``, and rank 0 copy its checkpoints after batch 7."""
    warnings.simplefilter("ignore")
    from tokbench.pretraining.curve import Curve

    class Watched(Curve):
        def batch_end(self, state: Any, logger: Any) -> None:
            super().batch_end(state, logger)
            batch, rank = str(int(state.timestamp.batch)), os.environ["RANK"]
            if (batch, rank) == (os.environ["KILLED_AT"], "1"):
                os.kill(os.getpid(), signal.SIGKILL)
            if (batch, rank) == ("7", "0"):
                place = Path(os.environ["COPIED_TO"])
                shutil.copytree(place.parent / "checkpoints", place, symlinks=True)

    from tokbench.pretraining import foundry

    foundry.registry.callbacks.register("tokbench_curve", func=Watched)


if __name__ == "__main__":
    watch()
    main(sys.argv[1:])
