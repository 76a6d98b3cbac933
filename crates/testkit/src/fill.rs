//! Values made from the tables.

use crate::random::Random;
use crate::tables::{Fields, Kind, PART};
use serde_json::{Map, Value, json};

/// How much of a shape is filled, and with what.
#[derive(Debug)]
pub enum Fill<'r> {
    /// Only what is required, as small as it may be.
    Minimal,
    /// Everything there is; of unions the member with this number, modulo their count.
    Full(usize),
    /// Anything.
    Random(&'r mut Random),
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "m1",
    "Hello, world",
    "Grüße",
    "日本語",
    "😀",
    "e\u{301}",
    "👩\u{200d}🔬",
    "\"quoted\" \\ and /",
    "line\nbreak\r\n\t",
    "\u{0}\u{1f}",
    "\u{2028}\u{2029}",
    "{\"x\":1}",
    "data: x\n\n",
    "123e4567-e89b-42d3-a456-426614174000",
    "long enough to be read in words of eight bytes, and then some more of it \u{fffd}",
];

const POINTERS: &[&str] = &["", "/", "/a", "/a/0", "/a/-", "/~0/~1", "/ü"];

impl Fill<'_> {
    /// Adds the fields to an object.
    pub fn fields(&mut self, fields: Fields, object: &mut Map<String, Value>) {
        for (name, kind, required) in fields {
            let wanted = match self {
                Self::Minimal => *required,
                Self::Full(_) => true,
                Self::Random(random) => *required || random.chance(50),
            };
            if wanted {
                object.insert((*name).to_owned(), self.value(kind));
            }
        }
    }

    /// A value of a kind.
    pub fn value(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Text => self.one_of(TEXTS, "a").into(),
            Kind::Word(words) => self.one_of(words, words[0]).into(),
            Kind::Pointer => self.one_of(POINTERS, "/a").into(),
            Kind::Integer => self
                .one_of(&[0_i64, 5, -1, 1_726_000_000_123, 9_007_199_254_740_991, -9_007_199_254_740_991], 1)
                .into(),
            Kind::Count => self.one_of(&[0_u64, 1, 1024, 9_007_199_254_740_991], 1).into(),
            Kind::Bool => self.one_of(&[true, false], true).into(),
            Kind::Json => match self {
                Self::Minimal => Value::Null,
                Self::Full(_) => json!({"null": null, "list": [1, "two", false]}),
                Self::Random(random) => any_json(random, 3),
            },
            Kind::NonNull => match self.value(&Kind::Json) {
                Value::Null => json!(0),
                other => other,
            },
            Kind::AnyObject => match self {
                Self::Minimal => json!({}),
                Self::Full(_) => json!({"k": null, "o": {"x": [1]}}),
                Self::Random(random) => any_object(random, 2),
            },
            Kind::Content => {
                let text = match self {
                    Self::Minimal => true,
                    Self::Full(_) => false,
                    Self::Random(random) => random.chance(50),
                };
                if text { self.value(&Kind::Text) } else { self.value(&Kind::List(&PART, 0)) }
            }
            Kind::List(element, least) => {
                let len = match self {
                    Self::Minimal => *least,
                    Self::Full(_) => 6,
                    Self::Random(random) => *least + random.below(3),
                };
                (0..len)
                    .map(|at| {
                        if let Self::Full(_) = self {
                            Fill::Full(at).value(element)
                        } else {
                            self.value(element)
                        }
                    })
                    .collect()
            }
            Kind::Object(fields) => {
                let mut object = Map::new();
                self.fields(fields, &mut object);
                object.into()
            }
            Kind::Union(tag, members) => {
                let (word, fields) = match self {
                    Self::Minimal => &members[0],
                    Self::Full(at) => &members[*at % members.len()],
                    Self::Random(random) => random.pick(members),
                };
                let mut object = Map::from_iter([((*tag).to_owned(), (*word).into())]);
                self.fields(fields, &mut object);
                object.into()
            }
        }
    }

    fn one_of<T: Copy>(&mut self, choices: &[T], usual: T) -> T {
        match self {
            Self::Minimal => choices[0],
            Self::Full(_) => usual,
            Self::Random(random) => *random.pick(choices),
        }
    }
}

/// Any JSON, with numbers that a double holds exactly.
fn any_json(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => random.chance(50).into(),
        2 => (*random.pick(TEXTS)).into(),
        3 => (*random.pick(&[0_i64, -7, 65_536, 9_007_199_254_740_991])).into(),
        4 => (*random.pick(&[0.5, -1e-7, 1e300, 123.456])).into(),
        5 => (0..random.below(4)).map(|_| any_json(random, depth - 1)).collect(),
        _ => any_object(random, depth - 1),
    }
}

fn any_object(random: &mut Random, depth: usize) -> Value {
    let len = random.below(4);
    let entry = |random: &mut Random| {
        let key = *random.pick(&["k", "", "a b", "ü", "10", "9", "type", "__proto", "\"\\"]);
        (key.to_owned(), any_json(random, depth))
    };
    Value::Object((0..len).map(|_| entry(random)).collect())
}
