"""How a preset of SillyTavern builds its requests: its named policies.

The defaults are the rules of tui-chat. A preset has the policies that differ, as plain values by
their names; `policies_of` returns them as one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import InvalidValue, read_own
from tui_chat.models.memo import Memo
from tui_chat.models.preset import Preset

GENERATION_KINDS = ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")
"""The kinds of generation of SillyTavern's files, all of which there are."""

NamesPolicy = Literal["field", "none", "other_speakers", "name", "content"]
"""How the names of the speakers are sent. `field`: as the name of a message that has one. `none`:
not at all. `other_speakers`: before the text of messages that were given another speaker's name.
`name`: as the name of every message, in the characters that OpenAI allows. `content`: before the
text of every message that someone speaks."""

PostProcessing = Literal["", "merge", "semi", "strict", "single"]
"""What is done to the finished list of messages. `merge`: neighbors of one role become one message,
names go into the text. `semi`: also, later system messages become the user's. `strict`: also, the
first message after the system message is the user's. `single`: all become one message."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Policies:
    """How the requests of a preset are built where programs differ."""

    depths: Literal["separate", "joined"] = "separate"
    """`joined`: depths count from the newest message, draft included; the messages at one depth are
    one message per `order` and role, in the order assistant, user, system."""
    budget: Literal["history", "history_with_injections"] = "history"
    """`history`: the oldest messages are dropped, injected ones never. `history_with_injections`:
    injected messages are dropped with the history around them; example dialogues get what the
    history leaves, block by block."""
    without_anchor: Literal["last", "not_sent"] = "last"
    """Where the conversation goes in a preset without an enabled `chat_history` anchor."""
    names: NamesPolicy = "field"
    squash_system: bool = False
    """True if consecutive system messages without a name are sent as one."""
    post_processing: PostProcessing = ""
    expand_history: bool = False
    """True if macros in the conversation are expanded."""
    example_separator: str = ""
    """The system message before each block of example dialogues; empty for none."""
    pin_examples: bool = False
    """True if the example dialogues get their tokens before the history."""
    strip_examples: bool = False
    """True if no example dialogues are sent."""
    collapse_newlines: bool = False
    """True if several line breaks in a row become one in the texts of a character card."""
    card_prompts: tuple[Literal["system_prompt", "post_history"], ...] = (
        "system_prompt",
        "post_history",
    )
    """The prompts of a character card that replace those of the preset."""
    scripts: tuple[Literal["preset", "card"], ...] = ("preset", "card")
    """Whose scripts change what is sent: those of the preset, then those of the role's card."""
    role_prompt: Literal["first", "description"] = "first"
    """Where the prompt of a role without a character card goes. `description`: where the preset has
    the character's description."""
    continue_nudge: str = (
        "Continue your last message from the point where it ends. Write only what follows; "
        "repeat nothing of it."
    )
    """The message that asks for the rest of the last message."""
    continue_prefill: bool | None = None
    """True if the last message is sent last instead, without a request to continue it; None for
    models that are known to continue it (prefill)."""
    continue_postfix: str | None = None
    """What goes between a message and its continuation, unless it ends in white space; None for a
    space where the continuation was asked for, and nothing after a prefill."""
    impersonation_prompt: str = (
        "Write the next message of {{user}}, in the voice of {{user}}. Write only that message."
    )
    """The message that asks for the user's next message."""
    send_if_empty: str = ""
    """The user message that is sent if nothing is typed; empty for none."""
    assistant_prefill: str = ""
    """The beginning of the reply: the last message of a request to Anthropic; empty for none."""
    assistant_impersonation: str = ""
    """The same for a request for the user's next message."""
    system_as_user: bool = False
    """True if system messages are sent as the user's to Anthropic and Gemini, which take a system
    prompt apart from the messages."""


OWN_POLICIES = Policies()
"""The rules of tui-chat."""


@Memo
def policies_of(preset: Preset) -> Policies:
    """Return the policies of a preset; those of tui-chat if they cannot be read."""
    if not preset.policies:
        return OWN_POLICIES
    try:
        return read_own(Policies, dict(preset.policies))
    except InvalidValue:
        return OWN_POLICIES


def policy_values(policies: Policies) -> Mapping[str, Any]:
    """Return the policies that differ from those of tui-chat, as a preset has them."""
    values = ((each.name, getattr(policies, each.name)) for each in fields(Policies))
    return MappingProxyType(
        {name: value for name, value in values if value != getattr(OWN_POLICIES, name)}
    )
