//! The conformance kit.
fn main() {}
