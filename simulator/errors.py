"""The one kind of exception that is meant for the person at the screen."""


class UserError(Exception):
    """One or two sentences: what happened, which file or value, what to do. Shown as it is, never as a traceback."""
