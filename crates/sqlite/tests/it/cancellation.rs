//! Calls whose futures are dropped at any poll.

use crate::place::Place;

actix_persistence_sql_tests::test_cancellation!(Place::new());
