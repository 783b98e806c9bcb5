"""Translation: encoder-decoder models over any two tokenizers, their training, search and scores."""
