//! JSON as a tree, for values that are changed and not only carried.

use super::decimal::is_same_number;
use super::{Json, Kind, Reader, Text, string_bytes, write_string};
use crate::limits::DOCUMENT_DEPTH_MAX;
use crate::schema::ReadError;
use indexmap::IndexMap;

/// A JSON value as a tree. Numbers keep their spelling, strings their lone surrogates and objects the order of
/// their members; whitespace and the choice of escapes are lost.
///
/// Equality is that of the texts, but for the order of members; [`is_same_value`](Self::is_same_value) also
/// compares numbers by value.
///
/// No tree is nested deeper than [`DEPTH_MAX`](Self::DEPTH_MAX): whoever reads or changes one sees to it. So
/// walking, cloning and dropping may recurse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tree {
    #[default]
    Null,
    Bool(bool),
    /// The text of the number.
    Number(Box<str>),
    String(Text<'static>),
    Array(Vec<Self>),
    /// Boxed, because a map is three times the size of anything else here.
    Object(Box<Members>),
}

/// The members of an object, in the order they came.
pub(crate) type Members = IndexMap<Text<'static>, Tree>;

impl Tree {
    /// The deepest nesting of arrays and objects. Every thread's stack has room for the walk.
    pub(crate) const DEPTH_MAX: usize = DOCUMENT_DEPTH_MAX;

    /// Reads a value whose arrays and objects nest at most `depth_max` deep, and never deeper than
    /// [`DEPTH_MAX`](Self::DEPTH_MAX). Of duplicate keys the last value stands, at the first one's place.
    ///
    /// # Errors
    /// If it is nested deeper.
    pub(crate) fn parse(json: &Json<'_>, depth_max: usize) -> Result<Self, ReadError> {
        Self::read(&mut json.reader(), depth_max.min(Self::DEPTH_MAX))
    }

    fn read(reader: &mut Reader<'_>, depth_max: usize) -> Result<Self, ReadError> {
        Ok(match reader.kind()? {
            Kind::Null | Kind::Bool => match reader.literal()? {
                "null" => Self::Null,
                literal => Self::Bool(literal == "true"),
            },
            Kind::Number => Self::Number(reader.number()?.into()),
            Kind::String => Self::String(reader.string()?.into_owned()),
            Kind::Array => Self::Array(Self::read_elements(reader, inner_depth(reader, depth_max)?)?),
            Kind::Object => {
                Self::Object(Box::new(Self::read_members(reader, inner_depth(reader, depth_max)?)?))
            }
        })
    }

    fn read_elements(reader: &mut Reader<'_>, depth_max: usize) -> Result<Vec<Self>, ReadError> {
        let mut elements = Vec::new();
        let mut first = true;
        reader.open();
        while reader.next_element(&mut first)? {
            elements.push(Self::read(reader, depth_max)?);
        }
        // Most containers are small and long-lived; what growing left over would be most of their size.
        elements.shrink_to_fit();
        Ok(elements)
    }

    fn read_members(reader: &mut Reader<'_>, depth_max: usize) -> Result<Members, ReadError> {
        let mut members = Members::new();
        let mut first = true;
        reader.open();
        while let Some(key) = reader.next_key(&mut first)? {
            members.insert(key.into_owned(), Self::read(reader, depth_max)?);
        }
        members.shrink_to_fit();
        Ok(members)
    }

    /// The value as compact JSON.
    pub(crate) fn to_json(&self) -> Json<'static> {
        let mut out = String::new();
        self.write(&mut out);
        Json::made(out)
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number),
            Self::String(text) => write_string(out, text),
            Self::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, key);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// How many bytes the value is as compact JSON. Walks all of it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Null => "null".len(),
            Self::Bool(value) => if *value { "true" } else { "false" }.len(),
            Self::Number(number) => number.len(),
            Self::String(text) => string_bytes(text),
            Self::Array(elements) => {
                let commas = elements.len().saturating_sub(1);
                "[]".len() + commas + elements.iter().map(Self::bytes).sum::<usize>()
            }
            Self::Object(members) => {
                let commas = members.len().saturating_sub(1);
                let member = |(key, value): (&Text<'_>, &Self)| string_bytes(key) + ":".len() + value.bytes();
                "{}".len() + commas + members.iter().map(member).sum::<usize>()
            }
        }
    }

    /// How deep arrays and objects nest: not at all in a number, once in `[]`. Walks all of the value.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.values().map(Self::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// How many values there are, this one included. Walks all of them.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Array(elements) => 1 + elements.iter().map(Self::count).sum::<usize>(),
            Self::Object(members) => 1 + members.values().map(Self::count).sum::<usize>(),
            _ => 1,
        }
    }

    /// How many bytes of memory the value takes, but for the allocator's own. Walks all of it.
    pub(crate) fn memory_bytes(&self) -> usize {
        let inside = match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(number) => number.len(),
            Self::String(text) => text.wtf8().len(),
            Self::Array(elements) => elements.iter().map(Self::memory_bytes).sum(),
            Self::Object(members) => {
                let member = |(key, value): (&Text<'_>, &Self)| {
                    // A member has a hash and a place in the index beside its key and its value.
                    size_of::<[usize; 2]>() + size_of_val(key) + key.wtf8().len() + value.memory_bytes()
                };
                size_of::<Members>() + members.iter().map(member).sum::<usize>()
            }
        };
        size_of::<Self>() + inside
    }

    /// Whether both are the same value, as JSON Patch's `test` asks: numbers by value, strings by their
    /// characters, objects regardless of order. Costs no more than a walk of the smaller one.
    pub(crate) fn is_same_value(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => is_same_number(left, right),
            (Self::Array(left), Self::Array(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.is_same_value(right))
            }
            (Self::Object(left), Self::Object(right)) => {
                let has =
                    |(key, value): (_, &Self)| right.get(key).is_some_and(|other| value.is_same_value(other));
                left.len() == right.len() && left.iter().all(has)
            }
            _ => self == other,
        }
    }
}

/// Elements and members alike, by position.
impl Tree {
    /// How many elements or members there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Array(elements) => elements.len(),
            Self::Object(members) => members.len(),
            _ => 0,
        }
    }

    /// What the positions on the way lead to.
    ///
    /// # Panics
    /// If there is no such position.
    pub(crate) fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |tree, &position| match tree {
            Self::Array(elements) => &elements[position],
            Self::Object(members) => &members[position],
            _ => panic!("only arrays and objects have anything inside"),
        })
    }

    /// Like [`at`](Self::at), to change it.
    ///
    /// # Panics
    /// If there is no such position.
    pub(crate) fn at_mut(&mut self, path: &[usize]) -> &mut Self {
        path.iter().fold(self, |tree, &position| match tree {
            Self::Array(elements) => &mut elements[position],
            Self::Object(members) => &mut members[position],
            _ => panic!("only arrays and objects have anything inside"),
        })
    }

    /// Puts an element, or a member under a new key, before what has this position.
    ///
    /// # Panics
    /// If there is no such position, or a key where none belongs, or none where one does.
    pub(crate) fn insert(&mut self, position: usize, key: Option<Text<'static>>, value: Self) {
        match (self, key) {
            (Self::Array(elements), None) => elements.insert(position, value),
            (Self::Object(members), Some(key)) => drop(members.shift_insert(position, key, value)),
            _ => panic!("members have keys, elements have none"),
        }
    }

    /// Takes out the element or member with this position.
    ///
    /// # Panics
    /// If there is no such position.
    pub(crate) fn remove(&mut self, position: usize) -> (Option<Text<'static>>, Self) {
        match self {
            Self::Array(elements) => (None, elements.remove(position)),
            Self::Object(members) => {
                let (key, value) = members.shift_remove_index(position).expect("a position of the object");
                (Some(key), value)
            }
            _ => panic!("only arrays and objects have anything inside"),
        }
    }
}

/// How deep the inside of the container that is next may be.
fn inner_depth(reader: &Reader<'_>, depth_max: usize) -> Result<usize, ReadError> {
    depth_max
        .checked_sub(1)
        .ok_or_else(|| ReadError::mismatch("fewer levels of nesting", "more", reader.offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::parse(&Json::parse(text).unwrap(), Tree::DEPTH_MAX).unwrap()
    }

    fn nested(depth: usize) -> String {
        format!("{}0{}", r#"[{"k":"#.repeat(depth / 2), "}]".repeat(depth / 2))
    }

    #[test]
    fn spelling_and_order_survive() {
        for (text, compact) in [
            ("null", "null"),
            ("9007199254740993", "9007199254740993"),
            ("[1.50, -0, 1E+2, true,false]", "[1.50,-0,1E+2,true,false]"),
            (r#" { "b" : 1 , "a" : [ ] , "" : { } } "#, r#"{"b":1,"a":[],"":{}}"#),
            (r#"{"a":1,"b":2,"a":{"c":3}}"#, r#"{"a":{"c":3},"b":2}"#),
            (r#""\u0061\/\u0001\ud83d\ude00\ud83d""#, r#""a/\u0001😀\ud83d""#),
            (r#"{"\ude00":"\"\\\b\f\n\r\t\u007f"}"#, "{\"\\ude00\":\"\\\"\\\\\\b\\f\\n\\r\\t\u{7f}\"}"),
        ] {
            let tree = tree(text.trim());
            assert_eq!(tree.to_json().as_str(), compact);
            assert_eq!(tree.bytes(), compact.len(), "{compact}");
        }
    }

    #[test]
    fn depth_and_count() {
        for (text, depth, count) in
            [("0", 0, 1), ("[]", 1, 1), (r#"{"a":{}}"#, 2, 2), (r#"[1,[{"a":[2]}],3]"#, 4, 7)]
        {
            assert_eq!(tree(text).depth(), depth, "{text}");
            assert_eq!(tree(text).count(), count, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deepest = tree(&nested(Tree::DEPTH_MAX));
        assert_eq!(deepest.depth(), Tree::DEPTH_MAX);
        // Walking, cloning, comparing and dropping fit on the stack of a thread.
        assert!(deepest.clone() == deepest && deepest.is_same_value(&deepest));
        assert_eq!(deepest.to_json().as_str().len(), deepest.bytes());
        assert!(!format!("{deepest:?}").is_empty());

        for deeper in [nested(Tree::DEPTH_MAX + 2), nested(200_000)] {
            let json = Json::parse(&deeper).unwrap();
            assert!(Tree::parse(&json, usize::MAX).is_err());
        }
        assert!(Tree::parse(&Json::parse("[[]]").unwrap(), 1).is_err());
        assert!(Tree::parse(&Json::parse("[0]").unwrap(), 1).is_ok());
        assert!(Tree::parse(&Json::parse("0").unwrap(), 0).is_ok());
    }

    #[test]
    fn equality_is_that_of_texts_but_for_order() {
        assert_eq!(tree(r#"{"a":1,"b":[2]}"#), tree(r#"{"b":[2],"a":1}"#));
        assert_ne!(tree("1"), tree("1.0"));
        assert_ne!(tree("[1,2]"), tree("[2,1]"));
    }

    #[test]
    fn values_are_the_same_whatever_their_spelling() {
        let same = |left: &str, right: &str| {
            let (left, right) = (tree(left), tree(right));
            assert_eq!(left.is_same_value(&right), right.is_same_value(&left));
            left.is_same_value(&right)
        };
        assert!(same(r#"{"a":[1,{"b":2.0}],"c":"\u0064"}"#, r#"{"c":"d","a":[1.0,{"b":20e-1}]}"#));
        for (left, right) in [
            ("null", "false"),
            ("0", "false"),
            ("1", r#""1""#),
            ("[]", "{}"),
            ("[1]", "[1,1]"),
            (r#"{"a":null}"#, "{}"),
            (r#"{"a":null}"#, r#"{"b":null}"#),
            (r#"{"a":1}"#, r#"{"a":2}"#),
            (r#""\ud83d""#, r#""\ufffd""#),
        ] {
            assert!(!same(left, right), "{left} {right}");
        }
    }
}
