"""The offline provider: a model to try the program with, without network, key or configuration.

A plugin can put one with more protocols and models in its place.

    provider               an httpx transport: a request -> a response, in OpenAI Chat
      prompt               the request, as the protocol decodes it
      models, mirror       the models: generators of pieces that know no protocol
      reply                the pieces of a reply; its tokens, speed and limits
"""
