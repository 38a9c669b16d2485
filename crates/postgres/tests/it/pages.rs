//! Pages of a replay: small and large events, limits, odd ranges.

use crate::place::Place;

actix_persistence_sql_tests::test_pages!(Place::new().await);
