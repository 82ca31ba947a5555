"""The chat: the conversation, and the composer of its next message.

chat_pane         ChatPane: shows what changed in the workspace, and has replies generated
conversation      the transcript with what is done with its messages
chat_composer     the composer with what it does: sending, the queue, commands, snippets
attachments       the files of the draft, and what attaches and removes them
tool_question     the question about a waiting tool call, and its answers
drafts            which session the composer's text belongs to, and its way into the store
command_suggestions  suggestions for `/` commands and `@`

Text reaches the screen in this order:

sections          cuts a message into blocks of Markdown that can be laid out one by one
markdown          lays out a block as rows, whose text is Textual's `Content` with named styles
message           puts the parts of one message together
branch            keeps the layouts of the messages in sight, and estimates the others' heights
block_view        knows which rows are on the screen, scrolls, and follows the end
painting          paints them in the theme's colors
transcript        draws, follows a streaming reply, finds, folds and copies
"""
