//! Ids in what a stage says about a stream.

use crate::json::Text;
use std::fmt;

/// Longer ids are cut short: an id may take megabytes, and a few bytes can name it again and again.
const ID_BYTES_MAX: usize = 256;

/// An id that a violation or an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedId {
    /// What it names: the field that holds it, such as `messageId`, or a word such as `owner`.
    pub name: &'static str,
    /// The id. One that is longer than 256 bytes is cut short and ends with an ellipsis. `None` is the agent itself,
    /// where an owner could have been a subagent.
    pub value: Option<Text<'static>>,
}

impl NamedId {
    pub(super) fn new(name: &'static str, id: &Text<'_>) -> Self {
        Self { name, value: Some(excerpt(id)) }
    }

    /// Who owns something: a subagent, or the agent itself.
    pub(super) fn owner(name: &'static str, owner: Option<&Text<'_>>) -> Self {
        Self { name, value: owner.map(excerpt) }
    }
}

fn excerpt(id: &Text<'_>) -> Text<'static> {
    match id.wtf8().get(..ID_BYTES_MAX) {
        Some(start) if id.wtf8().len() > ID_BYTES_MAX => {
            format!("{}…", String::from_utf8_lossy(start)).into()
        }
        _ => id.clone().into_owned(),
    }
}

impl fmt::Display for NamedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.name),
            None => write!(f, "{}=(the agent)", self.name),
        }
    }
}

/// Writes a list of ids after a sentence: `. a=1, b=2`.
pub(super) fn write_ids(f: &mut fmt::Formatter<'_>, ids: &[NamedId]) -> fmt::Result {
    for (at, id) in ids.iter().enumerate() {
        write!(f, "{}{id}", if at == 0 { ". " } else { ", " })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ids_are_cut_short() {
        let fits = "x".repeat(ID_BYTES_MAX);
        assert_eq!(NamedId::new("messageId", &Text::from(&fits)).value.unwrap(), *fits);
        // The cut goes through a character.
        let long = format!("{}ü", "x".repeat(ID_BYTES_MAX - 1));
        let cut = NamedId::new("messageId", &Text::from(&long)).value.unwrap();
        assert_eq!(cut, *format!("{}\u{FFFD}…", "x".repeat(ID_BYTES_MAX - 1)));
    }

    #[test]
    fn the_agent_itself_is_no_id() {
        assert_eq!(NamedId::owner("owner", None).to_string(), "owner=(the agent)");
        assert_eq!(NamedId::owner("owner", Some(&"".into())).to_string(), "owner=");
    }
}
