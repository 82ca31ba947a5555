"""The offline provider: all protocols answered without network, key or configuration.

It takes the provider's side: it reads the real HTTP requests that this app, or an official SDK,
sends to OpenAI, Anthropic, Google and Ollama, and answers with their bodies, events and errors. It
is lenient where they refuse; `tests/support/vendors.py` refuses as they do. It shares nothing with
`tui_chat.protocols`: two independent readings of a protocol that agree are evidence.

The modules, in the order in which a request passes them:

    transport  server        an httpx transport; a loopback socket (h11)
      http_messages          the HTTP request and response, byte for byte; clock, sleep and ids
      service                from a request to a response; the list of protocols
        base_protocol        what each of them implements: reading, writing, errors
        openai_chat  openai_responses  anthropic  gemini  ollama
        prompt               the request in terms of no protocol
        models               every model by its name; mirror and script have modules of their own
        json_answers         arguments and answers that fit a JSON schema
        reply                the pieces of a reply; its tokens, speed and limits
        prompt_cache         what a real prompt cache would serve
"""
