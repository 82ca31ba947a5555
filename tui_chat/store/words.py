"""Words of full text: a text as the index holds it, queries, and snippets as they are shown.

1. SQLite's tokenizer `unicode61` finds words, and folds case and accents. It would take a sentence
   of a script without spaces (Han, kana, Hangul, Thai) for one word, so a run of it stands in the
   index as its pairs of letters and its last letter, with a mark between them: of ABC `AB|BC|C`. So
   any part of a run is a sequence of pairs, and one letter is the beginning of a pair.
2. Widths of East Asian letters are folded, in the index and in queries.
3. Every term of a query is a quoted string, so nothing in it is taken for FTS5's query language.
4. SQLite cuts and marks a snippet; the pairs are put together again before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

from tui_chat.errors import InputError

_DENSE = (
    "\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u1049\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul
)
OPEN, CLOSE = "\u2061", "\u2062"
"""Stand around what a snippet marks."""
_BETWEEN, _EDGE = "\u2063", "\u2064"
"""Stand between pairs, and between a dense run and a word beside it. All four are invisible."""
_OURS = dict.fromkeys(map(ord, (OPEN, CLOSE, _BETWEEN, _EDGE)))
_RUN = re.compile(f"[{_DENSE}]+")
_SIDES = re.compile(f"(?<=[{_DENSE}])(?=[^\\W_{_DENSE}])|(?<=[^\\W_{_DENSE}])(?=[{_DENSE}])")
_FOLDED = re.compile(
    "[\u1100-\u11ff\u3131-\u318e\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]+"
)
"""Jamo, ligatures, and letters and digits of another width."""
_PAIRED = re.compile(
    f"[{OPEN}{CLOSE}]*[{_DENSE}]{{1,2}}(?:[{_BETWEEN}{OPEN}{CLOSE}]*[{_DENSE}]{{1,2}})*[{OPEN}{CLOSE}]*"
)
_LAST_LETTER = re.compile(f"{_BETWEEN}[{_DENSE}](?=[^\\w{_DENSE}]*$)")
_ONE_LETTER = re.compile(f"(?<![{_DENSE}{_BETWEEN}])[{_DENSE}][^\\w{_DENSE}]*$")
_PHRASE = re.compile(r'"([^"]*)"?|(\S+)')
_MARKED = re.compile(f"([{OPEN}{CLOSE}])")
_LONGEST, _BEFORE = 240, 50
"""Characters of a snippet, and those of them before the first mark."""


def index_text(text: str) -> str:
    """Return a text as the index holds it."""
    if text.isascii():
        return text
    text = _folded(text.translate(_OURS))
    return _RUN.sub(_pairs, _SIDES.sub(_EDGE, text)) if _RUN.search(text) else text


def _folded(text: str) -> str:
    """Return a text with the letters of one width, and marks joined with their letters."""
    return normalize("NFC", _FOLDED.sub(lambda run: normalize("NFKC", run[0]), text))


def _pairs(match: re.Match[str]) -> str:
    return _BETWEEN.join([*map("".join, pairwise(match[0])), match[0][-1]])


@lru_cache(16)
def match_expression(query: str) -> str:
    """Return the expression of FTS5 for texts that have all terms of a typed query.

    Raises InputError if it has no word.
    """
    terms = dict.fromkeys(map(_term, _phrases(query)))
    if not terms:
        raise InputError("The query has no word.", advice="Type a word or a part of one.")
    return " AND ".join(terms)


def _phrases(query: str) -> Iterator[str]:
    """Yield the words and quoted phrases of a query that have a letter or digit."""
    for match in _PHRASE.finditer(query):
        phrase = match[2] if match[1] is None else match[1]
        phrase = _folded(phrase.replace('"', " ").replace("\0", " "))
        if any(map(str.isalnum, phrase)):
            yield phrase


def _term(phrase: str) -> str:
    marked = _LAST_LETTER.sub("", index_text(phrase))
    is_prefix = phrase.endswith("*") or _ONE_LETTER.search(phrase)
    spellings = {marked: 1, marked.replace("ß", "ss"): 1, marked.replace("ss", "ß"): 1}
    strings = (f'"{spelling}"' + (" *" if is_prefix else "") for spelling in spellings)
    return f"({' OR '.join(strings)})"


def readable_snippet(snippet: str, query: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a snippet of the index as it is shown, on one line, and the ranges of the terms."""
    shown, marks, start = "", list[tuple[int, int]](), 0
    for piece in _MARKED.split(" ".join(_PAIRED.sub(_joined, snippet).split())):
        if piece == OPEN:
            start = len(shown)
        elif piece == CLOSE:
            marks.append((start, len(shown)))
        else:
            shown += piece.translate(_OURS)
    runs = {run for phrase in _phrases(query) for run in _RUN.findall(phrase)}
    marks += [match.span() for run in runs for match in re.finditer(run, shown)]
    return _clipped(shown, sorted(span for span in marks if span[0] < span[1]))


def _joined(match: re.Match[str]) -> str:
    """Return the run of its pairs; a mark that begins or ends in it is beside it."""
    opened = match[0].count(OPEN) - match[0].count(CLOSE)
    tokens = [token for token in match[0].translate(_NO_MARKS).split(_BETWEEN) if token]
    run = "".join(token[0] for token in tokens) + tokens[-1][1:]
    return CLOSE * -opened + run + OPEN * opened


_NO_MARKS = dict.fromkeys(map(ord, (OPEN, CLOSE)))


def _clipped(shown: str, marks: list[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a snippet without most of a very long word."""
    if len(shown) <= _LONGEST:
        return shown, tuple(marks)
    first = max(0, marks[0][0] - _BEFORE) if marks else 0
    before, last = "…" * (first > 0), first + _LONGEST
    shift = len(before) - first
    text = before + shown[first:last] + "…" * (last < len(shown))
    return text, tuple((start + shift, end + shift) for start, end in marks if end <= last)
