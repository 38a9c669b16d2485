//! Tests of failures that the conformance kit cannot know: files that are torn, damaged, full, locked or left over.
#![allow(clippy::unwrap_used)]

mod damage;
mod dropped;
mod facade;
#[cfg(unix)]
mod full_disk;
mod left_over;
mod one_process;
mod restart;
mod torn_tail;

mod writer;
