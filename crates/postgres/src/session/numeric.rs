//! Whole numbers of the type `NUMERIC`, which is what a sum of `BIGINT` has.

/// Returns the number, from the binary form; none if it has a fraction or does not fit.
///
/// Four fields of 16 bits, the number of digits, the weight of the first one, the sign, and the digits shown after
/// the point; then the digits, of base 10,000.
pub(super) fn integer(bytes: &[u8]) -> Option<i64> {
    let mut fields = bytes
        .chunks_exact(2)
        .map(|field| i16::from_be_bytes([field[0], field[1]]));
    let (count, weight, sign) = (fields.next()?, fields.next()?, fields.next()?);
    let _shown = fields.next()?;
    let digits: Vec<i64> = fields.map(i64::from).collect();
    if digits.len() != usize::try_from(count).ok()? || count > weight.saturating_add(1) {
        return None;
    }
    let sign = match sign {
        0 => 1,
        0x4000 => -1,
        _ => return None,
    };
    // Trailing zeros are left out.
    let zeros = if count == 0 { 0 } else { weight + 1 - count };
    digits
        .into_iter()
        .chain(std::iter::repeat_n(0, usize::try_from(zeros).ok()?))
        .try_fold(0_i64, |number, digit| {
            number.checked_mul(10_000)?.checked_add(sign * digit)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(fields: &[i16]) -> Option<i64> {
        let bytes: Vec<u8> = fields
            .iter()
            .flat_map(|field| field.to_be_bytes())
            .collect();
        integer(&bytes)
    }

    #[test]
    fn reads_whole_numbers_that_fit() {
        assert_eq!(number(&[0, 0, 0, 0]), Some(0));
        assert_eq!(number(&[1, 0, 0, 0, 42]), Some(42));
        assert_eq!(number(&[1, 1, 0x4000, 0, 3]), Some(-30_000));
        let max = [5, 4, 0, 0, 922, 3372, 368, 5477, 5807];
        assert_eq!(number(&max), Some(i64::MAX));
        let min = [5, 4, 0x4000, 0, 922, 3372, 368, 5477, 5808];
        assert_eq!(number(&min), Some(i64::MIN));
    }

    #[test]
    fn reads_nothing_else() {
        assert_eq!(number(&[5, 4, 0, 0, 922, 3372, 368, 5477, 5808]), None);
        assert_eq!(number(&[2, 0, 0, 1, 1, 5000]), None);
        assert_eq!(number(&[0, 0, -0x4000, 0]), None);
        assert_eq!(number(&[2, 1, 0, 0, 1]), None);
        assert_eq!(number(&[0, 0]), None);
    }
}
