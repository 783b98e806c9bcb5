"""Pretraining: a corpus packed into sequences of token ids, and MPT models trained on them with llm-foundry."""
