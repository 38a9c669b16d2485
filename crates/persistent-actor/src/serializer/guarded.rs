//! A serializer in front of another one, which refuses what could not be read again.

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

/// The reason why a value is refused that is nested too deeply.
pub(super) const TOO_DEEP: &str = "it is nested too deeply to be read again";
/// The reason why a float is refused that the format cannot name.
pub(super) const NOT_FINITE: &str = "it holds a float that is infinite or not a number";

/// The values that a serializer can write and read again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The number of lists, maps and structs that may be open at a time.
    pub(super) levels: usize,
    /// True if a float must be finite.
    pub(super) finite: bool,
}

impl Rules {
    /// The rules within some more levels.
    fn within<E: ser::Error>(self, levels: usize) -> Result<Self, E> {
        let levels = self.levels.checked_sub(levels);
        let levels = levels.ok_or_else(|| E::custom(TOO_DEEP))?;
        Ok(Self { levels, ..self })
    }

    fn check<E: ser::Error>(self, is_finite: bool) -> Result<(), E> {
        if self.finite && !is_finite {
            return Err(E::custom(NOT_FINITE));
        }
        Ok(())
    }
}

/// Serializes a value with `inner`, or fails.
///
/// Depth is looked at before the value is walked, so that one of any depth leaves the stack alone.
pub(super) fn serialize<T, S>(value: &T, inner: S, rules: Rules) -> Result<S::Ok, S::Error>
where
    T: Serialize + ?Sized,
    S: Serializer,
{
    value.serialize(Guarded { inner, rules })
}

struct Guarded<S> {
    inner: S,
    rules: Rules,
}

/// A value, or a part of one, with the rules at its place.
pub(super) struct Part<'a, T: ?Sized>(pub(super) &'a T, pub(super) Rules);

impl<T: Serialize + ?Sized> Serialize for Part<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer, self.1)
    }
}

/// A list, a map or a struct that is open.
struct Open<C> {
    inner: C,
    rules: Rules,
}

macro_rules! scalars {
    ($($method:ident: $type:ty,)*) => {
        $(fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        })*
    };
}

macro_rules! containers {
    ($($method:ident($($name:ident: $type:ty),*) -> $open:ident, $levels:literal;)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<Open<S::$open>, S::Error> {
            let rules = self.rules.within($levels)?;
            let inner = self.inner.$method($($name),*)?;
            Ok(Open { inner, rules })
        })*
    };
}

impl<S: Serializer> Serializer for Guarded<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Open<S::SerializeSeq>;
    type SerializeTuple = Open<S::SerializeTuple>;
    type SerializeTupleStruct = Open<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Open<S::SerializeTupleVariant>;
    type SerializeMap = Open<S::SerializeMap>;
    type SerializeStruct = Open<S::SerializeStruct>;
    type SerializeStructVariant = Open<S::SerializeStructVariant>;

    scalars! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_char: char,
        serialize_str: &str,
        serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    // A variant with fields is a map of one, with a list or a map in it.
    containers! {
        serialize_seq(len: Option<usize>) -> SerializeSeq, 1;
        serialize_tuple(len: usize) -> SerializeTuple, 1;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct, 1;
        serialize_map(len: Option<usize>) -> SerializeMap, 1;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct, 1;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeTupleVariant, 2;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeStructVariant, 2;
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        self.rules.check(value.is_finite())?;
        self.inner.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        self.rules.check(value.is_finite())?;
        self.inner.serialize_f64(value)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.serialize_some(&Part(value, self.rules))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = Part(value, self.rules);
        self.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = Part(value, self.rules.within(1)?);
        self.inner
            .serialize_newtype_variant(name, index, variant, &value)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! parts {
    ($($open:ident: $method:ident;)*) => {
        $(impl<C: ser::$open> ser::$open for Open<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
                self.inner.$method(&Part(value, self.rules))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
}

macro_rules! named_parts {
    ($($open:ident)*) => {
        $(impl<C: ser::$open> ser::$open for Open<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), C::Error> {
                self.inner.serialize_field(name, &Part(value, self.rules))
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), C::Error> {
                self.inner.skip_field(name)
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        })*
    };
}

named_parts! { SerializeStruct SerializeStructVariant }

impl<C: ser::SerializeMap> ser::SerializeMap for Open<C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        self.inner.serialize_key(&Part(key, self.rules))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        self.inner.serialize_value(&Part(value, self.rules))
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.inner.end()
    }
}
