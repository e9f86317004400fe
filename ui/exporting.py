"""Write the run on screen to files; the window's side of `simulator.export`."""

from __future__ import annotations

import sys
from pathlib import Path

from simulator.commands import metadata
from simulator.errors import UserError
from simulator.export import write_csv
from ui.session import Session


def export_run(path: Path, session: Session) -> None:
    """Write the session's run as CSV with its metadata beside it; raise `UserError` when that is not possible."""
    if session.run is None or session.pair is None:
        raise UserError("There is no run to export yet: step at least once.")
    run = session.run
    write_csv(path, [run], session.pair.texts, metadata(session.pair, [session.prompt], run.config, sys.argv))
