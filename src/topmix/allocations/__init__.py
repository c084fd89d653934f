"""Allocations: how often clusters are used. C++ sees a K-vector; how it is made is decided here."""
