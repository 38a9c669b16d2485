//! What the plugin promises beyond the conformance kit.
