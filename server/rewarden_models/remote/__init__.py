"""Models that other engines (vLLM, SGLang) run: tokenised here like all others, computed there."""
