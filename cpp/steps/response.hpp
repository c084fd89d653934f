// What is known about a document beside its words, and what that says about its topics.  docs/math.md, section 3.15.
//
// The log likelihood f of a response depends on the shares of the document's topics alone, so it changes the weights of
// topics by exp(df / dN_k): a tilt that all words of the document share. It is worked out again in each iteration. A
// tilt that followed the shares at once would swing to and fro where responses say much, so it follows them by a step
// of Newton's kind.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "base/views.hpp"

namespace topmix {

struct Responses {
    Rows<const float> coefficients = {};  // [outputs, K] of classes, or one row where responses are numbers
    std::span<const float> y = {};        // [documents] a class, or a number
    float precision = 0;                  // of a number; zero: they are classes
    float weight = 1;                     // how often a response counts

    bool differ() const { return !y.empty(); }
};

/// The response of one document. Memory of one thread, used again for each document.
class Tilt {
  public:
    explicit operator bool() const { return responses != nullptr; }

    void use(const Responses& all, size_t d) { responses = &all, document = d; }

    /// A document of n tokens has these topics.
    void begin(std::span<const int32_t> topics, double tokens) {
        n = tokens, width = topics.size();
        const size_t C = responses->coefficients.rows();
        y = double(responses->y[document]);
        is_class = responses->precision == 0;
        eta.resize(C * width), A.resize(is_class ? C * width : 0);
        for (size_t c = 0; c < C; ++c)
            for (size_t j = 0; j < width; ++j) {
                const double x = double(responses->coefficients[c][size_t(topics[j])]);
                eta[c * width + j] = x;
                if (is_class) A[c * width + j] = n * std::expm1(std::min(x / n, kMost));
            }
        state.assign(C, 0.0), mean.resize(C), share.resize(C), tilt.resize(width);
        state[is_class ? size_t(y) : 0] = is_class ? 1.0 : y;  // where the response says nothing
    }

    /// Topics at these places stay.
    void squeeze(std::span<const int32_t> keep) {
        const size_t m = keep.size(), C = state.size();
        for (auto* x : {&eta, &A}) {
            if (x->empty()) continue;
            for (size_t c = 0; c < C; ++c)
                for (size_t j = 0; j < m; ++j) (*x)[c * m + j] = (*x)[c * width + size_t(keep[j])];
            x->resize(C * m);
        }
        width = m;
        tilt.resize(m);
    }

    /// The shares of topics have moved: the tilt follows them.
    void follow(std::span<const float> N) {
        const double w = responses->weight;
        if (!is_class) {
            const double m = dot(eta.data(), N);
            state[0] += (m - state[0]) / (1 + w * responses->precision * spread(eta.data(), m, N) / n);
            return;
        }
        shares_of_classes(N);
        double step = 1;
        for (size_t c = 0; c < state.size(); ++c) step += w / n * share[c] * spread(&A[c * width], mean[c], N);
        for (size_t c = 0; c < state.size(); ++c) state[c] += (share[c] / (1 + mean[c] / n) - state[c]) / step;
    }

    /// [topics] the log of what their weights are multiplied by.  Eqs. (3.43), (3.45)
    std::span<const double> of(std::span<const float> N) {
        const double w = responses->weight;
        if (!is_class) {
            const double m = dot(eta.data(), N);
            for (size_t j = 0; j < width; ++j)
                tilt[j] = responses->precision * ((y - state[0]) * eta[j] - (eta[j] - m) * (eta[j] - m) / (2 * n));
        } else {
            for (size_t j = 0; j < width; ++j) tilt[j] = eta[size_t(y) * width + j];
            for (size_t c = 0; c < state.size(); ++c)
                for (size_t j = 0; j < width; ++j) tilt[j] -= state[c] * A[c * width + j];
        }
        const double largest = *std::ranges::max_element(tilt);
        for (double& x : tilt) x = w / n * (x - largest);
        return tilt;
    }

    /// f, given the tokens of topics.  Eqs. (3.42), (3.44)
    double log_likelihood(std::span<const float> N) {
        const double w = responses->weight, precision = responses->precision;
        if (is_class) return w * (dot(&eta[size_t(y) * width], N) - shares_of_classes(N));
        const double m = dot(eta.data(), N), v = spread(eta.data(), m, N) / n;
        return w * 0.5 * (std::log(precision / (2 * std::numbers::pi)) - precision * ((y - m) * (y - m) + v));
    }

  private:
    static constexpr double kMost = 300;  // of a coefficient per token
    const Responses* responses = nullptr;
    size_t document = 0, width = 0;
    double n = 0, y = 0;
    bool is_class = false;
    std::vector<double> eta, A;              // [outputs, topics] coefficients, and n (exp(eta / n) - 1)
    std::vector<double> state, mean, share;  // [outputs]
    std::vector<double> tilt;                // [topics]

    double dot(const double* x, std::span<const float> N) const {
        double s = 0;
        for (size_t j = 0; j < width; ++j) s += x[j] * double(N[j]);
        return s / n;
    }

    /// The variance of x among the tokens.
    double spread(const double* x, double m, std::span<const float> N) const {
        double s = 0;
        for (size_t j = 0; j < width; ++j) s += double(N[j]) * (x[j] - m) * (x[j] - m);
        return s / n;
    }

    /// Fills `mean` with the means of A, and `share` with the bounds on probabilities of classes; returns the log of
    /// their normaliser.
    double shares_of_classes(std::span<const float> N) {
        const size_t C = state.size();
        for (size_t c = 0; c < C; ++c) {
            mean[c] = std::max(dot(&A[c * width], N), -n * (1 - 1e-12));
            share[c] = n * std::log1p(mean[c] / n);
        }
        const double largest = *std::ranges::max_element(share);
        double s = 0;
        for (double& x : share) s += x = std::exp(x - largest);
        for (double& x : share) x /= s;
        return largest + std::log(s);
    }
};

}  // namespace topmix
