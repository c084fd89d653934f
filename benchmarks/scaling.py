"""How long would a pass take on 1 to 1,000 machines? A simulation, fed by what was measured on one.

    python -m benchmarks.scaling [--tokens 3e9] [--words 3e6] [--K 1000] [--cores 16] [--price 0.714] [--draw docs/img]

Two ways to learn: memoized rounds, where everybody waits for the update of the driver, and words that travel, where
nobody waits. Compute and message costs come from the rows of `benchmarks.nomadic` (--rows) and from the options.

A pass of travelling words is simulated visit by visit up to 32 machines: a machine receives one block at a time, visits
one at a time, and takes all blocks of a round before any of the next. Beyond that, the busiest part alone decides,
times what the simulation of 32 machines adds to it. The driver collects the model after each pass, while workers go on.

Stragglers: `slow` is one machine that takes twice as long for everything; `noise` is a factor for each batch or visit,
drawn from a log-normal distribution with a standard deviation of 0.5 in the logarithm and a mean of 1.

Before that, the same cost model predicts the processor seconds of a pass with 1, 2 and 4 workers of this machine from
the passes of one process and of the most workers, and compares them with what was measured. From the fits of
benchmarks.hosts on two hosts (--hosts) it predicts those on more hosts: processor seconds, and bytes on the line of the
driver's host and on the others'.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.results import FOLDER, Results, read as read_rows

NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
SIMULATED = 32  # machines, at most
ROUNDS = 10  # of a memoized pass
BLOCKS_PER_WORKER = 8
HEAPS = 0.35  # a batch of 1 / n of the tokens has n^-HEAPS of the words: 64 batches of UMBC-3B have 0.23 of them
ENTRIES = 0.7  # different words of documents, for each token
UPDATE = 40 / 10e9  # seconds of the driver for each word and topic: 40 bytes at 10 GB/s
SAME = ("kind", "documents", "K", "batches", "rounds", "ms", "mbit", "loss")  # of fits on hosts that are compared
KINDS = ("even", "slow", "noise")


@dataclass(frozen=True)
class Costs:
    sync_token: float  # core seconds for each token, memoized
    entry_topic: float  # core seconds for each entry and topic, travelling
    hop: float  # processor seconds for each block that is sent on
    bandwidth: float  # bytes per second of a machine


@dataclass(frozen=True)
class Size:
    tokens: float
    words: float
    K: float
    cores: int


def factors(kind: str, n: int, rng: np.random.Generator, visits: int = 1) -> np.ndarray:
    """[n, visits] how much longer than usual each takes."""
    out = np.ones((n, visits))
    if kind == "slow" and n > 1:
        out[0] = 2.0
    if kind == "noise":
        out = rng.lognormal(-0.125, 0.5, (n, visits))
    return out


def synchronous(P: int, size: Size, costs: Costs, kind: str, rng: np.random.Generator) -> float:
    """Seconds of a memoized pass: tables go out, batches are visited, sums come back, the driver updates."""
    batches = ROUNDS * P
    words = size.words * batches**-HEAPS
    compute = size.tokens / batches * costs.sync_token / size.cores
    tables = P * 4 * words * size.K / costs.bandwidth
    sums = 6 * size.words * ROUNDS**-HEAPS * size.K / costs.bandwidth
    slowest = factors(kind, P, rng, ROUNDS).max(axis=0)
    return float(np.sum(tables + compute * slowest + sums + UPDATE * size.words * size.K))


def travelling(nodes: Sequence[int], size: Size, costs: Costs, kind: str, rng: np.random.Generator) -> list[float]:
    """Seconds of a pass of words that travel."""
    out, extra = [], 1.0
    for P in nodes:
        seconds = busiest(P, size, costs, kind)
        if P <= SIMULATED:
            extra = simulated(P, size, costs, kind, rng) / seconds
        out.append(max(seconds * extra, driver(size, costs)))
    return out


def driver(size: Size, costs: Costs) -> float:
    """It collects all words, and computes their objective."""
    return 8 * size.words * size.K / costs.bandwidth + UPDATE * size.words * size.K


def visit_seconds(P: int, size: Size, costs: Costs) -> tuple[float, float]:
    """Of one block at one machine: to visit it, and to receive it."""
    B = max(BLOCKS_PER_WORKER * P, 64)
    compute = size.tokens * ENTRIES * size.K * costs.entry_topic / (P * B * size.cores) + costs.hop / size.cores
    return compute, (8 * size.words * size.K / B / costs.bandwidth if P > 1 else 0.0)


def busiest(P: int, size: Size, costs: Costs, kind: str) -> float:
    B = max(BLOCKS_PER_WORKER * P, 64)
    compute, receive = visit_seconds(P, size, costs)
    return B * max(compute * (2.0 if kind == "slow" and P > 1 else 1.0), receive)


def simulated(P: int, size: Size, costs: Costs, kind: str, rng: np.random.Generator, rounds: int = 3) -> float:
    """Visit by visit; the mean of the later rounds."""
    B = max(BLOCKS_PER_WORKER * P, 64)
    compute, receive = visit_seconds(P, size, costs)
    routes = np.array([np.roll(rng.permutation(P), b) for b in range(B)])
    net, free, done = np.zeros(P), np.zeros(P), np.zeros((P, rounds), int)
    waiting: list[list[tuple[float, int, int]]] = [[] for _ in range(P)]  # blocks of later rounds
    events = [(0.0, b, 0) for b in range(B)]  # time, block, visit
    heapq.heapify(events)
    slow, ends = factors(kind, P, rng, B * rounds), np.zeros(rounds)
    n_visits = np.zeros(P, int)
    while events:
        now, b, visit = heapq.heappop(events)
        w, r = int(routes[b, visit % P]), visit // P
        if r > 0 and done[w, r - 1] < B:
            waiting[w].append((now, b, visit))
            continue
        net[w] = max(net[w], now) + receive
        free[w] = max(free[w], net[w]) + compute * slow[w, n_visits[w]]
        n_visits[w] += 1
        done[w, r] += 1
        ends[r] = max(ends[r], free[w])
        if visit + 1 < rounds * P:
            heapq.heappush(events, (free[w], b, visit + 1))
        if done[w, r] == B:
            for then, *which in waiting[w]:
                heapq.heappush(events, (max(then, free[w]), *which))
            waiting[w] = []
    return float((ends[-1] - ends[0]) / (rounds - 1))


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of the last run with at least three numbers of workers."""
    rows = read_rows(path)
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if "workers" in row["settings"]:
            runs.setdefault(json.dumps(row["settings"]["base"]), []).append(row)
    return [run for run in runs.values() if len(run) >= 3][-1]


def hops(n: int, row: dict[str, Any]) -> float:
    """Blocks that are sent in a pass, those to the driver too."""
    return blocks_sent(row["result"]["model_bytes"], n)


def predicted(rows: list[dict[str, Any]]) -> list[tuple[int, float, float]]:
    """Workers, and processor seconds of a pass: as predicted from one process and the most workers, and as measured."""
    base = rows[0]["settings"]["base"]["processor"]
    most = max(rows, key=lambda row: row["settings"]["workers"])
    hop = (most["result"]["processor"] - base) / hops(most["settings"]["workers"], most)
    found = [(row["settings"]["workers"], row) for row in rows if row is not most]
    return [(n, base + hop * hops(n, row), row["result"]["processor"]) for n, row in found]


def measured(rows: list[dict[str, Any]], entries: float) -> tuple[float, float]:
    """Core seconds of an entry and a topic, and processor seconds of a hop."""
    most = max(rows, key=lambda row: row["settings"]["workers"])
    base = rows[0]["settings"]["base"]["processor"]
    hop = max(0.0, (most["result"]["processor"] - base) / hops(most["settings"]["workers"], most))
    return base / (entries * rows[0]["settings"]["K"]), hop


@dataclass(frozen=True)
class OnHosts:
    """A pass."""

    processor: float
    driver_line: float  # bytes sent and received by the driver's host
    other_line: float  # by each of the others, on average


def measured_on(row: dict[str, Any]) -> OnHosts:
    lines = row["result"]["line_bytes"]
    return OnHosts(row["result"]["processor"], lines[0], float(np.mean(lines[1:])))


def on_hosts(two: dict[str, Any], n: int, seconds: float) -> OnHosts:
    """A pass on n hosts that takes so many seconds by the clock, predicted from a row of benchmarks.hosts on two.

    What two hosts take beyond threads of one process, and beyond what they take while they wait, is for bytes on the
    lines (memoized) or for blocks that are sent on (travelling). Each host waits as those two do."""
    found, all_lines = two["result"], sum(two["result"]["line_bytes"])
    threads, waiting = found["threads_processor"], found["idle"] / 2
    extra = found["processor"] - threads - waiting * 2 * found["seconds"]
    if two["settings"]["kind"] == "travelling":
        model = found["received"]
        collected = model * (n - 1) / n  # by the driver, from the others
        other = (all_lines * n / 2 - collected) / n
        driver, more = other + collected, blocks_sent(model, n) / blocks_sent(model, 2)
    else:
        headers = all_lines / sum(memoized_lines(found, 2))
        driver, other = (headers * line for line in memoized_lines(found, n))
        more = (driver + (n - 1) * other) / all_lines
    return OnHosts(threads + extra * more + waiting * n * seconds, driver, other)


def memoized_lines(found: dict[str, Any], n: int) -> tuple[float, float]:
    """Bytes of a pass on the driver's line and on each of the others, with a worker on each host."""
    through_driver = (found["sent"] + found["received"]) * (n - 1) / n
    between = (found["added"] * (n - 1) / n + found["copied"]) * 2 / n  # each has two ends
    return through_driver + between, through_driver / (n - 1) + between


def blocks_sent(model_bytes: float, n: int) -> float:
    """In a pass, those to the driver too."""
    return float(max(-(-model_bytes // 2**20), BLOCKS_PER_WORKER * max(n, 2)) * n)


def compare_hosts(path: Path, out: Results) -> None:
    """Fits of benchmarks.hosts on more than two hosts, and what is predicted of them from those on two. Of several fits
    that of the median of processor seconds counts."""
    found: dict[tuple[Any, ...], dict[int, list[dict[str, Any]]]] = {}
    for row in read_rows(path):
        settings = row["settings"]
        same = (row["machine"]["processor"], row["corpus"]["name"], *(settings[name] for name in SAME))
        if "idle" in row["result"] and len(row["result"]["line_bytes"]) > 1:
            found.setdefault(same, {}).setdefault(settings["hosts"], []).append(row)
    print("| kind | hosts | processor seconds: predicted | measured | ratio | MB on the driver's line: predicted | "
          "measured | ratio | on the others: predicted | measured | ratio |\n" + "|---" * 11 + "|")  # fmt: skip
    for fits in found.values():
        rows = {n: sorted(of_n, key=lambda row: row["result"]["processor"])[len(of_n) // 2] for n, of_n in fits.items()}
        for n, row in sorted(rows.items()):
            if n == 2 or 2 not in rows:
                continue
            want, got = on_hosts(rows[2], n, row["result"]["seconds"]), measured_on(row)
            cells = [f"{want.processor:.1f} | {got.processor:.1f} | {want.processor / got.processor:.2f}"]
            for p, m in ((want.driver_line, got.driver_line), (want.other_line, got.other_line)):
                cells.append(f"{p / 1e6:.0f} | {m / 1e6:.0f} | {p / m:.2f}")
            print(f"| {row['settings']['kind']} | {n} | {' | '.join(cells)} |")
            out.add({"predicted": vars(want), "measured": vars(got)}, row["settings"])


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="fewer machines")
    p.add_argument("--tokens", type=float, default=3e9)
    p.add_argument("--words", type=float, default=3e6)
    p.add_argument("--K", type=float, default=1000)
    p.add_argument("--passes", type=int, default=20)
    p.add_argument("--cores", type=int, default=16, help="of a machine")
    p.add_argument("--bandwidth", type=float, default=12.5, help="of a machine, Gbit/s")
    p.add_argument("--sync-rate", type=float, default=2.1e6, help="tokens per second and core, memoized, K = 1000")
    p.add_argument("--price", type=float, default=0.714, help="of a machine, $ per hour: check it")
    p.add_argument("--driver-price", type=float, default=1.058, help="of the driver's machine, $ per hour: check it")
    p.add_argument("--rows", type=Path, default=FOLDER / "nomadic.jsonl")
    p.add_argument("--hosts", type=Path, default=FOLDER / "hosts.jsonl")
    p.add_argument("--draw", type=Path, help="a folder for scaling.svg")
    a = p.parse_args(argv)
    rows = read(a.rows)
    entry_topic, hop = measured(rows, rows[0]["result"]["entries"])
    costs = Costs(1 / a.sync_rate * a.K / 1000, entry_topic, hop, a.bandwidth * 1e9 / 8)
    size, rng, out = Size(a.tokens, a.words, a.K, a.cores), np.random.default_rng(0), Results(a.out, "scaling")
    print(f"an entry and topic: {entry_topic * 1e9:.3f} ns of a core; a hop: {hop * 1e3:.1f} ms of processor time")
    for n, want, got in predicted(rows):
        print(f"{n} workers: {want:.2f} processor seconds predicted, {got:.2f} measured: {want / got - 1:+.0%}")
        out.add({"predicted": want, "measured": got}, {"workers": n})
    compare_hosts(a.hosts, out)
    found: dict[str, dict[str, list[float]]] = {"synchronous": {}, "travelling": {}}
    nodes = NODES[:4] if a.quick else NODES
    for kind in KINDS:
        found["synchronous"][kind] = [synchronous(P, size, costs, kind, rng) for P in nodes]
        found["travelling"][kind] = travelling(nodes, size, costs, kind, rng)
    print(
        "| machines | memoized: even | slow | noise | travelling: even | slow | noise | topics | rounds $ | travel $ |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for i, P in enumerate(nodes):
        cells = [f"{found[how][kind][i]:,.0f}" for how in found for kind in KINDS]
        share = min(1.0, (1 / P) * (1 + 2 / BLOCKS_PER_WORKER)) * 8 * size.words * size.K / 1e9
        money = [(P * a.price + a.driver_price) * found[how]["noise"][i] * a.passes / 3600 for how in found]
        print(f"| {P:,} | {' | '.join(cells)} | {share:.1f} GB | {money[0]:,.0f} | {money[1]:,.0f} |")
        out.add({how: {kind: found[how][kind][i] for kind in KINDS} for how in found}, vars(size) | {"machines": P})
    if a.draw:
        draw(a.draw / "scaling.svg", nodes, found)
    return 0


def draw(path: Path, nodes: Any, found: dict[str, dict[str, list[float]]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for how, colour in (("synchronous", "#b4552d"), ("travelling", "#2d6fb4")):
        for kind, style in zip(KINDS, ("-", "--", ":")):
            name = {"synchronous": "memoized rounds", "travelling": "words travel"}[how]
            axes.plot(nodes, found[how][kind], style, color=colour, label=f"{name}, {kind}")
    axes.set(xscale="log", yscale="log", xlabel="machines", ylabel="seconds per pass")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    arguments.command(main)
