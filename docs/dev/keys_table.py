"""Writes the tables in `keys.md` from the actions and commands: `python docs/dev/keys_table.py`.

`.ci/run` runs it and fails if that changes the file.
"""

from __future__ import annotations

from pathlib import Path

from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.key_names import key_names
from tui_chat.ui.slash_commands import COMMANDS

FILE = Path(__file__).parents[1] / "keys.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"


def tables() -> str:
    """Return the tables in Markdown."""
    actions = [(key_names(each.keys) or "–", f"`{each.id}`", each.title) for each in ACTIONS]
    commands = [
        (f"`/{each.name} {each.argument}`".replace(" `", "`"),
         ", ".join(f"`/{alias}`" for alias in each.aliases) or "–", each.title)
        for each in COMMANDS
    ]  # fmt: skip
    return (
        "## Keys\n\n"
        + _table(("key", "id in `[keys]`", "what it does"), actions)
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
