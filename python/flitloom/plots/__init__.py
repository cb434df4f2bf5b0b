"""Pictures, with Matplotlib; one function per kind."""

from flitloom.ground.extras import need

need("plots", "a picture")
