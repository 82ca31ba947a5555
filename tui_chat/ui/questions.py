"""The questions that can be asked anywhere: a choice, a line, a path, yes or no.

Each function opens a dialog and returns its answer, None if it was cancelled. Dialogs are imported
when they are needed, since the first frame does without them.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop, to_thread
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path

EDITS = "Enter edit · Esc cancel"
"""The hint of a list to edit from."""


async def ask(
    app: App[Any],
    title: str,
    choices: Iterable[tuple[str, ...]],
    current: str = "",
    preview: Callable[[str], None] | None = None,
    *,
    has_filter: bool = True,
    hint: str = "",
    typed: str = "",
) -> str | None:
    """Ask for a choice (id, label, perhaps detail); return its id. See `ChoiceDialog`."""
    from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

    offered = [Choice(id, label, "".join(detail)) for id, label, *detail in choices]
    dialog = ChoiceDialog(
        title, offered, current, preview, has_filter=has_filter, hint=hint, typed=typed
    )
    return await app.push_screen_wait(dialog)


class KeyedChoice(NamedTuple):
    """A choice, and the key that chose it: `enter`, or one of those that were offered."""

    id: str
    key: str


async def ask_with_keys(
    app: App[Any],
    title: str,
    choices: Iterable[tuple[str, str, str]],
    current: str,
    keys: Mapping[str, str],
    *,
    marks_current: bool = True,
) -> KeyedChoice | None:
    """Ask for a choice (id, label, detail) and what to do with it: `keys` are `enter` and some of
    `MORE_KEYS`, each with what it does.
    """
    from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog
    from tui_chat.ui.keys import key_name

    hint = " · ".join(f"{key_name(key)} {what}" for key, what in keys.items())
    dialog = ChoiceDialog(
        title,
        [Choice(*choice) for choice in choices],
        current,
        hint=f"{hint} · Esc close",
        keys=keys,
        marks_current=marks_current,
    )
    chosen = await app.push_screen_wait(dialog)
    return None if chosen is None else KeyedChoice(chosen, dialog.key)


def show_question(app: App[Any], dialog: Callable[[], Screen[Any]]) -> Future[Any]:
    """Return the future result of a dialog, which is closed if the future is cancelled."""
    answer: Future[Any] = get_running_loop().create_future()

    def show() -> None:
        if answer.done():
            return
        screen = dialog()

        def close() -> None:
            if app.screen is screen:
                app.pop_screen()

        def take(result: object) -> None:
            if not answer.done():
                answer.set_result(result)

        answer.add_done_callback(lambda _: app.call_later(close))
        app.push_screen(screen, take)

    app.call_later(show)  # with the context of the app, whoever asks
    return answer


async def ask_line(
    app: App[Any], title: str, value: str = "", *, may_be_empty: bool = False, enter: str = "save"
) -> str | None:
    """Ask for a line of text; `enter` says in the hint what Enter does."""
    from tui_chat.ui.dialogs.base import TextPrompt

    dialog = TextPrompt(title, value, may_be_empty=may_be_empty, enter=enter)
    return await app.push_screen_wait(dialog)


async def ask_text(
    app: App[Any],
    title: str,
    text: str = "",
    *,
    about: str = "",
    enter: str = "Enter save",
    reads: bool = False,
) -> str | None:
    """Ask for a text; `about` is above it. `reads`: the cursor begins at its beginning."""
    from tui_chat.ui.dialogs.base import TextAreaPrompt

    dialog = TextAreaPrompt(title, text, about=about, enter=enter, reads=reads)
    answer = await app.push_screen_wait(dialog)
    return answer.text if answer is not None else None


async def ask_path(app: App[Any], title: str, name: str = "", *, enter: str = "save") -> str | None:
    """Ask for the path of a file, as it is typed."""
    from tui_chat.ui.dialogs.base import PathPrompt

    return await app.push_screen_wait(PathPrompt(title, name, enter=enter))


async def ask_new_file(
    app: App[Any], title: str, name: str, typed: str = ""
) -> tuple[Path, bool] | None:
    """Ask for a file to write, unless `typed`. Return the path, and True if it replaces one."""
    typed = typed or await ask_path(app, title, name) or ""
    if not typed:
        return None
    path = typed_path(typed)
    exists = await to_thread(path.exists)
    if exists:
        question = f"{one_line(str(path))} already exists."
        if not await confirm(app, "Replace the file?", question, yes="Replace"):
            return None
    return path, exists


async def confirm(
    app: App[Any],
    title: str,
    question: str,
    *,
    yes: str,
    no: str = "Cancel",
    asked_for: bool = False,
) -> bool:
    """Ask a yes-or-no question; `asked_for` puts the focus on yes."""
    from tui_chat.ui.dialogs.base import Confirm

    dialog = Confirm(title, question, yes=yes, no=no, asked_for=asked_for)
    return bool(await app.push_screen_wait(dialog))
