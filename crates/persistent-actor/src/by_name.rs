//! A few values, each with a name.

/// A map of a few names, in their order.
///
/// It is a list: maps of the standard library are trees, which the compiler makes anew for each type of actor.
#[derive(Debug)]
pub(crate) struct ByName<V>(Vec<(&'static str, V)>);

impl<V> ByName<V> {
    pub(crate) const EMPTY: Self = Self(Vec::new());

    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        let at = self.position(name).ok()?;
        Some(&self.0[at].1)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let at = self.position(name).ok()?;
        Some(&mut self.0[at].1)
    }

    /// Returns the value of a name; makes an empty one if there is none.
    pub(crate) fn get_or_default(&mut self, name: &'static str) -> &mut V
    where
        V: Default,
    {
        let at = self.position(name).unwrap_or_else(|at| {
            self.0.insert(at, (name, V::default()));
            at
        });
        &mut self.0[at].1
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        let at = self.position(name).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Removes the value with the last name.
    pub(crate) fn pop_last(&mut self) -> Option<V> {
        self.0.pop().map(|(_, value)| value)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.0.retain(|(_, value)| keep(value));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &V)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Returns the place of a name, or the one at which it belongs.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| (*other).cmp(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_in_their_order() {
        let mut map = ByName::<Vec<u8>>::EMPTY;
        for (name, value) in [("b", 1), ("c", 2), ("a", 3), ("b", 4)] {
            map.get_or_default(name).push(value);
        }
        let all: Vec<_> = map.iter().collect();
        assert_eq!(all, [("a", &vec![3]), ("b", &vec![1, 4]), ("c", &vec![2])]);
        assert_eq!(map.remove("b"), Some(vec![1, 4]));
        assert_eq!(map.get("b"), None);
        assert_eq!(map.remove("b"), None);
        map.retain(|values| values != &[3]);
        assert_eq!(map.pop_last(), Some(vec![2]));
        assert_eq!(map.pop_last(), None);
    }
}
