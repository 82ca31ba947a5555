"""Writes the tables in `keys.md` from the table of verbs: `python docs/dev/keys_table.py`.

`.ci/run` runs it and fails if that changes the file.
"""

from __future__ import annotations

from pathlib import Path

from tui_chat.ui.keys import key_names
from tui_chat.ui.verbs import VERBS, Verb

FILE = Path(__file__).parents[1] / "keys.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"
HEADINGS = {
    "": "Everywhere",
    "conversation": "Conversation",
    "sessions": "Sessions",
    "preset": "Preset editor",
    "inspector": "Inspector",
    "body": "Payload of the inspector",
}
"""The heading of each table, by the place of its verbs."""


def row(verb: Verb) -> str:
    """Return the row of a verb: its keys, its command with its id if that is another, its title."""
    named = f"`{verb.id}`"
    if verb.slash:
        command = f"`/{' '.join((verb.names[0], verb.argument)).strip()}`"
        named = command if verb.names[0] == verb.id else f"{command} ({named})"
    return f"| {key_names(verb.keys)} | {named} | {verb.title} |\n"


def tables() -> str:
    """Return the tables in Markdown."""
    return "\n".join(
        f"### {heading}\n\n| key | command (id) | what it does |\n| --- | --- | --- |\n"
        + "".join(row(verb) for verb in VERBS if verb.place == place)
        for place, heading in HEADINGS.items()
    )


def updated(text: str) -> str:
    """Return the text of the file with the tables of the present code."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables()}{END}{after}"


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
