"""The pages and the rail that chooses among them; all but the first are built when asked for, or one by one later.

Knows: which pages there are and when it is time to build one. Does not know: what is on them.
"""

from __future__ import annotations

from importlib import import_module

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from ui.pages.stage import StagePage
from ui.session import Session
from ui.states import BUSY

LATER = {  # title: where the page is; imported and built when asked for, else one by one when a pair is loaded
    "Exactness": "exactness.ExactnessPage",
    "Acceptance": "acceptance.AcceptancePage",
    "Cost": "cost.CostPage",
    "Race": "race.RacePage",
    "Worth it?": "worth.WorthPage",
    "Runs": "runs.RunsPage",
}
TITLES = (StagePage.title, *LATER)
PAGE_MS = 50  # between two pages built, so that painting and input come first


class PageStack(QStackedWidget):
    """The pages, and beside them `rail`."""

    built = Signal(object)  # a page that was asked for or built in its turn

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._views: dict[str, QWidget] = {}
        self.stage = StagePage(session)
        self._add(self.stage)
        self.rail = self._make_rail()
        self._later = QTimer(self, interval=PAGE_MS)
        self._later.timeout.connect(self.build_next)

    @property
    def views(self) -> list[QWidget]:
        """Return all pages, built by now."""
        return [self.view(title) for title in TITLES]

    def view(self, title: str) -> QWidget:
        """Return the page of this title, built by now."""
        if title not in self._views:
            module, name = LATER[title].split(".")
            page = getattr(import_module(f"ui.pages.{module}"), name)(self._session)
            self._add(page)
            self.built.emit(page)
        return self._views[title]

    def show_page(self, title: str) -> None:
        """Bring the page of this title to the front."""
        self.view(title)
        self.setCurrentIndex(list(self._views).index(title))
        self.buttons.button(TITLES.index(title)).setChecked(True)

    def build_later(self) -> None:
        """Begin to build what is missing, page by page."""
        if len(self._views) < len(TITLES):
            self._later.start()

    def build_next(self) -> None:
        """Build the next page; not while a pair is loaded, which would take twice as long beside it."""
        missing = [title for title in TITLES if title not in self._views]
        if not missing:
            self._later.stop()
        elif self._session.state not in BUSY:
            self.view(missing[0])

    def shutdown(self) -> bool:
        """Stop what pages do in the background; return whether all of it ended in time."""
        self._later.stop()
        return all([view.shutdown() for view in self._views.values() if hasattr(view, "shutdown")])

    def _add(self, page: QWidget) -> None:
        self._views[page.title] = page
        self.addWidget(scrolled(page))

    def _make_rail(self) -> QWidget:
        rail = QWidget()
        column = QVBoxLayout(rail)
        column.setContentsMargins(0, 0, 0, 0)
        self.buttons = QButtonGroup(self)
        for i, title in enumerate(TITLES):
            button = QPushButton(self.tr(title), checkable=True, checked=i == 0)
            self.buttons.addButton(button, i)
            column.addWidget(button)
        self.buttons.idClicked.connect(lambda i: self.show_page(TITLES[i]))
        column.addStretch(1)
        area = scrolled(rail, _Rail())
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        return area


class _Rail(QScrollArea):
    """As wide as the titles are; Qt's own remembers the width that they had at the first size of text."""

    def sizeHint(self) -> QSize:
        return self.widget().sizeHint()


def scrolled(page: QWidget, area: QScrollArea | None = None) -> QScrollArea:
    """Return the page in an area that scrolls where the window is too small, rather than squeezing it."""
    area = area or QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the arrow keys are for rounds
    area.setWidget(page)
    return area
