//! The conformance kit: what a storage plugin runs against itself.
