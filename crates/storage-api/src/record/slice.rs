//! Slices: the fixed partition of all persistence ids that queries and projections share out.

/// The number of slices; fixed for ever, because slices are stored.
pub const NUMBER_OF_SLICES: u16 = 1024;

/// Returns the slice of a persistence id: 0 up to, and without, [`NUMBER_OF_SLICES`].
///
/// The hash of the field, as `Persistence.sliceForPersistenceId` of Akka computes it
/// (`java.lang.String.hashCode` over UTF-16 units, wrapping), so that data can be shared with its tools.
pub fn slice_of(persistence_id: &str) -> u16 {
    let hash = persistence_id.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    (hash % i32::from(NUMBER_OF_SLICES)).unsigned_abs() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_golden_values_of_akka() {
        for (id, slice) in [
            ("", 0),
            ("hello", 210),
            ("TestEntity|p1", 1000),
            ("TestEntity-1|p7", 758),
            ("ShoppingCart|cart-1", 392),
            ("Counter|1", 495),
            ("user-42", 64),
            ("BlogPost|a|b", 1011),
            ("Ünï|ß", 192),
            ("e|😀", 90),
        ] {
            assert_eq!(slice_of(id), slice, "slice of {id:?}");
        }
    }
}
