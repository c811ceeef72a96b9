"""Verdicts that the official code gave, and sentences and words that NLTK cut, to hold ours against."""
