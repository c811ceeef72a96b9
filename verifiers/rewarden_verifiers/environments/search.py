"""A search tool over a local corpus: the policy finds and reads documents, and answers a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.environments.contract import (
    BadOptions,
    Corpora,
    Environment,
    Illegal,
    NotAMove,
    Observation,
    Tool,
    Turn,
)
from rewarden_verifiers.environments.corpus import Corpus, library, of_entries, of_file
from rewarden_verifiers.environments.entries import Entry
from rewarden_verifiers.games.rules import shown
from rewarden_verifiers.words import tokens

_TOOLS = (
    Tool(name="search", argument="query", meaning="Search the corpus."),
    Tool(name="open", argument="id", meaning="Read a document."),
    Tool(name="answer", argument="answer", meaning="Answer the question, which ends the episode."),
)
_ACTION = re.compile(r"(search|open|answer):[ ]?(\S.*)", re.ASCII | re.DOTALL)
_ARTICLES = frozenset({"a", "an", "the"})
MOST_DOCUMENTS = 2000
"""The maximum number of documents in a request; larger corpora must be configured on the server."""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of `search`.

    question: the question. answer: the expected answer, or a list of acceptable ones; compared by words. corpus: one of
    the server's corpora (`environments.corpora`). documents: the corpus itself, as objects with `id`, `text` and
    `title`. gold: ids of documents that must have been found or read before the answer counts. results: the number of
    documents that a search returns. budget: the number of searches and readings together; further ones are illegal.
    excerpt: the number of characters of a document in a result; reading it shows more.
    """

    question: str
    answer: str | tuple[str, ...]
    corpus: str | None = None
    documents: tuple[Entry, ...] = ()
    gold: tuple[str, ...] = ()
    results: int = 3
    budget: int = 20
    excerpt: int = 400

    def __post_init__(self) -> None:
        if (self.corpus is None) == (not self.documents):
            raise ValueError("give corpus or documents")
        if len(self.documents) > MOST_DOCUMENTS:
            raise ValueError(f"documents must be at most {MOST_DOCUMENTS}; configure a corpus")
        if not (1 <= self.results <= 20 and 0 <= self.budget <= 1000 and 1 <= self.excerpt <= 4000):
            raise ValueError("results must be 1 to 20, budget 0 to 1000, and excerpt 1 to 4000")

    def found(self, corpora: Corpora) -> Corpus:
        """The corpus. Raises BadOptions, MissingDependency."""
        if self.corpus is None:
            return of_entries(self.documents)
        path = corpora.get(self.corpus)
        if path is None:
            known = ", ".join(corpora) or "none"
            raise BadOptions(f"unknown corpus {self.corpus[:100]!r}; known: {known} (environments.corpora)", "corpus")
        return of_file(path)


class Search(Environment):
    """A question, and a corpus to search for its answer."""

    options = SearchOptions
    tools = _TOOLS
    max_steps = 50

    @classmethod
    def load(cls, options: SearchOptions, corpora: Corpora) -> None:
        """Imports the library, and builds the index of a server corpus. Raises MissingDependency, BadOptions."""
        library()
        if options.corpus is not None:
            options.found(corpora)

    def reset(self, seed: int, options: SearchOptions) -> Observation:
        """See `Environment`. It does not depend on the seed."""
        answers = [options.answer] if isinstance(options.answer, str) else options.answer
        self._answers = [words_of(answer) for answer in answers]
        if not self._answers or not all(self._answers):
            raise BadOptions("must have words", "answer")
        self._options, self._corpus = options, options.found(self.corpora)
        missing = next((id for id in options.gold if id not in self._corpus.entries), None)
        if missing is not None:
            raise BadOptions(f"the corpus has no document {missing[:100]!r}", "gold")
        self._seen: set[str] = set()
        self._left = options.budget
        return Observation(f"{options.question}\nActions: search: QUERY, open: ID, or answer: ANSWER.")

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        found = _ACTION.fullmatch(action.strip())
        if found is None:
            raise NotAMove("an action is search: QUERY, open: ID or answer: ANSWER")
        what, text = found[1], found[2].strip()
        if what == "answer":
            return self._answered(text)
        if not self._left:
            raise Illegal("the budget of searches is used up")
        turn = self._searched(text) if what == "search" else self._opened(text)
        self._left -= 1
        return turn

    def _searched(self, query: str) -> Turn:
        entries = self._corpus.search(query, self._options.results)
        return self._shown(entries, self._options.excerpt) if entries else Turn(observation=Observation("No results."))

    def _opened(self, id: str) -> Turn:
        entry = self._corpus.entries.get(id)
        if entry is None:
            return Turn(observation=Observation(f"There is no document {shown(id)}."))
        return self._shown([entry], len(entry.text))

    def _shown(self, entries: Sequence[Entry], most: int) -> Turn:
        self._seen.update(entry.id for entry in entries)
        texts = [f"[{entry.id}] {entry.title}\n{entry.text[:most]}" for entry in entries]
        fields: dict[str, Any] = {"ids": [entry.id for entry in entries]}
        return Turn(observation=Observation("\n\n".join(texts), fields))

    def _answered(self, text: str) -> Turn:
        right = words_of(text) in self._answers
        unseen = [id for id in self._options.gold if id not in self._seen]
        success = right and not unseen
        why = None if success else "no_evidence" if right else "wrong"
        return Turn(
            observation=Observation("Answered."),
            reward=float(success),
            done=True,
            success=success,
            why=why,
            cost=0.0,
        )


def words_of(text: str) -> list[str]:
    """The words by which answers are compared. Articles are dropped, unless nothing else is left."""
    words = tokens(text)
    return [word for word in words if word not in _ARTICLES] or words
