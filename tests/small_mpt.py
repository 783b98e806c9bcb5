"""An MPT so small that a test trains it."""

from tokbench.pretraining.options import PRESETS

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
