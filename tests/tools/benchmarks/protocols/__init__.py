"""How fast requests are encoded and streamed replies read, beside what others use for it.

    uv run python -m tests.tools.benchmarks.protocols [--litellm] [--turns 400] [--tokens 5000]

Encoding: an OpenAI-shaped conversation with tools becomes each protocol's body, from nothing
(no turn was ever encoded), and once more with one turn changed, as a keystroke does.
Reading: a stream of the offline provider's, served from memory by a socket, is read to a whole
reply: by us, by the official SDKs' own accumulators, by litellm. All three pay for HTTP.

`--litellm` makes an environment for it with `uv venv` in a temporary folder;
`--litellm-python PATH` takes one that is there. The figures are for people: nothing is asserted,
ratios matter and not milliseconds. Best of several runs each.

given      the conversation, the streams, and how seconds are taken
ours       this project
sdks       the official SDKs
peer       litellm, run where it is installed
"""
