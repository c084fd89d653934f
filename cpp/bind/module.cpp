// Table of contents of the native module. Each register_* lives in the file of that name; no algorithm lives in bind/.
#include <nanobind/nanobind.h>

#include <atomic>
#include <string>

#include "base/parallel.hpp"

namespace nb = nanobind;

namespace topmix {
void register_math(nb::module_& m);                  // exp, log and the gamma family over arrays
void register_rng(nb::module_& m);                   // random streams keyed by (seed, pass, row)
void register_readers(nb::module_& m);               // text into rows of counts, and rows checked and tidied
void register_tokenize(nb::module_& m);              // text into counts
void register_shard(nb::module_& m);                 // local vocabularies, word-topic statistics
void register_top_l(nb::module_& m);                 // the L best of each row, renormalised
void register_mixture(nb::module_& m);               // local step of mixtures
void register_gaussian(nb::module_& m);              // Gaussian mixtures, and the BLAS that they use
void register_visit(nb::module_& m);                 // mixtures whose rows are read once
void register_groups(nb::module_& m);                // admixtures: groups of rows that share proportions
void register_asynchronous_mixture(nb::module_& m);  // clusters that move between threads or processes
void register_topics(nb::module_& m);                // topic tables and the local step of topic models
void register_own_priors(nb::module_& m);            // documents with priors of their own
void register_sample(nb::module_& m);                // the local step of topic models by sampling
void register_asynchronous_topics(nb::module_& m);   // topics, whose words move between threads or processes
void register_scvb0(nb::module_& m);                 // token-by-token steps of topic models: SCVB0 and CVB0
void register_gibbs(nb::module_& m);                 // tokens with one topic each: collapsed Gibbs sampling
void register_combinatorial(nb::module_& m);         // hard assignments under a penalty on topics
}  // namespace topmix

namespace {

void check_signals() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Once in a process, because every kernel would say the same. The user may have made an error of this warning.
void warn_of_few_threads(size_t started, size_t wanted) {
    static std::atomic<bool> has_warned{false};
    if (has_warned.exchange(true)) return;
    const std::string text = "the system started " + std::to_string(started) + " of " + std::to_string(wanted) +
                             " threads (limit of processes): the work takes longer, and its results are the same. "
                             "Raise the limit (ulimit -u), or use a smaller n_jobs.";
    nb::gil_scoped_acquire gil;
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace

#define TOPMIX_NAMED_MODULE(name) NB_MODULE(name, m)
TOPMIX_NAMED_MODULE(TOPMIX_MODULE) {
    topmix::check_interrupt = check_signals;
    topmix::report_few_threads = warn_of_few_threads;
    topmix::register_math(m);
    topmix::register_rng(m);
    topmix::register_readers(m);
    topmix::register_tokenize(m);
    topmix::register_shard(m);
    topmix::register_top_l(m);
    topmix::register_mixture(m);
    topmix::register_gaussian(m);
    topmix::register_visit(m);
    topmix::register_groups(m);
    topmix::register_asynchronous_mixture(m);
    topmix::register_topics(m);
    topmix::register_own_priors(m);
    topmix::register_sample(m);
    topmix::register_asynchronous_topics(m);
    topmix::register_scvb0(m);
    topmix::register_gibbs(m);
    topmix::register_combinatorial(m);
}
