"""The offline provider: a model to try the program with, without network, key or configuration.

It answers OpenAI's Chat Completions inside the process, as an httpx transport. A plugin can put a
provider with more protocols and models in its place (`OfflineProvider` and what it is made of).

    provider               a request -> a response, in OpenAI Chat
      prompt               the request, as the protocol decodes it
      models, mirror       the models: generators of pieces that know no protocol
      reply                the pieces of a reply; its tokens, speed and limits
"""
