"""What a command needs of the terminal: consoles, and options that several commands share."""
