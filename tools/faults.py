"""Faults for tools/mutants.py: what the tests must notice. Each is a text of the code, what it becomes, and the tests
that are nearest to it. Texts are short, so that they survive a change beside them."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    old: str
    new: str
    tests: tuple[str, ...]  # of pytest, or C++ tests
    near: str = ""  # a text of the file that is meant, where others have `old` too


MUTANTS = [
    # Files behind URLs.
    Mutant(
        "bytes of two versions of a file are mixed",
        "if remote_version(files, name) != self.version:",
        "if False:",
        ("tests/storage/test_files.py",),
    ),
    Mutant(
        "a file that was replaced while it was copied counts as whole",
        "if size in (None, copy.tell()) and remote_version(files, name) == version_of(about):",
        "if size in (None, copy.tell()):",
        ("tests/storage/test_faults.py",),
    ),
    # Objectives and statistics.
    Mutant(
        "sign of the entropy of q in a Dirichlet bound",
        "np.sum(log_normaliser(p)) - np.sum(log_normaliser(q))",
        "np.sum(log_normaliser(p)) + np.sum(log_normaliser(q))",
        ("tests/conformance/test_likelihoods.py",),
    ),
    Mutant(
        "sign of the topics' norm in the bound of words",
        "- each - gammaln(norm).sum()",
        "- each + gammaln(norm).sum()",
        ("tests/test_topic_bound.py",),
    ),
    Mutant(
        "divergence of the sticks is not subtracted",
        "+ prior - self.divergence(gamma)",
        "+ prior",
        ("tests/test_hdp_prior.py",),
    ),
    Mutant(
        "a tree that adds from the left",
        "while waiting and waiting[-1][0] == leaves:",
        "while waiting:",
        ("tests/test_tree_sums.py",),
    ),
    Mutant(
        "scale of a total is lost when rows are read",
        "return self.factor * self.raw_rows(words)",
        "return self.raw_rows(words)",
        ("tests/test_stats.py", "tests/model_files/test_sparse_counts.py"),
        near="class WordTotal",
    ),
    Mutant(
        "statistics of a shard in the order of floats, not of words",
        "sizes[np.searchsorted(cols, self.cols)] = np.diff(self.indptr)",
        "sizes[: len(self.cols)] = np.diff(self.indptr)",
        ("tests/test_tree_sums.py",),
    ),
    Mutant(
        "responses that add nothing to the objective",
        "said = self.weight * float(self.log_likelihood(Responded.of(docs, self.y)).sum())",
        "said = 0.0",
        ("tests/test_supervised.py",),
    ),
    Mutant(
        "a tilt that does not follow the topics of a document",
        "        if (response) response.follow(N);\n        left",
        "        left",
        ("tests/test_supervised.py",),
    ),
    # Learners.
    Mutant(
        "memoized learning that never takes the old statistics out",
        "total -= old",
        "pass",
        ("tests/conformance/test_learners.py",),
    ),
    Mutant(
        "swapped amounts in a stochastic step",
        "self.step_size(state.t, new.n_rows), amount, seen)",
        "self.step_size(state.t, new.n_rows), seen, amount)",
        ("tests/test_scvb0.py",),
    ),
    Mutant(
        "pseudo-counts that fade to the wrong side",
        "total.add(pseudo, -1.0 / n)",
        "total.add(pseudo, 1.0 / n)",
        ("tests/conformance/test_learners.py::test_pseudo_counts_beside_a_total_fade_from_round_to_round",),
    ),
    Mutant(
        "a half-life of twice the length",
        "1.0 - 0.5 ** (n_rows / self.half_life)",
        "1.0 - 0.5 ** (0.5 * n_rows / self.half_life)",
        ("tests/parameters/test_parameters.py::test_a_parameter_has_its_effect[Stochastic.half_life]",),
    ),
    # Metrics.
    Mutant(
        "one distinct word too few to infer from",
        "min(int(np.ceil(fraction * n)), n - 1)",
        "min(int(np.floor(fraction * n)), n - 1)",
        ("tests/metrics/test_completion.py",),
    ),
    Mutant(
        "coherence with a word and itself",
        "return float(value[~np.eye(len(value), dtype=bool)].mean())",
        "return float(value.mean())",
        ("tests/metrics/test_coherence.py",),
    ),
    Mutant(
        "a true topic without a partner costs nothing",
        "2.0 * (K - len(match.a))",
        "0.0 * (K - len(match.a))",
        ("tests/metrics/test_topics.py",),
    ),
    # Files and doors.
    Mutant(
        "checksums of arrays are not compared",
        'if f"{zlib.crc32(array.data):08x}" != checksums[name]:',
        "if False:",
        ("tests/model_files/test_refused.py",),
    ),
    Mutant(
        "an array of another type is taken from a file",
        "if kind != dtype or len(sizes) != len(shape)",
        "if len(sizes) != len(shape)",
        ("tests/model_files/test_refused.py",),
    ),
    Mutant(
        "statistics are written as float32",
        "self.arrays[self.prefix + name] = array",
        'self.arrays[self.prefix + name] = array.astype("f4") if array.dtype == "f8" else array',
        ("tests/model_files/test_saved.py",),
    ),
    Mutant(
        "a topic past the last is accepted in a file",
        "if np.any((found < 0) | (found >= end)):",
        "if np.any((found < 0) | (found > end)):",
        ("tests/model_files/test_refused.py", "tests/model_files/test_sparse_counts.py"),
    ),
    Mutant(
        "the words of a shard are not checked at the door of the kernels",
        'require(all_below(X.index, n_words), "a word lies outside the vocabulary");',
        "",
        ("tests/test_native_doors.py",),
    ),
    Mutant(
        "the padding of distances is a topic",
        "std::min_element(far.begin(), far.begin() + ptrdiff_t(K))",
        "std::ranges::min_element(far)",
        ("tests/test_native_doors.py",),
    ),
    Mutant(
        "counts of documents that are not numbers go to the kernels",
        'require(are_counts(view(value)), "counts must be finite and not negative");',
        "",
        ("tests/test_native_doors.py",),
    ),
    # Services and pages.
    Mutant(
        "any token opens the server",
        "hmac.compare_digest(given.encode(), self.token.encode())",
        "bool(given)",
        ("tests/web/test_guard.py",),
    ),
    Mutant(
        "foreign pages may change something",
        "return error_reply(403, NEEDS_JSON)",
        "pass",
        ("tests/web/test_guard.py",),
    ),
    Mutant(
        "a document becomes HTML in the page",
        "node.append(...children.filter((child) => child !== null));",
        'for (const c of children) if (c !== null) typeof c === "string" ? (node.innerHTML += c) : node.append(c);',
        ("tests/test_report.py", "tests/explorer/test_browser.py"),
    ),
    # Kernels.
    Mutant(
        "sign of the entropy of an L-sparse row",
        "return math::log(z) - zlog / z;",
        "return math::log(z) + zlog / z;",
        ("cpp/tests/top_l.cpp",),
        near="share_evenly",
    ),
    Mutant(
        "a token is not taken out before it is drawn again",
        "count(v, *z, -1);",
        "",
        ("cpp/tests/tokens.cpp", "tests/test_gibbs.py"),
        near="inline double gibbs_sequential",
    ),
    Mutant(
        "random numbers of all rows are the same",
        "counter_{0, pass, uint32_t(row), uint32_t(row >> 32)}",
        "counter_{0, pass, 0, 0}",
        ("cpp/tests/rng.cpp",),
    ),
    Mutant(
        "a cross term of the moments is lost",
        "second[i] += square_[i] + mi * (2 * sum_[i] + total_ * mi);",
        "second[i] += square_[i] + mi * (sum_[i] + total_ * mi);",
        ("cpp/tests/gaussian.cpp", "tests/test_gaussian_kernel.py"),
    ),
    Mutant(
        "most words of a topic are counted once less in the bound",
        "double(K - n) * f(&same, 1)",
        "double(K - n - 1) * f(&same, 1)",
        ("cpp/tests/topic_bound.cpp", "tests/test_topic_bound.py"),
    ),
    Mutant(
        "the burn-in of SCVB0 is one pass too long",
        "for (int pass = 0; pass <= opt.burn_in; ++pass) {",
        "for (int pass = -1; pass <= opt.burn_in; ++pass) {",
        ("cpp/tests/entries.cpp", "tests/test_scvb0.py"),
    ),
    Mutant(
        "pieces of a checksum are joined in the wrong place",
        "if (n & 1) power = crc_multiply(power, square);",
        "if (n & 1) power = crc_multiply(square, square);",
        ("tests/data/test_store.py",),
    ),
    # Kernels of the GPU, in the host build.
    Mutant(
        "a barrier is missing where warps meet",
        "if (lane % 32 == 0) part[lane / 32] = x;\n        sync();",
        "if (lane % 32 == 0) part[lane / 32] = x;",
        ("tests/cuda/test_solve.py", "tests/cuda/test_gibbs.py"),
    ),
    Mutant(
        "the prior of a word is left out of the GPU's table",
        "(double(a.counts[i64(v) * a.K + k]) + prior) / norm",
        "double(a.counts[i64(v) * a.K + k]) / norm",
        ("tests/cuda/test_gibbs.py",),
    ),
    Mutant(
        "shares on the GPU are not those of the chosen clusters",
        "const T x = weight_of(s, c.high) / c.sum;",
        "const T x = weight_of(s, c.high);",
        ("tests/cuda/test_mixture_kernels.py",),
    ),
    # Search.
    Mutant(
        "a trial is judged a pass too early",
        "if self.age < TRIAL:",
        "if self.age < TRIAL - 1:",
        ("tests/test_hdp_trials.py", "tests/test_hdp_search.py"),
    ),
    Mutant(
        "mergers that lose are made",
        "if gain > 0:\n            gains[pairs[i]] = gain",
        "if gain < 0:\n            gains[pairs[i]] = gain",
        ("tests/test_hdp_moves.py", "tests/test_hdp_trials.py"),
    ),
]
