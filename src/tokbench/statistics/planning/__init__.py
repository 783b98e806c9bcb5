"""Seeds and questions that a comparison needs, planned from a pilot."""
