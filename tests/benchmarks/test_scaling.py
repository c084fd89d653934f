"""What a fit on two hosts says of more hosts, where the hosts do as the model of the costs has it."""

import pytest

from benchmarks.scaling import on_hosts


def test_bytes_of_memoized_fits_are_those_that_cross_between_hosts():
    found = {"sent": 100.0, "received": 20.0, "added": 10.0, "copied": 8.0, "seconds": 5.0, "idle": 0.2}
    found |= {"threads_processor": 1.0, "line_bytes": [73.0, 73.0]}  # half of what the driver moves, 5 of sums, copies
    found["processor"] = 1.0 + 0.01 * 146 + 0.2 * 5
    four = on_hosts({"settings": {"kind": "memoized"}, "result": found}, 4, seconds=10.0)
    assert four.driver_line == pytest.approx(90 + (7.5 + 8) / 2)
    assert four.other_line == pytest.approx(90 / 3 + (7.5 + 8) / 2)
    assert four.processor == pytest.approx(1.0 + 0.01 * (97.75 + 3 * 37.75) + 0.1 * 4 * 10)


def test_blocks_that_travel_are_more_and_smaller_on_many_hosts():
    model = 20 * 2.0**20  # 20 blocks on two hosts, 64 on eight
    found = {"received": model, "seconds": 2.0, "idle": 0.0, "threads_processor": 1.0, "processor": 1.0 + 0.1 * 20 * 2}
    two = {"settings": {"kind": "travelling"}, "result": found | {"line_bytes": [2 * model, 2 * model]}}
    eight = on_hosts(two, 8, seconds=3.0)
    assert eight.processor == pytest.approx(1.0 + 0.1 * 64 * 8)
    assert eight.driver_line - eight.other_line == pytest.approx(model * 7 / 8)
    assert eight.driver_line + 7 * eight.other_line == pytest.approx(8 * 2 * model)
