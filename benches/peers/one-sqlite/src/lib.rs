#![doc = include_str!("../README.md")]

pub use newer::*;
