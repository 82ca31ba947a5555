r"""Lorebook patterns (`/dragons?/i`), matched in bounded time with the same result on any machine.

A lorebook is a stranger's file and is searched with every keystroke, so `re` is not an option:
for `/(a+)+$/` its time doubles with each character.

1. `syntax` and `parser`: JavaScript's syntax, as a tree of items.
2. `automaton`: a nondeterministic automaton, made deterministic lazily. The time for a text is at
   worst its length times the pattern's size, and mostly its length alone.
3. Lookarounds: for each one, a pass over the text marks the positions where it holds (forward for
   look-behind; backward, with the pattern reversed, for look-ahead). The time stays linear.
4. `backtracking`: back-references make matching NP-hard. `Pattern.occurs_in` then says in linear
   time whether the pattern might match, and `Pattern.backtrack` decides it in a bounded number of
   steps. A limit in seconds would make a request depend on the speed of the machine.
5. `pattern`: the whole, with literals of which every matching text contains one, so that of
   thousands of patterns only a few are run on a text.

Why not a library: `google-re2` has no wheels for musl and refuses look-around and
back-references; `regex` and `re` accept them, but their only bound is a time limit.
"""

from tui_chat.context.lorebooks.patterns.pattern import Pattern
from tui_chat.context.lorebooks.patterns.syntax import (
    BadPattern,
    Test,
    canonical,
    is_word,
    utf16_units,
)

__all__ = ["BadPattern", "Pattern", "Test", "canonical", "is_word", "utf16_units"]
