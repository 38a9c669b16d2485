//! The values that are read from one that is stored.

/// The values of today that stand for a stored one: nearly always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read<T> {
    One(T),
    /// Any number of them, in order.
    Many(Vec<T>),
}

impl<T> Read<T> {
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Read::One(value) => std::slice::from_ref(value),
            Read::Many(values) => values,
        }
    }

    /// Passes each value on, in order.
    pub(crate) fn for_each(self, mut each: impl FnMut(T)) {
        match self {
            Read::One(value) => each(value),
            Read::Many(values) => values.into_iter().for_each(each),
        }
    }
}
