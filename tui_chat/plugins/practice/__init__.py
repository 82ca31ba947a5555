"""Practice: a provider in every protocol, without network, key or configuration.

It takes the provider's side: it reads the requests that this app, or an official SDK, sends to
OpenAI, Anthropic, Google and Ollama, and answers with their bodies, events and errors.

endpoints         the endpoints and models; what this plugin puts in place of the core's provider
provider          a request -> its prompt -> a model -> the bytes of a response
writers           the replies: what the protocols have in common
  openai_chat  openai_responses  anthropic  gemini  ollama
models            the models beside the core's (script: one that plays a file)
json_answers      arguments and answers that fit a JSON schema
prompt_cache      what a real prompt cache would serve
probabilities     those of tokens
command           serves the same on a loopback address, for other programs
"""

from tui_chat.api import Command, Part, Plugin

PLUGIN = Plugin(
    name="practice",
    summary="Answers in every protocol without a key, also to other programs.",
    commands=(
        Command(
            "practice",
            "tui_chat.plugins.practice.command:practice",
            "Serve the offline provider on a loopback address.",
            group="Requests",
        ),
    ),
    parts=(Part("offline provider", "tui_chat.plugins.practice.endpoints:PROVIDER"),),
)
