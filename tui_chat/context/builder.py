"""The core's context builder: what the model will see, in three phases.

0. `begin`: of the branch, what is sent. A summary stands for earlier messages, what is muted
   leaves; the user message that ends the branch takes the draft's place.
1. `scan`: every message around the conversation goes into one group: system, deep, beside an
   anchor, or the skeleton. Macros are expanded, from the first message of the preset to the last.
2. `truncate`: the newest messages of the history that the budget allows are kept. Then the deep
   messages are put at their depths.
3. `populate`: system messages, then the skeleton with its anchors filled. The draft follows the
   history.

A message at depth 2, which is `insertionPoint` -2: `scan` puts it into the group `deep`.
`place_deep_messages` counts in the truncated history, of which the draft is no part: it goes before
the newest message, so that this one and the draft follow, and its placement says so in a sentence.

The builder of a plugin calls the same steps, and others between them; see `builders`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain

from tui_chat.context.budget import budget_notes, history_notes, summary_notes, tool_costs
from tui_chat.context.generation import draft_turn, nudge_turns, reply_start_turns
from tui_chat.context.history import (
    HistoryCosts,
    SummarizedHistory,
    history_costs,
    history_turn,
    mark_history,
    place_deep_messages,
    summarize,
    summary_of,
    truncate,
)
from tui_chat.context.inputs import (
    Inputs,
    context_limit,
    parameters,
    reply_reserve,
    with_answered_as_draft,
)
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.muted_history import (
    MutedHistory,
    muted_costs,
    muted_notes,
    without_muted,
)
from tui_chat.context.resolved_message import (
    ExpandedTexts,
    ResolvedMessage,
    resolve_profile,
    resolve_role_prompt,
    text_of,
    turns_of,
)
from tui_chat.context.scan import MessageGroups, Placed, populate, scan
from tui_chat.context.sent_texts import around, profile_notes
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Budget, ChatEnvelope, Dropped, Level, Note, Parameters, Turn
from tui_chat.models.generation import ChatSettings
from tui_chat.models.message import have_media
from tui_chat.tokens import REQUEST_OVERHEAD, Counter, how_counted

CounterOf = Callable[[str], Counter]
"""Returns the token counter of a model by its name."""


def build_context(inputs: Inputs, counter: CounterOf) -> ChatEnvelope:
    """Decide what the model will see. Pure; raises nothing, and reports problems in notes."""
    request = begin(inputs, counter)
    inputs, notes = request.inputs, request.notes
    role_prompt = leading_prompt(inputs, notes)
    groups = scan(inputs.preset, inputs.chat.kind, False)
    notes += groups.notes
    expander = Expander(inputs, notes)
    expand_all(expander, groups, role_prompt)
    costs = history_costs(inputs.history, request.count, history_turn)
    draft = draft_turn(inputs, notes)
    ending = (
        *nudge_turns(inputs, expander, costs.turns, draft),
        *reply_start_turns(inputs, expander),
    )
    parts = Parts(groups, role_prompt, expander, costs, draft, ending)
    content = assemble(request, parts)
    return finish(request, parts, content, profile_notes(inputs, around(content.turns)))


def expand_all(
    expander: Expander, groups: MessageGroups, role_prompt: ResolvedMessage | None
) -> None:
    """Expand the texts around the conversation."""
    profile = expander.inputs.profile
    if role_prompt is not None:
        expander.expand(role_prompt)
    for line in groups.listed:
        if not line.message.is_anchor:
            expander.expand(line)
        elif line is groups.profile_anchor and profile is not None:
            expander.expand(resolve_profile(line.message, profile))


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of a request before its messages are put in order."""

    inputs: Inputs
    """The inputs with the messages that are sent: see `begin`."""
    summarized: SummarizedHistory
    muted: MutedHistory
    parameters: Parameters
    count: Counter
    limit: int | None
    """Tokens of input and output together; None if unknown."""
    reserve: int
    """Tokens kept free for the reply."""
    notes: list[Note] = field(default_factory=list[Note])

    @property
    def room(self) -> int | None:
        """The tokens that may be sent; None for any number."""
        return None if self.limit is None else self.limit - self.reserve


@dataclass(frozen=True, slots=True)
class Parts:
    """The messages of a request before they are put in order."""

    groups: MessageGroups
    role_prompt: ResolvedMessage | None
    expander: Expander
    """Has the texts of the messages with macros."""
    costs: HistoryCosts
    """The history, with its tokens."""
    draft: Turn | None
    ending: Sequence[Turn] = ()
    """What the kind of generation puts at the end."""
    fillings: Mapping[int, Sequence[Turn]] = field(default_factory=dict[int, Sequence[Turn]])
    """What stands at an anchor, by the identity of its message: filled by a plugin's builder."""

    @property
    def texts(self) -> ExpandedTexts:
        """The texts with their macros expanded."""
        return self.expander.texts


@dataclass(frozen=True, slots=True)
class Content:
    """The turns of a request, and what they cost."""

    turns: tuple[Turn, ...]
    tokens: tuple[int, ...]
    dropped: tuple[Dropped, ...]
    fixed: int
    history: int
    dropped_tokens: int
    notes: Sequence[Note] = ()


def begin(inputs: Inputs, counter: CounterOf) -> Request:
    """Return a request with the messages of the branch that are sent: a summary in place of those
    that it stands for, nothing that is muted, the answered message in the draft's place.
    """
    summarized = summarize(inputs.history)
    has_draft = bool(inputs.draft or inputs.draft_parts)
    muted = without_muted(summarized.history, has_draft, inputs.chat.kind == "continue")
    if muted.history is not inputs.history:
        inputs = replace(inputs, history=muted.history, chat=_with_hidden(inputs.chat, muted))
    inputs = with_answered_as_draft(inputs)
    asked = parameters(inputs)
    count = counter(asked.values.model).corrected(inputs.correction)
    limit = context_limit(inputs, asked)
    return Request(
        inputs,
        summarized,
        muted,
        asked,
        count,
        limit,
        reply_reserve(inputs, asked, limit),
    )


def _with_hidden(chat: ChatSettings, muted: MutedHistory) -> ChatSettings:
    """Return the chat's settings with the muted messages among those that are not sent."""
    if not muted.left_out:
        return chat
    of_user = sum(message.role == "user" for message in muted.left_out)
    return replace(
        chat,
        hidden_messages=chat.hidden_messages + len(muted.left_out),
        hidden_user_messages=chat.hidden_user_messages + of_user,
    )


def leading_prompt(inputs: Inputs, notes: list[Note]) -> ResolvedMessage | None:
    """Return the role's system prompt; None if it has none or the history brings its own: that of
    a file may be the one that its author saw.
    """
    notes += unusable_role_notes(inputs)
    role = inputs.active_role
    if role is None or not role.system_prompt:
        return None
    first = inputs.history[0] if inputs.history else None
    begins = first is not None and first.role == "system" and summary_of(first) is None
    if begins and not inputs.keeps_role_prompt:
        sentence = "The history begins with a system message, so the role's prompt is not added."
        origin = resolve_role_prompt(role).origin
        notes.append(Note(Level.INFO, "role-prompt-skipped", sentence, origin))
        return None
    return resolve_role_prompt(role)


def unusable_role_notes(inputs: Inputs) -> Iterator[Note]:
    """Yield a note about a role that cannot be used: nothing is sent without a decision."""
    if inputs.role is None and inputs.role_missing:
        sentence = "The role of this session was deleted. Go on without it, or start a new session."
        yield Note(Level.ERROR, "role-missing", sentence)
    if inputs.role is not None and inputs.role.status == "disabled":
        ways = "Enable it, go on without it, or start a new session."
        sentence = f"The role “{inputs.role.name}” of this session is disabled. {ways}"
        origin = resolve_role_prompt(inputs.role).origin
        yield Note(Level.ERROR, "role-disabled", sentence, origin)


def assemble(request: Request, parts: Parts) -> Content:
    """Put the messages in order: phases 2 and 3."""
    inputs, count, groups, texts = request.inputs, request.count, parts.groups, parts.texts
    placed = populate(groups, parts.role_prompt, inputs.profile)
    before, after = (_filled(side, parts) for side in placed)
    draft = () if parts.draft is None else (parts.draft,)
    deep = [line for line in groups.deep if text_of(line, texts).plain]

    fixed = REQUEST_OVERHEAD + (sum(count.tools(inputs.tools)) if inputs.tools else 0)
    fixed += sum(map(count.turn, chain(before, draft, after, parts.ending)))
    fixed += sum(count.alone(text_of(line, texts)) for line in deep)  # wherever they go
    kept = truncate(parts.costs, None if request.room is None else request.room - fixed)
    depths = place_deep_messages(deep, len(kept.turns), request.notes)
    history = mark_history(kept, groups, depths) if groups.marks else kept
    turns, tokens = list(history.turns), list(history.costs)
    ends_with_last = inputs.chat.kind == "continue" and not draft and turns
    last = (turns.pop(),) if ends_with_last else ()  # whatever the preset puts after the history
    del tokens[len(turns) :]
    length = len(turns)
    for turn in reversed(turns_of(depths, texts)):
        at = min(turn.placement.depth or 0, length)
        turns.insert(at, turn)
        tokens.insert(at, count.turn(turn))
    ending = (*draft, *after, *last, *parts.ending)
    return Content(
        (*before, *turns, *ending),
        (*map(count.turn, before), *tokens, *map(count.turn, ending)),
        kept.dropped,
        fixed,
        sum(kept.costs),
        sum(each.tokens for each in kept.dropped),
        tuple(history_notes(inputs, parts.costs, kept)),
    )


def _filled(placed: Sequence[Placed], parts: Parts) -> Sequence[Turn]:
    """Return the turns of messages at their places, with what fills their anchors."""
    if not parts.fillings:
        return turns_of(placed, parts.texts)
    turns: list[Turn] = []
    for each in placed:
        turns += parts.fillings.get(id(each[0])) or turns_of((each,), parts.texts)
    return turns


def finish(
    request: Request, parts: Parts, content: Content, unsent: Iterable[Note]
) -> ChatEnvelope:
    """Return the envelope of a request, with its budget and all notes; `unsent` are about texts
    that it does not carry.
    """
    inputs, count, asked = request.inputs, request.count, request.parameters
    left_out, muted_tokens = muted_costs(request.muted, count)
    has_parts = have_media(inputs.history)
    budget = Budget(
        limit=request.limit,
        reserve=request.reserve,
        fixed=content.fixed,
        history=content.history,
        dropped=content.dropped_tokens,
        counter=count.name,
        exact=count.exact,
        ratio=count.ratio,
        how=how_counted(count, guessed=bool(inputs.tools) or has_parts),
        tools=tool_costs(inputs.tools or (), count),
        muted=muted_tokens,
    )
    notes = [
        *request.notes,
        *budget_notes(budget, len(content.dropped)),
        *content.notes,
        *summary_notes(request.summarized),
        *muted_notes(request.muted),
    ]
    if not any(note.level is Level.ERROR for note in content.notes):  # it says that little fits
        notes += unsent
    if not asked.values.model:
        sentence = "No model is chosen: neither session, role nor endpoint names one."
        notes.append(Note(Level.ERROR, "no-model", sentence, asked.origin("model")))
    has_marks = parts.groups.marks
    return ChatEnvelope(
        turns=content.turns,
        parameters=asked,
        tools=inputs.tools,
        dropped=content.dropped,
        muted=left_out,
        notes=tuple(notes),
        budget=budget,
        tokens=content.tokens,
        cache_marks=sum(turn.cache_mark is not None for turn in content.turns) if has_marks else 0,
        set_variables=parts.expander.set_variables,
        without_value=frozenset(parts.expander.without_value),
    )
