"""Models that other engines run, vLLM and SGLang: tokenised here as all others, computed there."""
