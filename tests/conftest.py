"""Set up Qt without a screen, and build the positions that more than one test file looks at."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before anything imports Qt
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch and NumPy: the tests run side by side
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from simulator.records import Bars, DraftedToken, ExtraToken, Kind, Position, Shape, Verdict

settings.register_profile("no deadline", deadline=None)  # a busy machine is no failure
settings.load_profile("no deadline")

TOP = 32  # tokens that a position keeps for drawing


@pytest.fixture(scope="session")
def qapp(qapp):
    """The application as users see it: our fonts, our dark theme."""
    from ui import theme

    theme.load_fonts(qapp)
    theme.apply(qapp, "dark")
    return qapp


def position_of(p, q, drafted=None, extra=None, verdict=Verdict.REJECTED, kind=Kind.RESIDUAL, u=0.5):
    """Return the position a round would record for these distributions, cut to bars as the engine does it."""
    p, q = np.asarray(p, np.float64), None if q is None else np.asarray(q, np.float64)
    rank = np.argsort(-(p if q is None else np.maximum(p, q)), kind="stable")
    forced = [token for token in (drafted, extra) if token is not None]
    ids = np.array([t for t in rank if t in set(rank[:TOP].tolist()) | set(forced)], np.int32)
    overlap = None if q is None else float(np.minimum(p, q).sum())
    tv = None if q is None else float(np.maximum(0, p - q).sum())
    token = None
    if drafted is not None:
        accept = min(1.0, p[drafted] / q[drafted])
        token = DraftedToken(drafted, float(p[drafted]), float(q[drafted]), accept, 0.3, 0.6, verdict)
    return Position(
        position=1,
        context_length=7,
        drafted=token,
        extra=None if extra is None else ExtraToken(extra, kind, float(p[extra]), u),
        shape=Shape(overlap, tv, 1.0, None if q is None else 1.0, float(p.max())),
        bars=Bars(ids, p[ids].astype(np.float32), None if q is None else q[ids].astype(np.float32)),
    )


def pair(vocabulary, seed, concentration=0.05):
    """Return a spiky p over the vocabulary and a q that follows it roughly."""
    rng = np.random.default_rng(seed)
    base = np.sort(rng.dirichlet(np.full(vocabulary, concentration)))[::-1] + 1e-12
    p, q = (base * np.exp(rng.normal(0, s, vocabulary)) for s in (0.5, 0.9))
    return p / p.sum(), q / q.sum()


@pytest.fixture(scope="session")
def crossing():
    """The worked example: p and q cross over, alpha .7, residual [1, 0, 0]."""
    return position_of([0.5, 0.3, 0.2], [0.2, 0.5, 0.3], drafted=1, extra=0)


@pytest.fixture(scope="session")
def tail_rejection():
    """A rejection whose drafted and resampled tokens both rank far behind the bars that fit."""
    return position_of(*pair(2048, 5), drafted=90, extra=200)


@pytest.fixture(scope="session")
def accepted():
    """A draft that was accepted."""
    return position_of(*pair(2048, 6), drafted=2, verdict=Verdict.ACCEPTED)


@pytest.fixture(scope="session")
def bonus():
    """The position behind k accepted drafts: no q."""
    return position_of(pair(2048, 7)[0], None, extra=3, kind=Kind.BONUS)


@pytest.fixture(scope="session")
def equal():
    """The target drafts for itself: p = q."""
    p = pair(2048, 8)[0]
    return position_of(p, p, drafted=4, verdict=Verdict.ACCEPTED)


@pytest.fixture(scope="session")
def huge():
    """A flat position over 262,144 tokens: every bar is small, nearly all mass is rest."""
    return position_of(*pair(262_144, 9, 0.5), drafted=50_000, extra=100_000)


@pytest.fixture(scope="session")
def untraced():
    """A drafted position of a run with the trace off."""
    token = DraftedToken(5, 0.0021, 0.0054, 0.0021 / 0.0054, 0.3, 0.6, Verdict.REJECTED)
    return Position(1, 7, token, None, None, None)


POSITIONS = ("crossing", "tail_rejection", "accepted", "bonus", "equal", "huge")


@pytest.fixture(scope="session", params=POSITIONS)
def position(request):
    """Each kind of position in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def asynchronous(monkeypatch):
    """Take the CPU for a device that works on its own, so that what is done on a GPU is done here."""
    monkeypatch.setattr("simulator.models.base.ASYNCHRONOUS", ("cpu",))
