"""Clocks: a moment on a GPU is noted without waiting, and only a difference waits."""

import time

import torch

from simulator.clocks import clock_for


def test_a_cpu_has_the_computers_clock():
    assert clock_for("cpu") is time.perf_counter


def test_moments_of_a_gpu_wait_only_when_they_are_compared(monkeypatch):
    now, said = [0.0], []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            said.append("noted")
            self.at = now[0]

        def synchronize(self):
            said.append("waited")

        def elapsed_time(self, later):
            return 1000 * (later.at - self.at)  # milliseconds, as CUDA has it

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", lambda device: open("/dev/null"))  # noqa: SIM115 - a context
    clock = clock_for("cuda:1")
    start = clock()
    now[0] = 0.25
    end = clock()
    assert said == ["noted", "noted"]
    assert end - start == 0.25
    assert said == ["noted", "noted", "waited"]
