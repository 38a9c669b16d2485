//! The number of shares that each of several processes is to have.

use std::sync::Arc;

/// Returns the number of shares for an owner among the members, which are in order: as even as it goes, and the first ones
/// have one more.
///
/// Each member computes the same, so nobody has to agree on anything. An owner that is no member yet has none.
pub(crate) fn quota(shares: usize, members: &[Arc<str>], owner: &str) -> usize {
    let Some(place) = members.iter().position(|member| **member == *owner) else {
        return 0;
    };
    let (each, more) = (shares / members.len(), shares % members.len());
    each + usize::from(place < more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_even_and_make_up_all_shares() {
        for shares in 0..20 {
            for number in 1..7 {
                let members: Vec<Arc<str>> = (0..number).map(|nr| format!("{nr}").into()).collect();
                let quotas = members.iter().map(|one| quota(shares, &members, one));
                assert_eq!(quotas.clone().sum::<usize>(), shares);
                let (least, most) = (quotas.clone().min().unwrap(), quotas.max().unwrap());
                assert!(most - least <= 1);
            }
        }
        assert_eq!(quota(4, &["a".into()], "b"), 0);
    }
}
