"""Larger text, for talks: everything that was measured at the first size of text is measured again."""

import math

import pytest
from PySide6.QtCore import QSortFilterProxyModel
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication, QLabel, QStackedWidget, QWidget

from simulator.worth.outlook import Mean
from ui import theme
from ui.plots.mass_plot import MassPlot
from ui.plots.sources_plot import Source, SourcesPlot
from ui.runs_model import RunsModel
from ui.widgets.arranging import filling, open_wide
from ui.widgets.draw_row import DrawRow
from ui.widgets.fitting import FittingColumn
from ui.widgets.labelled_slider import LabelledSlider, align_labels
from ui.widgets.model_rows import Column
from ui.widgets.model_table import ModelTable
from ui.widgets.published_panel import SOURCE, PublishedPanel
from ui.widgets.race_bar import RaceBar
from ui.widgets.roofline_controls import RooflineControls
from ui.widgets.runs_table import RunsTable
from ui.widgets.typing_table import TypingTable

LARGER = 4.0  # points


@pytest.fixture
def zoom(qapp):
    """Make the text larger by so many points than it was; the size goes back after the test."""
    before = QApplication.font().pointSizeF()

    def by(points: float) -> None:
        theme.set_text_size(qapp, before + points)
        QApplication.processEvents()

    yield by
    by(0)


@pytest.fixture
def shown(qtbot):
    """Show a widget at a size."""

    def show(widget: QWidget, width: int, height: int) -> QWidget:
        qtbot.addWidget(widget)
        widget.resize(width, height)
        widget.show()
        qtbot.waitExposed(widget)
        return widget

    return show


def test_aligned_labels_get_the_room_of_larger_names(shown, zoom):
    """'Beta: mean' was cut to 'Beta: me'."""
    sliders = [LabelledSlider(name, "", 0.0, 1.0) for name in ("Beta: mean", "Beta: rho")]
    align_labels(sliders)
    column = shown(FittingColumn(*sliders), 500, 100)
    before = [s._label.width() for s in sliders]
    zoom(LARGER)
    widest = max(s.label_width() for s in sliders)
    assert [s._label.width() for s in sliders] == [widest, widest]
    assert widest > before[0]
    zoom(0)
    assert [s._label.width() for s in sliders] == before
    assert column.isVisible()


def test_a_filling_part_is_higher_in_larger_text(shown, zoom):
    part = shown(filling(QLabel("text"), 150), 300, 300)
    assert part.minimumHeight() == 150
    zoom(LARGER)
    assert part.minimumHeight() == round(150 * (theme.TEXT + LARGER) / theme.TEXT)
    zoom(0)
    assert part.minimumHeight() == 150


def test_a_tab_behind_does_not_keep_the_room_of_larger_text(shown, zoom, until):
    """Back at the usual size the page scrolled."""
    column, stack = FittingColumn(QLabel("a long text " * 30, wordWrap=True)), QStackedWidget()
    stack.addWidget(column)
    stack.addWidget(QWidget())
    shown(stack, 300, 600)
    until(lambda: column.minimumHeight() > 0)
    usual = column.minimumHeight()
    zoom(LARGER)
    until(lambda: column.minimumHeight() > usual)
    stack.setCurrentIndex(1)
    zoom(0)
    assert column.minimumHeight() <= usual
    stack.setCurrentIndex(0)
    until(lambda: column.minimumHeight() == usual)


def test_the_draw_row_goes_back_to_two_lines_of_the_usual_text(shown, zoom):
    """It kept the height of the larger font, which came before its label's own."""
    row = shown(DrawRow(), 700, 60)
    for points in (LARGER, 0):
        zoom(points)
        assert row._test.minimumHeight() == math.ceil(2 * QFontMetricsF(theme.text_font()).height())


def test_the_race_bar_goes_back_to_the_height_of_its_buttons(shown, zoom, until):
    """Its choice of speed kept the height of the larger buttons, whose font came late."""
    bar = shown(RaceBar(), 900, 60)
    before = bar.sizeHint().height()
    zoom(LARGER)
    assert bar.sizeHint().height() > before
    zoom(0)
    until(lambda: bar.sizeHint().height() == before)


def test_where_columns_of_models_do_not_fit_the_least_needed_are_hidden(shown, zoom):
    """In larger text parameters and memory were scrolled out of sight."""
    proxy = QSortFilterProxyModel()
    proxy.setSourceModel(ModelTable())
    table = shown(TypingTable(proxy), 1196, 200)
    assert not any(map(table.isColumnHidden, Column))
    zoom(LARGER)
    assert table.isColumnHidden(Column.ENTRIES)
    assert not any(map(table.isColumnHidden, (Column.NAME, Column.VERDICT, Column.PARAMETERS, Column.MEMORY)))
    assert table.horizontalHeader().length() <= table.viewport().width()
    zoom(0)
    assert not any(map(table.isColumnHidden, Column))


def test_an_empty_table_of_runs_is_not_scrolled_sideways(shown, zoom, until):
    """Its name column had 120 px at least, which the others were not told."""
    model = RunsModel()
    table = shown(RunsTable(model), 1104, 200)
    table.refresh()
    for points in (2, LARGER):
        zoom(points)
        until(lambda: not table._fit_timer.isActive())
        assert table.header().length() <= max(table.viewport().width(), 0)
    table.stop()


def test_published_settings_keep_half_of_the_width_they_share_with_sources(shown, zoom):
    """The setting was cut to 72 px, 'theor…'."""
    panel = shown(PublishedPanel(), 1120, 400)
    zoom(LARGER)
    setting, source = panel.table.columnWidth(0), panel.table.columnWidth(SOURCE)
    assert setting >= source - 1
    assert panel.table.horizontalHeader().length() <= panel.table.viewport().width()


def test_names_under_columns_are_whole_and_broken_where_they_are_too_wide(shown, zoom, until):
    """Two of three names were left out, and the third cut at its foot."""
    plot = SourcesPlot()
    names = ("Sampled draft", "Greedy draft", "Prompt lookup")
    plot.set_sources([Source(name, Mean(0.5, 0.01, 100), 0.4, True, None) for name in names])
    shown(plot, 440, 280)
    axis = plot.plotItem.getAxis("bottom")

    def texts() -> list[str]:
        return [text for _, text in (axis._tickLevels or [[]])[0]]

    until(lambda: texts() == list(names))
    zoom(LARGER)
    until(lambda: texts() == ["Sampled\ndraft", "Greedy\ndraft", "Prompt\nlookup"])
    assert axis.maximumHeight() >= 2 * QFontMetricsF(theme.text_font()).height()


def test_masses_lose_a_digit_where_two_would_touch(shown, zoom, until):
    plot = MassPlot()
    plot.set_masses((1, 2, 5, 10, 50), [Mean(v, 0.01, 100) for v in (0.36, 0.44, 0.52, 0.63, 0.81)])
    shown(plot, 230, 170)
    until(lambda: [tag.text for tag in plot.tags.tags] == [".36", ".44", ".52", ".63", ".81"])
    zoom(LARGER)
    until(lambda: [tag.text for tag in plot.tags.tags] == [".4", ".4", ".5", ".6", ".8"])


def test_short_choices_of_the_roofline_show_their_texts_whole(shown, zoom):
    controls = shown(RooflineControls(), 1090, 80)
    zoom(LARGER)
    for name in ("weights", "batch", "context"):
        assert controls.combos[name].width() >= controls.combos[name].sizeHint().width()


def test_dialogs_open_wider_in_larger_text_as_far_as_the_screen_goes(shown, zoom):
    zoom(LARGER)
    dialog = QWidget()
    open_wide(dialog, 400, 300)
    shown(dialog, dialog.width(), dialog.height())
    scale, room = (theme.TEXT + LARGER) / theme.TEXT, dialog.screen().availableSize()
    assert (dialog.width(), dialog.height()) == (round(400 * scale), round(300 * scale))
    open_wide(dialog, room.width() + 100, 300)
    assert dialog.width() == room.width() + 100


@pytest.mark.parametrize("title", ["Stage", "Acceptance", "Cost"])
def test_plots_do_not_slide_under_what_is_below_them(new_window, zoom, qtbot, title):
    """Wrapped texts took the room: plots lost their axes behind sliders and panels, instead of the page scrolling."""
    window = new_window(size=(1280, 800))
    window.show_page(title)
    page = next(view for view in window.views if view.title == title)
    if title == "Acceptance":
        page.tabs.setCurrentWidget(page.beyond)
    zoom(LARGER)
    qtbot.wait(300)
    pairs = {
        "Stage": lambda: [(page.pq, page.residual)],
        "Acceptance": lambda: [(page.beyond.axis, page.beyond.mean)],
        "Cost": lambda: [(page.verify, page.controls), (page.waterfall, page.controls)],
    }[title]()
    for above, below in pairs:
        assert above.mapTo(page, above.rect().bottomLeft()).y() < below.mapTo(page, below.rect().topLeft()).y()
