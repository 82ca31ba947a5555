"""The terminal beyond what Textual does with it.

driver                 TerminalDriver: Textual's driver with our parser, safe if the terminal closes
input_parser           TerminalParser: terminal input as events; pastes arrive whole
signals                ends the app on signals
external_programs      runs the user's editor, or another program; opens links in a browser
clipboard_pictures     the picture in the system's clipboard
clipboard_and_notifications   copies text where the terminal's escape sequence is ignored, and
                       notifies the user while another window has the focus
"""
