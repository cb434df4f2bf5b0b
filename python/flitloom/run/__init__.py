"""Simulations and what comes of them: held, saved, continued, recorded."""
