"""Pictures, with Matplotlib; one function per kind."""

from flitloom.extras import need

need("plots", "a picture")
