"""How tokenizers cut the same few sentences, for the report."""
