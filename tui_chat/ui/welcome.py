"""The words of an empty chat, and the keys of each place."""

from __future__ import annotations

KEYS_BY_PLACE: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Where you type",
        (
            ("Enter", "Send"),
            ("Ctrl+J", "New line (Shift+Enter where the terminal tells it apart)"),
            ("Esc", "Stop the reply"),
        ),
    ),
    (
        "In the conversation",
        (
            ("↑ ↓ PgUp PgDn", "Scroll"),
            ("Home End g G", "First message and end"),
            ("k j", "Previous and next message"),
            ("K J", "Previous and next question"),
            ("/ n N", "Find; next and previous hit"),
            ("Space", "Fold reasoning, calls, results"),
            ("y c Y", "Copy message, code, conversation"),
            ("o", "Open a link"),
            ("← →", "Older and newer version"),
            ("r C", "Ask again; let the reply go on"),
            ("e f d p", "Edit, fork, delete, pin"),
            ("i", "The request that produced a reply"),
            ("a x", "Answer or run a tool call"),
        ),
    ),
    (
        "In the sessions",
        (
            ("Enter", "Open"),
            ("n", "New"),
            ("e", "Rename"),
            ("d", "Delete"),
            ("/", "Narrow the list"),
        ),
    ),
    (
        "In the request",
        (
            ("1 2 3 4", "Another protocol"),
            ("↑ ↓", "Where each line comes from"),
            ("n", "Go to the notes"),
            ("y", "Copy the exact body"),
        ),
    ),
)
"""Title, then key and what it does."""


def welcome(model: str, is_offline: bool) -> str:
    """Return the Markdown that an empty chat shows."""
    partner = (
        f"You are talking to **{model}**, which lives in this program: it needs no key and no "
        "network."
        if is_offline
        else f"You are talking to **{model}**."
    )
    return (
        "# tui-chat\n\n"
        "Type below. The request that your words become is shown beside this, or with **F4**: "
        "byte for byte, before it is sent, with a colour for where each part came from.\n\n"
        f"{partner}\n\n"
        "- **Enter** sends, **Ctrl+J** begins a new line, **Esc** stops a reply\n"
        "- **Ctrl+O** asks another model, **Ctrl+N** begins another session\n"
        "- **F4** goes to the request, **F2** to the sessions, **F1** shows all keys\n"
    )
