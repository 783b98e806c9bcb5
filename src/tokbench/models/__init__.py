"""Language models: of bytes, pretrained with llm-foundry, evaluated with lm-eval, and translation models."""
