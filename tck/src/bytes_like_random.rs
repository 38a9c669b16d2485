//! Bytes that no compression or text column lets through by luck.

/// Returns bytes without a pattern: always the same ones for a size, with every value among them.
pub(crate) fn bytes_like_random(size: usize) -> Vec<u8> {
    // Knuth's linear congruential generator; its upper bits are random enough.
    let mut state = size as u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(size).collect()
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
