"""Tables and figures of Jiang, Sra & Kulis, "Combinatorial topic models using small-variance asymptotics" (2016).

    python -m papers.combinatorial --small | --full   # with the paper's own algorithms: papers/experiments
    python -m papers.combinatorial                    # all of it: an hour or so
    python -m papers.combinatorial --only table1      # or table2, table3 (with figure 2), table4, figure1
    python -m papers.combinatorial --quick            # small sizes, seconds

Do hard assignments find topics as well as Gibbs sampling, and do they make a good start for it?

Prints each table, ours beside the paper's, and draws the figures. Their Enron and NYTimes are not public in the form
they used, so tables 3 and 4 are of kos and nips (see benchmarks/harness/datasets.py); --quick generates corpora in
their place. Table 3's corpora are drawn from our models of those, whose topics --beta smooths; table 4 has three betas.
How far words are shared between topics decides what is possible there: the objective gives a word of several topics to
one of them, so that even from the true assignments the topics move away, the farther the smaller lambda is.
"""

from __future__ import annotations

from benchmarks.harness import arguments
from benchmarks.harness.results import Results
from papers import FIGURES, everything
from papers.combinatorial.chains import figure1
from papers.combinatorial.fits import Sizes
from papers.combinatorial.recovery import table2, table3
from papers.combinatorial.tables import table1, table4

PARTS = {"table1": table1, "table2": table2, "table3": table3, "table4": table4, "figure1": figure1}


def main(argv: list[str] | None = None) -> int:
    if everything.is_asked(argv):
        return everything.main(argv, ("combinatorial",))
    p = arguments.parser(__doc__, quick="small sizes")
    p.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--sweeps", type=int, help="of Gibbs chains; 600 unless given, the paper has 3300")
    p.add_argument("--beta", type=float, default=0.01, help="smoothing of the topics that table 3's corpora come from")
    arguments.add_draw(p, FIGURES)
    a = p.parse_args(argv)
    sizes = Sizes(a.quick, a.draw, Results(a.out, "papers.combinatorial"), a.threads, a.sweeps, a.beta)
    for part in a.only:
        PARTS[part](sizes)
    return 0


if __name__ == "__main__":
    arguments.command(main)
