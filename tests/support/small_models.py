"""Options of an MPT and of a Llama model small enough to train in a test."""

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
