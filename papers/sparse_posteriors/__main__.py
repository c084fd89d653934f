"""Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors (2016): Figs. 1 to 5, redrawn.

    python -m papers.sparse_posteriors --small | --full   # with the paper's own algorithms: papers/experiments
    python -m papers.sparse_posteriors                    # two hours on two cores; runs of topics are remembered
    python -m papers.sparse_posteriors --figures 3 --K 400
    python -m papers.sparse_posteriors --quick            # generated data, seconds

How much does it save, and what does it cost, to keep only the L best clusters of an observation?

Figures 1 and 2: mixtures of image patches; `python -m papers.sparse_posteriors.mixtures` draws them too, and has
options of its own. They are left out, with a message, if the images are not there.
Figure 3: what sparsity costs and saves. (a) seconds per pass over wiki, with documents per second above each bar, ours
cut into parts and peers beside it; (b) the local step alone, 100 iterations per document as in the paper, and (c) the
sums by word, for 1000 documents: processor seconds of one thread; (d) how far a document's topics are from the dense
ones.
Figure 4: completion score against seconds of training on nips and wiki, all our learners and pip-installable peers.
Figure 5: the bound against passes for warm and cold starts, with and without restarts, dense and sparse.

The paper's settings are in settings.py. Not the paper's: topics start from the library's default, not from K documents,
in all of our runs; the L best topics are chosen at the end of a document, not along the way (which is drawn in 3b too:
`selection="often"`); and the collapsed posterior, which is ours.
"""

from __future__ import annotations

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import is_installed
from benchmarks.harness.results import Results
from benchmarks.harness.runs import Runs
from papers import FIGURES, everything
from papers.sparse_posteriors import mixtures
from papers.sparse_posteriors.figure3 import figure_3
from papers.sparse_posteriors.figures4and5 import figure_4, figure_5
from papers.sparse_posteriors.settings import PEERS


def main(argv: list[str] | None = None) -> int:
    if everything.is_asked(argv):
        return everything.main(argv, ("sparse_posteriors",))
    p = arguments.parser(__doc__, quick="generated data and seconds")
    arguments.add_corpus(p, ["nips", "wiki"])
    p.add_argument("--figures", nargs="+", type=int, choices=[1, 2, 3, 4, 5], default=[1, 2, 3, 4, 5])
    p.add_argument("--K", nargs="+", type=int, default=[200, 400, 800], help="of Figures 3 and 4")
    p.add_argument("--seconds", type=float, default=60, help="of training, for each run of Figure 4")
    p.add_argument("--passes", type=int, default=10, help="of Figure 5, and of Figure 3a")
    p.add_argument("--K5", type=int, default=400, help="topics of Figure 5")
    p.add_argument("--docs", type=int, default=1000, help="documents of Figures 3b to 3d")
    p.add_argument("--peers", nargs="*", choices=[*PEERS], default=[*PEERS])
    arguments.add_runs(p)
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seconds, a.passes, a.K5, a.docs = [datasets.GENERATED], [20], 0.1, 2, 10, 100
        a.threads, a.peers = 1, ["sklearn"]
    out = Results(a.out, "sparse_posteriors")
    of_mixtures = [n for n in a.figures if n in (1, 2)]
    if of_mixtures:
        try:
            mixtures.figures(of_mixtures, a.draw, out, a.quick)
        except datasets.MissingData as missing:
            print(f"Figures 1 and 2 are left out: {missing}")
    peers = {method: setting for method, setting in PEERS.items() if method in a.peers and is_installed(method)}
    for method in [method for method in PEERS if method not in peers]:
        why = "not asked for" if is_installed(method) else "not installed (pip install 'topmix[bench]')"
        print(f"{method} is left out: {why}")
    runs = Runs(a.runs, a.threads, a.fresh, a.split, a.role, own_process=not a.quick, results=out)
    if 3 in a.figures:
        figure_3(runs, a.corpus[-1], a.K, a.passes, a.docs, peers, a.seconds, a.draw)
    if 4 in a.figures:
        figure_4(runs, a.corpus, a.K, a.seconds, peers, a.draw)
    if 5 in a.figures:
        figure_5(runs, a.corpus, a.K5, a.passes, a.draw)
    return 0


if __name__ == "__main__":
    arguments.command(main)
