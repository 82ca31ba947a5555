"""Where our program meets the terminal, past what Textual does.

keyboard    Keyboard: what the terminal sends as keys, pastes and mouse; pastes whole
driver      OurDriver: Textual's driver with that keyboard
notice      words for the desktop, while another window has the focus
outside     another program in our place
editor      the user's own editor there
asking      a small program beside us, which may fail
tmux        whether anybody sees our window there
clipboard   copied text, for terminals that do not take it from us
browser     links, without a browser writing on our screen
"""
