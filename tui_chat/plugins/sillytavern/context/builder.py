"""SillyTavern's context builder: what the model will see with one of its presets.

0. The conversation begins as with the core's builder: a summary stands for earlier messages, the
   user message that ends the branch takes the draft's place, lorebooks add messages.
1. `scan` groups the messages. The main prompt keeps its place where its triggers leave it out, if
   the card has one. Macros are expanded: the variables of the card first, then the preset, the
   example dialogues, and the conversation, newest message first.
2. `join_depths`: the messages at one depth, order and role are one message. A depth counts from the
   newest message, draft included.
3. `fit`: everything around the conversation is charged first, in an order of its own, then the
   conversation from its newest message with what is injected into it, then the example dialogues.
4. Neighbors are squashed or merged, names go into the texts, system messages become the user's: as
   the preset and the protocol want it.

With the policy `depths` `separate`, the core's steps put the messages in order (`assemble`), with
the other policies of the preset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tui_chat.context.builder import (
    Content,
    CounterOf,
    Parts,
    Request,
    assemble,
    begin,
    expand_all,
    finish,
    leading_prompt,
    unusable_role_notes,
)
from tui_chat.context.generation import draft_turn, uses_prefill
from tui_chat.context.history import history_costs
from tui_chat.context.inputs import NOTHING_TO_ADD, Contribution, Inputs
from tui_chat.context.resolved_message import (
    ResolvedMessage,
    resolve_preset_message,
    turns_of,
)
from tui_chat.context.scan import (
    MessageGroups,
    Placed,
    group_messages,
    is_sent,
    populate,
    resolve_messages,
)
from tui_chat.context.sent_texts import around, profile_notes
from tui_chat.context.session_texts import Places, expand_places, session_lines
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Note, Placement, Turn
from tui_chat.models.generation import GenerationKind
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CHAT_HISTORY, OTHERWISE, Preset, PresetMessage
from tui_chat.models.role import Role
from tui_chat.plugins.sillytavern.context.card_texts import (
    MAIN,
    CardExpander,
    with_attached,
    with_card_prompt,
    with_own_texts,
)
from tui_chat.plugins.sillytavern.context.control import (
    control_turns,
    empty_draft_turn,
    nudge_turns,
    without_name,
)
from tui_chat.plugins.sillytavern.context.conversation import (
    Speakers,
    draft_message,
    expanded_conversation,
)
from tui_chat.plugins.sillytavern.context.depths import join_depths
from tui_chat.plugins.sillytavern.context.examples import example_turns, examples_anchor
from tui_chat.plugins.sillytavern.context.macros import set_variables_of_card
from tui_chat.plugins.sillytavern.context.post_processing import (
    post_process,
    squash,
    system_as_user,
    system_first,
)
from tui_chat.plugins.sillytavern.context.prompt_budget import (
    PromptPlan,
    PromptSection,
    fit,
    fitting_notes,
)
from tui_chat.plugins.sillytavern.context.scripts import RequestScripts
from tui_chat.plugins.sillytavern.context.unsent_fields import lore_notes, prompt_notes, role_notes
from tui_chat.plugins.sillytavern.policies import policies_of
from tui_chat.tokens import REQUEST_OVERHEAD, Counter

_SYSTEM_APART = (Protocol.ANTHROPIC, Protocol.GEMINI)
"""The protocols that take a system prompt apart from the messages."""


def _lore(inputs: Inputs, count: Counter) -> Contribution:
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    from tui_chat.plugins.sillytavern.lore.search import search_lorebooks  # few sessions have books

    return search_lorebooks(inputs, count)


def build_context(inputs: Inputs, counter: CounterOf) -> ChatEnvelope:
    """Decide what the model will see. Pure; raises nothing, and reports problems in notes."""
    request = begin(with_own_texts(inputs), counter)
    inputs, notes = request.inputs, request.notes
    lore = _lore(inputs, request.count)
    places = lore.places
    policies = policies_of(inputs.preset)
    role_prompt = _role_prompt(inputs, notes)
    groups = _scan(inputs, lore)
    notes += (*groups.notes, *lore.notes)
    scripts = RequestScripts(inputs, notes)
    expander = CardExpander(inputs, notes, scripts)
    expand_places(expander, places)
    anchor = examples_anchor(groups)
    blocks = example_turns(inputs, anchor, places, expander)
    if policies.expand_history:
        set_variables_of_card(expander)
    expand_all(expander, groups, role_prompt)

    speakers = Speakers.of(inputs)
    costs = history_costs(inputs.history, request.count, speakers)
    draft = draft_turn(inputs, notes)
    if draft is not None:
        draft = speakers.named(draft, draft_message(inputs))
    if policies.expand_history or scripts.scripts:
        costs, draft = expanded_conversation(
            inputs, costs, draft, request.count, speakers, expander, scripts
        )
    if not inputs.has_draft and inputs.chat.kind == "normal":
        draft = empty_draft_turn(inputs, expander)
    fillings = {} if anchor is None else {id(anchor): tuple(chain.from_iterable(blocks))}
    parts = Parts(groups, role_prompt, expander, costs, draft, fillings=fillings)
    if policies.depths == "joined":
        content = _joined(request, parts, blocks)
    else:
        ending = tuple(_ending(inputs, parts))
        content = assemble(request, replace(parts, ending=ending))
    turns = content.turns
    if inputs.endpoint.protocol in _SYSTEM_APART:
        if policies.depths == "joined":
            turns = tuple(system_first(turns, inputs.user_name, inputs.char_name))
        if policies.system_as_user:
            turns = tuple(system_as_user(turns))
    unsent = _unsent_notes(request, parts, around(turns), places)
    return finish(request, parts, replace(content, turns=turns), unsent)


def _unsent_notes(
    request: Request, parts: Parts, turns: Sequence[Turn], places: Places
) -> Iterator[Note]:
    """Yield warnings about texts that the turns around the conversation do not carry."""
    inputs, skipped = request.inputs, any(n.code == "role-prompt-skipped" for n in request.notes)
    if parts.role_prompt is None and not skipped:
        yield from prompt_notes(inputs, turns)
    yield from role_notes(inputs, turns, chain.from_iterable(parts.fillings.values()))
    yield from profile_notes(inputs, turns)
    yield from lore_notes(places, parts.expander, turns, inputs.preset)


# --- the messages around the conversation ----------------------------------------------------


def _role_prompt(inputs: Inputs, notes: list[Note]) -> ResolvedMessage | None:
    """Return the role's system prompt if it goes first; as description it is a macro's value."""
    if policies_of(inputs.preset).role_prompt != "description":
        return leading_prompt(inputs, notes)
    notes += unusable_role_notes(inputs)
    return None


def _scan(inputs: Inputs, lore: Contribution) -> MessageGroups:
    policies = policies_of(inputs.preset)
    is_joined = policies.depths == "joined"
    session = session_lines(inputs, lore.places, keeps_blank=is_joined)
    role = inputs.active_role
    return _groups(
        inputs.preset,
        (*lore.messages, *session),
        inputs.chat.kind,
        role if role is not None and role.character is not None else None,
    )


@Memo
def _groups(
    preset: Preset,
    added: tuple[ResolvedMessage, ...],
    kind: GenerationKind,
    role: Role | None,
) -> MessageGroups:
    """Return the messages in their groups, prompts of the role's card in place of the preset's."""
    policies, notes = policies_of(preset), list[Note]()
    if policies.depths == "joined":
        preset = _with_main(preset, kind, role)
    lines = iter(resolve_messages(preset, kind))
    places = (
        (
            message,
            with_card_prompt(next(lines), role, policies.card_prompts)
            if is_sent(message, kind)
            else None,
        )
        for message in preset.messages
    )
    placed, others = with_attached(places, added, notes)
    needs_anchor = policies.without_anchor == "not_sent"
    anchors = (at for at, line in enumerate(placed) if line.message.type == "chat_history")
    at = next(anchors, len(placed))
    placed[at:at] = others
    groups = group_messages(preset, placed, needs_anchor=needs_anchor)
    groups.notes[:0] = notes
    return groups


@Memo
def _with_main(preset: Preset, kind: GenerationKind, role: Role | None) -> Preset:
    """Return a preset whose main prompt stays for kinds that it is not for: a card may use it."""

    def is_taken(message: PresetMessage) -> bool:
        line = resolve_preset_message(message)
        return with_card_prompt(line, role, policies_of(preset).card_prompts) is not line

    messages = tuple(
        replace(message, content="", triggers=())
        if message.id == MAIN
        and message.enabled
        and message.triggers
        and kind not in message.triggers
        and is_taken(message)
        else message
        for message in preset.messages
    )
    return preset if messages == preset.messages else replace(preset, messages=messages)


# --- the order of the messages ---------------------------------------------------------------


def _ending(inputs: Inputs, parts: Parts) -> Iterator[Turn]:
    """Yield what the kind of generation puts at the end, where depths are separate."""
    if inputs.chat.kind == "continue" and parts.draft is None and parts.costs.turns:
        yield from nudge_turns(inputs, parts.expander, parts.costs.turns[-1])
    yield from control_turns(inputs, parts.expander)


def _joined(request: Request, parts: Parts, blocks: Sequence[tuple[Turn, ...]]) -> Content:
    """Put the messages in order: steps 2 to 4, but for what depends on the protocol."""
    inputs, count, groups, costs = request.inputs, request.count, parts.groups, parts.costs
    policies, expander = policies_of(inputs.preset), parts.expander
    newest = () if parts.draft is None else (parts.draft,)
    withheld, nudge = None, ()
    if inputs.chat.kind == "continue":
        withheld = parts.draft or next(iter(costs.turns[-1:]), None)
    is_prefill = withheld is not None and uses_prefill(inputs)
    if withheld is not None and not is_prefill and policies.names == "name":
        withheld = without_name(withheld)
    if withheld is not None and withheld.text.plain:
        nudge = tuple(nudge_turns(inputs, expander, withheld))
    neighbors = groups.beside[CHAT_HISTORY]
    places = {id(line): place for place, line in enumerate(groups.listed)}
    deep = sorted((*groups.deep, *neighbors.after), key=lambda line: places.get(id(line), 0))
    separators = turns_of(((line, _SEPARATOR) for line in neighbors.before), parts.texts)
    before, after = populate(groups, parts.role_prompt, inputs.profile, with_neighbors=False)
    sections = _Sections(parts)
    plan = PromptPlan(
        before=tuple(sections.of(before)),
        after=tuple(sections.of(after)),
        examples=blocks,
        has_history=groups.has_history,
        separators=separators,
        costs=costs,
        newest=newest,
        injections=join_depths(deep, len(costs.turns) + len(newest) - is_prefill, parts.texts),
        withheld=withheld,
        prefilled=is_prefill,
        nudge=nudge,
        control=tuple(control_turns(inputs, expander)),
        pin_examples=policies.pin_examples,
        empty_draft=empty_draft_turn(inputs, expander),
    )
    fixed = REQUEST_OVERHEAD + (sum(count.tools(inputs.tools)) if inputs.tools else 0)
    fitted = fit(plan, count, None if request.room is None else request.room - fixed)
    turns: Sequence[Turn] = fitted.turns
    if policies.squash_system:
        alone = (*separators, *(block[0] for block in blocks if block))
        turns = squash(turns, frozenset(map(id, alone)), frozenset(filter(None, sections.gaps)))
    turns = post_process(turns, policies.post_processing, inputs.user_name, inputs.char_name)
    is_changed = turns is not fitted.turns
    return Content(
        tuple(turns),
        tuple(map(count.turn, turns) if is_changed else fitted.tokens),
        fitted.dropped,
        fixed + fitted.fixed,
        fitted.history,
        fitted.dropped_tokens,
        tuple(fitting_notes(fitted)),
    )


_SEPARATOR = Placement("before", CHAT_HISTORY, rule="It begins the conversation.")


class _Sections:
    """Makes the messages around the conversation ready to be charged."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.gaps: list[int | None] = []
        """The identities of turns before which an empty message stands that is not the system's."""

    def of(self, placed: Sequence[Placed]) -> Iterator[PromptSection | None]:
        """Yield messages at their places; None stands for the example dialogues."""
        for line, placement in placed:
            if id(line) in self._parts.fillings:
                yield None
                continue
            turns = turns_of(((line, placement),), self._parts.texts)
            if not turns and line.message.role != "system":
                self.gaps.append(None)
            for turn in turns:
                if self.gaps[-1:] == [None]:
                    self.gaps[-1] = id(turn)
                identity = line.slot or line.message.id.removesuffix(OTHERWISE)
                yield PromptSection(identity, turn, bool(line.slot))
