//! Bytes that no compression or text column lets through by luck.

/// Returns bytes without a pattern: always the same ones for a size, with every value among them.
pub(crate) fn bytes_like_random(size: usize) -> Vec<u8> {
    // Knuth's linear congruential generator, mixed so that all eight bytes of a number are random enough.
    let mut state = size as u64;
    let mut bytes = Vec::with_capacity(size + 7);
    while bytes.len() < size {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        bytes.extend_from_slice(&(mixed ^ (mixed >> 32)).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_size_and_every_value() {
        let bytes = bytes_like_random(10_000);
        assert_eq!(bytes.len(), 10_000);
        assert!((0..=255).all(|value| bytes.contains(&value)));
    }
}
