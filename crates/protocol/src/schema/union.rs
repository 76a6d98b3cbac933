//! The `union!` and `tokens!` macros: objects told apart by a discriminator, and strings from a fixed set.

use crate::json::{Json, Text};

/// A member of a union that 1.0 does not have, such as a message with an unknown role. It can be read, kept and
/// written, never made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown<'a>(Json<'a>);

impl<'a> Unknown<'a> {
    pub(crate) const fn new(json: Json<'a>) -> Self {
        Self(json)
    }

    /// The object as it was written.
    #[must_use]
    pub const fn as_json(&self) -> &Json<'a> {
        &self.0
    }

    pub(crate) fn into_owned(self) -> Unknown<'static> {
        Unknown(self.0.into_owned())
    }
}

/// A word that 1.0 does not allow where it stands. It can be read, kept and written, never made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownToken<'a>(Text<'a>);

impl<'a> UnknownToken<'a> {
    pub(crate) const fn new(text: Text<'a>) -> Self {
        Self(text)
    }

    /// The word.
    #[must_use]
    pub const fn as_text(&self) -> &Text<'a> {
        &self.0
    }

    pub(crate) fn into_owned(self) -> UnknownToken<'static> {
        UnknownToken(self.0.into_owned())
    }
}

/// Declares a union of protocol objects with a discriminator. A member that is malformed or departs from 1.0 is as a whole
/// an unknown one if the function `unrecognisable` says so. Members are boxed, so that a list of small or
/// unknown ones does not cost many times its text.
macro_rules! union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, tag $tag_key:literal $(, unrecognisable $unrecognisable:path)? {
            $( $(#[$variant_meta:meta])* $variant:ident($object:ident) = $tag:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            $( $(#[$variant_meta])* $variant(Box<$object<'a>>), )*
            /// One that the protocol does not describe.
            Unknown($crate::schema::Unknown<'a>),
        }

        $(
            impl<'a> From<$object<'a>> for $name<'a> {
                fn from(object: $object<'a>) -> Self {
                    Self::$variant(Box::new(object))
                }
            }
        )*

        impl<'a> $name<'a> {
            /// The same, borrowing nothing.
            #[must_use]
            pub fn into_owned(self) -> $name<'static> {
                match self {
                    $( Self::$variant(object) => $name::$variant($crate::schema::Field::into_owned(object)), )*
                    Self::Unknown(unknown) => $name::Unknown(unknown.into_owned()),
                }
            }

            /// Reads one from a JSON text, and says where it departs from 1.0.
            ///
            /// # Errors
            /// If it is no JSON object, or a field that 1.0 describes is malformed.
            pub fn read_json(
                json: &'a str,
            ) -> Result<(Self, Vec<$crate::schema::Departure>), $crate::schema::ReadError> {
                $crate::schema::read_json(json)
            }

            /// Writes it as one line of JSON, without optional nulls.
            #[must_use]
            pub fn to_json(&self) -> String {
                $crate::schema::to_json(self)
            }

            fn knows(tag: Option<&$crate::json::Text<'_>>) -> bool {
                matches!(tag.and_then(|tag| tag.as_str()), $( Some($tag) )|*)
            }

            fn read_tagged(
                tag: Option<&$crate::json::Text<'_>>,
                reader: &mut $crate::json::Reader<'a>,
                context: &mut $crate::schema::Context,
                settled: bool,
            ) -> Result<Self, $crate::schema::ReadError> {
                match tag.and_then(|tag| tag.as_str()) {
                    $( Some($tag) => $object::read_as(reader, context, settled).map(Self::from), )*
                    _ => {
                        reader.kind()?;
                        let json = $crate::json::Json::trusted(reader.value()?);
                        context.depart($crate::schema::DepartureKind::UnknownVariant);
                        Ok(Self::Unknown($crate::schema::Unknown::new(json)))
                    }
                }
            }
        }

        impl<'a> $crate::schema::Field<'a> for $name<'a> {
            type Owned = $name<'static>;

            fn read(
                reader: &mut $crate::json::Reader<'a>,
                context: &mut $crate::schema::Context,
            ) -> Result<Self, $crate::schema::ReadError> {
                use $crate::json::{Kind, Which};
                use $crate::schema::ReadError;
                let kind = reader.kind()?;
                if kind != Kind::Object {
                    return Err(ReadError::found("an object", kind, reader.offset()));
                }
                let (start, mark) = (*reader, context.mark());
                let first = reader.peek_member($tag_key, Which::First)?;
                let mut result = match Self::knows(first.as_ref()) {
                    true => Self::read_tagged(first.as_ref(), reader, context, false),
                    false => Err(ReadError::retagged(reader.offset())),
                };
                // Of several discriminators the last one counts. Nearly always there is one, and looking no further
                // than the first saves passing the object twice.
                if result.as_ref().is_err_and(|error| error.is_retagged()) {
                    *reader = start;
                    context.rewind(mark);
                    let last = reader.peek_member($tag_key, Which::Last)?;
                    result = Self::read_tagged(last.as_ref(), reader, context, true);
                }
                $( if (result.as_ref().is_err_and(|error| !error.is_unreadable()) || context.mark() > mark)
                    && $unrecognisable(start)?
                {
                    *reader = start;
                    context.rewind(mark);
                    result = Self::read_tagged(None, reader, context, true);
                } )?
                result
            }

            fn write(&self, out: &mut String) {
                match self {
                    $( Self::$variant(object) => object.write(out), )*
                    Self::Unknown(unknown) => out.push_str(unknown.as_json().as_str()),
                }
            }

            fn strip(&mut self, removals: &mut $crate::schema::Removals) -> $crate::schema::Flow {
                match self {
                    $( Self::$variant(object) => object.strip(removals), )*
                    Self::Unknown(_) => $crate::schema::Flow::Drop,
                }
            }

            fn into_owned(self) -> Self::Owned {
                $name::into_owned(self)
            }
        }
    };
}

/// Declares a set of words.
macro_rules! tokens {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $token:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            $( $(#[$variant_meta])* $variant, )*
            /// A word that the protocol does not allow here.
            Unknown($crate::schema::UnknownToken<'a>),
        }

        impl<'a> $name<'a> {
            /// The word on the wire.
            #[must_use]
            pub fn as_text(&self) -> $crate::json::Text<'_> {
                match self {
                    $( Self::$variant => $crate::json::Text::borrowed($token), )*
                    Self::Unknown(token) => token.as_text().clone(),
                }
            }

            /// The same, borrowing nothing.
            #[must_use]
            pub fn into_owned(self) -> $name<'static> {
                match self {
                    $( Self::$variant => $name::$variant, )*
                    Self::Unknown(token) => $name::Unknown(token.into_owned()),
                }
            }
        }

        impl<'a> $crate::schema::Field<'a> for $name<'a> {
            type Owned = $name<'static>;

            fn read(
                reader: &mut $crate::json::Reader<'a>,
                context: &mut $crate::schema::Context,
            ) -> Result<Self, $crate::schema::ReadError> {
                let token = $crate::json::Text::read(reader, context)?;
                Ok(match token.as_str() {
                    $( Some($token) => Self::$variant, )*
                    _ => {
                        context.depart($crate::schema::DepartureKind::UnknownToken);
                        Self::Unknown($crate::schema::UnknownToken::new(token))
                    }
                })
            }

            fn write(&self, out: &mut String) {
                $crate::json::write_string(out, &self.as_text());
            }

            fn strip(&mut self, removals: &mut $crate::schema::Removals) -> $crate::schema::Flow {
                match self {
                    Self::Unknown(_) => removals.unknown_word(),
                    _ => $crate::schema::Flow::Keep,
                }
            }

            fn into_owned(self) -> Self::Owned {
                $name::into_owned(self)
            }
        }
    };
}

pub(crate) use {tokens, union};
