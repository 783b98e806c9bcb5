"""Models: byte-level language models, language models pretrained with llm-foundry and evaluated with lm-eval, and
translation models."""
