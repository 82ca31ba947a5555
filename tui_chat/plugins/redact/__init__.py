"""Safe to share: exports a session after a review of keys, addresses, names and paths in it.

command         `tui-chat redact`
dialog          the action of the app, and the review on the screen
review          reads a session: what was found, and the session with placeholders in its place
text_walk       goes through all texts of a session (encodings: and what is encoded in them)
scanner         searches one text for patterns and words of `redact.txt` (patterns: what keys,
                addresses and home folders look like)

docs/formats.md says what is found, and what cannot be.
"""

from tui_chat.api import Action, Command, Plugin

PLUGIN = Plugin(
    name="redact",
    summary="Exports sessions without keys, addresses, names and user names.",
    commands=(
        Command(
            "redact",
            "tui_chat.plugins.redact.command:redact_command",
            "Export a session without keys, addresses and names, for sharing.",
            group="Data",
        ),
    ),
    actions=(
        Action(
            "redact",
            "tui_chat.plugins.redact.dialog:export_redacted",
            "Redact",
            "Export redacted…",
            aliases=(
                "anonymize",
                "share safely",
                "scrub",
                "secrets",
                "sanitize",
                "privacy",
                "personal data",
            ),
        ),
    ),
)
