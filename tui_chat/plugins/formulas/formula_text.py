r"""LaTeX formulas as text that can be read in a terminal: `\frac{a+b}{2} \le x^2` is (a+b)/2 ≤ x².

pylatexenc parses a formula and knows its symbols. A formula with anything in it that is not known
here is left as it was written: half a formula would be another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

LONGEST = 4_000
"""Characters of the longest formula that is converted."""
_DEPTH = 30
"""Formulas in each other."""
_DELIMITERS = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$"))

_SUPERSCRIPTS = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWθ′∗",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᶿ′*",
)
_SUBSCRIPTS = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"
)


def _table(pairs: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in pairs.split())


_SYMBOLS = _table(
    "implies=⇒ iff=⇔ Longrightarrow=⇒ longrightarrow=→ gets=← land=∧ lor=∨ neg=¬ lnot=¬ ne=≠ neq=≠ "
    "notin=∉ colon=: vert=| Vert=‖ mid=∣ parallel=‖ setminus=∖ cdots=⋯ dots=… dotsc=… dotsb=⋯ "
    "lbrace={ rbrace=} {={ }=} %=% $=$ _=_ #=# |=‖ lvert=| rvert=| lVert=‖ rVert=‖ degree=° top=⊤ "
    "leqslant=≤ geqslant=≥ varnothing=∅ emptyset=∅ therefore=∴ because=∵ coloneqq=:= models=⊨ "
    "vdash=⊢ Re=Re Im=Im det=det arg=arg bmod=mod mod=mod Pr=Pr"
)
"""Symbols that pylatexenc does not know, or draws otherwise."""
_SPACES = dict.fromkeys((",", ";", ":", ">", " ", "thinspace", "enspace"), " ") | {
    "quad": "  ",
    "qquad": "    ",
}
_SIZES = ("big", "Big", "bigg", "Bigg")
_WITHOUT_TEXT = frozenset(
    (
        *("!", "displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "nonumber"),
        "notag",
        *(f"{size}{side}" for size in _SIZES for side in ("", "l", "r", "m")),
    )
)
_FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")
_PLAIN = (
    *("text", "textrm", "textbf", "textit", "textsf", "texttt", "mbox", "hbox", "mathrm"),
    *("mathbf", "mathit", "mathsf", "mathtt", "boldsymbol", "bm", "operatorname", "operatorname*"),
)
_LETTERS = {"mathbb": "DOUBLE-STRUCK", "mathcal": "SCRIPT", "mathscr": "SCRIPT"}
_ACCENTS = {
    name: chr(int(mark, 16))
    for name, mark in _table(
        "hat=302 widehat=302 bar=304 overline=305 vec=20d7 tilde=303 widetilde=303 dot=307 "
        "ddot=308 underline=332 check=30c breve=306"
    ).items()
}
"""Combining characters of accents."""
_BRACKETS = {"matrix": "  ", "pmatrix": "()", "bmatrix": "[]", "vmatrix": "||", "Vmatrix": "‖‖"}
_ROWS = (
    *("aligned", "align", "align*", "alignedat", "gather", "gather*", "gathered", "split"),
    *("equation", "equation*", "multline", "multline*", "eqnarray", "eqnarray*", "array"),
)
_APART = frozenset("=<>≤≥≠≈≡∼≅∝∈∉⊂⊆⊃⊇→←↔⇒⇔↦≪≫∣")
"""Relations, which have a blank on both sides."""


class _UnknownError(Exception):
    """A formula has something in it that has no text here."""


@lru_cache(maxsize=1024)
def readable(formula: str) -> str | None:
    """Return a delimited formula as text of one line a row; None if it stays as written."""
    inner = _inside(formula.strip())
    if inner is None or len(formula) > LONGEST:
        return None
    from pylatexenc.latexwalker import (  # pyright: ignore[reportMissingTypeStubs]
        LatexWalker,
        LatexWalkerError,
    )

    walker: Any = LatexWalker(inner, tolerant_parsing=False)
    try:
        state = walker.make_parsing_state(in_math_mode=True)
        nodes: Sequence[Any] = walker.get_latex_nodes(parsing_state=state)[0]
        text = _Writer(0).write(nodes)
    except (_UnknownError, LatexWalkerError, RecursionError, ValueError, IndexError):
        return None
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line) or None


def _inside(formula: str) -> str | None:
    """Return a formula without its delimiters; None if its end has not arrived."""
    if formula.startswith("\\begin{"):
        return formula if re.search(r"\\end\{[A-Za-z]+\*?\}$", formula) else None
    for opening, closing in _DELIMITERS:
        ends = formula.endswith(closing) and len(formula) > len(opening) + len(closing)
        if formula.startswith(opening) and ends:
            return formula[len(opening) : -len(closing)]
    return None


class _Writer:
    """Writes the nodes of a formula."""

    def __init__(self, depth: int) -> None:
        if depth > _DEPTH:
            raise _UnknownError
        self._depth = depth
        self._nodes: Iterator[Any] = iter(())

    def write(self, nodes: Sequence[Any]) -> str:
        """Return the text of nodes."""
        self._nodes = _single(nodes)
        text = ""
        for node in self._nodes:
            if isinstance(node, str) and node in "^_":
                script = _superscript if node == "^" else _subscript
                text = text.rstrip(" ") + script(self._next())
            else:
                text += self._text_of(node)
        return text

    def _next(self) -> str:
        """Return the text of the next node, which is an argument."""
        for node in self._nodes:
            if not (isinstance(node, str) and node.isspace()):
                return self._text_of(node).strip()
        raise _UnknownError

    def _inner(self, nodes: Sequence[Any]) -> str:
        return _Writer(self._depth + 1).write(nodes)

    def _text_of(self, node: Any) -> str:
        if isinstance(node, str):
            return _character(node)
        match type(node).__name__:
            case "LatexGroupNode":
                if node.delimiters[0] not in ("{", ""):
                    raise _UnknownError
                return self._inner(node.nodelist)
            case "LatexMacroNode":
                return self._macro(node) + (" " if node.macro_post_space else "")
            case "LatexEnvironmentNode":
                return self._environment(node)
            case "LatexSpecialsNode" if node.specials_chars in _SPECIALS:
                return _SPECIALS[node.specials_chars]
            case "LatexCommentNode":
                return ""
            case _:
                raise _UnknownError

    def _macro(self, node: Any) -> str:
        name: str = node.macroname
        if name == "\\":
            return "\n"
        given = node.nodeargd.argnlist if node.nodeargd is not None else ()
        arguments = [self._argument(each) for each in given or () if each is not None]

        def argument() -> str:
            return arguments.pop(0) if arguments else self._next()

        if name in _SPACES or name in _WITHOUT_TEXT:
            return _SPACES.get(name, "")
        if name in ("left", "right"):
            delimiter = self._next()
            return "" if delimiter == "." else delimiter
        if name in _FRACTIONS:
            return f"{_grouped(argument())}/{_grouped(argument())}"
        if name == "sqrt":
            index = _superscript(arguments.pop(0)) if len(arguments) > 1 else ""
            root = argument()
            return f"{index}√{root if len(root) == 1 or root.isdigit() else f'({root})'}"
        if name in ("binom", "dbinom", "tbinom"):
            return f"C({argument()}, {argument()})"
        if name == "pmod":
            return f"(mod {argument()})"
        if name in ("tag", "tag*"):
            return f"  ({argument()})"
        if name == "boxed":
            return f"[{argument()}]"
        if name in ("underbrace", "overbrace", "stackrel", "overset", "underset"):
            raise _UnknownError
        if name == "not":
            return unicodedata.normalize("NFC", f"{argument()}\u0338")
        if name in _PLAIN:
            return argument() if not name.startswith(("text", "mbox", "hbox")) else _words(node)
        if name in _LETTERS:
            return "".join(_styled_letter(_LETTERS[name], letter) for letter in argument())
        if name in _ACCENTS:
            text = argument()
            if len(text) > 3 and name != "overline":
                raise _UnknownError
            return "".join(letter + _ACCENTS[name] for letter in text)
        return _symbol(name)

    def _argument(self, node: Any) -> str:
        is_group = type(node).__name__ == "LatexGroupNode"  # also an optional one: [3]
        return self._inner(node.nodelist if is_group else [node]).strip()

    def _environment(self, node: Any) -> str:
        name: str = node.environmentname
        rows = [
            [cell.strip() for cell in row.split(_CELL)]
            for row in self._inner(node.nodelist).split("\n")
        ]
        rows = [row for row in rows if any(row)]
        if name in _BRACKETS:
            opening, closing = _BRACKETS[name]
            return f"{opening}{'; '.join(' '.join(row) for row in rows)}{closing}"
        if name in ("cases", "dcases"):
            return "{ " + "; ".join(", ".join(filter(None, row)) for row in rows)
        if name in _ROWS:
            return "\n".join(" ".join(row) for row in rows)
        raise _UnknownError


_CELL = "\x1f"
_SPECIALS = {"&": _CELL, "~": " ", "--": "--", "---": "---", "``": "``", "''": "″"}


def _single(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield nodes, those of characters one by one."""
    for node in nodes:
        if type(node).__name__ == "LatexCharsNode":
            yield from node.chars
        else:
            yield node


def _character(character: str) -> str:
    if character in _APART:
        return f" {character} "
    return _CHARACTERS.get(character, character)


_CHARACTERS: Mapping[str, str] = {"-": "−", "'": "′", "*": "∗", "\n": " ", "&": _CELL}


def _words(node: Any) -> str:
    r"""Return the words of `\text{…}`, whose blanks stay; formulas in them are not known."""
    given = node.nodeargd.argnlist if node.nodeargd is not None else ()
    if not given or given[0] is None:
        raise _UnknownError
    text = str(given[0].latex_verbatim())
    text = text.removeprefix("{").removesuffix("}")
    if any(sign in text for sign in "\\$^_{}"):
        raise _UnknownError
    return f" {text} " if text.startswith(" ") or text.endswith(" ") else text


def _symbol(name: str) -> str:
    symbol = _SYMBOLS.get(name) or _known_symbols()(name)
    if not symbol:
        raise _UnknownError
    if symbol in _APART:
        return f" {symbol} "
    return symbol


@cache
def _known_symbols() -> Callable[[str], str]:
    from pylatexenc.latex2text import (  # pyright: ignore[reportMissingTypeStubs]
        get_default_latex_context_db,
    )

    database: Any = get_default_latex_context_db()

    def find(name: str) -> str:
        found = database.get_macro_spec(name)
        symbol = getattr(found, "simplify_repl", None)
        return symbol if isinstance(symbol, str) and "%" not in symbol else ""

    return find


def _styled_letter(style: str, letter: str) -> str:
    """Return a letter of a style where common fonts have it, else the letter."""
    for words in (f"{style} CAPITAL {letter}", f"MATHEMATICAL {style} CAPITAL {letter}"):
        try:
            styled = unicodedata.lookup(words)
        except KeyError:
            continue
        return styled if ord(styled) < 0x10000 else letter
    return letter


def _grouped(text: str) -> str:
    """Return a text in brackets, unless it is one thing already."""
    text = text.strip()
    is_one = re.fullmatch(r"[\w.′⁰¹²³⁴-⁹₀-₉]+|√\(?[\w.]+\)?|\([^()]*\)", text)
    return text if is_one else f"({text})"


def _superscript(text: str) -> str:
    return _script(text, _SUPERSCRIPTS, "^")


def _subscript(text: str) -> str:
    return _script(text, _SUBSCRIPTS, "_")


def _script(text: str, letters: Mapping[int, int], sign: str) -> str:
    text = text.strip()
    close = text.replace(" ", "")
    if close and all(ord(letter) in letters for letter in close):
        return close.translate(letters)
    return f"{sign}{text}" if len(text) == 1 else f"{sign}({text})"
