"""HOW a protocol wants it said. Pure and sans-IO; the four protocols know nothing of each other.

protocol    the interface: encode, decode, parser, read, refusal
registry    name -> protocol
roles       the role adapter: which role a turn gets in which protocol
openai_chat, openai_responses, anthropic, gemini
            one package each: `encode` and `decode` for requests, `replies` for answers
"""
