"""SillyTavern requests described in one file: a preset with everything that goes with it.

    {"preset": {...}, "card": {...}, "chat": [...], "user_input": "...", "settings": {...}, ...}

`read_case` returns the inputs that build the same request. `settings` are the values in effect,
which go before those of the preset. Unknown fields, such as a captured request, are ignored.
"""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, cast

from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.macros.expander import Expander
from tui_chat.context.macros.functions import GLOBAL
from tui_chat.errors import InputError
from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, choose
from tui_chat.library.foreign_files import ImportNote
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.models.about import About
from tui_chat.models.chat_settings import ChatSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.generation import GenerationKind
from tui_chat.models.json_text import as_array, as_object, object_or_none
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import Message, MessageRole, with_content
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile, ProfilePlacement, Role
from tui_chat.models.settings import (
    AuthorNote,
    CharacterTexts,
    Injection,
    LoreRules,
    LoreTimer,
    NotePlacement,
    TextScript,
)
from tui_chat.models.text import GLUE, Text, clean
from tui_chat.plugins.sillytavern.card_files import CardFile, read_card
from tui_chat.plugins.sillytavern.cards import role_of_card
from tui_chat.plugins.sillytavern.context.scripts import apply_scripts, scripts_of
from tui_chat.plugins.sillytavern.policies import GENERATION_KINDS, policies_of, policy_values
from tui_chat.plugins.sillytavern.presets import parse_sillytavern_preset
from tui_chat.plugins.sillytavern.scripts import read_scripts
from tui_chat.plugins.sillytavern.world_info import usable_entries

_ROLES: Mapping[object, Literal["system", "user", "assistant"]] = {
    0: "system",
    1: "user",
    2: "assistant",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
}
_NOTE_PLACES: Mapping[object, NotePlacement] = {0: "after_main", 1: "depth", 2: "before_main"}
_PROFILE_PLACES: Mapping[object, ProfilePlacement] = {
    0: "anchor",
    2: "note_top",
    3: "note_bottom",
    4: "depth",
    9: "none",
}
_MODEL = "gpt-4o"
_ENDPOINT = Endpoint("sillytavern", Protocol.OPENAI_CHAT, "https://sillytavern.invalid/v1")


@dataclass(frozen=True, slots=True)
class SillyTavernCase:
    """The inputs of a case, and what could not be taken over."""

    inputs: Inputs
    notes: tuple[ImportNote, ...]


def read_case(text: str, source: str, endpoint: Endpoint) -> SillyTavernCase:
    """Return the inputs of a case; `source` is what errors call the text.

    Raises InputError naming what is missing or of a wrong type.
    """
    file = JsonFile(text)
    file.raise_errors(source)
    found = object_or_none(file.value)
    if found is None or object_or_none(found.get("preset")) is None:
        advice = "It is an object with “preset”, “card”, “chat”, “user_input” and “settings”."
        raise InputError(f"{source} is not a case of SillyTavern.", advice=advice)
    return _CaseReader(found, source, endpoint).read()


def build_case(text: str, source: str) -> tuple[list[Any], list[dict[str, str]]]:
    """Return the messages of a case's request, and the notes of import and request."""
    case = read_case(text, source, _ENDPOINT)
    composed = compose(case.inputs)
    messages: list[Any] = json.loads(composed.payload.body).get("messages", [])
    return messages, [*map(_import_note, case.notes), *_request_notes(composed)]


def _import_note(note: ImportNote) -> dict[str, str]:
    return {"level": note.level.value, "code": "import", "sentence": note.sentence}


def _request_notes(composed: Composed) -> list[dict[str, str]]:
    return [
        {"level": note.level.value, "code": note.code, "sentence": note.sentence}
        for note in composed.notes
    ]


class _CaseReader:
    def __init__(self, found: Mapping[str, Any], source: str, endpoint: Endpoint) -> None:
        self._found = found
        self._source = source
        self._endpoint = endpoint
        self._settings = self._object("settings")
        self._metadata = self._object("chat_metadata")

    def _object(self, key: str) -> Mapping[str, Any]:
        return object_or_none(self._found.get(key)) or {}

    def read(self) -> SillyTavernCase:
        """Return the case."""
        preset, notes = self._preset()
        role = role_of_card(self._card(), "character", f"{self._source}, card")
        persona = self._object("persona")
        profile = Profile(
            string(persona.get("name")) or "User",
            string(persona.get("description")),
            choose(_PROFILE_PLACES, persona.get("position", 0), "anchor"),
            whole(persona.get("depth"), 2),
            choose(_ROLES, persona.get("role", 0), "system"),
        )
        kind = self._kind()
        history, hidden = self._history(kind)
        typed = string(self._found.get("user_input")) if kind == "normal" else ""
        lore = CaseLore(self._found, self._settings, self._metadata, self._source)
        books, tiers = lore.books(role)
        if not typed and kind == "normal":
            typed = policies_of(preset).send_if_empty.strip()
        variables = object_or_none(self._metadata.get("variables")) or {}
        variables = {**variables, **self._variables("/setvar")}
        inputs = Inputs(
            self._endpoint,
            preset,
            history,
            typed,
            role=role,
            profile=profile,
            settings=SessionSettings(
                model=self._model(),
                author_note=self._note(),
                lore=lore.rules(tiers),
                injections=tuple(self._injections()),
                scripts=tuple(s for s in self._global_scripts() if not s.is_stored),
                character=self._character(),
            ),
            stream=False,
            context_limit=whole(self._value("openai_max_context"), 4095),
            reply_reserve=whole(self._value("openai_max_tokens"), 300),
            lorebooks=books,
            variables=MappingProxyType({key: _text_of(each) for key, each in variables.items()}),
            chat=ChatSettings(
                kind=kind,
                prompt=string(self._object("generate_options").get("quiet_prompt")),
                timers=tuple(lore.timers()),
                global_variables=self._global_variables(),
                hidden_messages=len(hidden),
                hidden_user_messages=sum(each.get("is_user") is True for each in hidden),
            ),
        )
        return SillyTavernCase(self._with_stored_macros(inputs), notes)

    def _with_stored_macros(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the macros expanded whose results SillyTavern stores."""
        expander = Expander(replace(inputs, draft=""))
        scripts = self._global_scripts() + scripts_of(inputs)
        stored = [each for each in scripts if each.is_stored and "user" in each.applies_to]
        typed = Text.of(clean(inputs.draft), GLUE)
        typed = apply_scripts(typed, stored, expand=expander.expand_text)
        draft = expander.expand_text(typed.plain)
        history = inputs.history
        begins = object_or_none(next(iter(as_array(self._found.get("chat"))), None))
        if history and begins is not None and not begins.get("is_system"):
            first = expander.expand_text(history[0].content, is_card=True)
            if first != history[0].content:
                history = (with_content(history[0], first), *history[1:])
        if inputs.draft and not draft:  # an empty message is sent, too
            history = (*history, Message("user", id="typed", name=inputs.user_name))
        variables = {**inputs.variables, **expander.set_values}
        shared = {f"{GLOBAL}{name}": text for name, text in inputs.global_variables.items()}
        variables = {
            name: str(text) for name, text in {**shared, **variables}.items() if text is not None
        }
        names = [name for name in variables if name.startswith(GLOBAL)]
        global_ = {name.removeprefix(GLOBAL): variables.pop(name) for name in names}
        role, preset = inputs.role, inputs.preset
        if role is not None and role.character is not None:
            character = replace(role.character, scripts=_unstored(role.character.scripts))
            role = replace(role, character=character)
        return replace(
            inputs,
            role=role,
            preset=replace(preset, scripts=_unstored(preset.scripts)),
            draft=draft,
            history=history,
            variables=variables,
            chat=replace(inputs.chat, global_variables=global_),
        )

    def _value(self, key: str) -> Any:
        preset = self._object("preset")
        return self._settings.get(key, preset.get(key))

    def _model(self) -> str:
        oracle = self._object("oracle").get("tokenizer")
        return string(oracle) or string(self._object("request_other").get("model")) or _MODEL

    def _preset(self) -> tuple[Preset, tuple[ImportNote, ...]]:
        """Return the preset with the settings in effect."""
        whole = {**self._object("preset"), **self._settings}
        imported = parse_sillytavern_preset(json.dumps(whole), f"{self._source}, preset", "preset")
        prefers = (
            ("system_prompt", "prefer_character_prompt"),
            ("post_history", "prefer_character_jailbreak"),
        )
        cards = [field for field, key in prefers if self._settings.get(key) is not False]
        allowed = (
            ("preset", "preset_allowed_regex"),
            ("card", "character_allowed_regex"),
        )
        scripts = [whose for whose, key in allowed if self._settings.get(key) is not False]
        policies = replace(
            policies_of(imported.preset),
            scripts=cast("Any", tuple(scripts)),
            pin_examples=self._settings.get("pin_examples") is True,
            strip_examples=self._settings.get("strip_examples") is True,
            collapse_newlines=self._settings.get("collapse_newlines") is True,
            card_prompts=cast("Any", tuple(cards)),
        )
        return replace(imported.preset, policies=policy_values(policies)), imported.notes

    def _character(self) -> CharacterTexts:
        """Return what the chat sets instead of the card's texts."""
        text = {key: string(self._metadata.get(key)) for key in ("scenario", "system_prompt")}
        return CharacterTexts(**text, example_dialogues=string(self._metadata.get("mes_example")))

    def _card(self) -> CardFile:
        """Return the card as SillyTavern imported it, else as it was given."""
        source = f"{self._source}, card"
        found = object_or_none(self._found.get("imported_card")) or {}
        data = object_or_none(found.get("data"))
        if data is None and (picture := string(self._found.get("card_png_b64"))):
            try:
                return read_card(b64decode(picture), source)
            except ValueError as error:
                raise InputError(f"{source} is not base64: {error}.") from error
        data = data or object_or_none(self._found.get("card"))
        if data is None:
            raise InputError(f"{source} must be an object.")
        is_whole = "spec" in data or "name" not in data
        return read_card(
            json.dumps(data if is_whole else {"spec": "chara_card_v2", "data": data}).encode(),
            source,
        )

    def _kind(self) -> GenerationKind:
        kind = self._found.get("generation_type", "normal")
        if kind not in GENERATION_KINDS:
            raise InputError(f"{self._source}: “generation_type” cannot be {kind!r}.")
        return kind

    # --- the conversation ------------------------------------------------------------------

    def _history(
        self, kind: GenerationKind
    ) -> tuple[tuple[Message, ...], Sequence[Mapping[str, Any]]]:
        """Return the messages that are sent with this kind, and the hidden ones."""
        chat = [
            each for item in as_array(self._found.get("chat")) if (each := object_or_none(item))
        ]
        if chat and kind == "regenerate" and not chat[-1].get("is_user"):
            chat.pop()
        sent = [each for each in chat if not each.get("is_system")]
        if sent and kind == "swipe":
            sent.pop()
        messages = tuple(_message(each, number) for number, each in enumerate(sent))
        return messages, [each for each in chat if each.get("is_system")]

    def _note(self) -> AuthorNote | None:
        note = self._object("authors_note")
        meta = self._metadata

        def value(key: str, default: Any) -> Any:
            return note.get(key, meta.get(f"note_{key}", default))

        content = string(value("prompt", ""))
        if not note and not content:
            return None
        return AuthorNote(
            content,
            whole(value("depth", 4), 4),
            cast("Any", choose(_ROLES, value("role", 0), "system")),
            choose(_NOTE_PLACES, value("position", 1), "depth"),
            whole(value("interval", 1), 1),
            note.get("allow_wi_scan", self._settings.get("note_allow_wi_scan")) is True,
        )

    def _injections(self) -> Iterator[Injection]:
        """Yield what `/inject` commands before the request put into the chat."""
        for each in as_array(self._found.get("slash_before")):
            command = string(each)
            if not command.startswith("/inject "):
                continue
            words = command.removeprefix("/inject ").split(" ")
            named: dict[str, str] = {}
            while words and re.fullmatch(r"\w+=\S+", words[0]):
                key, _, text = words.pop(0).partition("=")
                named[key] = shlex.split(text)[0] if text[:1] in "'\"" else text
            if named.get("position", "after") == "none":
                continue
            places: dict[str, NotePlacement] = {"before": "before_main", "after": "after_main"}
            yield Injection(
                named.get("id", ""),
                " ".join(words),
                whole(named.get("depth"), 4),
                _ROLES.get(named.get("role"), "system"),
                places.get(named.get("position", "after"), "depth"),
                named.get("scan") == "true",
            )

    def _global_variables(self) -> Mapping[str, str]:
        found = object_or_none(self._settings.get("global_variables")) or {}
        return {
            **{name: _text_of(value) for name, value in found.items()},
            **self._variables("/setglobalvar"),
        }

    def _variables(self, command: str) -> Mapping[str, str]:
        """Return the variables that commands before the request set."""
        found: dict[str, str] = {}
        for each in as_array(self._found.get("slash_before")):
            words = string(each).split(" ", 2)
            if len(words) == 3 and words[0] == command and words[1].startswith("key="):
                found[words[1].removeprefix("key=")] = words[2]
        return found

    def _global_scripts(self) -> tuple[TextScript, ...]:
        return read_scripts(self._settings.get("regex_scripts"))


def _unstored(scripts: tuple[TextScript, ...]) -> tuple[TextScript, ...]:
    return tuple(each for each in scripts if not each.is_stored)


def _message(found: Mapping[str, Any], number: int) -> Message:
    extra = object_or_none(found.get("extra")) or {}
    is_user = found.get("is_user") is True
    role: MessageRole = "user" if is_user else "assistant"
    return Message.of(
        "system" if extra.get("type") == "narrator" else role,
        clean(string(found.get("mes"))),
        f"message-{number}",
        name=string(found.get("name")),
        timestamp=parse_timestamp(found.get("send_date")),
        about=About(is_speaker_chosen=bool(found.get("force_avatar"))),
    )


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class CaseLore:
    """Reads what a case says about lore."""

    def __init__(
        self,
        found: Mapping[str, Any],
        settings: Mapping[str, Any],
        metadata: Mapping[str, Any],
        source: str,
    ) -> None:
        """`settings` are in effect, `metadata` is the chat's; `source` names the case in errors."""
        self._found = found
        self._rules = object_or_none(settings.get("world_info")) or {}
        self._metadata = metadata
        self._source = source

    def books(self, role: Role) -> tuple[tuple[Lorebook, ...], tuple[int, ...]]:
        """Return the active books and the tier of each."""
        found = object_or_none(self._found.get("lorebooks")) or {}
        files = object_or_none(found.get("files")) or {}
        world = string(self._metadata.get("world_info"))
        character = role.character
        linked = character.world if character is not None else ""
        if not linked and self._found.get("embedded_book_imported") is True:
            linked = character.book.name if character is not None and character.book else ""
        names = [name for name in as_array(found.get("active_global")) if isinstance(name, str)]
        books: list[Lorebook] = []
        tiers: list[int] = []
        used: set[str] = set()
        strategy = self._rules.get("world_info_character_strategy", 1)
        ranks = choose({0: (1, 1), 1: (1, 2), 2: (2, 1)}, strategy, (1, 2))

        def add(name: str, tier: int, book: Lorebook | None) -> None:
            if book is not None and name not in used:
                used.add(name)
                books.append(replace(book, token_budget=None))
                tiers.append(tier)

        add(world, 0, self._book(files, world))
        own = character.book if character is not None else None
        add(linked, ranks[0], self._book(files, linked) or (own if linked else None))
        for name in names:
            add(name, ranks[1], self._book(files, name))
        if strategy == 0 and books:  # global books are scanned first
            globals_ = [n for n, book in enumerate(books) if book.name in names]
            others = [n for n in range(len(books)) if n not in globals_ and tiers[n]]
            chat = [n for n in range(len(books)) if n not in globals_ and not tiers[n]]
            places = [*chat, *globals_, *others]
            books, tiers = [books[n] for n in places], [tiers[n] for n in places]
        return tuple(books), tuple(tiers)

    def _book(self, files: Mapping[str, Any], name: str) -> Lorebook | None:
        found = object_or_none(files.get(name))
        if not name or found is None:
            return None
        usable, _ = usable_entries(found.get("entries"))
        source = f"{self._source}, lorebook {name}"
        return parse_lorebook(json.dumps({"name": name, "entries": usable}), source, name)

    def rules(self, tiers: Sequence[int]) -> LoreRules:
        """Return the rules of the activation; `tiers` are those of the books."""
        rules = self._rules
        return LoreRules(
            names=rules.get("world_info_include_names") is not False,
            budget_percent=whole(rules.get("world_info_budget"), 25),
            budget_cap=whole(rules.get("world_info_budget_cap"), 0),
            min_activations=whole(rules.get("world_info_min_activations"), 0),
            min_activations_depth=whole(rules.get("world_info_min_activations_depth_max"), 0),
            group_scoring=rules.get("world_info_use_group_scoring") is True,
            scan_depth=whole(rules.get("world_info_depth"), 2),
            recursive=rules.get("world_info_recursive") is True,
            max_recursion_steps=whole(rules.get("world_info_max_recursion_steps"), 0),
            case_sensitive=rules.get("world_info_case_sensitive") is True,
            match_whole_words=rules.get("world_info_match_whole_words") is not False,
            tiers=tuple(tiers),
        )

    def timers(self) -> Iterator[LoreTimer]:
        """Yield the entries that are held or barred by earlier messages."""
        timed = object_or_none(self._metadata.get("timedWorldInfo")) or {}
        kinds: tuple[Literal["sticky", "cooldown"], ...] = ("sticky", "cooldown")
        for kind in kinds:
            for key, each in as_object(timed.get(kind)).items():
                timer = object_or_none(each) or {}
                book, _, entry = key.rpartition(".")
                yield LoreTimer(
                    book,
                    entry,
                    kind,
                    whole(timer.get("start"), 0),
                    whole(timer.get("end"), 0),
                    timer.get("protected") is True,
                )


def string(value: object) -> str:
    """Return a text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def whole(value: object, default: int) -> int:
    """Return a whole number that is not negative, at most a billion."""
    try:
        number = int(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        return default
    return min(max(number, 0), 10**9)
