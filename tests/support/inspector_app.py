"""Requests of the protocols, built by hand, and an app that has nothing but an inspector."""

from __future__ import annotations

from textual.app import App, ComposeResult

from tests.support.recorded_actions import RecordedActions
from tui_chat.compose import Composed
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    Budget,
    ChatEnvelope,
    Dropped,
    Level,
    Note,
    Parameters,
    Placement,
    RequestSettings,
    Turn,
    text_turn,
)
from tui_chat.models.payload import Arr, Lit, Obj, Str, Tree, render, tree_of
from tui_chat.models.text import GLUE, Origin, OriginKind, Text
from tui_chat.paths import bundled
from tui_chat.protocols.base import Encoded
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.themes import color_defaults, load_themes

ROLE = Origin(OriginKind.SYSTEM, "translator", "Translator")
STYLE = Origin(OriginKind.PRESET, "p1", "Style")
PROFILE = Origin(OriginKind.PROFILE, "me", "Ada")
DATE = Origin(OriginKind.MACRO, "date", "date", within=STYLE)
MODEL = Origin(OriginKind.SETTING, "model", "model")
TEMPERATURE = Origin(OriginKind.SETTING, "temperature", "temperature")
DRAFT = Origin(OriginKind.DRAFT)

SYSTEM_TEXT = Text.of(
    "You translate between English and Japanese. Keep names as they are.\nAnswer briefly.", ROLE
)
STYLE_TEXT = (
    Text.of("Today is ", STYLE)
    + Text.of("Saturday, 21 November 2026", DATE)
    + Text.of("; write plainly.", STYLE, 17)
)
HISTORY = (
    ("user", "What does “木漏れ日” mean? Is there one English word for it?"),
    ("assistant", 'The light that falls through leaves:\n\n1. *dappled light*\n2. say "komorebi"'),
    (
        "user",
        "Hidden: a\u202egnirts\u202c b\u200b c \x1b[31mred, tag \U000e0041 [bold]not markup[/]",
    ),
)
DRAFT_TEXT = "And what would a gardener in Kanazawa say in winter, under the pines?"

URLS = {
    Protocol.OPENAI_CHAT: ("https://api.openai.com/v1", "/chat/completions"),
    Protocol.OPENAI_RESPONSES: ("https://api.openai.com/v1", "/responses"),
    Protocol.ANTHROPIC: ("https://api.anthropic.com", "/v1/messages"),
    Protocol.GEMINI: (
        "https://generativelanguage.googleapis.com",
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    ),
    Protocol.OLLAMA: ("http://127.0.0.1:11434", "/api/chat"),
}
NOTES = {
    Protocol.ANTHROPIC: (
        Note(
            Level.WARNING,
            "sampling",
            "temperature 0.7 is left out: this model accepts no sampling settings.",
            TEMPERATURE,
        ),
        Note(Level.INFO, "hoisted", "Two system turns went to `system`.", STYLE, "/system/1/text"),
    ),
    Protocol.GEMINI: (Note(Level.INFO, "renamed", "assistant is called model.", None, "/nowhere"),),
}


def history(index: int, text: str) -> Text:
    """The text of a stored message."""
    return Text.of(text, Origin(OriginKind.HISTORY, f"m{index}", f"#{index + 1}"))


def said(role: str, text: Text, origin: Origin) -> Obj:
    """A message as OpenAI Chat and Anthropic say it."""
    return Obj((("role", _glue(role)), ("content", Str(text))), origin)


def chat_tree(messages: tuple[Tree, ...], temperature: float = 0.7) -> Obj:
    """An OpenAI Chat body."""
    return Obj(
        (
            ("model", Str(Text.of("gpt-5.1", MODEL))),
            ("messages", Arr(messages)),
            ("temperature", Lit(temperature, TEMPERATURE)),
            ("stream", Lit(True)),
        )
    )


def tree_for(protocol: Protocol, draft: str = DRAFT_TEXT) -> Obj:
    """The same conversation in one of the protocols."""
    turns = [(t.role, t.text, t.origin) for t in turns_with(draft)]
    match protocol:
        case Protocol.OPENAI_CHAT | Protocol.OLLAMA:
            return chat_tree(tuple(said(*turn) for turn in turns))
        case Protocol.ANTHROPIC:
            system = tuple(
                Obj((("type", _glue("text")), ("text", Str(text))), origin)
                for _, text, origin in turns[:2]
            )
            return Obj(
                (
                    ("model", Str(Text.of("claude-sonnet-5", MODEL))),
                    ("max_tokens", Lit(2048, GLUE)),
                    ("system", Arr(system)),
                    ("messages", Arr(tuple(said(*turn) for turn in turns[2:]))),
                )
            )
        case Protocol.GEMINI:
            contents = tuple(
                Obj((("role", _glue(role)), ("parts", Arr((Obj((("text", Str(text)),)),)))), origin)
                for role, text, origin in turns[2:]
            )
            system_text = Text.join("\n\n", [text for _, text, _ in turns[:2]])
            return Obj(
                (
                    ("contents", Arr(contents)),
                    ("system_instruction", Obj((("parts", Arr((_text(system_text),))),))),
                    ("generationConfig", tree_of({"temperature": 0.7}, TEMPERATURE)),
                )
            )
        case Protocol.OPENAI_RESPONSES:
            system_text = Text.join("\n\n", [text for _, text, _ in turns[:2]])
            return Obj(
                (
                    ("model", Str(Text.of("gpt-5.1", MODEL))),
                    ("instructions", Str(system_text)),
                    ("input", Arr(tuple(said(*turn) for turn in turns[2:]))),
                )
            )


def turns_with(draft: str) -> tuple[Turn, ...]:
    """The turns of the conversation."""
    stored = (history(index, text) for index, (_, text) in enumerate(HISTORY))
    return (
        text_turn("system", SYSTEM_TEXT, ROLE, Placement("system", rule="The role speaks first.")),
        text_turn(
            "system", STYLE_TEXT, STYLE, Placement("system", rule="System messages go first.")
        ),
        *(
            text_turn(
                role, text, text.spans[0].origin, Placement("history", rule="Stored history.")
            )  # type: ignore[arg-type]  # the table holds plain strings
            for (role, _), text in zip(HISTORY, stored, strict=True)
        ),
        text_turn(
            "user", Text.of(draft, DRAFT), DRAFT, Placement("draft", rule="The draft goes last.")
        ),
    )


def composed(
    protocol: Protocol = Protocol.OPENAI_CHAT,
    draft: str = DRAFT_TEXT,
    *,
    tree: Obj | None = None,
    limit: int | None = 128_000,
    notes: tuple[Note, ...] | None = None,
) -> Composed:
    """A request as the app would hand it over."""
    base, path = URLS[protocol]
    envelope = ChatEnvelope(
        turns_with(draft),
        Parameters(RequestSettings(model="gpt-5.1", stream=True), {"model": MODEL}),
        dropped=(Dropped(Origin(OriginKind.HISTORY, "old"), "user", "Hello", 3),),
        budget=Budget(limit, 4096, 212, 1204, 3, "o200k", protocol is Protocol.OPENAI_CHAT),
    )
    encoded = Encoded(path, tree or tree_for(protocol, draft))
    return Composed(
        envelope,
        Endpoint("test", protocol, base),
        encoded,
        render(encoded.tree),
        NOTES.get(protocol, ()) if notes is None else notes,
    )


def long_chat(count: int) -> tuple[Tree, ...]:
    """Many stored messages; a later payload reuses the very nodes."""
    words = "light falls through the leaves of an old pine and nobody minds " * 3
    return tuple(
        said("user", history(index, f"{index}: {words}"), Origin(OriginKind.HISTORY, f"m{index}"))
        for index in range(count)
    )


class InspectorApp(App[None]):
    """Shows one inspector, and records the actions of areas that it runs."""

    def __init__(self, first: Composed | None, theme: str = "tui-chat-dark") -> None:
        super().__init__()
        for known in load_themes([bundled("themes")])[0]:
            self.register_theme(known)
        self._first = first
        self.theme = theme
        self.actions = RecordedActions(self, "inspector")
        self.reveals = RecordedActions(self, "panes")
        self.pane = self.inspector_pane = Inspector()
        self._action_targets |= {"inspector_pane"}
        self.said: list[str] = []
        """What was told."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return color_defaults(self.current_theme.dark)

    def compose(self) -> ComposeResult:
        yield self.pane

    def notify(self, message: str, **more: object) -> None:  # type: ignore[override]
        del more
        self.said.append(message)

    def on_mount(self) -> None:
        self.pane.own_protocol = Protocol.OPENAI_CHAT
        self.pane.show(self._first)
        self.pane.views.payload.focus()

    @property
    def view(self) -> PayloadView:
        return self.pane.views.payload

    @property
    def origins(self) -> list[Origin]:
        """The origins that were to be revealed."""
        return [run[1] for run in self.reveals.run if isinstance(run[1], Origin)]


def _glue(word: str) -> Str:
    return Str(Text.glue(word))


def _text(text: Text) -> Obj:
    return Obj((("text", Str(text)),))
