"""A plot as a picture: rendered, written to a file, and the menu that offers it.

Knows: images and files. Does not know: what is plotted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QWidget

from ui import theme

if TYPE_CHECKING:
    from ui.plots.base import Plot


def picture(plot: Plot, scale: int = 2) -> QImage:
    """Return the plot as on screen, `scale` image pixels to one of the screen."""
    if scale < 1 or plot.width() < 1 or plot.height() < 1:
        raise ValueError(f"a picture of {plot.width()} x {plot.height()} at scale {scale} has no pixels")
    plot.settle()
    image = QImage(plot.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(theme.colour("panel"))
    QWidget.render(plot, image, QPoint())
    return image


def save_picture(plot: Plot, path: str, scale: int = 2) -> None:
    """Write the plot as a PNG; raise OSError when the file cannot be written."""
    if not picture(plot, scale).save(path, "PNG"):
        raise OSError(plot.tr("Cannot write the picture to {path}.").format(path=path))


def picture_menu(plot: Plot) -> QMenu:
    """Return a menu of the things that work on every plot."""
    menu = QMenu(plot)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.addAction(plot.tr("Save picture…")).triggered.connect(lambda: _ask_and_save(plot))
    return menu


def _ask_and_save(plot: Plot) -> None:
    title, kinds = plot.tr("Save picture"), plot.tr("Picture (*.png)")
    path, _ = QFileDialog.getSaveFileName(plot, title, "plot.png", kinds)
    if not path:
        return
    try:
        save_picture(plot, path if path.lower().endswith(".png") else path + ".png")
    except OSError as error:
        QMessageBox.warning(plot, title, str(error))
