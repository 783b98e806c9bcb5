"""Models: byte-level language models, language models pretrained with llm-foundry, and translation models."""
