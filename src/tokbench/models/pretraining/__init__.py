"""Pretraining: packing of a corpus into sequences of token ids, and training of MPT and Llama models with
llm-foundry."""
