"""Counters as engines write them: the right figures, or one sentence; nothing missing is guessed."""

import math
import time

import pytest

from simulator.acceptance.counters import read_counters
from simulator.errors import UserError
from simulator.metrics import from_histogram

PROMETHEUS = """# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 43.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.7567e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 129.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 10.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 4.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 3.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="2"} 3.0
vllm:num_requests_running{engine="0",model_name="m"} NaN
"""
ANSWER = (
    '{"usage": {"completion_tokens": 53}, "metrics": {"speculative_decoding": {'
    '"mean_acceptance_length": 1.2325581395348837, "draft_acceptance_rate": 0.07751937984496124, '
    '"acceptance_histogram": [39, 1, 0, 3], "num_spec_steps": 43, "num_accepted_draft_tokens": 10, '
    '"num_draft_tokens": 129, "num_spec_tokens": 3}}}'
)
STEPS = (
    '{"num_spec_steps": 4, "num_spec_tokens": 3, "per_step_accepted": [3, 1, 0, 2], "per_step_drafted": [3, 3, 3, 3]}'
)
LLAMA = (
    "0.06.896.015 I slot print_timing: id  1 | task 0 | draft acceptance = 0.64479 (  167 accepted /   259 generated), "
    "mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)"
)
LLAMA_TOTALS = (
    "statistics     draft-eagle3: #calls(b,g,a) =    1     87     87, #gen drafts =     87, #acc drafts =    70, "
    "#gen tokens =    259, #acc tokens =   167, #mean acc len = 2.92"
)
VLLM_LOG = (
    "INFO [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 3.07, Accepted throughput: 1.05 tokens/s, "
    "Drafted throughput: 1.51 tokens/s, Accepted: 141 tokens, Drafted: 204 tokens, Per-position acceptance rate: "
    "0.897, 0.676, 0.500, Avg Draft acceptance rate: 69.1%"
)
SGLANG = (
    "{'meta_info': {'completion_tokens': 35, 'spec_verify_ct': 14, 'spec_accept_length': 2.5, "
    "'spec_accept_rate': 0.476, "
    "'spec_accept_token_num': 20, 'spec_draft_token_num': 42, 'spec_accept_histogram': [4, 4, 2, 4]}}"
)
LM_STUDIO = (
    '{"usage": {"completion_tokens": 300, "total_draft_tokens_count": 492, "accepted_draft_tokens_count": 176, '
    '"rejected_draft_tokens_count": 316}}'
)


def counts(a):
    return tuple(a.figures[name] for name in ("rounds", "drafted", "tested", "accepted", "emitted"))


@pytest.mark.parametrize("text", [PROMETHEUS, ANSWER, "histogram: [39, 1, 0, 3]\nk: 3"])
def test_vllm_in_every_layout_gives_the_printed_figures(text):
    a = read_counters(text)
    assert counts(a) == (43, 129, 50, 10, None)
    assert round(a.figures["tau_counters"], 4) == 1.2326
    assert round(a.figures["draft_acceptance_rate"], 4) == 0.0775
    assert [s.conditional for s in a.steps] == [4 / 43, 3 / 4, 3 / 3]
    assert a.histogram == (39, 1, 0, 3)
    known = from_histogram([39, 1, 0, 3])
    assert a.figures["tested_acceptance_rate"] == known.tested_acceptance_rate


def test_two_engines_of_one_server_are_added():
    """Of a server with data parallelism only the first engine's line was read: half of the tokens were missing."""
    other = "\n".join(line for line in PROMETHEUS.splitlines() if "_created" not in line and "NaN" not in line)
    both = read_counters(PROMETHEUS + other.replace('engine="0"', 'engine="1"'))
    assert counts(both) == (86, 258, 100, 20, None)
    assert both.histogram == (78, 2, 0, 6)


@pytest.mark.parametrize("text", [STEPS, "accepted_counts: [3, 1, 0, 2]\nk: 3"])
def test_round_by_round_arrays_give_the_reference_trace(text):
    a = read_counters(text)
    assert counts(a) == (4, 12, 9, 6, None)
    assert [s.unconditional for s in a.steps] == [0.75, 0.5, 0.25]
    assert [s.conditional for s in a.steps] == pytest.approx([0.75, 2 / 3, 0.5])


@pytest.mark.parametrize("text", [LLAMA, f"{LLAMA}\n{LLAMA_TOTALS}"])
def test_llama_cpp_log_line(text):
    """87 rounds are printed in the second line, and are the only number that gives 2.92 from 167 in the first."""
    a = read_counters(text)
    assert counts(a) == (87, 259, None, 167, None)
    assert round(a.figures["tau_counters"], 2) == 2.92
    assert [round(s.unconditional, 3) for s in a.steps] == [0.805, 0.632, 0.483]
    assert [s.passed for s in a.steps] == [70, 55, 42]
    assert [s.reached for s in a.steps] == [87, None, None]  # 259 of 261: who drafted two is not known


def test_llama_cpp_timings_hold_no_rounds():
    a = read_counters('{"timings": {"predicted_n": 200, "draft_n": 347, "draft_n_accepted": 65}}')
    assert counts(a) == (None, 347, None, 65, 200)
    assert a.figures["tau_counters"] is None
    assert a.figures["draft_acceptance_rate"] == 65 / 347
    assert "no number of rounds" in a.notes[-1]


def test_vllm_log_line_gives_counts_where_rounding_leaves_no_choice():
    a = read_counters(VLLM_LOG)
    assert counts(a) == (68, 204, 175, 141, None)
    assert [s.passed for s in a.steps] == [61, 46, 34]


def test_where_rounding_leaves_a_choice_the_rounds_are_not_known():
    text = "SpecDecoding metrics: Mean acceptance length: 1.20, Accepted: 5000 tokens, Drafted: 75000 tokens"
    a = read_counters(text)
    assert a.figures["rounds"] is None
    assert a.printed["tau_counters"] == 1.2


def test_sglang_counts_the_prompts_token_too():
    """completion_tokens / spec_verify_ct is not 1 + accepted / rounds: the prompt's pass emitted a token as well."""
    a = read_counters(SGLANG)
    assert counts(a) == (14, 42, None, 20, None)
    assert a.printed["acceptance_length"] == 2.5
    assert a.figures["tau_counters"] == pytest.approx(1 + 20 / 14)
    assert a.figures["acceptance_length"] is None
    assert a.histogram == (4, 4, 2, 4)


def test_sglang_prints_averages_without_counts():
    a = read_counters("Decode batch, accept len: 2.75, accept rate: 0.69, gen throughput: 5\n" * 3)
    assert a.printed == {"acceptance_length": 2.75, "draft_acceptance_rate": 0.69}
    assert counts(a) == (None,) * 5


def test_lm_studio_rejects_what_nobody_tested():
    a = read_counters(LM_STUDIO)
    assert counts(a) == (None, 492, None, 176, 300)
    assert a.figures["accepted_share"] == 176 / 300
    assert a.figures["tested_acceptance_rate"] is None


def test_several_requests_are_pooled_by_their_counts():
    line = '{"timings": {"draft_n": 10, "draft_n_accepted": 5, "predicted_n": 20}}'
    a = read_counters(f"{line}\n{line.replace('10', '30')}")
    assert counts(a) == (None, 40, None, 10, 40)
    missing = read_counters(f'{line}\n{{"timings": {{"draft_n": 10, "draft_n_accepted": 5}}}}')
    assert missing.figures["emitted"] is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("  ", "Nothing was pasted"),
        ("hello world", "No counters of vLLM"),
        ("[39, 1, 0, 3]", "one meaning"),
        ('{"draft_n": 3, "draft_n_accepted": 4}', "rate above 1"),
        ('{"draft_n": NaN, "draft_n_accepted": 4}', "draft_n is nan, which is no number"),
        ('{"draft_n": "many", "draft_n_accepted": 4}', "draft_n is many"),
        ('{"draft_n": true, "draft_n_accepted": 0}', "draft_n is True"),
        ('{"draft_n": -3, "draft_n_accepted": 4}', "at least 0"),
        ('{"draft_n": 2.5, "draft_n_accepted": 1}', "whole number"),
        ('{"a": {"draft_n": 3}, "b": {"spec_verify_ct": 3}}', "SGLang and llama.cpp"),
        (PROMETHEUS.replace("43.0", "NaN"), "num_drafts is NaN"),
        (PROMETHEUS.replace(" 10.0", " 12.0"), "states 12 accepted tokens, but its parts add up to 10"),
        (PROMETHEUS.replace(" 4.0", " 2.0").replace(" 10.0", " 8.0"), "must not rise"),
        (PROMETHEUS + PROMETHEUS, "twice"),
        (PROMETHEUS + VLLM_LOG, "count the same rounds twice"),
        ('spec_decode_num_accepted_tokens_per_pos_total{position="1"} 3.0', "gap"),
        ("spec_decode_num_accepted_tokens_per_pos_total 3.0", "no position label"),
        (LLAMA.replace("0.805", "1.805"), "1.805, but no rate can exceed 1"),
        (LLAMA.replace("167", "267"), "rate above 1"),
        (ANSWER.replace("1.2325", "2.2325"), "own counts give 1.233"),
        (STEPS.replace("[3, 1, 0, 2]", "[3, 1, 0, 4]"), "cannot have accepted 4"),
        (STEPS.replace("[3, 3, 3, 3]", "[3, 3, 3]"), "4 accepted counts for 3"),
        ("accept len: 2.75, accept rate: 1.69, ", "no run can have"),
        ("accept len: nan, accept rate: 0.69, ", "accept len is nan, which is no number"),
        (PROMETHEUS.replace("43.0", "43,0"), "num_drafts is 43,0: write it without a comma"),
        (PROMETHEUS.replace("43.0", "+Inf"), "num_drafts is \\+Inf, which is no number"),
        (PROMETHEUS.replace("43.0", "1e308"), "more than can have been counted"),
        (LLAMA.replace("2.92", "2,92"), "mean acceptance length is 2,92: write it without a comma"),
        (VLLM_LOG.replace("3.07", "3,07"), "Mean acceptance length is 3,07: write it without a comma"),
        (VLLM_LOG.replace("0.897", "0,897"), "rate per position is 897, but no rate can exceed 1"),
        ('{"draft_n": "1,234", "draft_n_accepted": 456}', "draft_n is 1,234: write it without a comma"),
        ('{"draft_n": 1e999, "draft_n_accepted": 4}', "draft_n is inf"),
        (f'{{"draft_n": 1{"0" * 400}, "draft_n_accepted": 4}}', "which is no number"),
        (f"draft_n: {2**70}, draft_n_accepted: 4", "more than can have been counted"),
        ('{"draft_n": [1], "draft_n_accepted": 4}', "draft_n is \\[1\\], which is no number"),
        ("histogram: []", "must be a list of counts"),
        ("histogram: [39, nan, 0, 3]", "must be a list of counts"),
        ("histogram: [39, -1, 0, 3]", "at least 0"),
        ("histogram: [39, 1, 0, 3]\nk: 2", "accepted 3 tokens, but at most k = 2"),
        (f"{ANSWER}\n{LLAMA}", "llama.cpp and vLLM"),
        (f"{LLAMA}\n{VLLM_LOG}", "llama.cpp and vLLM"),
        (f"{ANSWER}\n{VLLM_LOG}", "lines and JSON, which may count the same rounds twice"),
        ("drafted,accepted\n3,4\n", "The pasted table, line 2: 4 accepted of 3"),
        ("drafted;accepted\n3;2,5\n", "The pasted table, line 2: accepted is 2,5: write it without a comma"),
        ("\0\0", "No counters of vLLM"),
        ("x" * 10_000_000, "has 10,000,000 characters"),
    ],
)
def test_what_cannot_be_is_one_sentence(text, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        read_counters(text)
    assert "\n" not in str(caught.value)


def test_zeros_are_not_a_rate():
    a = read_counters('{"draft_n": 0, "draft_n_accepted": 0, "predicted_n": 12}')
    assert a.figures["draft_acceptance_rate"] is None
    assert a.figures["accepted_share"] is None
    assert not any(isinstance(v, float) and math.isnan(v) for v in a.figures.values())


def test_every_source_says_what_it_cannot():
    for text in (PROMETHEUS, SGLANG, LM_STUDIO, LLAMA, VLLM_LOG, STEPS):
        assert "alpha" in read_counters(text).notes[-1].lower()
        assert read_counters(text).figures["alpha"] is None


@pytest.mark.parametrize("text", [PROMETHEUS, ANSWER, LLAMA, VLLM_LOG, SGLANG, LM_STUDIO])
def test_line_ends_and_marks_of_other_systems_change_nothing(text):
    assert read_counters("\ufeff" + text.replace("\n", "\r\n") + "\r\n") == read_counters(text)


@pytest.mark.parametrize("table", ["drafted,accepted\n3,3\n3,1\n3,0\n3,2\n",
                                   "\ufeffnum_draft_tokens;num_accepted_tokens\r\n3;3\r\n3;1\r\n3;0\r\n3;2\r\n",
                                   "Drafted\tAccepted\n3\t3\n3\t1\n3\t0\n3\t2\n"])  # fmt: skip
def test_a_pasted_table_of_rounds_is_read_as_one(table):
    a = read_counters(table)
    assert counts(a) == (4, 12, 9, 6, None)
    assert a.full == {3: (1, 1, 1, 1)}


def test_requests_of_several_draft_lengths_are_added_and_kept_apart():
    """Two requests with k = 3 and 5 lost every count, since positions of different k cannot be one row."""
    line = '{{"num_spec_tokens": {k}, "acceptance_histogram": {h}, "num_spec_steps": 10, "num_draft_tokens": {d}}}'
    a = read_counters("\n".join([line.format(k=3, h=[1, 2, 3, 4], d=30), line.format(k=5, h=[4, 0, 2, 2, 0, 2], d=50)]))
    assert counts(a) == (20, 80, 26 + 28, 20 + 20, None)
    assert a.full == {3: (1, 2, 3, 4), 5: (4, 0, 2, 2, 0, 2)}
    assert a.histogram == (5, 2, 5, 6, 0, 2)
    assert any("differ (3, 5)" in note for note in a.notes)


@pytest.mark.parametrize("unit", ["x", "x: [", "x ", "Mean acceptance length: 1 ", "#gen drafts = 1 ", "[", "#",
                                  '{"a":', "a,", "\n"])  # fmt: skip
def test_no_text_takes_more_than_a_time_that_grows_with_its_length(unit):
    """A megabyte of one letter took minutes: patterns that could start anywhere looked to the end each time."""
    start = time.process_time()
    with pytest.raises(UserError):
        read_counters(unit * (300_000 // len(unit)))
    assert time.process_time() - start < 5
