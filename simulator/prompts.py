"""Openings that suit the bundled pair, which knows Shakespeare and nothing else."""

DEFAULT_PROMPT = "KING HENRY.\nWhat say you, my lord?\n\n"

PRESETS = (
    DEFAULT_PROMPT,
    "[Enter Ghost.]\n\nHAMLET.\n",
    "Shall I compare thee to a summer's day?\n",
    "JULIET.\nO Romeo, Romeo! ",
    "ACT II.\n\nSCENE I. Venice. A street.\n\n[Enter ",
    "FIRST WITCH.\nWhen shall we three meet again\n",
)
