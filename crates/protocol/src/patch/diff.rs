//! The patch from one document to another.

use super::pointer::Trail;
use super::{Add, JsonPatch, Operation, Remove, Replace};
use crate::json::{Members, Text, Tree, string_bytes};

/// A small patch that makes `to` of `from`. Below `depth_max`, values are replaced and not looked into: no patch
/// may change anything there.
pub(super) fn diff(from: &Tree, to: &Tree, depth_max: usize) -> JsonPatch<'static> {
    let mut differ = Differ { depth_max, trail: Trail::default(), patch: Vec::new(), bytes: 0 };
    differ.value(from, to);
    differ.patch
}

/// A walk through both documents at once.
struct Differ {
    depth_max: usize,
    trail: Trail,
    patch: JsonPatch<'static>,
    /// Of the patch as JSON, so far.
    bytes: usize,
}

impl Differ {
    /// Makes one value of another, at the same place.
    fn value(&mut self, from: &Tree, to: &Tree) {
        let (operations, bytes) = (self.patch.len(), self.bytes);
        match (from, to) {
            (Tree::Object(from), Tree::Object(to)) if self.trail.depth() < self.depth_max => {
                self.members(from, to)
            }
            (Tree::Array(from), Tree::Array(to)) if self.trail.depth() < self.depth_max => {
                self.elements(from, to)
            }
            _ if from == to => return,
            _ => return self.replace(to),
        }
        // Many small changes can be longer than the value that they make.
        if self.patch.len() > operations && self.bytes - bytes > self.replace_bytes(to) {
            self.patch.truncate(operations);
            self.bytes = bytes;
            self.replace(to);
        }
    }

    /// Removals come first, here and in arrays, so that the document does not grow more than it must.
    fn members(&mut self, from: &Members, to: &Members) {
        for key in from.keys().filter(|key| !to.contains_key(*key)) {
            self.below(key, Self::remove);
        }
        for (key, to) in to {
            self.below(key, |differ| match from.get(key) {
                Some(from) => differ.value(from, to),
                None => differ.add(to),
            });
        }
    }

    fn elements(&mut self, from: &[Tree], to: &[Tree]) {
        // What both begin with and what both end with stays; elements in between are paired by their places, and
        // what is left over of either goes or comes.
        let same = |(from, to): &(&Tree, &Tree)| from == to;
        let start = from.iter().zip(to).take_while(same).count();
        let (from, to) = (&from[start..], &to[start..]);
        let end = from.iter().rev().zip(to.iter().rev()).take_while(same).count();
        let (from, to) = (&from[..from.len() - end], &to[..to.len() - end]);
        let paired = from.len().min(to.len());
        let token = |position: usize| Text::from((start + position).to_string());
        for position in (paired..from.len()).rev() {
            self.below(&token(position), Self::remove);
        }
        for (position, (from, to)) in from.iter().zip(to).enumerate() {
            self.below(&token(position), |differ| differ.value(from, to));
        }
        for (position, to) in to.iter().enumerate().skip(paired) {
            self.below(&token(position), |differ| differ.add(to));
        }
    }

    fn below(&mut self, token: &Text<'_>, walk: impl FnOnce(&mut Self)) {
        self.trail.enter(token);
        walk(self);
        self.trail.leave();
    }

    fn add(&mut self, value: &Tree) {
        self.push(Add::new(self.trail.pointer(), value.to_json()));
    }

    fn remove(&mut self) {
        self.push(Remove::new(self.trail.pointer()));
    }

    fn replace(&mut self, value: &Tree) {
        self.push(Replace::new(self.trail.pointer(), value.to_json()));
    }

    fn push(&mut self, operation: impl Into<Operation<'static>>) {
        let operation = operation.into();
        self.bytes += operation.to_json().len() + ",".len();
        self.patch.push(operation);
    }

    fn replace_bytes(&self, value: &Tree) -> usize {
        let frame = r#"{"op":"replace","path":,"value":},"#;
        frame.len() + string_bytes(self.trail.pointer().as_text()) + value.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn tree(text: &str) -> Tree {
        Tree::parse(&Json::parse(text).unwrap(), Tree::DEPTH_MAX).unwrap()
    }

    fn patch(from: &str, to: &str, depth_max: usize) -> Vec<String> {
        diff(&tree(from), &tree(to), depth_max).iter().map(Operation::to_json).collect()
    }

    /// Long enough that nobody wants to replace what holds it.
    const LONG: &str =
        r#""a text of such a length that it is cheaper to leave it where it is, and not to send it again""#;

    fn with_long(template: &str) -> String {
        template.replace("LONG", LONG)
    }

    #[test]
    fn patches_are_those_one_would_write() {
        for (from, to, expected) in [
            ("null", "null", &[][..]),
            ("1", "1.0", &[r#"{"op":"replace","path":"","value":1.0}"#]),
            ("[1]", "{}", &[r#"{"op":"replace","path":"","value":{}}"#]),
            (r#"{"a":1,"b":LONG}"#, r#"{"b":LONG,"a":1}"#, &[]),
            (
                r#"{"a":1,"m~n":LONG,"c":null}"#,
                r#"{"m~n":LONG,"a/b":{"x":[]},"a":2}"#,
                &[
                    r#"{"op":"remove","path":"/c"}"#,
                    r#"{"op":"add","path":"/a~1b","value":{"x":[]}}"#,
                    r#"{"op":"replace","path":"/a","value":2}"#,
                ],
            ),
            (
                r#"{"":{"m~n":[LONG,{"\ud83d":1,"k":LONG}]}}"#,
                r#"{"":{"m~n":[LONG,{"k":LONG}]}}"#,
                &[r#"{"op":"remove","path":"//m~0n/1/\ud83d"}"#],
            ),
            ("[LONG,LONG]", "[0,LONG,LONG]", &[r#"{"op":"add","path":"/0","value":0}"#]),
            (
                "[LONG,0,1,LONG]",
                "[LONG,2,LONG]",
                &[r#"{"op":"remove","path":"/2"}"#, r#"{"op":"replace","path":"/1","value":2}"#],
            ),
            (
                "[LONG,[0,LONG],LONG]",
                "[LONG,[1,LONG],2,3,LONG]",
                &[
                    r#"{"op":"replace","path":"/1/0","value":1}"#,
                    r#"{"op":"add","path":"/2","value":2}"#,
                    r#"{"op":"add","path":"/3","value":3}"#,
                ],
            ),
            ("[1,1,1]", "[1,1]", &[r#"{"op":"remove","path":"/2"}"#]),
        ] {
            assert_eq!(patch(&with_long(from), &with_long(to), 64), expected, "{from} {to}");
        }
    }

    #[test]
    fn what_is_shorter_whole_is_replaced_whole() {
        assert_eq!(
            patch(&with_long(r#"[LONG,{"a":1,"b":2,"c":3}]"#), &with_long(r#"[LONG,{"x":1,"y":2}]"#), 64),
            [r#"{"op":"replace","path":"/1","value":{"x":1,"y":2}}"#]
        );
    }

    #[test]
    fn nothing_is_changed_below_the_limit() {
        let (from, to) = (with_long("[[LONG,[1]]]"), with_long("[[LONG,[2]]]"));
        assert_eq!(patch(&from, &to, 3), [r#"{"op":"replace","path":"/0/1/0","value":2}"#]);
        assert_eq!(patch(&from, &to, 2), [r#"{"op":"replace","path":"/0/1","value":[2]}"#]);
        assert_eq!(patch(&from, &from, 0), [""; 0]);
    }
}
