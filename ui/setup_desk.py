"""The window's dialogs about what runs: another pair, another prompt.

Knows: dialogs, and what is remembered from one start to the next. Does not know: how models are found or loaded.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QDialog, QWidget

from simulator.records import Sampling
from ui.asker import Asker
from ui.pair_choice import stored_recent
from ui.prompt_memory import recent, remember
from ui.session import Session
from ui.widgets.pair_dialog import PairDialog
from ui.widgets.prompt_dialog import PromptDialog


class SetupDesk(QObject):
    """Asks the person, and tells the session what was chosen."""

    def __init__(self, session: Session, settings: QSettings | None, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._settings, self._window = session, settings, window
        self._askers = Asker(self), Asker(self)  # of the pair dialog: what is here, and what the hub has
        self._sampling: Sampling | None = None  # to begin with when the pair that is being loaded has come

    def open_pair(self) -> None:
        """Ask for a pair and load it."""
        pair = self._session.pair
        names = (str(pair.target.entry.path), str(pair.draft.entry.path) if pair.draft else None) if pair else ()
        places = stored_recent(self._settings.value("places")) if self._settings is not None else []
        dialog = PairDialog(*names, parent=self._window, recent=places, askers=self._askers)
        if _accepted(dialog):
            if self._settings is not None:
                self._settings.setValue("places", dialog.remembered)
            choice = dialog.choice
            self._sampling = choice.sampling
            self._session.load(choice.target, choice.draft, **choice.options)

    def edit_prompt(self) -> None:
        """Ask for another prompt; the run starts over with it."""
        s, pair = self._session, self._session.pair
        model, chat = (pair.target.entry.name, pair.chat.problem is None) if pair is not None else ("", False)
        own = recent(self._settings, model)
        dialog = PromptDialog(s.prompt, pair, s.config.max_new_tokens, own, self._window)
        if _accepted(dialog):
            remember(self._settings, model, chat, dialog.prompt)
            s.configure(prompt=dialog.prompt)

    def begin(self) -> None:
        """Take over the sampling that was chosen with the pair that has come."""
        sampling, self._sampling = self._sampling, None
        if sampling is not None:
            self._session.configure(sampling=sampling)

    def close(self, timeout: float) -> bool:
        """Stop asking, and wait for the threads at most `timeout` seconds each; return whether they ended."""
        return all([asker.close(timeout) for asker in self._askers])


def _accepted(dialog: QDialog) -> bool:
    """Return whether the dialog was accepted; it is gone afterwards, and closing the window rejects it."""
    try:
        return bool(dialog.exec())
    finally:
        dialog.deleteLater()
