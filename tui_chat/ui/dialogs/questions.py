"""Questions about sessions, messages, settings and requests.

`ask_...` returns the user's choice, None if the dialog was cancelled; `confirm_...` returns True
for yes.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_chat.config import repeats_offline_models
from tui_chat.errors import InputError, StoreDamaged
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Note
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.policies import KIND_TITLES, RequestKind
from tui_chat.models.request import SideRequest
from tui_chat.models.role import Role
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.session import Entry
from tui_chat.ui.dialogs.base import Confirm, PathPrompt, TextAnswer, TextAreaPrompt, TextPrompt
from tui_chat.ui.dialogs.branches import branch_lines
from tui_chat.ui.dialogs.choices import (
    TYPED,
    Choice,
    ChoiceDialog,
    ModelChoiceDialog,
)
from tui_chat.ui.themes import sorted_theme_names

if TYPE_CHECKING:
    from tui_chat.workspace.compaction import CompactionPlan
    from tui_chat.workspace.state import PendingToolCall, WhatIf
    from tui_chat.workspace.workspace import Workspace


async def ask_model(
    app: App[Any], workspace: Workspace, environ: Mapping[str, str]
) -> tuple[str, str] | None:
    """Ask for an endpoint and one of its models, which can be made the default of new sessions.
    Endpoints whose key is not in `environ` come last.

    Model servers found on this machine meanwhile are added to the list.
    """
    current = f"{workspace.state.endpoint.name}\n{workspace.requests.compose('').model}"
    default = None
    with workspace.reporting():
        default = await workspace.settings.default_model()

    def set_default(chosen: str) -> None:
        endpoint, _, model = chosen.partition("\n")
        setting = workspace.settings.set_default_model(endpoint, model)
        app.run_worker(setting, group="settings", description="set the default model")

    dialog = ModelChoiceDialog(
        _models(workspace, environ),
        current,
        f"{default[0].name}\n{default[1]}" if default is not None else "",
        set_default,
    )

    async def search() -> None:
        await workspace.settings.discover_models()
        if dialog.is_attached:
            dialog.offer(_models(workspace, environ))

    searching = asyncio.create_task(search())
    chosen = await app.push_screen_wait(dialog)
    searching.cancel()
    if chosen is None:
        return None
    endpoint, _, model = chosen.partition("\n")
    return endpoint, model


def _models(workspace: Workspace, environ: Mapping[str, str]) -> list[Choice]:
    def lacks_key(endpoint: Endpoint) -> bool:
        kind, _, name = endpoint.key.partition(":")
        return kind == "env" and not environ.get(name)

    return [
        Choice(
            f"{at.name}\n{model}",
            model,
            f"{at.name}, {at.protocol.label}{' · no key' * lacks_key(at)}",
            at.name,
            is_repeated=repeats_offline_models(at),
        )
        for at in sorted(workspace.state.config.endpoints, key=lacks_key)
        for model in at.models
    ]


async def ask_preset(app: App[Any], workspace: Workspace) -> str | None:
    """Ask for a preset by its name."""
    choices = [Choice(name, name) for name in workspace.library.names("presets")]
    return await app.push_screen_wait(
        ChoiceDialog("Choose preset", choices, workspace.state.preset_name)
    )


async def ask_title(app: App[Any], title: str) -> str | None:
    """Ask for a session's new title."""
    return await app.push_screen_wait(TextPrompt("Rename session", title))


async def ask_fork_title(app: App[Any], title: str) -> str | None:
    """Ask for the title of a fork; that of the original is offered."""
    return await app.push_screen_wait(TextPrompt("Title of the fork", title, enter="forks"))


async def ask_tags(app: App[Any], tags: Sequence[str]) -> tuple[str, ...] | None:
    """Ask for the tags of sessions, separated by commas or by spaces before a `#`."""
    title = "Tags (comma-separated)"
    answer = await app.push_screen_wait(TextPrompt(title, ", ".join(tags), may_be_empty=True))
    if answer is None:
        return None
    parts = (part.strip().lstrip("#") for part in re.split(r",|\s+(?=#)", answer))
    return tuple(dict.fromkeys(filter(None, parts)))


async def ask_folder(app: App[Any], folders: Sequence[str], current: str) -> str | None:
    """Ask for the folder to move sessions to; empty for none. A new name can be typed."""
    choices = [
        *(Choice(name, name) for name in folders),
        Choice("", "No folder"),
        Choice(NEW_ITEM, "+ New folder"),
    ]
    dialog = ChoiceDialog("Move to folder", choices, current, makes="+ New folder")
    chosen = await app.push_screen_wait(dialog)
    if chosen != NEW_ITEM:
        return chosen if chosen is None or chosen in folders else chosen.removeprefix(TYPED)
    return await app.push_screen_wait(TextPrompt("New folder", ""))


async def confirm_send(app: App[Any], faults: Sequence[Note]) -> bool:
    """Ask whether to send a request that has faults; True at once without any."""
    if not faults:
        return True
    sentences = "\n\n".join(note.sentence for note in faults)
    return bool(await app.push_screen_wait(Confirm("Send anyway?", sentences, yes="Send")))


async def ask_kind(
    app: App[Any], current: RequestKind, sent: Sequence[SideRequest]
) -> RequestKind | SideRequest | None:
    """Ask which action's request to show, or which of those `sent` beside the conversation."""
    about: dict[RequestKind, str] = {
        "normal": "what Enter sends",
        "regenerate": "another version of the last reply",
        "swipe": "the same, for presets with triggers for swipes",
        "continue": "the rest of the last reply",
        "impersonate": "your next message, written by the model",
        "quiet": "the draft as an instruction; its answer is not stored",
        "summary": "a summary of the older messages",
        "title": "a title for this session, from title_model",
    }
    choices = [Choice(kind, title, about[kind]) for kind, title in KIND_TITLES.items()]
    past = {f"sent {index}": each for index, each in enumerate(sent)}
    for id, each in past.items():
        at = datetime.fromtimestamp(each.created).astimezone()
        ended = "" if each.status == "complete" else f" · {each.status}"
        about_it = f"{at:%Y-%m-%d %H:%M} · {each.endpoint}/{each.model}{ended}"
        choices.append(Choice(id, f"{each.kind.title()}, sent", about_it))
    chosen = await app.push_screen_wait(ChoiceDialog("Show the request of", choices, current))
    if chosen in past:
        return past[chosen]
    return next((kind for kind in KIND_TITLES if kind == chosen), None)


async def confirm_leave(app: App[Any], workspace: Workspace) -> bool:
    """Ask whether to keep a temporary session that is about to end, and keep it; return False to
    stay in it. True at once for another session, or one without messages.
    """
    state = workspace.state
    if not (state.is_temporary and state.entries):
        return True
    count = len(state.entries)
    messages = f"{count:,} message{'s' * (count != 1)}"
    choices = [
        Choice("stay", "Stay in it"),
        Choice("keep", "Keep it", "it is stored like any other session"),
        Choice("drop", "Discard it", f"{messages}, which cannot be restored"),
    ]
    chosen = await app.push_screen_wait(ChoiceDialog("Leave temporary session?", choices, "stay"))
    return chosen == "drop" or (chosen == "keep" and await workspace.temporary.keep())


async def confirm_quit(app: App[Any], workspace: Workspace) -> bool:
    """Ask about streaming replies, edited presets and what could not be saved, and stop the
    replies; return False to stay.
    """
    from tui_chat.ui.dialogs.file_questions import ask_unsaved_presets

    if not await confirm_leave(app, workspace):
        return False
    state = workspace.state
    if (count := len(state.streaming_sessions)) and not await _confirm_stop(app, count):
        return False
    if state.unsaved_presets:
        match await ask_unsaved_presets(app, state.unsaved_presets):
            case "save" if workspace.presets.save_all():
                pass
            case "leave":
                pass
            case _:
                return False
    await workspace.replies.stop_all()
    if await workspace.store.database.write_deferred():
        return True
    question = (
        f"{workspace.unsaved_writes.reason}\n\n"
        "The end of a reply or a draft exists only in memory and would be lost."
    )
    dialog = Confirm("Quit without saving?", question, yes="Quit", no="Stay")
    return bool(await app.push_screen_wait(dialog))


async def _confirm_stop(app: App[Any], replies: int) -> bool:
    what = "A reply is" if replies == 1 else f"{replies} replies are"
    question = f"{what} still streaming. The text received so far is kept; the rest is lost."
    dialog = Confirm("Quit now?", question, yes="Quit", no="Stay")
    return bool(await app.push_screen_wait(dialog))


async def confirm_open_link(app: App[Any], url: str) -> bool:
    """Ask whether to open a link, showing its URL, since models write links too."""
    return bool(await app.push_screen_wait(Confirm("Open this link?", url, yes="Open")))


async def confirm_rescue(app: App[Any], fault: StoreDamaged) -> bool:
    """Ask whether to continue with what can be read of a damaged database."""
    question = (
        f"{fault}\n\nEverything readable can be saved to a new file that tui-chat then uses; the "
        "damaged file is kept beside it. A backup may have more."
    )
    dialog = Confirm("The database is damaged", question, yes="Save what is readable", no="Not now")
    return bool(await app.push_screen_wait(dialog))


async def confirm_retry_open(app: App[Any], fault: str) -> bool:
    """Ask whether to try again to open the conversations."""
    title = "The conversations cannot be opened"
    dialog = Confirm(title, fault, yes="Try again", no="Quit")
    return bool(await app.push_screen_wait(dialog))


NEW_ITEM = "+"
"""Id of the choice that creates a new item."""


async def ask_role(app: App[Any], workspace: Workspace, title: str) -> str | None:
    """Ask for an enabled role, the one used last first; empty for none."""
    enabled = [role for role in workspace.state.roles if role.status == "enabled"]
    choices = [Choice(role.role_id, role.name, _about_role(role)) for role in enabled]
    choices.append(Choice("", "No role", "No system prompt but the preset's"))
    first = enabled[0].role_id if enabled else ""
    return await app.push_screen_wait(ChoiceDialog(title, choices, first))


async def ask_role_to_edit(app: App[Any], workspace: Workspace) -> Role | None:
    """Ask which role to edit; a new one has neither id nor name."""
    choices = [
        Choice(NEW_ITEM, "+ New role"),
        *(Choice(role.role_id, role.name, _about_role(role)) for role in workspace.state.roles),
    ]
    current = workspace.state.role.role_id if workspace.state.role else NEW_ITEM
    chosen = await app.push_screen_wait(ChoiceDialog("Edit roles", choices, current))
    if chosen is None:
        return None
    return next((role for role in workspace.state.roles if role.role_id == chosen), Role("", ""))


async def confirm_delete_message(app: App[Any], entries: Sequence[Entry], entry_id: str) -> bool:
    """Ask whether to delete a message with those that follow it on the branch."""
    ids = [entry.message.id for entry in entries]
    after = len(ids) - ids.index(entry_id) - 1 if entry_id in ids else 0
    what = "this message" + (f" and what follows it ({after:,} more)" if after else "")
    question = f"Delete {what}? “Undo” (u in the conversation) brings it back."
    return bool(await app.push_screen_wait(Confirm("Delete?", question, yes="Delete")))


async def confirm_delete_role(app: App[Any], workspace: Workspace, role: Role) -> bool:
    """Ask whether to delete a role, with the effect on its sessions."""
    count = sum(each.role_name == role.name for each in workspace.state.sessions)
    one, many = "The session bound to it stays", f"The {count:,} sessions bound to it stay"
    stays = f"{one if count == 1 else many}, without its system prompt. " if count else ""
    question = f"{stays}This cannot be undone. A disabled role is not offered either."
    title = f"Delete the role “{one_line(role.name, 40)}”?"
    return bool(await app.push_screen_wait(Confirm(title, question, yes="Delete")))


def _beginning(text: str) -> str:
    line = one_line(text, 81)
    return line if len(line) <= 80 else f"{line[:79].rstrip()}…"


def _about_role(role: Role) -> str:
    """Return a role's model, preset and prompt in one line."""
    facts = [role.model, role.preset, _beginning(role.system_prompt)]
    if role.status == "disabled":
        facts.insert(0, "disabled")
    return " · ".join(fact for fact in facts if fact)


async def ask_theme(app: App[Any]) -> str | None:
    """Ask for a theme; the highlighted one is previewed."""
    names = sorted_theme_names(app.available_themes)
    choices = [
        Choice(name, name, "dark" if app.available_themes[name].dark else "light") for name in names
    ]

    def show(name: str) -> None:
        app.theme = name

    return await app.push_screen_wait(ChoiceDialog("Theme", choices, app.theme, show))


async def ask_text(app: App[Any], title: str, value: str) -> str | None:
    """Ask for a line of text."""
    return await app.push_screen_wait(TextPrompt(title, value))


async def ask_save_path(app: App[Any], title: str, name: str) -> str | None:
    """Ask for the path of a file to save."""
    return await app.push_screen_wait(PathPrompt(title, name, enter="saves"))


async def ask_diff_base(app: App[Any], workspace: Workspace, current: str) -> str | None:
    """Ask for the diff base: `last`, `protocol P`, `preset NAME`, `branch ID` or `request ID`."""
    choices = [Choice("last", "Last request sent to this endpoint", workspace.state.endpoint.name)]
    if edits := workspace.state.preset_edits:
        words = "this request without the unsaved edits" if edits.is_changed else "no unsaved edits"
        name = workspace.state.preset_name
        choices.append(Choice(f"preset {name}", f"{name}, as saved", words))
    choices += [
        Choice(f"protocol {other}", other.label, "this request in another protocol")
        for other in Protocol
        if other is not workspace.state.endpoint.protocol
    ]
    choices += [
        Choice(f"preset {name}", name, "this request with another preset")
        for name in workspace.library.names("presets")
        if name != workspace.state.preset_name
    ]
    head = workspace.state.entries[-1].message.id if workspace.state.entries else ""
    for branch in branch_lines(await workspace.branches.tree()):
        if branch.leaf.message_id != head:
            words = " ".join(sanitize(branch.first.words).split())[:40] or "no text"
            what = f"this request on another branch, from message {branch.number:,}"
            choices.append(Choice(f"branch {branch.leaf.message_id}", words, what))
    for sent in reversed(await workspace.request_history.of_session()):
        at = datetime.fromtimestamp(sent.request.created).astimezone().strftime("%d %b %H:%M:%S")
        what = f"{sent.request.endpoint}, {sent.request.protocol.label}"
        choices.append(Choice(f"request {sent.message_id}", f"Sent {at}", what))
    return await app.push_screen_wait(ChoiceDialog("Compare with", choices, current))


async def ask_captured(app: App[Any]) -> str | None:
    """Ask for the text of a captured request."""
    from tui_chat.ui.dialogs.forms import CapturedRequestForm

    return await app.push_screen_wait(CapturedRequestForm())


async def ask_what_if(app: App[Any], workspace: Workspace, now: WhatIf | None) -> WhatIf | None:
    """Ask what to change in a what-if request; an empty answer ends it."""
    from tui_chat.ui.dialogs.forms import WhatIfForm

    return await app.push_screen_wait(WhatIfForm(workspace, now))


MOST_ARGUMENTS = 2000
"""Characters of a tool call's arguments that are shown."""


async def ask_edit(app: App[Any], message: Message) -> TextAnswer | None:
    """Ask for a new version of a message; a user message can be sent at once."""
    dialog = TextAreaPrompt("Edit message", message.content, sends=message.role == "user")
    return await app.push_screen_wait(dialog)


async def ask_snippet(app: App[Any], workspace: Workspace) -> str | None:
    """Ask for a snippet by its name. Raises InputError if there is none."""
    library, config = workspace.library, workspace.state.config

    def about(name: str) -> str:
        try:
            return library.snippet(name).description
        except InputError as error:
            return str(error).removeprefix(str(library.files("snippets").get(name))).lstrip(": ")

    def read() -> list[Choice]:
        return [Choice(name, name, about(name)) for name in library.names("snippets")]

    choices = await asyncio.to_thread(read)
    if not choices:
        advice = f"Put text into {config.config_dir / 'snippets'}/NAME.md, or save a draft as one."
        raise InputError("There are no snippets yet.", advice=advice)
    return await app.push_screen_wait(ChoiceDialog("Insert snippet", choices, choices[0].id))


async def confirm_replace_snippet(app: App[Any], name: str) -> bool:
    """Ask whether to replace a snippet."""
    question = f"There is a snippet “{one_line(name, 60)}” already."
    return bool(await app.push_screen_wait(Confirm("Replace it?", question, yes="Replace")))


async def confirm_compaction(app: App[Any], plan: CompactionPlan) -> bool:
    """Ask whether to have older messages summed up, with what that sends and costs."""
    composed, budget = plan.composed, plan.composed.envelope.budget
    size = f"{budget.total:,} tokens" if budget is not None else "them"
    cost = f", ${plan.cost:.4f} without the reply" if plan.cost is not None else ""
    part = (
        "" if plan.is_whole else " Older messages do not fit into one request: repeat it for them."
    )
    question = (
        f"{composed.model} at {composed.endpoint.name} sums up the first {plan.messages:,} "
        f"messages ({plan.tokens:,} tokens in each request).{part} It gets {size}{cost}, with the "
        "preset “compact”.\n\nYou read and edit the summary before it counts. The messages stay "
        "in the session; Space on the summary sends them again."
    )
    dialog = Confirm("Compact history", question, yes="Sum up", asked_for=True)
    return bool(await app.push_screen_wait(dialog))


async def ask_summary(app: App[Any], plan: CompactionPlan, text: str) -> str | None:
    """Ask for the text of a summary that a model wrote."""
    about = f"It is sent instead of {plan.messages:,} messages ({plan.tokens:,} tokens)."
    title = f"Summary of {plan.messages:,} messages"
    written = await app.push_screen_wait(TextAreaPrompt(title, text, about=about))
    return written.text if written is not None else None


async def ask_tool_result(app: App[Any], call: ToolCall, text: str) -> str | None:
    """Ask for a tool call's result, showing the call; `text` is the initial value."""
    about = f"{one_line(call.name)}\n{_arguments(call)}"
    written = await app.push_screen_wait(TextAreaPrompt("Tool result", text, about=about))
    return written.text if written is not None else None


async def ask_arguments(app: App[Any], call: PendingToolCall, text: str, fault: str) -> str | None:
    """Ask for other arguments of a tool call, whose command then runs; `fault` says why those of
    `text` cannot be used.
    """
    command = one_line(shlex.join(call.tool.command)) if call.tool is not None else ""
    about = f"{one_line(call.call.name)} will run: {command}\nwith this input:"
    about = f"{fault}\n\n{about}" if fault else about
    dialog = TextAreaPrompt("Edit arguments", text, about=about, enter="Enter runs it")
    written = await app.push_screen_wait(dialog)
    return written.text if written is not None else None


def _arguments(call: ToolCall) -> str:
    text = sanitize(call.arguments)
    return (
        text
        if len(text) <= MOST_ARGUMENTS
        else f"{text[:MOST_ARGUMENTS]} … ({len(text):,} characters)"
    )
