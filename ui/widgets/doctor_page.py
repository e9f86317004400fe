"""The vocabulary doctor: whether target and draft mean the same tokens by the same ids, and where they do not.

Knows: one diagnosis and how it reads. Does not know how vocabularies are compared.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from simulator.catalog import Entry
from simulator.text.vocabulary import Diagnosis
from ui import theme

SIGNS = {
    "identical": ("✓", "both"), "padded": ("✓", "both"), "reduced": ("◐", "extra"), "few": ("◐", "extra"),
    "different": ("✗", "excess"), "unknown": ("?", "muted"),
}  # fmt: skip


class DoctorPage(QWidget):
    """One sentence, the figures of both sides, the first differing ids, and what the verdicts mean."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        t = self.tr
        self._intro = _label(t("A draft's token is judged by its id: the same id must stand for the same text in both "
                               "models. This page compares the chosen pair."), muted=True)  # fmt: skip
        self._verdict = _label("")
        self._names = _label(""), _label("")
        self._lines = [
            (t("tokenizer entries"), t("Token ids that stand for a text.")),
            (t("output rows"), t("Rows of the output layer; more than entries where it is padded, fewer where the "
                                 "draft knows a part only.")),
            (t("differing ids"), t("Ids that stand for different texts in the two, or in one of them for none.")),
        ]  # fmt: skip
        self._figures = [[_label(""), _label("")] for _ in self._lines]
        self._examples, self._tokens = QGridLayout(), list[QLabel]()
        self._no_examples = _label("")
        self._kinds = {
            "identical": t("identical: every id stands for the same text; the pair is exact as it is."),
            "padded": t("padded: the same entries, one output layer has spare rows that no text belongs to; exact."),
            "few": t("few: some ids differ; if you agree those are never drafted, all others are; still exact."),
            "reduced": t("reduced: the draft has rows for a part of the target's ids, by its own map; still exact."),
            "different": t("different: the ids mean other texts; drafts would be judged by chance, so it is refused."),
            "unknown": t("unknown: a tokenizer is missing or damaged."),
        }
        self._meanings = {kind: _label(text) for kind, text in self._kinds.items()}
        self._kind, self._shown = "", ()
        self._arrange()
        self.show_pair(None, None, None)

    def show_pair(self, target: Entry | None, draft: Entry | None, found: Diagnosis | None) -> None:
        """Show what came of comparing these two; `found` is None until it is known."""
        if (target, draft, found) == self._shown:
            return
        self._shown = target, draft, found
        self._names[0].setText(target.name if target else "–")
        self._names[1].setText(draft.name if draft else "–")
        self._kind = found.kind if found else ""
        if found is not None:
            self._verdict.setText(f"{SIGNS[found.kind][0]}  {found.sentence}")
        elif target is None or draft is None:
            self._verdict.setText(self.tr("Choose a target and a draft model: there is nothing to compare yet."))
        else:
            self._verdict.setText(self.tr("The two vocabularies are being compared …"))
        self._show_figures(found)
        self._show_examples(found)
        self._dress()

    def _show_figures(self, found: Diagnosis | None) -> None:
        pairs: list[tuple[int | None, int | None]] = [(None, None)] * len(self._figures)
        if found is not None and found.kind != "unknown":
            pairs = [(found.target_size, found.draft_size or None), (found.target_rows, found.draft_rows)]
            pairs.append((found.differing, found.differing))
        for labels, pair in zip(self._figures, pairs, strict=True):
            for label, number in zip(labels, pair, strict=True):
                label.setText("–" if number is None else f"{number:,}")

    def _show_examples(self, found: Diagnosis | None) -> None:
        self._tokens = []
        while self._examples.count():
            self._examples.takeAt(0).widget().deleteLater()
        examples = found.examples if found else ()
        heads = self.tr("id"), self.tr("in the target"), self.tr("in the draft")
        rows = [(f"{token_id:,}", self._token(ours), self._token(theirs)) for token_id, ours, theirs in examples]
        for i, row in enumerate([heads, *rows] if rows else []):
            for column, text in enumerate(row):
                label = _label(text, muted=i == 0)
                if i and column:
                    self._tokens.append(label)
                self._examples.addWidget(label, i, column)
        none = self.tr("None: no id stands for different texts.") if found and found.usable else "–"
        self._no_examples.setText(none)
        self._no_examples.setVisible(not rows)

    def _token(self, token: str | None) -> str:
        return self.tr("no entry") if token is None else f"'{token}'"

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_kind"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._verdict, theme.HEADLINE, bold=True, colour=SIGNS[self._kind][1] if self._kind else "")
        for name in self._names:
            theme.set_face(name, bold=True)
        for labels in self._figures:
            for label in labels:
                theme.set_face(label, 1.3, bold=True)
        for label in self._tokens:
            label.setFont(theme.token_font())  # a style sheet cannot say: no ligatures
        for kind, label in self._meanings.items():
            here = kind == self._kind
            label.setText(f"{SIGNS[kind][0] if here else '·'}  {self._kinds[kind]}")
            theme.set_face(label, bold=here, colour="" if here else "muted")

    def _arrange(self) -> None:
        figures = QGridLayout()
        figures.setHorizontalSpacing(3 * theme.SPACE)
        for column, (role, name) in enumerate(
            zip((self.tr("target p"), self.tr("draft q")), self._names, strict=True), 1
        ):
            figures.addWidget(_label(role, muted=True), 0, column)
            figures.addWidget(name, 1, column)
            figures.setColumnStretch(column, 1)
        for i, ((text, tip), labels) in enumerate(zip(self._lines, self._figures, strict=True), 2):
            for column, label in enumerate((_label(text, muted=True), *labels)):
                figures.addWidget(label, i, column)
                label.setToolTip(tip)
        figures.setRowStretch(5, 1)
        self._examples.setHorizontalSpacing(3 * theme.SPACE)
        for column in (1, 2):
            self._examples.setColumnStretch(column, 1)
        examples, meanings, sides = QVBoxLayout(), QVBoxLayout(), QHBoxLayout()
        examples.addWidget(_label(self.tr("The first ids that differ"), muted=True))
        examples.addLayout(self._examples)
        examples.addWidget(self._no_examples)
        examples.addStretch(1)
        meanings.setSpacing(theme.SPACE // 2)
        meanings.addWidget(_label(self.tr("What the verdicts mean"), muted=True))
        for label in self._meanings.values():
            meanings.addWidget(label)
        sides.setSpacing(theme.SPACE + 4)
        sides.addWidget(_panel(figures), 1)
        sides.addWidget(_panel(examples), 1)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE + 4)
        column.addWidget(self._intro)
        column.addWidget(self._verdict)
        column.addLayout(sides)
        column.addWidget(_panel(meanings))
        column.addStretch(1)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)


def _label(text: str, muted: bool = False) -> QLabel:
    label = QLabel(text, wordWrap=True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setProperty("muted", muted)
    return label


def _panel(layout: QGridLayout | QVBoxLayout) -> QFrame:
    panel = QFrame()
    panel.setProperty("panel", True)
    layout.setContentsMargins(*(theme.SPACE + 4,) * 4)
    panel.setLayout(layout)
    return panel
