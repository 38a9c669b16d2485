//! The operation that fails next, and how it fails.

use std::str::FromStr;

/// The operations that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Open,
    Read,
    Write,
    Sync,
    Truncate,
    Unlink,
    /// An operation of any sort.
    Any,
}

/// The way in which an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The operation is not done, and fails with this error.
    Errno(i32),
    /// The operation is done by half; what cannot be done by half is done whole.
    Short,
}

/// A fault that is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    class: Class,
    /// The number of operations that are let through before it.
    spare: u64,
    kind: Kind,
    /// The number of operations that fail; none after them does.
    times: u64,
    /// True if an operation has failed.
    has_struck: bool,
}

impl Fault {
    /// Counts an operation; returns the way in which it fails if it is its turn.
    pub(crate) fn meet(&mut self, class: Class) -> Option<Kind> {
        if self.class != Class::Any && self.class != class {
            return None;
        }
        if self.spare > 0 {
            self.spare -= 1;
            return None;
        }
        if self.times == 0 {
            return None;
        }
        self.times -= 1;
        self.has_struck = true;
        Some(self.kind)
    }

    pub(crate) fn has_struck(&self) -> bool {
        self.has_struck
    }
}

impl FromStr for Fault {
    type Err = ();

    /// Parses what stands after `fail`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<_> = text.split_whitespace().collect();
        let [class, nth, kind, times] = words[..] else {
            return Err(());
        };
        let nth: u64 = nth.parse().map_err(drop)?;
        Ok(Self {
            class: class.parse()?,
            spare: nth.checked_sub(1).ok_or(())?,
            kind: match kind {
                "short" => Kind::Short,
                errno => Kind::Errno(errno.parse().map_err(drop)?),
            },
            times: match times {
                "for-good" => u64::MAX,
                times => times.parse().map_err(drop)?,
            },
            has_struck: false,
        })
    }
}

impl FromStr for Class {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "open" => Self::Open,
            "read" => Self::Read,
            "write" => Self::Write,
            "sync" => Self::Sync,
            "truncate" => Self::Truncate,
            "unlink" => Self::Unlink,
            "any" => Self::Any,
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_the_operations_it_was_told_to() {
        let mut fault: Fault = "write 2 28 2".parse().expect("a fault");
        let met = [
            Class::Write,
            Class::Sync,
            Class::Write,
            Class::Write,
            Class::Write,
        ];
        let struck = met.map(|class| fault.meet(class).is_some());
        assert_eq!(struck, [false, false, true, true, false]);
        assert!(fault.has_struck());
        let mut any: Fault = "any 1 short for-good".parse().expect("a fault");
        assert_eq!(any.meet(Class::Unlink), Some(Kind::Short));
        for wrong in [
            "",
            "write 0 5 1",
            "write 1 full 1",
            "close 1 5 1",
            "write 1 5",
        ] {
            assert_eq!(wrong.parse::<Fault>(), Err(()), "{wrong}");
        }
    }
}
