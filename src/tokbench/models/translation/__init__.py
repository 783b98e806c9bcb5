"""Translation: encoder-decoder models over any two tokenizers, trained on pairs, translating, scored."""
