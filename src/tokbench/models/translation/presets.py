"""Named recipes of translation models, by the options in which they differ from the defaults."""

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
"""Ways of sacrebleu to cut words for BLEU that need no further package."""
