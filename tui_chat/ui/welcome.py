"""The words of an empty chat, and the keys of each place."""

from __future__ import annotations

KEYS_BY_PLACE: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Where you type",
        (
            ("Enter", "Send"),
            ("Ctrl+J, Shift+Enter", "New line"),
            ("Esc", "Stop the reply"),
        ),
    ),
    (
        "In the conversation",
        (
            ("↑ ↓ PgUp PgDn", "Scroll"),
            ("Home End", "First and last message"),
            ("Ctrl+↑ Ctrl+↓", "Previous and next message"),
            ("r", "Try a failed reply again"),
            ("y", "Copy the message"),
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


def welcome() -> str:
    """Return the Markdown that an empty chat shows."""
    return (
        "# tui-chat\n\n"
        "Type below. The request that your words become is on the right, byte for byte, before "
        "it is sent, with a colour for where each part came from.\n\n"
        "You are talking to **mirror**, a model that lives in this program: it needs no key and "
        "no network, and answers with what it received.\n\n"
        "- **Enter** sends, **Ctrl+J** begins a new line, **Esc** stops a reply\n"
        "- **Ctrl+O** asks another model, **Ctrl+N** begins another session\n"
        "- **F4** goes to the request, **F2** to the sessions, **F1** shows all keys\n"
    )
