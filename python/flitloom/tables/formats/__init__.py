"""Files of tables of source routes: a file per format, and the list of them."""
