"""Named recipes of language models, by the options in which they differ from the defaults."""

SEED = 17
"""Of a model's weights and of the order of its documents, where none is named."""
RECIPES: dict[str, dict[str, object]] = {
    "tiny": {
        "d_model": 64,
        "n_heads": 4,
        "n_layers": 2,
        "max_seq_len": 256,
        "learning_rate": 1e-2,
        "batch": 8,
        "microbatch": 8,
        "batches": 100,
        "precision": "fp32",
        "checkpoint_every": 50,
        "device": "cpu",
    },
    "mpt_350m": {"batches": 100_000},
    "mpt_1_3b": {"batches": 100_000, "d_model": 2048, "microbatch": 8},
    "mpt_2_4b": {"batches": 100_000, "d_model": 2560, "n_heads": 20, "n_layers": 32, "microbatch": 4},
}
"""The PathPiece paper's three (section 5.2; about 200 billion tokens each; the width of the 1.3B model
is that of the released configuration, 2048, where the paper prints 1024), and one that a CPU core trains in seconds."""
