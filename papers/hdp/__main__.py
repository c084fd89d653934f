"""Figures 2 and 3 of Hughes, Kim & Sudderth, Reliable and Scalable Variational Inference for the HDP (2015).

    python -m papers.hdp --small | --full   # with the paper's own algorithms: papers/experiments
    python -m papers.hdp [--quick] [--figures 2 3] [--corpus nips]

Is the surrogate a bound, and do restarts help a document?

2   the surrogate of E[c_Dir(alpha beta)], their Eq. (12), beside the exact value: over alpha, for several beta; and
    what one more topic that nobody uses costs, by the exact value, by the surrogate and by a point estimate of beta
3   one document's local step, K = 100: the bound of the document in runs from random starts, and in one run that then
    tries to do without its smallest topics; and where in N_dk those runs end

Their figure 3 has one document of Science, and does not say how it was chosen. Here some documents of nips (generated
ones with --quick) are solved; what is printed is of them all, and the one that gains most by restarts is drawn, since a
document whose first run is already the best shows nothing. The main numbers are printed too.
"""

from __future__ import annotations

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from papers import FIGURES, everything
from papers.hdp.restarts import figure_3
from papers.hdp.surrogate import figure_2


def main(argv: list[str] | None = None) -> int:
    if everything.is_asked(argv):
        return everything.main(argv, ("hdp",))
    p = arguments.parser(__doc__, quick="a generated corpus, few documents and draws")
    arguments.add_corpus(p, "nips")
    p.add_argument("--figures", nargs="+", default=["2", "3"], choices=["2", "3"])
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    out = Results(a.out, "papers.hdp")
    if "2" in a.figures:
        figure_2(20 if a.quick else 2000, a.draw, out)
    if "3" in a.figures:
        data = datasets.load(datasets.GENERATED if a.quick else a.corpus, split=a.split, role=a.role)
        K, documents, starts, iterations = (30, 5, 5, 60) if a.quick else (100, 20, 20, 100)
        figure_3(data, K, documents, starts, iterations, a.draw, out)
    return 0


if __name__ == "__main__":
    arguments.command(main)
