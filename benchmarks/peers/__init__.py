"""topmix beside other libraries: the jobs of benchmarks/everything.py, one file per kind of model.

Every run is scored on validation and on test documents along its curve. Which setting of a peer counts, which of its
two priors and which moment, is chosen on validation documents (choice.py); what is reported is its score on test
documents. Ours has its defaults.
"""

GROUPS = ("topics", "hdp", "mixtures")
