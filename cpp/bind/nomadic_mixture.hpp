// What the bindings of clusters that come and go share.
#pragma once
#include "asynchronous/nomadic_mixture.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "bind/asynchronous_mixture.hpp"

namespace topmix {

using asynchronous::StationSettings;

/// The weights of n rows, copied.
inline std::vector<double> copied(const OptionalWeights& weight, size_t n) {
    check_weights(weight, n);
    const auto all = view(weight);
    return {all.begin(), all.end()};
}

template <class Data>
class NomadicBinding {
  public:
    using Rows = asynchronous::NomadicMixture<Data>;

    template <class Class>
    static Class& add(Class& c) {
        return c.def("put", &put, "block"_a, "rows"_a, "A block arrives: the numbers of each cluster, N first.")
            .def("take", &take, "block"_a, "A block leaves.")
            .def("forget", &Rows::forget, nb::call_guard<nb::gil_scoped_release>(), "Rows have no clusters any more.")
            .def("compare", &together<&Rows::compare>, "blocks"_a, "Rows keep the best clusters of those that came.")
            .def("settle", &Rows::settle, nb::call_guard<nb::gil_scoped_release>(), "All came: scores become shares.")
            .def("contribute", &together<&Rows::contribute>, "blocks"_a, "Rows add what they have to these clusters.")
            .def("visit", &together<&Rows::visit>, "blocks"_a, "Rows are solved for these clusters, and they follow.")
            .def("entropy", &Rows::entropy, nb::call_guard<nb::gil_scoped_release>(), "Of the rows' shares.")
            .def("assignments", &assignments, "Clusters and shares of the rows, [rows, L] each.")
            .def_prop_ro("of_rows", &Rows::of_rows, "Bytes of what stays.");
    }

  private:
    using BlockIds = std::vector<asynchronous::BlockId>;
    using T = typename Data::Share;

    static void check_block(const Rows& self, size_t b) { require(b < self.blocks().count, "there is no such block"); }

    static size_t clusters_of(const Rows& self, size_t b) { return self.blocks().end(b) - self.blocks().begin(b); }

    static void put(Rows& self, size_t b, Mat<const double> rows) {
        check_block(self, b);
        require(rows.shape(0) == clusters_of(self, b) && rows.shape(1) == self.width(),
                "rows must be [clusters of the block, numbers of a cluster]");
        require(are_finite(view(rows)), "rows must be finite");
        self.put(b, view(rows));
    }

    static Mat<double> take(Rows& self, size_t b) {
        check_block(self, b);
        return give(self.take(b), clusters_of(self, b), self.width());
    }

    static std::tuple<Mat<int32_t>, Mat<T>> assignments(const Rows& self) {
        const auto& rows = self.shares();
        return {give(std::vector<int32_t>(rows.ids().begin(), rows.ids().end()), rows.rows(), rows.L()),
                give(std::vector<T>(rows.shares().begin(), rows.shares().end()), rows.rows(), rows.L())};
    }

    /// A visit of several blocks together.
    template <void (Rows::*how)(std::span<const asynchronous::BlockId>)>
    static void together(Rows& self, const BlockIds& blocks) {
        check_blocks(blocks, self.blocks().count);
        nb::gil_scoped_release nogil;
        (self.*how)(blocks);
    }
};

}  // namespace topmix
