"""The area of the conversation and the composer of its next message.

area              ChatArea: shows the session, and has replies generated
message_area      what is done with a message: edit, fork, delete, copy, export
composer_area     what the composer asks for: sending, commands, suggestions, snippets
tool_question     the question about a waiting tool call; tool_call_area acts on its answer
drafts            which session the composer's text belongs to, and its way into the store
command_suggestions  suggestions for `/` commands and `@`
chat_pane         ChatPane: title, transcript, find bar, activity line and composer

Text reaches the screen in this order:

sections          cuts a message into sections that can be laid out one by one
markdown          lays out a section as lines (text_lines) of named styles
layout_inputs     what the layout of a message depends on besides the message and the width
message_layout    puts the parts of one message together
branch_layout     keeps the layouts of the messages in sight, and estimates the others' heights
widgets.block_view  knows which lines are on the screen, scrolls, and follows the end
line_painter      paints them in the theme's colors and in which styles
transcript        draws, follows a streaming reply, and handles keys (transcript_keys) and clicks
branch_change     what changed when another branch is shown
"""
