r"""Formulas as text. One that is not known as a whole is left as it was written."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.plugins.formulas.formula_text import LONGEST, readable


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
