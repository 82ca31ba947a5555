r"""The rules of markdown-it that recognize LaTeX formulas; `formula_text` makes them readable.

In Markdown, `$a_1 * b_1$` is half emphasis and `\(` a bracket. These rules make a formula a token
of its own, whose text no other rule reads: the readable one where all of the formula is known, else
the formula as it was written.

1. Within a line: `\( \)`, `\[ \]`, `$$ $$`, and `$ $` where the opening one touches what
   follows, the closing one what precedes, no letter or digit stands on the outside of either, and
   what is between is one letter, or has a sign of TeX and reads like no prose or code: prices and
   variables of a shell stay.
2. As a block: lines from one that begins with `$$`, `\[` or `\begin{` to the one that closes
   it, or to the end of what there is, as a formula that is still arriving has no end yet.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from tui_chat.plugins.formulas.formula_text import readable

_INLINE = re.compile(
    r"\\\((?P<round>(?s:.+?))\\\)"
    r"|\\\[(?P<square>(?s:.+?))\\\]"
    r"|\$\$(?P<double>[^$]+)\$\$"
    r"|(?<![^\W_])\$(?![\s$])(?P<single>(?:\\.|[^$\\\n`])*?)(?<![\s\\=])\$(?![^\W_]|[({])"
)
_TEX = re.compile(r"[\\^_={]|^[^\W\d_]$")
"""What a text between single dollar signs must have to be a formula."""
_PROSE = re.compile(r"(?s)(?!.*\\)(?=.*\s).*[^\W\d_]{3}")
"""Several words: variables or prices with a sign of TeX between them."""
INLINE_LENGTH = 2000
"""Maximum characters of a formula within a line."""
_ENDS = {"$$": "$$", "\\[": "\\]"}
_BEGIN = re.compile(r"\\begin\{([A-Za-z]+\*?)\}")


def add_rules(parser: MarkdownIt) -> None:
    """Add the two rules to a parser."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula_block", _block, {"alt": ["paragraph", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "\\$":
        return False
    match = _INLINE.match(state.src, state.pos, min(state.posMax, state.pos + INLINE_LENGTH))
    if match is None:
        return False
    if (single := match["single"]) is not None and not _is_formula(single):
        return False
    if not silent:
        token = state.push("added", "", 0)
        text = readable(match.group())
        token.content = match.group() if text is None else text.replace("\n", "; ")
    state.pos = match.end()
    return True


def _is_formula(text: str) -> bool:
    """Return True if what is between single dollar signs is a formula and no prose."""
    if not _TEX.search(text) or _PROSE.match(text):
        return False
    return all(text.count(one) == text.count(other) for one, other in ("()", "{}"))


def _block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    opening = _line(state, first).strip()
    closing = _ENDS.get(opening[:2], "")
    if match := _BEGIN.match(opening):
        closing = f"\\end{{{match.group(1)}}}"
    if not closing:
        return False
    last = first
    rest = opening[2:]
    while closing not in rest:
        last += 1
        if last >= end or state.sCount[last] < state.blkIndent:
            break
        rest = _line(state, last)
    else:
        if rest.rstrip() and not rest.rstrip().endswith(closing):
            return False  # text follows on the line: it is a formula in a paragraph
    if silent:
        return True
    state.line = min(last + 1, end)
    token = state.push("added_block", "", 0)
    formula = "\n".join(_line(state, number) for number in range(first, state.line))
    token.content = readable(formula) or formula
    token.map = [first, state.line]
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
