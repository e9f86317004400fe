"""Where a model can run and as what numbers; imports torch only when asked."""

from __future__ import annotations

from simulator.errors import UserError

DEVICES = ("cpu", "cuda", "mps", "xpu")
DTYPES = ("auto", "float32", "bfloat16", "float16")
LONGEST = 240  # characters of a library's own words


def choose_device(wanted: str) -> str:
    """Return the device to use: auto = cuda, else mps, else cpu. Raise `UserError` for one that is not there."""
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
        if device.type not in DEVICES:
            raise ValueError(f"{device.type} holds no numbers to run a model with")
    except Exception as error:
        raise UserError(f"The device '{wanted}' cannot be used here; choose auto or cpu. ({reason(error)})") from error
    return wanted


def choose_dtype(wanted: str, device: str) -> str:
    """Return the weights' dtype: auto = bfloat16 on a GPU, float32 on a CPU. Probabilities are float32 regardless."""
    if wanted not in DTYPES:
        raise UserError(f"The dtype '{wanted}' is not known; choose one of {', '.join(DTYPES)}.")
    return wanted if wanted != "auto" else "float32" if device.startswith("cpu") else "bfloat16"


def reason(error: BaseException) -> str:
    """Return what a library's error says, on one line and not too long; its kind where it says nothing."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= LONGEST else said[:LONGEST] + " ..."
