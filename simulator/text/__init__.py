"""Text as people have it and tokens as models have them: prompts, encoding, labels, vocabularies."""
