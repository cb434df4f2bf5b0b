"""Published tables and figures, ours beside theirs, one file each."""
