"""Named recipes of byte-level, translation and language models: the options that differ from the defaults."""

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
"""The paper's neural model, one with 123 thousand parameters that a single CPU core trains in half a minute, and a
5-gram model."""


TRANSLATION_RECIPES: dict[str, dict[str, object]] = {
    "transformer_iwslt": {},
    "tiny": {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_model": 32,
        "feed_forward": 64,
        "heads": 2,
        "dropout": 0.0,
        "learning_rate": 5e-3,
        "warmup_steps": 20,
        "batch_tokens": 512,
        "epochs": 2,
        "beam": 2,
        "max_tokens": 40,
        "precision": "fp32",
        "checkpoint_every": 50,
        "device": "cpu",
    },
}
"""The model of "BPE Gets Picky" (appendix, table 7), and one that a CPU core trains in seconds."""
BLEU_TOKENIZERS = ("13a", "char", "intl", "none", "zh")
"""Tokenizers of sacrebleu that need no further package."""


SEED = 17
"""Default seed of a model's weights and of the order of its documents."""
FULL_SHARD = {"strategy": "full_shard"}
"""Sharding of the recipes whose weights, gradients and moments need a quarter or more of an 80 GB GPU."""
GREEDTOK: dict[str, object] = {
    "architecture": "llama",
    "d_model": 1536,
    "n_heads": 12,
    "n_layers": 40,
    "kv_heads": 4,
    "feed_forward": 4096,
    "max_seq_len": 4096,
    "schedule": "power",
    "learning_rate": 3.3e-3,
    "amplitude": 0.667,
    "warmup_batches": 238,
    "alpha_f": 0.0,
    "second_phase": 0.2,
    "weight_decay": 3.3e-4,
    "batch": 1024,
    "microbatch": 2,
    "attn_impl": "sdpa",
    "fsdp": FULL_SHARD,
}
MODEL_RECIPES: dict[str, dict[str, object]] = {
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
    "mpt_350m": {"batches": 100_000, "attn_impl": "sdpa"},
    "mpt_1_3b": {"batches": 100_000, "d_model": 2048, "microbatch": 8, "attn_impl": "sdpa", "fsdp": FULL_SHARD},
    "mpt_2_4b": {
        "batches": 100_000,
        "d_model": 2560,
        "n_heads": 20,
        "n_layers": 32,
        "microbatch": 4,
        "attn_impl": "sdpa",
        "fsdp": FULL_SHARD,
    },
    "greedtok_1b": {**GREEDTOK, "batches": 150_000},
    "greedtok_1b_equal_text": {**GREEDTOK, "epochs": 0.7035},
}
"""``tiny`` trains in seconds on a CPU core. ``mpt_*`` are the three models of the PathPiece paper (section 5.2; about
200 billion tokens each). The 1.3B model has the width of the released configuration, 2048, where the paper prints 1024.
``greedtok_1b`` is GreedTok's model (section 5.2) with equal tokens (BPEM and GTET of its table 4), and
``greedtok_1b_equal_text`` with an equal share of the documents (GTEP). docs/language_models.md lists our choices where
that paper has no value."""
