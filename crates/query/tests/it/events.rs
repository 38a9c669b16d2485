//! Streams of events.

mod fixture;
mod health;
mod held_back;
mod many_ids;
mod offset_at;
mod one_id;
mod partitioned;
mod seam;
mod shared_tail;
mod undecodable;
