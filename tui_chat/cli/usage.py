"""`tui-chat usage`: tokens and costs of replies."""

from __future__ import annotations

import click

from tui_chat.cli.app import asynchronous, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import json_option
from tui_chat.cli.output import table, write_json, write_line
from tui_chat.library.prices import load_prices
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.usage import UsageGroup, UsageSum, group_name, known_cost


@click.command()
@click.option(
    "--by",
    "group",
    type=click.Choice(["day", "model"]),
    default="day",
    show_default=True,
)
@json_option()
@asynchronous
async def usage(common: CommonOptions, group: UsageGroup, as_json: bool) -> None:
    """Print tokens and costs of all replies.

    Requests that wrote titles, summaries, your messages (impersonate) and answers to quiet prompts
    are included. A fork's copies are counted once;
    deleted sessions that are still in the trash count too.

    \b
    Examples:
      tui-chat usage --by model
      tui-chat usage --json
    """
    sums, total = await sums_of(common, group)
    if as_json:
        write_json([{group: name, **usage.as_json()} for name, usage in sums.items()])
        return
    if not sums:
        write_line("No replies with tokens.", err=True)
        return
    head = (group.upper(), "REPLIES", "INPUT", "CACHED", "OUTPUT", "COST", "WITHOUT COST")
    rows: list[tuple[str, ...]] = [head]
    for name, usage in [*sums.items(), ("all", total)]:
        counts = (usage.replies, usage.input, usage.cached, usage.output)
        cells = (f"{count:,}" for count in counts)
        rows.append((one_line(name, 60), *cells, usage.dollars, f"{usage.unknown:,}"))
    write_line(table(rows, right=frozenset(range(1, len(head)))))


async def sums_of(common: CommonOptions, group: UsageGroup) -> tuple[dict[str, UsageSum], UsageSum]:
    """Return each group's sum by name, sorted, and the total. Raises StoreError, ConfigError."""
    config, tables = common.config(), load_prices()
    sums: dict[str, UsageSum] = {}
    total = UsageSum()
    async with open_store(common) as store:
        async for reply in store.usage.requests():
            cost = known_cost(reply, config, tables)
            sums.setdefault(group_name(reply, group), UsageSum()).add(reply, cost)
            total.add(reply, cost)
    return dict(sorted(sums.items())), total
