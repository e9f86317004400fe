"""A whole draft without a wait: each token is drawn on the model's device, and fed back there.

Knows the maps between the ids of draft and target as `ModelDraft` made them. A draw on the host waits for every pass,
and at 152,064 rows takes longer than a small draft's pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from simulator.drafts.base import Checkpoint
from simulator.models.base import Following
from simulator.records import Sampling
from simulator.sampling import distributions, draw_there

Ids = NDArray[np.int64]


class Chain:
    """Draws one token after the other from `model`.

    rows [m] are the model's rows that have a target id, ids [m] those ids, feed [target rows] what the model reads
    for each token of the target.
    """

    def __init__(self, model: Following, rows: Ids, ids: Ids, feed: Ids) -> None:
        self._model, self._vocab = model, len(feed)
        self.device = model.device
        self._rows, self._ids, self._feed = (torch.from_numpy(each).to(model.device) for each in (rows, ids, feed))
        self._feed.clamp_(min=0)  # what a broken row gives may have no counterpart, and such an id would end the device

    def drawn(
        self, unread: Sequence[int], us: Sequence[float], sampling: Sampling, checkpoint: Checkpoint
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Read the draft's ids `unread`; return a target id for each uniform [n] and the rows of q [n, target rows].

        Both are on the device. A row that is no distribution has NaN in it.
        """
        q = torch.zeros(len(us), self._vocab, device=self.device)
        tokens: list[torch.Tensor] = []
        for i, u in enumerate(us):
            checkpoint()
            logits = self._model.follow(self._feed[tokens[-1]]) if tokens else self._model.extend(unread, keep=1)
            q[i].index_copy_(0, self._ids, distributions(logits[:, self._rows], sampling)[0])
            tokens.append(draw_there(q[i], u))
        return torch.cat(tokens) if tokens else self._ids[:0], q
