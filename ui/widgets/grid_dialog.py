"""A grid of runs to fill in: prompts, seeds, k, temperatures, draft sources, rules, and the file it is written to.

Knows: fields and their sentences. Does not know: how runs are made, or how fast (it is told).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from simulator.errors import UserError
from simulator.exactness.rules import CARDS
from simulator.files import check_file
from simulator.grids.file import grid_of
from simulator.grids.grid import Grid, checked_grid, numbers
from simulator.loading import SOURCES
from simulator.parameters import PARAMETERS
from simulator.records import RunConfig
from simulator.text.prompts import Prompt, read_prompt
from simulator.verify import RULES
from ui import theme
from ui.grid_words import amount
from ui.runs_values import opening
from ui.widgets.arranging import open_wide
from ui.widgets.check_list import CheckList

SUFFIX = ".jsonl"
SHOWN = 60  # characters of a prompt
SOURCE_WORDS = {"model": "model", "ngram": "n-gram"}


class GridDialog(QDialog):
    """Asks for one grid; Start is disabled while a field is wrong, and the field says why."""

    def __init__(
        self, prompts: list[Prompt], config: RunConfig, with_draft: bool, speeds: Mapping[int, float], path: Path,
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        """Take the prompts to choose from (the first is chosen), the toolbar's settings and the known speeds by k."""
        super().__init__(parent)
        self._config, self._speeds = config, speeds
        self.grid: Grid | None = None
        self.setWindowTitle(self.tr("Grid of runs"))
        self.setMinimumSize(720, 560)
        open_wide(self, 720, 560)
        self.prompts, self.rules = CheckList(), CheckList()
        for i, prompt in enumerate(prompts):
            self.prompts.add(opening(prompt.text, SHOWN), prompt, i == 0, prompt.text)
        for name in RULES:
            self.rules.add(CARDS[name].title, name, name == config.rule, CARDS[name].statement)
        self.seeds, self.ks = QLineEdit(f"{config.seed}-{config.seed + 2}"), QLineEdit("1-8")
        self.temperatures, self.path = QLineEdit(f"{config.sampling.temperature:g}"), QLineEdit(str(path))
        self.plain = QCheckBox(self.tr("plain runs too, for the speedup"), checked=True)
        self.plain.setToolTip(self.tr("One run without drafts beside each prompt, seed and temperature."))
        self.sources = {name: QCheckBox(SOURCE_WORDS[name]) for name in SOURCES}
        self.sources["model"].setEnabled(with_draft)
        self.sources[config.source if with_draft else "ngram"].setChecked(True)
        p = PARAMETERS["max_new_tokens"]
        self.tokens = QSpinBox(minimum=1, maximum=int(p.maximum), value=config.max_new_tokens or int(p.default))
        self._errors: dict[str, QLabel] = {}
        self._build()
        self._dress()
        self._check()

    @property
    def file(self) -> Path:
        """Return the file that the runs are written to."""
        return Path(self.path.text().strip())

    # --- parts ---

    def _build(self) -> None:
        self._about = QLabel(
            self.tr("Every combination is run once, in the background, and written to the file as it is finished. "
                    "Filters and chat settings are the toolbar's."), wordWrap=True,
        )  # fmt: skip
        self._about.setProperty("muted", True)
        files = QHBoxLayout()
        add, browse = QPushButton(self.tr("Add a file …")), QPushButton(self.tr("Choose …"))
        add.clicked.connect(self._add_file)
        browse.clicked.connect(self._browse)
        files.addWidget(self.path, 1)
        files.addWidget(browse)
        sources = QHBoxLayout()
        for box in self.sources.values():
            sources.addWidget(box)
        sources.addStretch(1)
        lengths = QHBoxLayout()
        lengths.addWidget(self.ks, 1)
        lengths.addWidget(self.plain)
        form = QGridLayout()
        form.setColumnStretch(1, 1)
        rows = (
            ("prompts", self.tr("Prompts"), self.prompts), ("", "", add), ("seeds", self.tr("Seeds"), self.seeds),
            ("ks", self.tr("Draft lengths k"), lengths), ("temperatures", self.tr("Temperatures"), self.temperatures),
            ("sources", self.tr("Draft sources"), sources), ("rules", self.tr("Rules"), self.rules),
            ("tokens", self.tr("Tokens a run"), self.tokens), ("path", self.tr("Written to"), files),
        )  # fmt: skip
        for i, (name, label, part) in enumerate(rows):
            self._row(form, 2 * i, name, label, part)
        self._sum = QLabel(wordWrap=True)
        buttons = QHBoxLayout()
        self.start, cancel = QPushButton(self.tr("Start")), QPushButton(self.tr("Cancel"))
        self.start.setProperty("primary", True)
        self.start.setDefault(True)
        self.start.clicked.connect(self.accept)
        cancel.clicked.connect(self.reject)
        buttons.addWidget(self._sum, 1)
        buttons.addWidget(cancel)
        buttons.addWidget(self.start)
        layout = QVBoxLayout(self)
        layout.addWidget(self._about)
        layout.addLayout(form, 1)
        layout.addLayout(buttons)
        for field in (self.seeds, self.ks, self.temperatures, self.path):
            field.textChanged.connect(self._check)
        for each in (self.prompts, self.rules):
            each.itemChanged.connect(self._check)
        for box in (self.plain, *self.sources.values()):
            box.toggled.connect(self._check)
        self.tokens.valueChanged.connect(self._check)

    def _row(self, form: QGridLayout, row: int, name: str, label: str, part: Any) -> None:
        caption = QLabel(label)
        form.addWidget(caption, row, 0, Qt.AlignmentFlag.AlignTop)
        if isinstance(part, QHBoxLayout):
            form.addLayout(part, row, 1)
        elif isinstance(part, QPushButton | QSpinBox):
            form.addWidget(part, row, 1, Qt.AlignmentFlag.AlignLeft)
        else:
            form.addWidget(part, row, 1)
        if isinstance(part, CheckList):
            form.setRowStretch(row, 1)
        if name:
            self._errors[name] = QLabel(wordWrap=True)
            form.addWidget(self._errors[name], row + 1, 1)

    def _add_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, self.tr("A file as one prompt"))
        if path:
            self.add_file(Path(path))

    def add_file(self, path: Path) -> None:
        """Add a whole file as one prompt, chosen; a file that is no text is a sentence at the field."""
        try:
            prompt = Prompt(read_prompt(path))
        except UserError as error:
            self._say("prompts", str(error))
            return
        self.prompts.add(opening(prompt.text, SHOWN) or path.name, prompt, True, str(path))
        self._check()

    def _browse(self) -> None:
        kinds = self.tr("Grids (*{suffix})").format(suffix=SUFFIX)
        path, _ = QFileDialog.getSaveFileName(
            self, self.tr("Write the runs to"), self.path.text(), kinds,
            options=QFileDialog.Option.DontConfirmOverwrite,
        )  # fmt: skip
        if path:
            self.path.setText(path)

    def _check(self) -> None:
        """Read every field, put each complaint at its field, and say how much work it is."""
        parts = {
            "prompts": self._read("prompts", lambda: self.prompts.chosen(self.tr("Choose at least one prompt."))),
            "seeds": self._read("seeds", lambda: numbers("seed", self.seeds.text())),
            "ks": self._read("ks", self._lengths),
            "temperatures": self._read("temperatures", lambda: numbers("temperature", self.temperatures.text())),
            "sources": self._read("sources", self._sources),
            "rules": self._read("rules", lambda: self.rules.chosen(self.tr("Choose at least one rule."))),
        }
        self.grid = None
        if None not in parts.values():
            whole = Grid(**parts, filters=self._config.sampling, max_new_tokens=self.tokens.value())
            self.grid = self._read("tokens", lambda: checked_grid(whole))
        if self.grid is not None:
            self.grid = self._read("path", self._check_path)
        self._sum.setText(amount(self.grid, self._speeds) if self.grid is not None else "")
        self.start.setEnabled(self.grid is not None)

    def _check_path(self) -> Grid:
        """Return the grid if its file can be written: a new one, or one that holds this very grid."""
        if not self.path.text().strip():
            raise UserError(self.tr("Name the file that the runs are written to."))
        if not self.file.exists():
            check_file(self.file)
        elif grid_of(self.file) != self.grid:
            raise UserError(self.tr("This file holds another grid: choose another name."))
        return self.grid

    def _lengths(self) -> tuple[int, ...]:
        plain = (0,) if self.plain.isChecked() else ()
        return plain if plain and not self.ks.text().strip() else (*plain, *numbers("k", self.ks.text()))

    def _sources(self) -> tuple[str, ...]:
        chosen = tuple(n for n, box in self.sources.items() if box.isChecked() and box.isEnabled())
        if not chosen:
            raise UserError(self.tr("Choose at least one draft source."))
        return chosen

    def _read(self, name: str, read: Callable[[], Any]) -> Any:
        """Return a field's value; None, with its sentence shown, where it is wrong."""
        try:
            value = read()
        except UserError as error:
            self._say(name, str(error))
            return None
        self._say(name, "")
        return value

    def _say(self, name: str, sentence: str) -> None:
        label = self._errors[name]
        label.setText(f"✗ {sentence}" if sentence else "")
        label.setVisible(bool(sentence))

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_sum"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        for label in self._errors.values():
            theme.set_face(label, colour="excess")
