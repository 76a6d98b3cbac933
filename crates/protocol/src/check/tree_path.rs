//! Places in a tree, by JSON pointer.

use crate::json::{Text, Tree};

/// What the pointer names.
pub(super) fn get<'t>(tree: &'t Tree, pointer: &str) -> Option<&'t Tree> {
    tokens(pointer).try_fold(tree, |tree, token| match tree {
        Tree::Object(members) => members.get(token.as_bytes()),
        Tree::Array(elements) => elements.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}

/// What the pointer names, to change it.
pub(super) fn get_mut<'t>(tree: &'t mut Tree, pointer: &str) -> Option<&'t mut Tree> {
    tokens(pointer).try_fold(tree, |tree, token| match tree {
        Tree::Object(members) => members.get_mut(token.as_bytes()),
        Tree::Array(elements) => elements.get_mut(token.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The object around a member, as a pointer, and the member's name.
pub(super) fn split(pointer: &str) -> (&str, String) {
    let (object, token) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    (object, unescaped(token))
}

/// Gives a member another name, at the same place in the order. Whether there is such a member, and no other of the new
/// name.
pub(super) fn rename(tree: &mut Tree, object: &str, from: &str, to: &str) -> bool {
    let Some(Tree::Object(members)) = get_mut(tree, object) else { return false };
    if members.contains_key(to.as_bytes()) {
        return false;
    }
    let Some((at, _, value)) = members.shift_remove_full(from.as_bytes()) else { return false };
    members.shift_insert(at, Text::from(to.to_owned()), value);
    true
}

/// Adds or replaces a member.
pub(super) fn set(tree: &mut Tree, pointer: &str, value: Tree) -> bool {
    if let Some(place) = get_mut(tree, pointer) {
        *place = value;
        return true;
    }
    let (object, name) = split(pointer);
    let Some(Tree::Object(members)) = get_mut(tree, object) else { return false };
    members.insert(Text::from(name), value);
    true
}

/// Removes a member.
pub(super) fn remove(tree: &mut Tree, pointer: &str) -> bool {
    let (object, name) = split(pointer);
    let Some(Tree::Object(members)) = get_mut(tree, object) else { return false };
    members.shift_remove(name.as_bytes()).is_some()
}

/// Whether a pointer names a place or something inside of it.
pub(super) fn is_within(pointer: &str, place: &str) -> bool {
    pointer.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The text of a string.
pub(super) fn text(tree: &Tree) -> Option<&str> {
    match tree {
        Tree::String(text) => text.as_str(),
        _ => None,
    }
}

/// A string.
pub(super) fn string(text: &str) -> Tree {
    Tree::String(Text::from(text.to_owned()))
}

fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescaped)
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
