"""Named recipes of byte-level language models, by the options in which they differ from the defaults."""

BYTE_LM_RECIPES: dict[str, dict[str, object]] = {
    "paper_57m": {"microbatch": 32},
    "tiny": {
        "layers": 2,
        "hidden": 64,
        "feed_forward": 192,
        "heads": 4,
        "context": 256,
        "steps": 400,
        "warmup_steps": 40,
        "decay_steps": 80,
        "batch": 8,
        "learning_rate": 5e-3,
        "stride": 192,
        "score_batch": 16,
        "precision": "fp32",
        "checkpoint_every": 100,
        "device": "cpu",
    },
    "ngram": {"kind": "ngram"},
}
"""The paper's neural model, one of 123 thousand parameters that a single CPU core trains in half a minute, and a 5-gram
model."""
