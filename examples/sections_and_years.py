"""A table of texts with a section and a date: which section writes about what, and how topics come and go.

python examples/sections_and_years.py
"""

import inspect

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.signal
import scipy.stats

import topmix

sections = {"arrays": np, "algebra": scipy.linalg, "signals": scipy.signal, "statistics": scipy.stats}
rows = [(section, inspect.getdoc(f) or "") for section, module in sections.items() for f in vars(module).values()]
news = pd.DataFrame(rows, columns=["section", "text"])
news = news[news["text"].str.len() > 400].drop_duplicates("text").reset_index(drop=True)
news["date"] = [f"{2015 + i % 8}-06-01" for i in range(len(news))]  # made up: documentation has no date
lda = topmix.LDA(n_components=10, random_state=0).fit(news)

by_section = lda.topics_by(news, "section")  # with intervals
for _, best in by_section.sort_values("share").groupby("group").tail(1).iterrows():
    print(f"{best['group']:<12}{best['share']:.0%} ({best['low']:.0%} to {best['high']:.0%})  {best['name']}")
by_year = lda.topics_over_time(news, "date", freq="year")
figures = topmix.plot.topics_by(by_section).figure, topmix.plot.topics_over_time(by_year, n=9).figure
print("inches, for figure.savefig:", *(figure.get_size_inches().round(1) for figure in figures))
