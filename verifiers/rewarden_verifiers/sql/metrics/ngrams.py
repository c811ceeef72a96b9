"""Likeness of two statements as texts."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from rewarden_verifiers.sql.statement import Statement


def ngrams(reference: Statement, answer: Statement) -> float:
    """Jaccard index of the bigrams of tokens, counted as often as they stand there (least by greatest number).

    The n-gram similarity of Reasoning-SQL (arXiv 2503.23157), with bigrams counted rather than taken as a set, so that
    repeating a right piece costs. Case, white space, comments and quotes of names do not count; of texts they do.
    """
    left, right = _bigrams(reference), _bigrams(answer)
    return (left & right).total() / (left | right).total()


def _bigrams(statement: Statement) -> Counter[tuple[str, str]]:
    # The ends are tokens too, so that a statement of one token has bigrams.
    return Counter(pairwise(("", *_tokens(statement), "")))


def _tokens(statement: Statement) -> list[str]:
    try:
        found = sqlglot.tokenize(statement.text, read=statement.dialect)
    except (SqlglotError, RecursionError):
        return re.findall(r"\w+|[^\w\s]", statement.text.lower())
    return [f"'{token.text}" if token.token_type is TokenType.STRING else token.text.lower() for token in found]
