"""How the names of speakers are sent: the names policy of a preset, applied to a message."""

from __future__ import annotations

import re

from tui_chat.context.inputs import Inputs
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.policies import NamesPolicy

MAX_NAME = 64
"""Characters of the name of a message that OpenAI takes."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, slots=True)
class Speakers:
    """How the names of speakers are sent, and the names of those who have no other."""

    policy: NamesPolicy = "field"
    user: str = ""
    char: str = ""

    @classmethod
    def of(cls, inputs: Inputs) -> Speakers:
        """Return the rule of the preset."""
        policy = inputs.preset.policies.names
        return FIELD if policy == "field" else cls(policy, inputs.user_name, inputs.char_name)

    def name_of(self, message: Message) -> str:
        """Return who speaks."""
        return message.name or {"user": self.user, "assistant": self.char}.get(message.role, "")

    def field(self, message: Message) -> str:
        """Return the name that is sent with a message."""
        if self.policy == "field":
            return message.name
        if self.policy != "name":
            return ""
        return _NOT_IN_NAMES.sub("_", self.name_of(message))[:MAX_NAME]

    def prefix(self, message: Message) -> str:
        """Return the name that goes before the text of a message."""
        if message.role not in ("user", "assistant"):
            return ""
        if self.policy == "content":
            return f"{self.name_of(message)}: "
        if self.policy == "other_speakers" and message.semantics.is_speaker_chosen:
            name = self.name_of(message)
            return "" if name == self.user else f"{name}: "
        return ""


FIELD = Speakers()
"""Names are sent as the names of messages that have one."""
