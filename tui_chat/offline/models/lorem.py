"""The model that writes a long reply at a chosen speed and length, in every form of Markdown.

It exercises the screen: headings, nested lists, tables, code, quotes, emoji, Chinese and Japanese.
The same name always gives the same text.
"""

from collections.abc import Iterator
from itertools import count, islice

from tui_chat.offline.tokens import count_tokens, split_tokens

SPEED = 60
"""Default tokens per second."""

LENGTH = 900
"""Default length in tokens."""

_BLOCKS = (
    """\
A river does not hurry, and yet it arrives. This text is much the same: it has nowhere to be, \
and it says so at length, with **some of it bold**, *some of it slanted*, a bit of `inline code`, \
~~something taken back~~ and [a link that leads nowhere](https://example.invalid/nowhere).

""",
    """\
### Things to pack

1. A lamp, because the valley is dark
   - oil for three nights
   - a wick, and a second wick
     - no third wick: that would be greed
2. Bread and salt
3. A map
   1. of the way there
   2. of the way back, which is *not* the same way

""",
    """\
### A little Python

```python
from dataclasses import dataclass


@dataclass(frozen=True)
class Boat:
    name: str
    oars: int = 2

    def crossing(self, width: float) -> float:
        \"\"\"Minutes to reach the other bank.\"\"\"
        return width / (0.8 * self.oars)


print(f"{Boat('Heron').crossing(40):.1f} minutes")
```

""",
    """\
> The ferryman said: whoever counts the waves will miss the boat.
>
> > And whoever misses the boat may as well count the waves.

""",
    """\
### Who lives by the water

| bird | seen | call | |
| :--- | ---: | :---: | --- |
| heron | 12 | *kraak* | 🪶 |
| kingfisher | 3 | `tsee` | 💙 |
| 白鹭 (egret) | 107 | 咕 | 🤍 |

""",
    """\
### 河边的话 · 川のほとりで

水流不争先，争的是滔滔不绝。走得慢一点，才看得见岸上的花。🌸

ゆっくり流れる水も、いつか海に着きます。👩‍🌾 한 걸음씩 가면 됩니다. Ça ira, «très bien» … e\u0301.

""",
    """\
### The same boat in Rust

```rust
struct Boat<'a> {
    name: &'a str,
    oars: u32,
}

impl Boat<'_> {
    fn crossing(&self, width: f64) -> f64 {
        width / (0.8 * f64::from(self.oars)) // minutes
    }
}
```

- [x] launched
- [ ] painted
- [ ] forgiven for leaking 🛶

---

""",
)


def blocks(length: int) -> Iterator[str]:
    """Yield paragraphs of `length` tokens in all; the last one is cut."""
    remaining = length
    for block in _endless_blocks():
        cost = count_tokens(block)
        if cost >= remaining:
            yield "".join(islice(split_tokens(block), remaining))
            return
        remaining -= cost
        yield block


def _endless_blocks() -> Iterator[str]:
    for chapter in count(1):
        yield f"{'#' if chapter == 1 else '##'} Part {chapter}, in which little happens\n\n"
        yield from _BLOCKS
