"""What is to be said of a run out of a file: what of it is of another machine, and why it ends where it does.

Knows: words. Does not know: widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from simulator.records import StopReason
from ui.session import Session

translate = QCoreApplication.translate


def remarks(s: Session) -> str:
    """Return what to remark of the file's run on screen, in sentences; there must be one."""
    said, before = [], len(s.opened.run.rounds)
    if len(s.rounds) > before:
        said.append(translate("Opened", "Rounds 1 to {n} are the file's; what follows is computed here, so the times "
                              "are of two sittings.").format(n=before))  # fmt: skip
    elif s.foreign and s.pair is not None:
        said.append(translate("Opened", "Other models are loaded: what they measure is not shown here."))
    else:
        said.append(translate("Opened", "Its times are of the machine that made it."))
    if not len(s.opened.trace.texts) and s.texts is s.opened.trace.texts:
        said.append(translate("Opened", "The file has no token texts, so tokens are shown by their numbers until the "
                              "target that made it is loaded."))  # fmt: skip
    return " ".join(said)


def ending(s: Session) -> str:
    """Return why no round follows the file's last one, where it was stopped."""
    if s.opened.run.stop is not StopReason.STOPPED:
        return ""
    if not s.foreign:
        return translate("Opened", "The file ends here, where the run was stopped.")
    text = translate("Opened", "The file ends here, where the run was stopped: load {models} to go on.")
    if s.pair is not None:
        text = translate("Opened", "The file ends here, where the run was stopped: load {models} to go on, or press "
                         "Ctrl+R to begin a run of the loaded models.")  # fmt: skip
    return text.format(models=s.opened.models)


def speed_caption(s: Session) -> str:
    """Return what the tokens per second of the file's run on screen are called."""
    if len(s.rounds) > len(s.opened.run.rounds):
        return translate("Opened", "tokens/s, file and here")
    return translate("Opened", "tokens/s in the file")
