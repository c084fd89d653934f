"""What people look at in a browser: the report, and the files that it shares with the explorer and with the sweep."""
