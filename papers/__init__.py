"""One script, or one folder, per paper; run from the repository root as `python -m papers.NAME`.

Every script prints its tables, draws its figures into papers/figures (--draw) and writes a JSON row per result (--out).
"""

from pathlib import Path

FIGURES = Path(__file__).resolve().parent / "figures"
