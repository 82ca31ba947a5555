"""Writes the tables in `keys.md` from the table of verbs: `python docs/dev/keys_table.py`.

`.ci/run` runs it and fails if that changes the file.
"""

from __future__ import annotations

from pathlib import Path

from tui_chat.ui.keys import key_names
from tui_chat.ui.verbs import VERBS

FILE = Path(__file__).parents[1] / "keys.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"


def tables() -> str:
    """Return the tables in Markdown."""
    keys = [
        (key_names(verb.keys) or "–", f"`{verb.id}`", verb.place or "everywhere", verb.title)
        for verb in VERBS
    ]
    commands = [
        (f"`/{verb.names[0]} {verb.argument}`".replace(" `", "`"),
         ", ".join(f"`/{name}`" for name in verb.names[1:]) or "–", verb.title)
        for verb in VERBS if verb.slash
    ]  # fmt: skip
    return (
        "## Keys\n\n"
        + _table(("key", "id in `[keys]`", "where", "what it does"), keys)
        + "\n## Commands\n\nTyped at the start of a message; `//` begins a message with `/`.\n\n"
        + _table(("command", "also", "what it does"), commands)
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    escaped = [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]
    lines = [head, ("---",) * len(head), *escaped]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def updated(text: str) -> str:
    """Return the text of the file with the tables of the present code."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables()}{END}{after}"


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
