"""Numbers, addresses and texts, shortened to fit a narrow pane."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from rich.cells import cell_len, set_cell_size

from tui_chat.models.sanitize import sanitize


def short_number(number: int) -> str:
    """`950`, `1.2k`, `128k`, `1.5M`."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if abs(number) >= unit:
            figure = number / unit
            digits = f"{figure:.1f}".removesuffix(".0") if abs(figure) < 100 else f"{figure:.0f}"
            return digits + name
    return str(number)


def size_in_words(size: int) -> str:
    """`812 bytes`, `41,205 bytes`, `1.2 MB`."""
    if size < 100_000:
        return "1 byte" if size == 1 else f"{size:,} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def counted(number: int, word: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def cut(text: str, width: int) -> str:
    """Shorten a text at its end to a width in cells."""
    text = sanitize(text, "exact")
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def cut_front(text: str, width: int) -> str:
    """Shorten a text at its front to a width in cells."""
    text = sanitize(text, "exact")
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[max(1, (cell_len(text) - width) // 2) :]
    return "…" + text if width > 0 else ""


def short_url(url: str, width: int) -> str:
    """Shorten a URL: first drop the scheme, then the query, then the front of the host."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    for form in (f"{parts.netloc}{path}", f"{parts.netloc}{parts.path}"):
        if cell_len(sanitize(form, "exact")) <= width:
            return sanitize(form, "exact")
    return cut_front(f"{parts.netloc}{parts.path}", width)


def fitting(parts: Sequence[str], width: int, between: str = " · ") -> str:
    """Join parts up to the first that does not fit."""
    line = parts[0] if parts else ""
    for part in parts[1:]:
        if cell_len(line + between + part) > width:
            break
        line += between + part
    return cut(line, width)


def shares(amounts: Sequence[int], width: int) -> list[int]:
    """Divide a width by amounts; amounts above 0 get at least a cell, and the sum is the width."""
    total = sum(amounts)
    if total <= 0 or width <= 0:
        return [0] * len(amounts)
    cells = [max(1, round(amount * width / total)) if amount > 0 else 0 for amount in amounts]
    while (over := sum(cells) - width) != 0:
        widest = max(range(len(cells)), key=cells.__getitem__)
        if cells[widest] <= 1 and over > 0:
            break
        cells[widest] -= max(-abs(over), min(over, cells[widest] - 1))
    return cells
