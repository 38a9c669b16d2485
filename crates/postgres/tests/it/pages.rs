//! Pages of a replay: small and large events, limits, odd ranges.

use crate::place::Place;

actix_persistence_sql_tests::test_pages!(Place::new().await);
actix_persistence_sql_tests::test_shared_reads!(server Place::new().await);
