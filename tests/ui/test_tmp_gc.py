import gc
import shiboken6, pytest
from PySide6.QtWidgets import QApplication, QWidget
from ui import theme
from PySide6.QtCore import QCoreApplication, QEvent

def test_a(new_window, qapp, until, qtbot):
    gc.collect(); gc.disable()
    for i in range(2):
        w = new_window(max_new_tokens=10)
        w.session.next_round()
        until(lambda: w.session.playback.cursor.round == 0)
        theme.set_text_size(qapp, 20); QApplication.processEvents(); qtbot.wait(300)
        theme.set_text_size(qapp, 10.5); QApplication.processEvents()
        w.close(); w.deleteLater(); w.session.close(); w.session.deleteLater(); del w
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete); QApplication.processEvents()
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    for o in gc.garbage:
        if isinstance(o, QWidget) and shiboken6.isValid(o):
            print("GARBAGE", type(o), o.parent(), shiboken6.ownedByPython(o), getattr(o, 'text', lambda: '')())
    print(len(gc.garbage))
    for w in QApplication.allWidgets():
        if w.parent() is None: print("TOP", type(w), w.objectName())
    gc.garbage.clear(); gc.enable()
