"""A session as one self-contained HTML page without scripts.

1. The text of a message is rendered from Markdown; HTML in it is shown as text. Links lead only to
   the web and to mail, and remote images are links: opening the page contacts no server.
2. As a second barrier, a content security policy forbids everything but the page's own style and
   embedded images and sounds.
3. The page has the active branch; where it forks, the other versions are folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from html import escape
from typing import TYPE_CHECKING, Any

from tui_chat.interop import readable
from tui_chat.interop.readable import active_branch, siblings
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.media import with_header
from tui_chat.models.message import References
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.session import Entry, SessionTranscript
from tui_chat.models.tool import call_summary

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_STYLE = """
:root { color-scheme: light dark; --back: #fdfdfc; --text: #1d2021; --dim: #66645f;
  --line: #dddad2; --user: #eef3fa; --code: #f3f1ec; --link: #0b5cad; --bad: #a01818; }
@media (prefers-color-scheme: dark) { :root { --back: #181a1b; --text: #e3e1dc;
  --dim: #9b978e; --line: #3a3c3d; --user: #202a36; --code: #232627; --link: #7db7f0;
  --bad: #f08a8a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 52rem; background: var(--back);
  color: var(--text); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0 0 2rem;
  color: var(--dim); font-size: .9rem; }
dd { margin: 0; }
article { border-top: 1px solid var(--line); padding: .75rem 0 1rem; }
article.user { background: var(--user); border: 0; border-radius: .5rem;
  padding: .75rem 1rem 1rem; margin: .75rem 0; }
article > header { font-weight: 600; }
article > header small { font-weight: 400; color: var(--dim); margin-left: .5rem; }
pre { background: var(--code); padding: .75rem; border-radius: .375rem; overflow-x: auto;
  overflow-wrap: normal; }
code { font: .9em/1.5 ui-monospace, monospace; background: var(--code); border-radius: .2rem;
  padding: .1em .25em; }
pre code { padding: 0; background: none; }
pre.plain { white-space: pre-wrap; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
blockquote { margin: 0; padding-left: 1rem; border-left: .25rem solid var(--line);
  color: var(--dim); }
img { max-width: 100%; height: auto; }
a { color: var(--link); }
details { margin: .5rem 0; border-left: .25rem solid var(--line); padding-left: .75rem; }
summary { color: var(--dim); cursor: pointer; }
.error { color: var(--bad); }
""".strip()

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; base-uri 'none'"
)
_PICTURE = re.compile(r"image/(?:png|jpeg|gif|webp)")
_SOUND = re.compile(r"audio/(?:wav|x-wav|wave|mpeg|mp3|ogg|opus|flac|aac|mp4|webm)")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def page(transcript: SessionTranscript, zone: tzinfo = UTC) -> Iterator[str]:
    """Yield the page as text, with times in `zone`."""
    shown = active_branch(transcript)
    versions = siblings(transcript)
    title = escape(readable.title(transcript))
    yield (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        f'<header>\n<h1 dir="auto">{title}</h1>\n<dl>\n'
    )
    for name, fact in readable.about(transcript, len(shown), zone):
        yield f"<dt>{name}</dt><dd>{escape(fact)}</dd>\n"
    yield "</dl>\n</header>\n"
    yield "<main>\n"
    for number, entry in enumerate(shown, 1):
        yield from _article(number, entry, versions[entry.parent_id], transcript, zone)
    yield "</main>\n</body>\n</html>\n"


def _article(
    number: int, entry: Entry, among: Sequence[Entry], transcript: SessionTranscript, zone: tzinfo
) -> Iterator[str]:
    facts = readable.captions(entry, among.index(entry), len(among), zone)
    sender = escape(readable.sender(entry.message, transcript))
    yield (
        f'<article class="{entry.message.role}" id="m{number}">\n'
        f"<header>{sender}<small>{escape(' · '.join(facts))}</small></header>\n"
    )
    yield from _body(entry)
    others = [other for other in among if other is not entry]
    if others:
        yield f"<details><summary>Other versions ({len(others)})</summary>\n"
        for other in others:
            place = among.index(other)
            facts = readable.captions(other, place, len(among), zone)
            yield f"<p><small>{escape(' · '.join(facts))}</small></p>\n"
            yield from _body(other)
        yield "</details>\n"
    yield "</article>\n"


def _body(entry: Entry) -> Iterator[str]:
    message = entry.message
    if thought := message.thought:
        yield _folded("Reasoning", _rendered(thought))
    if message.content:
        if message.role == "tool":
            yield _folded(_result_words(message.content), _plain(message.content))
        else:
            yield _rendered(message.content)
    if message.refusal:
        yield _rendered(message.refusal)
    yield from _sources(message.about.references)
    yield from map(_part, message.parts)
    for call in message.tool_calls:
        yield _folded(_call_words(call), _plain(readable.arguments(call)))
    if entry.error:
        yield f'<p class="error">{escape(sanitize(entry.error))}</p>\n'


def _sources(references: References) -> Iterator[str]:
    items: list[str] = []
    for source in references.sources:
        label = one_line(source.label)
        host = f" <small>{escape(source.host)}</small>" if source.title and source.host else ""
        linked = _link(source.url, label) if _LINK.match(source.url) else escape(label)
        items.append(f"<li>{linked}{host}</li>\n")
    if items:
        yield _folded(f"Sources ({len(items)})", f"<ol>\n{''.join(items)}</ol>\n")


def _folded(summary: str, inner: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>\n{inner}</details>\n"


def _plain(text: str) -> str:
    return f'<pre class="plain" dir="auto">{escape(sanitize(text))}</pre>\n'


def _rendered(text: str) -> str:
    return f'<div dir="auto">\n{_markdown().render(sanitize(text))}</div>\n'


def _part(part: MediaBlock) -> str:
    words = readable.part_words(part)
    if part.text:
        return _folded(words, _plain(part.text))
    if part.data and _PICTURE.fullmatch(part.mime) and _BASE64.fullmatch(part.data):
        return f'<p><img alt="{escape(words)}" src="data:{part.mime};base64,{part.data}"></p>\n'
    sound = with_header(part)
    if sound.data and _SOUND.fullmatch(sound.mime) and _BASE64.fullmatch(sound.data):
        source = f"data:{sound.mime};base64,{sound.data}"
        return f'<p><audio controls src="{source}"></audio> {escape(words)}</p>\n'
    if _LINK.match(part.url):
        return f"<p>{_link(part.url, words)}</p>\n"
    return f"<p>[{escape(words)}]</p>\n"


def _link(url: str, words: str) -> str:
    return f'<a rel="noreferrer noopener nofollow" href="{escape(url)}">{escape(words)}</a>'


_RENDERER: list[MarkdownIt] = []


def _markdown() -> MarkdownIt:
    """Return the renderer, which is imported and created on first use."""
    if not _RENDERER:
        from markdown_it import MarkdownIt

        renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        renderer.validateLink = lambda url: bool(_LINK.match(url.strip()))
        renderer.add_render_rule("image", _image)
        renderer.add_render_rule("link_open", _link_open)
        _RENDERER.append(renderer)
    return _RENDERER[0]


def _image(_: Any, tokens: Sequence[Any], index: int, *__: object) -> str:
    """Render an image as a link to it."""
    token = tokens[index]
    return _link(str(token.attrs.get("src", "")), f"[image: {token.content or 'image'}]")


def _link_open(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noreferrer noopener nofollow")
    return str(renderer.renderToken(tokens, index, options, env))


def _call_words(call: CallBlock) -> str:
    """Return the name of a tool and what it is called with, on one line: a path, a command."""
    name, words = one_line(call.name, 60) or "tool", one_line(call_summary(call), 160)
    return f"{name}: {words}" if words else name


def _result_words(text: str) -> str:
    """Return the first line of a tool's result, and how many there are."""
    count = text.count("\n") + 1
    first = one_line(text.lstrip().partition("\n")[0], 100)
    return f"Result: {first}" + (f" · {count:,} lines" if count > 1 else "")
