"""Which of the paths computes a model: the one with the least overhead that says the same as transformers' own code.

Knows what each path takes. Does not know files, nor how a path computes.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from simulator.models.llama import LlamaDecoder, is_plain_llama

if TYPE_CHECKING:
    from simulator.models.hf import HFModel  # its import brings all of transformers' modelling code
    from simulator.models.passes import Runner
    from simulator.models.static import StaticModel

LONGEST = 240  # characters of a library's own words
CXX = {"win32": "cl", "darwin": "clang++"}  # what torch calls where CXX does not say; g++ elsewhere


def decoder_for(
    model: Any, name: str, oracle: Callable[[], Any] | None = None, checkpoint: Callable[[], None] = lambda: None
) -> HFModel | LlamaDecoder | StaticModel:
    """Return the path with the least overhead that computes a transformers model; the general one where no other does.

    With an `oracle`, which loads the model anew, this one gives its weights away: they are copied one block after the
    other, and two whole copies are never in memory.
    """
    if not is_lean(model):
        return _general(model, name)
    tensors = dict(model.state_dict())
    if oracle is not None:
        model.to("meta")  # a model without memory for its weights; the tensors still hold them
    return LlamaDecoder(model.config, tensors, name, oracle or (lambda: model), checkpoint)


def is_lean(model: Any) -> bool:
    """Return whether `LlamaDecoder` takes a transformers model: nothing is left there for a compiler to fuse."""
    return is_plain_llama(model.config) and model.dtype == torch.float32 and model.device.type == "cpu"


def compiled_decoder(model: Any, name: str) -> tuple[HFModel | StaticModel, str]:
    """Return the static path of a model with its small operations fused by torch's compiler, and what to know of that.

    Where it cannot be, or says something else than the plain path: what `decoder_for` returns, and a sentence why.
    In half precision it rounds less often, between the fused operations not at all, which turns near ties; in float32
    its greedy text is the plain path's.
    """
    from simulator.models.hf import HFModel
    from simulator.models.static import StaticModel, attempt

    made = compiler_fault(model.device) or attempt(
        HFModel(model, name), _runner(model.device), partial(torch.compile, dynamic=True)
    )
    if isinstance(made, StaticModel):
        half = made.dtype.itemsize < 4
        return made, f"{name} is compiled, and rounds less often: near ties can fall otherwise." if half else ""
    said = " ".join(made.split())
    said = said if len(said) <= LONGEST else said[:LONGEST] + " ..."
    return _general(model, name), f"{name} runs without torch's compiler: {said.rstrip('.')}."


def compiler_fault(device: torch.device) -> str | None:
    """Return why torch's compiler cannot be used for a device, None where nothing is known against it."""
    if device.type not in ("cpu", "cuda"):
        return f"it is used on cpu and cuda only, not on {device.type}"
    compiler = os.environ.get("CXX") or CXX.get(sys.platform, "g++")
    if device.type == "cpu" and shutil.which(compiler) is None:
        return f"it needs a C++ compiler, and '{compiler}' is not on this computer; install one, or name it in CXX"
    return None


def _general(model: Any, name: str) -> HFModel | StaticModel:
    """Return transformers' own passes, recorded where the device can."""
    from simulator.models.hf import HFModel

    plain = HFModel(model, name)
    if model.device.type != "cuda":
        return plain
    from simulator.models.static import static_decoder

    return static_decoder(plain, _runner(model.device))


def _runner(device: torch.device) -> Runner:
    from simulator.models.passes import CudaGraphs, Eager, Recorded

    return Recorded(CudaGraphs(device)) if device.type == "cuda" else Eager()
