"""Many literals searched for in one pass over a text.

1. Those that are whole ASCII words, as most keys are, are looked up in the text's words.
2. Of all others the longest word is looked up in each different word of the conversation, by one of
   its substrings, and what was found is remembered: words repeat. Only literals whose longest word
   is there are searched for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from tui_chat.context.lorebooks.patterns import is_word

_GRAM = 4
"""Length of the substrings by which literals are found; shorter literals have their own index."""
_WORDS = re.compile(r"\w+")
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_LONGEST_WORD = 40
"""Length up to which words are remembered."""
_REMEMBERED_WORDS = 20_000


class SearchedText:
    """A text in the form in which keys are searched for, and its words."""

    __slots__ = ("text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = set(_WORDS.findall(text))


class Literals:
    """Literals that are searched for in one pass.

    What a literal's longest word is part of is remembered by the words of texts, as these repeat;
    only literals without a word are looked for in whole texts.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}
        self._with_word: dict[str, list[str]] = {}
        """The literals, by the longest word of each."""
        self._without_word: list[str] = []
        self._by_gram: list[_ByGram] | None = None
        """The longest words by their substrings."""
        self._others_by_gram: list[_ByGram] = []
        """The literals without a word by theirs."""
        self._in_word: dict[str, tuple[str, ...]] = {}
        """By a word of a text: the literals that may occur where it does, if there are some."""
        self._other_words: set[str] = set()
        """Words with which none occurs."""

    def add(self, number: int, literal: str) -> None:
        """Add a literal; several may have the same number."""
        if literal not in self._numbers:
            self._numbers[literal] = []
            if word := max(_WORDS.findall(literal), key=len, default=""):
                self._with_word.setdefault(word, []).append(literal)
            else:
                self._without_word.append(literal)
            self._by_gram = None
        self._numbers[literal].append(number)

    def found(self, searched: SearchedText) -> Iterator[tuple[str, list[int]]]:
        """Yield the literals that occur, and their numbers."""
        if not self._numbers:
            return
        if self._by_gram is None:
            self._by_gram = _by_gram(self._with_word)
            self._others_by_gram = _by_gram(self._without_word)
            self._in_word.clear()
            self._other_words.clear()
        possible: set[str] = set()
        for word in searched.words - self._other_words:
            literals = self._in_word.get(word)
            if literals is None:
                literals = self._search_word(word, self._by_gram)
            possible.update(literals)
        if self._others_by_gram:
            possible.update(_parts_of(searched.text, self._others_by_gram))
        for literal in possible:
            if literal in searched.text:
                yield literal, self._numbers[literal]

    def _search_word(self, word: str, by_gram: list[_ByGram]) -> tuple[str, ...]:
        parts = _parts_of(word, by_gram)
        literals = tuple(literal for part in parts for literal in self._with_word[part])
        if len(word) <= _LONGEST_WORD:
            if len(self._in_word) + len(self._other_words) >= _REMEMBERED_WORDS:
                self._in_word.clear()
                self._other_words.clear()
            if literals:
                self._in_word[word] = literals
            else:
                self._other_words.add(word)
        return literals


_ByGram = tuple[int, dict[str, list[str]]]
"""A length, and texts by one of their substrings of that length."""


def _by_gram(texts: Iterable[str]) -> list[_ByGram]:
    """Index texts by their rarest substring of length 4, or by all of a shorter one."""
    known = tuple(texts)
    index: list[_ByGram] = []
    for size in (1, 2, 3, _GRAM):
        members = [
            (text, [text[at : at + size] for at in range(len(text) - size + 1)])
            for text in known
            if len(text) == size or len(text) > size == _GRAM
        ]
        shared = Counter(chain.from_iterable(grams for _, grams in members))
        by_gram: dict[str, list[str]] = {}
        for text, grams in members:
            rarest = min(grams, key=shared.__getitem__)
            by_gram.setdefault(rarest, []).append(text)
        if by_gram:
            index.append((size, by_gram))
    return index


def _parts_of(text: str, index: list[_ByGram]) -> Iterator[str]:
    """Yield the indexed texts that occur in a text."""
    for size, by_gram in index:
        grams = {text[at : at + size] for at in range(len(text) - size + 1)}
        for gram in by_gram.keys() & grams:
            for each in by_gram[gram]:
                if len(each) == size or each in text:
                    yield each


class PlainKeys:
    """Keys that are literals."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
        """Key numbers by whole ASCII word."""
        self._anywhere = Literals()
        self._whole_words = Literals()
        """Literals that must be whole words."""

        self.is_empty = True

    def add(self, number: int, wanted: str, whole_words: bool) -> None:
        """Add a key."""
        self.is_empty = False
        if whole_words and _ASCII_WORDS.fullmatch(wanted):
            self._words.setdefault(wanted, []).append(number)
        elif whole_words and len(wanted.split()) == 1:
            self._whole_words.add(number, wanted)
        else:
            self._anywhere.add(number, wanted)

    def found(self, searched: SearchedText) -> Iterator[int]:
        """Yield the numbers of the keys that occur."""
        if self._words:
            text, words = searched.text, searched.words
            for word in self._words.keys() & (
                words if text.isascii() else set(_ASCII_WORDS.findall(text))
            ):
                yield from self._words[word]
        for _, numbers in self._anywhere.found(searched):
            yield from numbers
        for wanted, numbers in self._whole_words.found(searched):
            if _is_whole_word(wanted, searched.text):
                yield from numbers


def occurs(wanted: str, text: str, *, whole_words: bool) -> bool:
    """True if a key occurs in a text."""
    if whole_words and len(wanted.split()) == 1:
        return _is_whole_word(wanted, text)
    return wanted in text


def _is_whole_word(wanted: str, text: str) -> bool:
    """True if a key occurs in a text as a whole word."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not is_word(text[at - 1 : at]) and not is_word(text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False
