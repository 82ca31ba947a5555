"""SillyTavern: its files, and its way of building a request.

context         the requests of its presets
policies        how a preset builds its requests
policy_form     the form of these
scripts         regex scripts
presets         reads chat completion presets
preset_settings their samplers and other keys
preset_export   writes them
card_files      character cards in JSON, pictures and archives
cards           the roles that they describe
world_info      lorebooks
lore            lorebooks: search, edits, view
chats           reads chats
chat_export     writes them
user_folder     the folder of a user, imported as a whole
user_settings   its settings
cases           a request described in one file
side_replies    impersonate and quiet prompt in the app
quiet_reply     the dialog with the answer to a quiet prompt
command         the command
"""

from tui_chat.api import (
    Action,
    Command,
    Format,
    Part,
    Plugin,
    RequestKind,
    View,
)

_HERE = "tui_chat.plugins.sillytavern"

_KINDS = (
    RequestKind(
        "impersonate",
        "Impersonate",
        "your next message, written by the model",
        writes_for_user=True,
        builder="sillytavern",
    ),
    RequestKind(
        "quiet",
        "Quiet prompt",
        "the draft as an instruction; its answer is not stored",
        takes_prompt=True,
        builder="sillytavern",
    ),
)

PLUGIN = Plugin(
    name="sillytavern",
    summary="Builds SillyTavern's requests; imports and exports its files.",
    actions=(
        Action(
            "impersonate",
            f"{_HERE}.side_replies:impersonate",
            "Impersonate",
            "Impersonate: the model writes your next message as a draft",
            aliases=("write for me", "my turn", "suggest message", "autocomplete"),
            other_names=("write-for-me",),
            kind="impersonate",
            writes=True,
        ),
        Action(
            "quiet",
            f"{_HERE}.side_replies:quiet",
            "Quiet prompt",
            "Quiet prompt: the answer is shown, not stored…",
            aliases=("one-off", "side question", "instruction", "aside", "not stored"),
            argument="TEXT",
            other_names=("one-off",),
            kind="quiet",
            writes=True,
        ),
        Action(
            "lorebooks",
            f"{_HERE}.lore.actions:choose",
            "Lorebooks",
            "Choose lorebooks",
            aliases=("world info", "lorebook", "worlds", "wi", "new lorebook", "lore entry"),
            argument="NAME",
            other_names=("lorebook",),
            writes=True,
        ),
    ),
    views=(View("lore", "Lore", "Lore", f"{_HERE}.lore.view:LoreView", needs="lorebooks"),),
    commands=(
        Command(
            "sillytavern",
            f"{_HERE}.command:sillytavern",
            "Build requests as SillyTavern does.",
            group="Data",
        ),
    ),
    formats=(
        Format("SillyTavern's chats", f"{_HERE}.chats:FORMATS", "SillyTavern"),
        Format(
            "sillytavern",
            f"{_HERE}.chat_export:chat_lines",
            ending=".jsonl",
            summary="A chat of SillyTavern: the active branch with its versions as swipes",
            unwritten=f"{_HERE}.chat_export:unwritten",
        ),
    ),
    parts=(
        Part("library kind", f"{_HERE}.lore.command:LOREBOOKS", "lorebooks"),
        Part(
            "builder",
            f"{_HERE}.context.builder:build_context",
            "sillytavern",
            about={
                "rules": f"{_HERE}.context.rules:rules_of",
                "policies": f"{_HERE}.policy_form:POLICIES",
                "preset_keys": ("sillytavern",),
                "adds_texts": True,
                "prepare": f"{_HERE}.lore.timers:with_lore_timers",
                "kinds": _KINDS,
            },
        ),
        Part("macro", f"{_HERE}.context.macros:MACROS"),
        Part("origin", f"{_HERE}.lore.actions:reveal"),
        Part("request form", f"{_HERE}.lore.outcomes:lore_json", "lore"),
        Part("preset reader", f"{_HERE}.preset_export:PRESET_FILES"),
        Part("card reader", f"{_HERE}.cards:CARD_FILES"),
        Part("lorebook reader", f"{_HERE}.world_info:LORE_FORM"),
        Part("folder reader", f"{_HERE}.user_folder:USER_FOLDER"),
    ),
)
