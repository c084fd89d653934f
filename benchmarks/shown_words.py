"""Which ten words of a topic should people see: the probable or the relevant ones?

    python -m benchmarks.shown_words
    python -m benchmarks.shown_words --quick

LDA with its defaults learns from a random half of the documents. Printed are, for words by relevance (1 is probability
alone), with and without other forms of the words before: their NPMI in the other half of the documents, which the fit
has not seen, and the share of distinct words among those of all topics.
"""

from __future__ import annotations

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from topmix import LDA
from topmix.metrics import npmi_coherence
from topmix.results.names import candidates, distinct
from topmix.results.view import TopicView
from topmix.selection.views import view_of

RELEVANCES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
CORPORA = ["kos", "nips", "wiki", "20ng", "arxiv_100k", "bbc", "dblp", "m10", "nyt"]


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, CORPORA)
    p.add_argument("--K", type=int, default=50)
    p.add_argument("--words", type=int, default=10)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K = [datasets.GENERATED], 5
    out = Results(a.out, "shown_words")
    for name in a.corpus:
        data = datasets.load(name, split=a.split, role=a.role)
        half = data.train.shape[0] // 2  # rows are in random order
        lda = LDA(a.K, random_state=a.seed, n_jobs=a.threads).fit(data.train[:half], feature_names=data.vocabulary)
        view = view_of(lda)
        print(f"{name}, K = {a.K}")
        for relevance in RELEVANCES:
            for forms in ("kept", "left out"):
                lists = shown(view, a.words, relevance, leave_out=forms == "left out")
                found = {
                    "npmi": float(npmi_coherence(lists, data.train[half:], top_n=a.words)),
                    "diversity": len({v for words in lists for v in words}) / sum(map(len, lists)),
                }
                said = f"NPMI {found['npmi']:.4f}, diversity {found['diversity']:.3f}"
                print(f"  relevance {relevance}, other forms {forms:<8}  {said}", flush=True)
                out.add(found, {"K": a.K, "relevance": relevance, "forms": forms, "seed": a.seed}, data)
    return 0


def shown(view: TopicView, n: int, relevance: float, *, leave_out: bool) -> list[list[int]]:
    """Ids of the words that are shown of each topic that is not empty."""
    top = view.top(candidates(n, len(view.words)) if leave_out else n, relevance)
    rows = [ids.tolist() for ids, empty in zip(top, view.is_empty()) if not empty]
    if not leave_out:
        return rows
    places = [{view.words[v]: v for v in row} for row in rows]
    return [[place[word] for word in distinct(place, n)] for place in places]


if __name__ == "__main__":
    arguments.command(main)
