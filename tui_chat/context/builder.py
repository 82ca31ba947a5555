"""The context builder: three phases, and the budget.

1. Contributors add their messages to the preset's.
2. A summary takes the place of the messages that it stands for.
3. Phase 1, `scan`: all of them are sorted into groups.
4. Macros are expanded, from the first message to the last.
5. Phase 2, `history`: the history is truncated to the rest of the budget, and the deep messages
   are injected at their depths. The draft ends it: the typed one, else the user message that ends
   the branch.
6. Phase 3, `skeleton`: system messages, then the list with its anchors filled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain

from tui_chat.context.budget import (
    budget_notes,
    fitting_notes,
    history_notes,
    summary_notes,
    tool_costs,
)
from tui_chat.context.conversation import Speakers, changed_turns
from tui_chat.context.depths import join_depths
from tui_chat.context.draft import draft_turn
from tui_chat.context.examples import example_blocks
from tui_chat.context.generation import (
    control_turns,
    empty_draft_turn,
    example_turn,
    examples_line,
    nudge_turns,
    separator_turn,
    uses_prefill,
    without_name,
)
from tui_chat.context.history import (
    DepthPlacement,
    inject,
    mark_history,
    place_deep_messages,
    summarize,
    summary_of,
    truncate,
)
from tui_chat.context.history_costs import (
    HistoryCosts,
    history_costs,
    with_changed,
)
from tui_chat.context.history_with_injections import PromptPlan, PromptSection, fit
from tui_chat.context.inputs import (
    NOTHING_TO_ADD,
    Contribution,
    Contributor,
    Inputs,
    contribute,
    with_answered_as_draft,
    without_expired_sounds,
)
from tui_chat.context.macros.preset_expansion import Expander, expand_all
from tui_chat.context.parameters import context_limit, parameters, reply_reserve
from tui_chat.context.post_processing import post_process, squash, system_as_user, system_first
from tui_chat.context.resolved_message import (
    ExpandedTexts,
    ResolvedMessage,
    resolve_role_prompt,
    text_of,
    turns_of,
)
from tui_chat.context.scan import MessageGroups, scan
from tui_chat.context.session_texts import Places, expand_places, session_lines
from tui_chat.context.skeleton import Placed, populate
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    Budget,
    ChatEnvelope,
    Dropped,
    Level,
    Note,
    Placement,
    Turn,
)
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CHAT_HISTORY, OTHERWISE, Preset
from tui_chat.tokens import REQUEST_OVERHEAD, Counter, how_counted

Run = tuple[Sequence[Turn], Sequence[int]]
"""Turns, and the tokens of each."""


def _lore(inputs: Inputs, count: Counter) -> Contribution:
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    from tui_chat.context.lorebooks.activation import activate_lorebooks  # few sessions have books

    return activate_lorebooks(inputs, count)


_SYSTEM_APART = (Protocol.ANTHROPIC, Protocol.GEMINI)
"""The protocols that take a system prompt apart from the messages."""
CONTRIBUTORS: tuple[Contributor, ...] = (_lore,)
"""The default contributors."""


def build_context(
    inputs: Inputs,
    counter: Callable[[str], Counter],
    contributors: Sequence[Contributor] = CONTRIBUTORS,
) -> ChatEnvelope:
    """Decide what the model will see. Pure; raises nothing, and reports problems in notes.

    `counter` returns the token counter of a model by its name.
    """
    notes: list[Note] = []
    summarized = summarize(inputs.history)
    if summarized.history is not inputs.history:
        inputs = replace(inputs, history=summarized.history)
    inputs = without_expired_sounds(with_answered_as_draft(inputs))
    asked = parameters(inputs)
    count = counter(asked.model.value).corrected(inputs.correction)
    role_prompt = _role_prompt(inputs, notes)
    policies = inputs.preset.policies

    contributed = contribute(inputs, count, contributors)
    session = tuple(session_lines(inputs, contributed.places))
    groups = scan(
        inputs.preset,
        (*contributed.messages, *session),
        inputs.chat.kind,
        inputs.active_role,
    )
    notes += (*groups.notes, *contributed.notes)
    expander = Expander(inputs, notes)
    expand_places(expander, contributed.places)
    blocks = list(_example_blocks(inputs, groups, contributed.places, expander))
    expand_all(expander, inputs, role_prompt, groups)

    limit = context_limit(inputs, asked)
    reserve = reply_reserve(inputs, asked, limit)
    speakers = Speakers.of(inputs)
    costs = history_costs(inputs.history, count, speakers)
    typed = draft_turn(inputs, speakers, expander, notes)
    draft: Run = ((typed,), (count.turn(typed),)) if typed is not None else ((), ())
    if policies.expand_history or inputs.scripts:
        changed = changed_turns(inputs, costs.turns, speakers, expander)
        costs = with_changed(costs, tuple(changed.items()), count) if changed else costs
    request = _Request(inputs, groups, role_prompt, expander, blocks, costs, draft, count)
    room = None if limit is None else limit - reserve
    build = _joined if policies.depths == "joined" else _separate
    content = build(request, room, notes)
    budget = Budget(
        limit=limit,
        reserve=reserve,
        fixed=content.fixed,
        history=content.history,
        dropped=content.dropped_tokens,
        counter=count.name,
        exact=count.exact,
        ratio=count.ratio,
        how=how_counted(count, guessed=bool(inputs.tools) or costs.has_parts),
        tools=tool_costs(inputs.tools or (), count),
    )
    notes += budget_notes(budget, len(content.dropped))
    notes += content.notes
    notes += summary_notes(summarized)
    if not asked.model.value:
        sentence = "No model is chosen: neither session, role nor endpoint names one."
        notes.append(Note(Level.ERROR, "no-model", sentence, asked.model.origin))
    turns = content.turns
    if inputs.endpoint.protocol in _SYSTEM_APART:
        if policies.depths == "joined":
            turns = tuple(system_first(turns, inputs.user_name, inputs.char_name))
        if policies.system_as_user:
            turns = tuple(system_as_user(turns))
    return ChatEnvelope(
        turns=turns,
        parameters=asked,
        tools=inputs.tools,
        dropped=content.dropped,
        notes=tuple(notes),
        budget=budget,
        tokens=content.tokens,
        cache_marks=(sum(turn.cache_mark is not None for turn in turns) if groups.marks else 0),
        set_variables=expander.set_variables,
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """What the policies for depths and budget work with."""

    inputs: Inputs
    groups: MessageGroups
    role_prompt: ResolvedMessage | None
    expander: Expander
    blocks: Sequence[Sequence[Turn]]
    """The example dialogues, each block with its separator."""
    costs: HistoryCosts
    draft: Run
    count: Counter
    gaps: list[int | None] = field(default_factory=list["int | None"])
    """The identities of turns before which an empty message stands that is not the system's."""


@dataclass(frozen=True, slots=True)
class _Content:
    """The turns of a request, and what they cost."""

    turns: tuple[Turn, ...]
    tokens: tuple[int, ...]
    dropped: tuple[Dropped, ...]
    fixed: int
    history: int
    dropped_tokens: int
    notes: Sequence[Note] = ()


def _separate(request: _Request, room: int | None, notes: list[Note]) -> _Content:
    """Build the turns by our own rules: see `history` and `skeleton`."""
    inputs, groups, count, costs = request.inputs, request.groups, request.count, request.costs
    expanded, draft = request.expander.texts, request.draft
    skeleton = populate(groups, request.role_prompt, inputs.profile)
    before, after = (_run(side, request) for side in (skeleton.before, skeleton.after))
    deep = [line for line in groups.deep if text_of(line, expanded).plain]
    nudge, continued = (), inputs.chat.kind == "continue" and not draft[0] and costs.turns
    if continued:
        nudge = nudge_turns(inputs, request.expander, costs.turns[-1])
    control = [
        (turn, count.turn(turn)) for turn in (*nudge, *control_turns(inputs, request.expander))
    ]
    fixed = sum(
        chain(before[1], after[1], draft[1], _costs(deep, expanded, count)), REQUEST_OVERHEAD
    )
    fixed += sum(count.tools(inputs.tools)) if inputs.tools else 0
    fixed += sum(tokens for _, tokens in control)
    kept = truncate(costs, None if room is None else room - fixed)
    placed = place_deep_messages(deep, len(kept.turns), notes)
    whole = kept
    if groups.marks:
        kept = mark_history(kept, groups, placed)
    last: Run = (), ()
    if continued:  # it ends the conversation, whatever the preset puts after the history
        last = kept.turns[-1:], kept.costs[-1:]
        kept = replace(kept, turns=kept.turns[:-1], costs=kept.costs[:-1])
    block = inject(kept, _deep_turns(placed, expanded, count))
    ending: Run = tuple(turn for turn, _ in control), tuple(tokens for _, tokens in control)
    runs = (before, *block, draft, after, last, ending)
    return _Content(
        tuple(chain.from_iterable(turns for turns, _ in runs)),
        tuple(chain.from_iterable(tokens for _, tokens in runs)),
        kept.dropped,
        fixed,
        kept.tokens,
        kept.dropped_tokens,
        tuple(history_notes(inputs, costs, whole)),
    )


def _joined(request: _Request, room: int | None, notes: list[Note]) -> _Content:
    """Build the turns by SillyTavern's rules: see `depths`, `history_with_injections` and
    `post_processing`.
    """
    inputs, groups, count, costs = request.inputs, request.groups, request.count, request.costs
    policies, expander = inputs.preset.policies, request.expander
    newest, withheld, nudge = request.draft[0], None, ()
    is_prefill = False
    if inputs.chat.kind == "continue":
        withheld = newest[-1] if newest else next(iter(costs.turns[-1:]), None)
        is_prefill = withheld is not None and uses_prefill(inputs)
        if withheld is not None and not is_prefill and policies.names == "name":
            withheld = without_name(withheld)
        if withheld is not None and withheld.text.plain:
            nudge = nudge_turns(inputs, expander, withheld)
    length = len(costs.turns) + len(newest)
    neighbors = groups.beside[CHAT_HISTORY]
    deep = sorted((*groups.deep, *neighbors.after), key=_list_order(groups))
    separators = _run([(line, _SEPARATOR) for line in neighbors.before], request)[0]
    skeleton = populate(groups, request.role_prompt, inputs.profile, with_neighbors=False)
    plan = PromptPlan(
        before=tuple(_sections(skeleton.before, request)),
        after=tuple(_sections(skeleton.after, request)),
        examples=request.blocks,
        has_history=groups.has_history,
        separators=separators,
        costs=costs,
        newest=newest,
        injections=join_depths(deep, length - is_prefill, expander.texts),
        withheld=withheld,
        prefilled=is_prefill,
        nudge=nudge,
        control=control_turns(inputs, expander),
        pin_examples=policies.pin_examples,
        empty_draft=empty_draft_turn(inputs.preset, expander),
    )
    fixed = REQUEST_OVERHEAD + (sum(count.tools(inputs.tools)) if inputs.tools else 0)
    fitted = fit(plan, count, None if room is None else room - fixed)
    turns: Sequence[Turn] = fitted.turns
    if policies.squash_system:
        alone = (*separators, *(block[0] for block in request.blocks if block))
        turns = squash(turns, frozenset(map(id, alone)), frozenset(filter(None, request.gaps)))
    turns = post_process(turns, policies.post_processing, inputs.user_name, inputs.char_name)
    is_changed = turns is not fitted.turns
    tokens = map(count.turn, turns) if is_changed else fitted.tokens
    return _Content(
        tuple(turns),
        tuple(tokens),
        fitted.dropped,
        fixed + fitted.fixed,
        fitted.history,
        fitted.dropped_tokens,
        tuple(fitting_notes(fitted)),
    )


_SEPARATOR = Placement("before", CHAT_HISTORY, rule="It begins the conversation.")


def _list_order(groups: MessageGroups) -> Callable[[ResolvedMessage], int]:
    places = {id(line): place for place, line in enumerate(groups.listed)}
    return lambda line: places.get(id(line), 0)


def _sections(placed: Sequence[Placed], request: _Request) -> Iterator[PromptSection | None]:
    for line, placement in placed:
        if line is request.groups.examples_anchor:
            yield None
        else:
            turns = turns_of(((line, placement),), request.expander.texts)
            if not turns and line.message.role != "system":
                request.gaps.append(None)
            for turn in turns:
                if request.gaps[-1:] == [None]:
                    request.gaps[-1] = id(turn)
                identity = line.slot or line.message.id.removesuffix(OTHERWISE)
                yield PromptSection(identity, turn, bool(line.slot))


def _example_blocks(
    inputs: Inputs, groups: MessageGroups, places: Places, expander: Expander
) -> Iterator[Sequence[Turn]]:
    """Yield the turns of each block of example dialogues: its separator and its messages."""
    role = inputs.active_role
    anchor = groups.examples_anchor
    if anchor is None:
        return
    texts = [expander.expand(line) for line in reversed(places.get("examples_top", ()))]
    if role is not None and (line := examples_line(role)) is not None:
        texts.append(expander.expand(line))
    texts += (expander.expand(line) for line in places.get("examples_bottom", ()))
    if inputs.preset.policies.strip_examples:
        return
    separator = separator_turn(inputs.preset, anchor, expander)
    for text in texts:
        for block in example_blocks(text, inputs.user_name, inputs.char_name):
            turns = [example_turn(said, name, anchor) for name, said in block]
            yield [*([separator] if separator else ()), *turns]


def _role_prompt(inputs: Inputs, notes: list[Note]) -> ResolvedMessage | None:
    """Return the role's system prompt; None if it has none or the history brings its own: that of
    a file may be the one that its author saw.
    """
    if inputs.role is None and inputs.role_missing:
        sentence = "The role of this session was deleted; the session works without it."
        notes.append(Note(Level.WARNING, "role-missing", sentence))
    if inputs.role is not None and inputs.role.status == "disabled":
        sentence = f"The role “{inputs.role.name}” is disabled; the session works without it."
        notes.append(
            Note(Level.WARNING, "role-disabled", sentence, resolve_role_prompt(inputs.role).origin)
        )
    role = inputs.active_role
    if role is None or not role.system_prompt:
        return None
    if inputs.preset.policies.role_prompt == "description":
        if role.character is None and not _has_description(inputs.preset):
            sentence = (
                f"The preset has no place for the prompt of the role “{role.name}”, which is its "
                "{{description}}; it is not sent."
            )
            origin = resolve_role_prompt(role).origin
            notes.append(Note(Level.WARNING, "role-prompt-skipped", sentence, origin))
        return None
    first = inputs.history[0] if inputs.history else None
    begins = first is not None and first.role == "system" and summary_of(first) is None
    if begins and not inputs.keeps_role_prompt:
        sentence = "The history begins with a system message, so the role's prompt is not added."
        notes.append(
            Note(Level.INFO, "role-prompt-skipped", sentence, resolve_role_prompt(role).origin)
        )
        return None
    return resolve_role_prompt(role)


_DESCRIPTION = re.compile(r"\{\{\W*(?:char)?description\s*\}\}", re.IGNORECASE)


@Memo
def _has_description(preset: Preset) -> bool:
    """True if a preset sends the character's description."""
    return any(
        message.enabled and _DESCRIPTION.search(message.content) for message in preset.messages
    )


def _run(placed: Sequence[Placed], request: _Request) -> Run:
    turns: Sequence[Turn]
    anchor, expanded = request.groups.examples_anchor, request.expander.texts
    if anchor is None or not request.blocks:
        turns = turns_of(placed, expanded)
    else:
        turns = [
            turn
            for each in placed
            for turn in (
                chain.from_iterable(request.blocks)
                if each[0] is anchor
                else turns_of((each,), expanded)
            )
        ]
    return turns, tuple(map(request.count.turn, turns))


def _costs(
    lines: Sequence[ResolvedMessage], expanded: ExpandedTexts, count: Counter
) -> Iterator[int]:
    """Yield the tokens of messages, which do not depend on their place."""
    for line in lines:
        yield count.alone(text_of(line, expanded))


def _deep_turns(
    placed: Sequence[DepthPlacement], expanded: ExpandedTexts, count: Counter
) -> Iterator[tuple[int, Turn, int]]:
    for depth in placed:
        for turn in turns_of(((depth.line, depth.placement),), expanded):
            yield depth.place, turn, count.turn(turn)
