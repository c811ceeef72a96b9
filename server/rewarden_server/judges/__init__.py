"""The clients of language models on behalf of verifiers; see `engine/lanes/judges.py` for who uses them."""
