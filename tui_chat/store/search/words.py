"""Words for the search index, and queries in them.

1. Text is folded: case, accents and the widths of East Asian letters make no difference.
2. A word is a run of letters and digits. Scripts that are written without spaces are indexed in
   pairs: of ABC the pairs AB and BC, and the last letter C alone. So any part of such a run is a
   sequence of pairs, two letters are one lookup, and one letter is the beginning of a pair.
3. Index and query go through the same functions, so what they call a word is always the same.
4. A query for the index consists of these words only, never of the typed text, so nothing in it can
   be taken for the index's query language.

SQLite's trigram index would find nothing for queries under three characters, and its other
tokenizers take a Chinese sentence for one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from operator import add

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

_DENSE = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul
)
_WORD = re.compile(f"[{_DENSE}]+|[^\\W_{_DENSE}]+")
_LETTER = f"[^\\W_{_DENSE}]"
_IS_DENSE = re.compile(f"[{_DENSE}]")
_BEYOND_ASCII = re.compile("([^\x00-\x7f]+)")
_PAIRED_OR_BETWEEN = re.compile(f"[{_DENSE}]+|[^\x00-\x7f\\w{_DENSE}]+")
_PLAIN_HAN = re.compile("[\u4e00-\u9fff]+")
"""Text that folding does not change."""
_MARKS = "，。、！？：；“”‘’…—"
"""Frequent marks beyond ASCII. Replacing them first is faster than run by run."""
_NARROW = {"，": ",", "！": "!", "？": "?", "：": ":", "；": ";", "（": "(", "）": ")", "…": "..."}
_HARDLY_CHANGES = re.compile(
    f"[\x00-\x7f\u3001\u3002\u3041-\u3094\u30a1-\u30fa\u30fc\u4e00-\u9fff“”‘’—{''.join(_NARROW)}]*"
)
"""Common Chinese and Japanese text; only these marks and ASCII are folded in it, which is fast."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
_PHRASE = re.compile(r'"([^"]*)"?|(\S+)')


def fold(text: str) -> str:
    """Return the text with case, accents and letter widths folded."""
    if text.isascii():
        return text.lower()
    if folds_little(text):
        for mark, plain in _NARROW.items():
            text = text.replace(mark, plain)
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def folds_little(text: str) -> bool:
    """Return True if folding changes only ASCII and a few marks, as in most Chinese and Japanese;
    of these, only the ellipsis becomes longer.
    """
    return _HARDLY_CHANGES.fullmatch(text) is not None


def index_words(text: str) -> str:
    """Return the words of a text as the index needs them: separated by spaces or other ASCII."""
    if text.isascii():
        return text  # the index finds words and folds case there by itself
    for mark in _MARKS:
        text = text.replace(mark, " ")
    # Folding never joins ASCII with adjacent characters, so only the rest is processed.
    parts = _BEYOND_ASCII.split(text)
    parts[1::2] = [_known(run) if len(run) <= _SHORT else _folded(run) for run in parts[1::2]]
    return "".join(parts)


def _folded(run: str) -> str:
    """Return the words of a run of characters that are not ASCII."""
    if _PLAIN_HAN.fullmatch(run):
        return _pairs(run)
    return _PAIRED_OR_BETWEEN.sub(_between, fold(run))


def _between(match: re.Match[str]) -> str:
    return _pairs(match[0]) if _IS_DENSE.match(match[0]) else " "


def _pairs(run: str) -> str:
    return f" {' '.join(map(add, run, run[1:]))} {run[-1]} "


_SHORT = 24
"""Maximum characters of a run that is cached: an accent, a Russian word, some Chinese."""
_known = lru_cache(8192)(_folded)


@dataclass(frozen=True, slots=True)
class Term:
    """Words that must follow each other."""

    words: tuple[str, ...]
    """Folded; each a run of letters and digits of one kind of script."""
    is_prefix: bool = False
    """True if the last word may be the beginning of a longer one."""

    @property
    def match(self) -> str:
        """The term as an expression of the index."""
        tokens: list[str] = []
        for number, word in enumerate(self.words, 1):
            if not _IS_DENSE.match(word):
                tokens.append(word)
                continue
            tokens += map("".join, pairwise(word))
            if number < len(self.words):
                tokens.append(word[-1])  # where the run ends, another word follows
            elif len(word) == 1:
                return f'"{" ".join([*tokens, word])}" *'
        return f'"{" ".join(tokens)}"' + (" *" if self.is_prefix else "")

    @property
    def looks_up_prefix(self) -> bool:
        """True if the index must merge all words that begin with the term."""
        return self.is_prefix or (
            len(self.words[-1]) == 1 and bool(_IS_DENSE.match(self.words[-1]))
        )

    @property
    def pattern(self) -> str:
        """The term as a regular expression for folded text."""
        first, *others = self.words
        # The letters come first, since they are searched for quickly; the lookbehind follows them.
        start = first if _IS_DENSE.match(first) else f"{first}(?<!{_LETTER}{first})"
        words = "[\\W_]*".join([start, *others])
        if _IS_DENSE.match(self.words[-1]):
            return words
        return words + (f"{_LETTER}*" if self.is_prefix else f"(?!{_LETTER})")


def parse_terms(text: str) -> tuple[Term, ...]:
    """Parse a typed query. Raises InputError if it has no word."""
    found = tuple(_terms(text))
    if not found:
        raise InputError("The query has no word.", advice="Type a word or a part of one.")
    return found


def _terms(text: str) -> Iterator[Term]:
    for match in _PHRASE.finditer(text):
        phrase = match[1] if match[1] is not None else match[2]
        words = tuple(_WORD.findall(fold(phrase)))
        if words:
            yield Term(words, is_prefix=phrase.endswith("*"))
