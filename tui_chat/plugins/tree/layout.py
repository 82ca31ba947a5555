"""The rows of a session's tree.

1. A message that several follow is a fork. The tree is drawn as columns: at a fork, one of the
   messages that follow continues its column, and each other one opens a column to the right, above
   it. So the depth of a row is the number of times its branch left another one.
2. The active branch is the first column, from top to bottom. Elsewhere the branch with the newest
   end continues, which is the one that is shown when one goes there.
3. Messages that follow each other without a fork are a run, which is one row while it is folded. A
   named message and a search result are rows of their own.
4. During a search only results are shown and what leads to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

from tui_chat.models.session import Node


class Row(NamedTuple):
    """A message of the tree, or several."""

    first: str
    """The id of its first message."""
    last: str
    """The id of its last message; the same for one message."""
    messages: int
    """The number of its messages."""
    level: int
    """Its column, counted from 0."""
    opens: bool
    """True if it opens its column."""
    run: str
    """The id of the first message of the run that it is, or is in; empty if it is alone."""
    folded: bool = False


class Tree:
    """The messages of a session as a tree."""

    def __init__(self, nodes: Sequence[Node], head_id: str | None) -> None:
        """`nodes` come each after its parent; `head_id` is the end of the active branch."""
        self.nodes: dict[str, Node] = {}
        self.children: dict[str | None, list[str]] = {None: []}
        for node in nodes:
            if node.parent_id is None or node.parent_id in self.nodes:  # else it is damaged
                self.nodes[node.message_id] = node
                self.children.setdefault(node.parent_id, []).append(node.message_id)
        self.sizes = dict.fromkeys(self.nodes, 1)
        """The number of messages from each one on, itself included."""
        self.newest = {id: id for id in self.nodes}
        """The last message of the newest branch through each message."""
        self._numbers = {id: number for number, id in enumerate(self.nodes)}
        for id, node in reversed(self.nodes.items()):
            if (parent := node.parent_id) is not None:
                self.sizes[parent] += self.sizes[id]
                self.newest[parent] = max(
                    self.newest[parent], self.newest[id], key=self._numbers.__getitem__
                )
        self.head = head_id if head_id in self.nodes else None
        self.active = frozenset(self.path(self.head))
        """The ids of the messages of the active branch."""

    @property
    def branch_count(self) -> int:
        """The number of branches."""
        return sum(id not in self.children for id in self.nodes)

    def path(self, message_id: str | None) -> list[str]:
        """Return the ids of the messages that lead to one, itself included, the first one first."""
        path: list[str] = []
        while message_id is not None:
            path.append(message_id)
            message_id = self.nodes[message_id].parent_id
        return path[::-1]

    def version(self, message_id: str) -> tuple[int, int]:
        """Return which of how many messages at its place a message is, counted from 1."""
        siblings = self.children[self.nodes[message_id].parent_id]
        return siblings.index(message_id) + 1, len(siblings)

    def continuing(self, following: Sequence[str]) -> str:
        """Return the message that continues the column, of those that follow the same one."""
        active = [id for id in following if id in self.active]
        newest = max(following, key=lambda id: self._numbers[self.newest[id]])
        return active[0] if active else newest


class Rows:
    """The rows of a tree as it is folded and searched."""

    def __init__(
        self,
        tree: Tree,
        open_runs: Set[str],
        named: Collection[str] = (),
        results: Set[str] | None = None,
    ) -> None:
        """`open_runs` are the ids of the first messages of unfolded runs, `named` those of named
        messages, and `results` those of a search, None for none.
        """
        self.rows: list[Row] = []
        self._index: dict[str, int] = {}
        self._tree, self._open_runs = tree, open_runs
        self._alone = {*named, *(results or ())}
        self._shown = None if results is None else _with_ways(tree, results)
        self._results = results or frozenset()
        self._lay_out()

    def index_of(self, message_id: str) -> int:
        """Return the row that has a message, or has what leads to it."""
        id: str | None = message_id
        while id is not None and id not in self._index:
            id = self._tree.nodes[id].parent_id if id in self._tree.nodes else None
        return self._index.get(id, 0) if id is not None else 0

    def _lay_out(self) -> None:
        waiting = self._following(None, 0)
        while waiting:
            waiting += self._add_run(*waiting.pop())

    def _following(self, parent: str | None, level: int) -> list[tuple[str, int, bool]]:
        """Return the messages after one, each with its column and True if it opens that; the last
        one comes first.
        """
        following = self._tree.children.get(parent, [])
        if self._shown is not None:
            following = [id for id in following if id in self._shown]
        if not following:
            return []
        main = self._tree.continuing(following)
        beside = [(id, level + 1, True) for id in following if id != main]
        return [(main, level, False), *reversed(beside)]

    def _add_run(self, first: str, level: int, opens: bool) -> list[tuple[str, int, bool]]:
        """Add the rows of the run that begins with a message; return what follows it."""
        children, run = self._tree.children, [first]
        last = first
        while (
            last not in self._alone
            and len(following := children.get(last, ())) == 1
            and following[0] not in self._alone
            and (self._shown is None or following[0] in self._shown)
        ):
            last = following[0]
            run.append(last)
        if len(run) == 1:
            self._add(Row(first, first, 1, level, opens, ""), run)
        elif first in self._open_runs:
            for id in run:
                self._add(Row(id, id, 1, level, opens and id == first, first), (id,))
        else:
            self._add(Row(first, last, len(run), level, opens, first, folded=True), run)
        return self._following(last, level)

    def _add(self, row: Row, message_ids: Iterable[str]) -> None:
        number = len(self.rows)
        self._index.update((id, number) for id in message_ids)
        self.rows.append(row)


def _with_ways(tree: Tree, results: Iterable[str]) -> frozenset[str]:
    """Return messages and all that lead to them."""
    shown: set[str] = set()
    for result in results:
        id: str | None = result if result in tree.nodes else None
        while id is not None and id not in shown:
            shown.add(id)
            id = tree.nodes[id].parent_id
    return frozenset(shown)
