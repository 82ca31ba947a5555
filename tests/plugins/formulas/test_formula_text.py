"""Formulas as text, and in messages."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.message_lines import drawn
from tests.support.tables import each_row
from tui_chat.plugins.formulas.formula_text import LONGEST, readable
from tui_chat.ui.chat.markdown import section_rows
from tui_chat.ui.chat.rows import runs_of
from tui_chat.ui.chat.sections import SectionSplitter


@each_row(
    ("formula", "text"),
    [
        (r"$E = mc^2$", "E = mc²"),
        (r"$\frac{a+b}{c}$", "(a+b)/c"),
        (r"$\frac12$", "1/2"),
        (r"$\frac{d}{dx} x^n = n x^{n-1}$", "d/dx xⁿ = n xⁿ⁻¹"),
        (r"$P(A \mid B) = \frac{P(B \mid A) P(A)}{P(B)}$", "P(A ∣ B) = (P(B ∣ A) P(A))/(P(B))"),
        (r"\(\sqrt{x^2+1} + \sqrt[3]{x} + \sqrt 2\)", "√(x²+1) + ³√x + √2"),
        (r"$\sum_{i=1}^{n} x_i$", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"$e^{i\pi} + x^{a_b} + x^\alpha$", "e^(iπ) + x^(a_b) + x^α"),
        (r"$\alpha \le \beta \implies \mathbb{R}^n$", "α ≤ β ⇒ ℝⁿ"),
        (r"$x \in \mathbb{Z}_{\ge 0}$", "x ∈ ℤ_(≥ 0)"),
        (r"$\left(\frac{a}{b}\right)^2 + \left. f \right|_a$", "(a/b)² + f |ₐ"),
        (r"$f'(x) - \hat{x} \ne \overline{AB}$", "f′(x) − x̂ ≠ A̅B̅"),
        (r"$\operatorname{rank}(A) = \text{if } x>0$", "rank(A) = if x > 0"),
        (r"$\binom{n}{k} \pmod 7$", "C(n, k) (mod 7)"),
        (r"\[\begin{pmatrix}1&2\\3&4\end{pmatrix}\]", "(1 2; 3 4)"),
        (r"$$f(x)=\begin{cases} 1 & x>0 \\ 0 & x\le 0\end{cases}$$", "f(x) = { 1, x > 0; 0, x ≤ 0"),
        ("\\begin{aligned} a &= b \\\\ &= c \\end{aligned}", "a = b\n= c"),
        (r"$\{1, 2\} \cup \|x\|_2$", "{1, 2} ∪ ‖x‖₂"),
    ],
)
def test_a_known_formula_is_readable(formula: str, text: str):
    assert readable(formula) == text


@each_row(
    "formula",
    [
        r"$\unknown{x} + 1$",
        r"$\frac{$",
        "$}{$",
        "$$a = b",
        r"\[ a",
        r"\begin{aligned} a",
        r"\begin{tikzpicture}\draw (0,0);\end{tikzpicture}",
        r"$\text{so $x$}$",
        r"$x^$",
        r"$\underbrace{a}_{b}$",
        r"$\def\x{\x\x}\x$",
        r"$\input{/etc/passwd}$",
        "$" + "{" * 200 + "}" * 200 + "$",
        "$" + "a" * LONGEST + "$",
        "no formula",
        "$$",
    ],
)
def test_anything_else_is_left_as_written(formula: str):
    assert readable(formula) is None


PIECES = st.sampled_from(
    (
        *("ab1+-=^_{}[]()&\\ \n'~%\x1f"),
        *(r"\frac", r"\sqrt", r"\left", r"\right", r"\hat", r"\begin{cases}", r"\end{cases}"),
        *(r"\\", r"\text", r"\alpha", r"\not", r"\mathbb", r"\tag", r"\sum"),
    )
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25))
def test_no_formula_raises_or_keeps_a_command(pieces: list[str]):
    text = readable(f"${''.join(pieces)}$")
    if text is not None:
        assert "\\" not in text
        assert "\x1f" not in text


# --- Formulas in the Markdown of messages -------------------------------------------------


@each_row(
    ("source", "lines"),
    [
        (r"so $a_1 * b_1 * c$ costs $5", ["so a₁ ∗ b₁ ∗ c costs $5"]),
        (r"\(x\_1\) and \[y*z*\]", ["x_1 and y∗z∗"]),
        (r"so $\foo{a_1} * b$ and *c*", [r"so $\foo{a_1} * b$ and c"]),
        ("$$\na\n= b\n- c\n$$\nso", ["a = b − c", "", "so"]),
        ("$$\na\n= b", ["$$", "a", "= b"]),
    ],
)
def test_formulas_are_drawn_as_text_or_as_written(source: str, lines: list[str]) -> None:
    assert drawn(source) == lines


def test_prose_with_dollar_signs_is_drawn_as_it_was_written():
    wrong = [
        (text, drawn(text))
        for text in (
            "Set $HOME/$USER first.",
            "between $5 and 10$ a month",
            "use $A+$B",
            "US$5/US$",
            "costs $5 and $6, or 7$",
            "export PATH=$HOME/bin:$PATH",
            "echo ${HOME}/${USER}",
            "$LINES=$(wc -l)",
            "set $MY_HOME or pay 5$ now",
            "$('[a=b]').html($(this))",
            "$.ajax({url}).done($.x)",
            "$a = $b; $c=$d;",
            "A$AP and Ke$ha",
            "from $10 to $20 (or 5$-6$)",
        )
        if drawn(text) != [text]
    ]
    assert not wrong, wrong


WORDS = st.lists(st.text("$ aA1.,;:/+-()%é", max_size=6), max_size=8).map(" ".join)


@given(WORDS)
def test_no_dollar_of_prose_without_signs_of_tex_is_lost(text: str):
    prose = re.sub(r"\$\$|(?<![^\W_])\$[^\W\d_]\$", "", text)
    layout = " ".join(drawn(f"so {prose}"))
    assert layout.count("$") == f"so {prose}".count("$")


def test_formulas_between_single_dollars_are_drawn_as_text():
    source = r"$x$, ($x^2$), $a=b$, $E = mc^2$, $\alpha$, -$y_1$-, **$n$** and $\max x_i$"
    assert " ".join(drawn(source)) == "x, (x²), a = b, E = mc², α, -y₁-, n and max xᵢ"


def test_formulas_have_a_style_of_their_own() -> None:
    [section] = SectionSplitter(r"so **\(x_1\)** and $y$").all()
    [line] = section_rows(section, 60)
    styles = {run.text: run.styles for run in runs_of(line.content) if run.styles}
    assert styles == {"x₁": ("strong", "added"), "y": ("added",)}
