//! The `object!` macro: a protocol object from its table of fields.

/// Declares a protocol object.
///
/// Each field says whether it is `required`, `optional`, `nullable` (optional, and `null` means absent) or
/// `fixed` (required on the wire, but only one value is legal). Written order is the order on the wire. What is
/// not in the table is kept in `extra`, and reading it is a departure, unless the object is `open`.
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(, tag $tag_key:literal = $tag:literal)? $(; $open:ident)? {
            $( $(#[$field_meta:meta])* $presence:ident $field:ident $($with:ident)? : $ty:ty = $key:literal $(or $fixed:expr)? ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            $( $(#[$field_meta])* pub $field: $crate::schema::object!(@type $presence $ty), )*
            pub(crate) extra: Vec<($crate::json::Text<'a>, $crate::json::Json<'a>)>,
        }

        $crate::schema::object!(@new $name [] [] $( $presence $field : $ty $(= $fixed)? ; )*);

        impl<'a> $name<'a> {
            $( $crate::schema::object!(@with $presence $field $($with)? : $ty, $key); )*

            /// Members that the protocol does not describe, in the order they came.
            #[must_use]
            pub fn extra(&self) -> &[($crate::json::Text<'a>, $crate::json::Json<'a>)] {
                &self.extra
            }

            /// The same, borrowing nothing.
            #[must_use]
            pub fn into_owned(self) -> $name<'static> {
                $name {
                    $( $field: $crate::schema::object!(@own $presence self.$field), )*
                    extra: self.extra.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect(),
                }
            }

            $crate::schema::object!(@document $($tag)?);

            /// Writes the object as one line of JSON, without optional nulls.
            #[must_use]
            pub fn to_json(&self) -> String {
                $crate::schema::to_json(self)
            }

            /// Reads the object. With `settled`, the discriminator is known and not looked at again.
            pub(crate) fn read_as(
                reader: &mut $crate::json::Reader<'a>,
                context: &mut $crate::schema::Context,
                settled: bool,
            ) -> Result<Self, $crate::schema::ReadError> {
                use $crate::schema::ReadError;
                // Objects without a discriminator have nothing to settle.
                let _ = settled;
                let kind = reader.kind()?;
                let start = reader.offset();
                if kind != $crate::json::Kind::Object {
                    return Err(ReadError::found("an object", kind, start));
                }
                $( let mut $field: Option<$ty> = None; )*
                let mut extra = Vec::new();
                let mut notes = $crate::schema::Notes::default();
                reader.open();
                let mut first = true;
                while let Some(key) = reader.next_key(&mut first)? {
                    match key.as_str() {
                        $( Some($tag_key) => {
                            if reader.pass(concat!('"', $tag, '"')) {
                                continue;
                            }
                            let offset = reader.offset();
                            let value = reader.value()?;
                            if !settled {
                                // Perhaps only written differently.
                                let mut again = $crate::json::Reader::new(value);
                                if again.kind()? != $crate::json::Kind::String || again.string()? != $tag {
                                    return Err(ReadError::retagged(offset));
                                }
                            }
                        } )?
                        $( Some($key) => {
                            if $field.take().is_some() || notes.any() {
                                notes.overrule($key);
                            }
                            let before = *reader;
                            let mark = context.mark();
                            match $crate::schema::object!(@read $presence $ty, reader, context) {
                                Ok(value) => {
                                    $field = value;
                                    if context.mark() > mark {
                                        notes.departed($key, context, mark);
                                    }
                                }
                                Err(error) => {
                                    context.rewind(mark);
                                    *reader = before;
                                    reader.value()?;
                                    notes.failed($key, error);
                                }
                            }
                        } )*
                        _ => {
                            $crate::schema::object!(@extra context, key, $($open)?);
                            extra.push((key, $crate::json::Json::trusted(reader.value()?)));
                        }
                    }
                }
                notes.settle(context)?;
                Ok(Self {
                    $( $field: $crate::schema::object!(@require $presence $field, $key, start), )*
                    extra,
                })
            }
        }

        impl<'a> $crate::schema::Field<'a> for $name<'a> {
            type Owned = $name<'static>;

            fn read(
                reader: &mut $crate::json::Reader<'a>,
                context: &mut $crate::schema::Context,
            ) -> Result<Self, $crate::schema::ReadError> {
                Self::read_as(reader, context, true)
            }

            fn write(&self, out: &mut String) {
                // Every member is followed by a comma; the last one's makes way for the brace.
                out.push('{');
                $( out.push_str(concat!('"', $tag_key, "\":\"", $tag, "\",")); )?
                $(
                    if let Some(value) = $crate::schema::object!(@present $presence self.$field) {
                        out.push_str(concat!('"', $key, "\":"));
                        $crate::schema::Field::write(value, out);
                        out.push(',');
                    }
                )*
                for (key, value) in &self.extra {
                    $crate::json::write_string(out, key);
                    out.push(':');
                    out.push_str(value.as_str());
                    out.push(',');
                }
                if out.ends_with(',') {
                    out.pop();
                }
                out.push('}');
            }

            fn strip(&mut self, removals: &mut $crate::schema::Removals) -> $crate::schema::Flow {
                $( $crate::schema::object!(@strip $presence self.$field, $key, removals); )*
                $crate::schema::object!(@strip_extra self, removals, $($open)?);
                $crate::schema::Flow::Keep
            }

            fn into_owned(self) -> Self::Owned {
                $name::into_owned(self)
            }
        }
    };

    // An object of a union is read as one of the union, or its discriminator would not be looked at.
    (@document $tag:literal) => {};
    (@document) => {
        /// Reads the object from a JSON text, and says where it departs from 1.0.
        ///
        /// # Errors
        /// If it is no JSON object, or a field that 1.0 describes is malformed.
        pub fn read_json(json: &'a str) -> Result<(Self, Vec<$crate::schema::Departure>), $crate::schema::ReadError> {
            $crate::schema::read_json(json)
        }
    };

    // The type of a field.
    (@type required $ty:ty) => { $ty };
    (@type fixed $ty:ty) => { $ty };
    (@type $optional:ident $ty:ty) => { Option<$ty> };

    // `new` takes what is required, in order.
    (@new $name:ident [$($arg:ident: $arg_ty:ty,)*] [$($init:tt)*] required $field:ident : $ty:ty ; $($rest:tt)*) => {
        $crate::schema::object!(@new $name [$($arg: $arg_ty,)* $field: $ty,] [$($init)* $field: $field.into(),] $($rest)*);
    };
    (@new $name:ident [$($args:tt)*] [$($init:tt)*] fixed $field:ident : $ty:ty = $fixed:expr ; $($rest:tt)*) => {
        $crate::schema::object!(@new $name [$($args)*] [$($init)* $field: $fixed,] $($rest)*);
    };
    (@new $name:ident [$($args:tt)*] [$($init:tt)*] $optional:ident $field:ident : $ty:ty ; $($rest:tt)*) => {
        $crate::schema::object!(@new $name [$($args)*] [$($init)* $field: None,] $($rest)*);
    };
    (@new $name:ident [] [$($init:tt)*]) => {
        impl<'a> $name<'a> {
            /// Nothing is required.
            #[must_use]
            pub fn new() -> Self {
                Self { $($init)* extra: Vec::new() }
            }
        }

        impl Default for $name<'_> {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (@new $name:ident [$($arg:ident: $arg_ty:ty,)+] [$($init:tt)*]) => {
        impl<'a> $name<'a> {
            /// From what is required; the rest is absent.
            #[must_use]
            pub fn new($($arg: impl Into<$arg_ty>),+) -> Self {
                Self { $($init)* extra: Vec::new() }
            }
        }
    };

    // Optional fields have a setter.
    (@with required $field:ident : $ty:ty, $key:literal) => {};
    (@with fixed $field:ident : $ty:ty, $key:literal) => {};
    (@with $optional:ident $field:ident $with:ident : $ty:ty, $key:literal) => {
        #[doc = concat!("With `", $key, "`.")]
        #[must_use]
        pub fn $with(mut self, value: impl Into<$ty>) -> Self {
            self.$field = Some(value.into());
            self
        }
    };

    (@own required $value:expr) => { $crate::schema::Field::into_owned($value) };
    (@own fixed $value:expr) => { $crate::schema::Field::into_owned($value) };
    (@own $optional:ident $value:expr) => { $value.map($crate::schema::Field::into_owned) };

    // `null` in place of an optional field is read as absent, and noted.
    (@read required $ty:ty, $reader:ident, $context:ident) => { <$ty as $crate::schema::Field>::read($reader, $context).map(Some) };
    (@read fixed $ty:ty, $reader:ident, $context:ident) => { <$ty as $crate::schema::Field>::read($reader, $context).map(Some) };
    (@read optional $ty:ty, $reader:ident, $context:ident) => {
        if $reader.kind()? == $crate::json::Kind::Null {
            $reader.literal()?;
            $context.depart($crate::schema::DepartureKind::NullOptional);
            Ok(None)
        } else {
            <$ty as $crate::schema::Field>::read($reader, $context).map(Some)
        }
    };
    (@read nullable $ty:ty, $reader:ident, $context:ident) => {
        if $reader.kind()? == $crate::json::Kind::Null {
            $reader.literal()?;
            Ok(None)
        } else {
            <$ty as $crate::schema::Field>::read($reader, $context).map(Some)
        }
    };

    (@extra $context:ident, $key:ident, open) => {};
    (@extra $context:ident, $key:ident,) => {
        $context.depart_member(&$key);
    };

    (@require required $field:ident, $key:literal, $start:ident) => {
        match $field {
            Some(value) => value,
            None => return Err(ReadError::missing($key, $start)),
        }
    };
    (@require fixed $field:ident, $key:literal, $start:ident) => {
        $crate::schema::object!(@require required $field, $key, $start)
    };
    (@require $optional:ident $field:ident, $key:literal, $start:ident) => { $field };

    (@present required $value:expr) => { Some(&$value) };
    (@present fixed $value:expr) => { Some(&$value) };
    (@present $optional:ident $value:expr) => { $value.as_ref() };

    // An unrecognisable value in a required place takes the object with it.
    (@strip required $value:expr, $key:literal, $removals:ident) => {
        if $removals.strip($key, &mut $value, false) == $crate::schema::Flow::Drop {
            return $crate::schema::Flow::Drop;
        }
    };
    (@strip fixed $value:expr, $key:literal, $removals:ident) => {
        $crate::schema::object!(@strip required $value, $key, $removals)
    };
    (@strip $optional:ident $value:expr, $key:literal, $removals:ident) => {
        if let Some(value) = &mut $value
            && $removals.strip($key, value, true) == $crate::schema::Flow::Drop
        {
            $value = None;
        }
    };

    (@strip_extra $self:ident, $removals:ident, open) => {};
    (@strip_extra $self:ident, $removals:ident,) => {
        for (key, _) in std::mem::take(&mut $self.extra) {
            $removals.remove(&key);
        }
    };
}

pub(crate) use object;
