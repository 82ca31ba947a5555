"""The keys of a SillyTavern preset besides its prompts: what becomes of each.

1. Samplers, sizes and efforts are settings of ours. A value that has no effect there, such as
   `top_p` 1, leaves the setting unset.
2. Every other key is part of the preset's policies or formats, or is named in a note. Keys are
   kept for an export, except those that hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import ImportNote
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import object_or_none
from tui_chat.models.sanitize import one_line
from tui_chat.models.settings import DEFAULT_SEARCH, SettingError, Settings, WebSearch, read_setting
from tui_chat.plugins.sillytavern.scripts import script_names

SECRETS = ("proxy_password", "custom_include_headers")
"""Keys that may hold a password or a key, which are never written into a preset."""


@dataclass(frozen=True, slots=True)
class _Sampler:
    """A key with the setting that it is."""

    setting: str
    neutral: object = None
    """The value at which it has no effect; None for a key without such a value."""
    taken: Callable[[Any], Any] = lambda value: value
    given: Callable[[Any], Any] = lambda value: value


def _search(value: object) -> object:
    return DEFAULT_SEARCH if value is True else value


def _is_searching(value: WebSearch) -> bool:
    return value.enabled


_SAMPLERS: Mapping[str, _Sampler] = {
    "temperature": _Sampler("temperature"),
    "top_p": _Sampler("top_p", 1),
    "top_k": _Sampler("top_k", 0),
    "frequency_penalty": _Sampler("frequency_penalty", 0),
    "presence_penalty": _Sampler("presence_penalty", 0),
    "seed": _Sampler("seed", -1),
    "openai_max_context": _Sampler("context_limit"),
    "openai_max_tokens": _Sampler("max_tokens"),
    "reasoning_effort": _Sampler(
        "effort",
        "auto",
        lambda value: "minimal" if value == "min" else value,
        lambda value: "min" if value == "minimal" else value,
    ),
    "verbosity": _Sampler("verbosity", "auto"),
    "enable_web_search": _Sampler("web_search", False, _search, _is_searching),
}
_NEUTRAL: Mapping[str, object] = {
    "min_p": 0,
    "top_a": 0,
    "repetition_penalty": 1,
    "n": 1,
    "bias_preset_selected": "Default (none)",
}
"""The values at which keys that we have no setting for have no effect."""
_USED = frozenset(
    (
        *("prompts", "prompt_order", "wi_format", "scenario_format", "personality_format"),
        *("new_chat_prompt", "new_example_chat_prompt", "names_behavior", "names_in_completion"),
        *("squash_system_messages", "continue_nudge_prompt", "continue_prefill"),
        *("continue_postfix",),
        *("impersonation_prompt", "send_if_empty", "assistant_prefill", "assistant_impersonation"),
        *("use_sysprompt", "claude_use_sysprompt", "use_makersuite_sysprompt"),
        *("custom_prompt_post_processing", "extensions", "name", "bias_presets"),
    )
)
"""Keys that become prompts, formats or policies, or have a note of their own."""
_WITHOUT_EFFECT = frozenset(
    (
        *("max_context_unlocked", "inline_image_quality", "jailbreak_system", "preset_settings"),
        *("request_image_resolution", "request_image_aspect_ratio", "legacy_streaming"),
        *("nsfw_toggle", "nsfw_first", "nsfw_avoidance_prompt", "stream_openai", "show_thoughts"),
        *("media_inlining", "image_inlining", "video_inlining", "audio_inlining"),
    )
)
"""Keys that do nothing, or are decided elsewhere here."""
_CONNECTION = re.compile(
    r".*_(model|models|url|endpoint)$|(chat_completion_source|reverse_proxy|proxy_password|scale"
    r"|use_alt_scale|api_url_scale|bypass_status_check|show_external_models"
    r"|bind_preset_to_connection)$|(openrouter|custom|vertexai|azure|zai|workers_ai|siliconflow"
    r"|chutes|electronhub|nanogpt|pollinations|minimax|windowai)_"
)
_MODEL_KEYS = {"openai": "openai_model", "makersuite": "google_model"}


def settings_of(found: Mapping[str, Any]) -> tuple[Settings, list[ImportNote]]:
    """Return the settings in a preset, and notes about values that are not accepted."""
    values: dict[str, Any] = {}
    notes: list[ImportNote] = []
    for key, sampler in _SAMPLERS.items():
        value = found.get(key)
        if value is None or value == "" or _is_neutral(value, sampler.neutral):
            continue
        taken = sampler.taken(value)
        try:
            is_read = isinstance(taken, WebSearch)
            values[sampler.setting] = taken if is_read else read_setting(sampler.setting, taken)
        except SettingError as fault:
            sentence = f"“{key}” is not used: {fault.sentence}."
            notes.append(ImportNote(Level.WARNING, sentence, lost=True))
    return Settings(**values), notes


def _is_neutral(value: object, neutral: object) -> bool:
    return value == neutral and isinstance(value, bool) == isinstance(neutral, bool)


def setting_changes(before: Settings, after: Settings) -> dict[str, Any]:
    """Return the keys of a preset that other settings change; None for a key to remove."""
    changes: dict[str, Any] = {}
    for key, sampler in _SAMPLERS.items():
        value = getattr(after, sampler.setting)
        if value != getattr(before, sampler.setting):
            changes[key] = sampler.neutral if value is None else sampler.given(value)
    return changes


def kept(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset with null for its secrets, so that a later report still names them."""
    return {key: None if key in SECRETS and value else value for key, value in found.items()}


def key_notes(found: Mapping[str, Any]) -> Iterator[ImportNote]:
    """Yield notes about the keys that are not used, but for those about the connection."""
    for key in SECRETS:
        if found.get(key) or (key in found and found[key] is None):
            sentence = f"“{key}” may hold a secret: it is not kept."
            yield ImportNote(Level.WARNING, sentence, lost=True)
    source = found.get("chat_completion_source")
    if isinstance(source, str) and source:
        model = found.get(_MODEL_KEYS.get(source, f"{source}_model"))
        what = f"{model} ({source})" if isinstance(model, str) and model else source
        yield _lost(
            f"It was used with {one_line(what, 80)}: endpoint and model are chosen in the session."
        )
    known = {*_SAMPLERS, *_USED, *_WITHOUT_EFFECT, *SECRETS}
    unused = [
        key
        for key, value in found.items()
        if key not in known and value and value != _NEUTRAL.get(key) and not _is_connection(key)
    ]
    if unused:
        yield _lost(f"Kept for an export, but not used here: {some(unused)}.")
    extensions = object_or_none(found.get("extensions")) or {}
    run, not_run = script_names(extensions)
    if run:
        yield ImportNote(Level.INFO, f"Its regex scripts change what is sent: {some(run)}.")
    if not_run:
        why = "they are disabled, or only change what is shown"
        yield _lost(f"Regex scripts are kept, but not run, since {why}: {some(not_run)}.")
    others = [key for key, value in extensions.items() if value and key != "regex_scripts"]
    if others:
        yield _lost(f"Extension data is kept, but not used: {some(others)}.")


def _is_connection(key: str) -> bool:
    return _CONNECTION.match(key) is not None and key != "custom_prompt_post_processing"


def _lost(sentence: str) -> ImportNote:
    return ImportNote(Level.INFO, sentence, lost=True)


def some(names: list[str]) -> str:
    """Return the first names of a list, quoted, and how many more there are."""
    shown = ", ".join(f"“{one_line(name, 40)}”" for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
