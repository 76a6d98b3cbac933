//! A JSON document that can be patched.

use super::apply::Editor;
use super::diff::diff;
use super::{JsonPatch, Operation, PatchError, Pointer, Replace};
use crate::json::{Json, Tree};
use crate::limits::PatchLimits;
use crate::schema::ReadError;

/// A JSON document that patches are applied to, such as the state of a thread.
///
/// Numbers keep their spelling and objects the order of their members; whitespace, the choice of escapes and all but
/// the last of duplicate keys are lost. Documents are equal if their compact JSON is, but for the order of members.
///
/// The document knows its size, so that a patch costs what it does, however large the document is.
///
/// ```
/// use threadline_protocol::Json;
/// use threadline_protocol::limits::PatchLimits;
/// use threadline_protocol::patch::{Document, Operation};
///
/// let mut state = Document::parse(&Json::parse(r#"{"steps":[1.50]}"#)?)?;
/// let (add, _) = Operation::read_json(r#"{"op":"add","path":"/steps/-","value":2}"#)?;
/// state.apply(&[add], &PatchLimits::default())?;
/// assert_eq!(state.to_json().as_str(), r#"{"steps":[1.50,2]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    tree: Tree,
    /// Of the compact JSON.
    bytes: usize,
}

impl Document {
    /// Reads a document. Of duplicate keys the last value stands, at the first one's place.
    ///
    /// # Errors
    /// If its arrays and objects nest more than 512 deep.
    pub fn parse(json: &Json<'_>) -> Result<Self, ReadError> {
        Tree::parse(json, Tree::DEPTH_MAX).map(Self::new)
    }

    fn new(tree: Tree) -> Self {
        let bytes = tree.bytes();
        Self { tree, bytes }
    }

    /// The document as compact JSON.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        self.tree.to_json()
    }

    /// The size of the compact JSON. Costs nothing.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Applies a patch, all of it or nothing.
    ///
    /// RFC 6902 to the letter; what it leaves open is settled so: removing the whole document makes it `null`, new
    /// members follow the others, and numbers are the same if their values are, exactly. Unknown operations are
    /// skipped, as if the enforce stage had dropped them.
    ///
    /// # Errors
    /// If an operation is impossible or breaks a limit. The document is then exactly as before.
    pub fn apply(&mut self, patch: &[Operation<'_>], limits: &PatchLimits) -> Result<(), PatchError> {
        self.bytes = Editor::new(&mut self.tree, self.bytes, limits).apply(patch)?;
        Ok(())
    }

    /// As [`apply`](Self::apply), for a document that is an object and has to stay one. False, and nothing changed, if it
    /// would not.
    pub(crate) fn apply_to_object(
        &mut self,
        patch: &[Operation<'_>],
        limits: &PatchLimits,
    ) -> Result<bool, PatchError> {
        // Only an operation on the whole can make something else of it.
        let before = patch.iter().any(is_on_whole).then(|| self.clone());
        self.apply(patch, limits)?;
        Ok(match before {
            Some(before) if !matches!(self.tree, Tree::Object(_)) => {
                *self = before;
                false
            }
            _ => true,
        })
    }

    /// A patch that makes `to` of this document, as small as a single look at both allows: members are compared by
    /// key and elements by place, after the beginnings and ends that the arrays have in common.
    ///
    /// [`apply`](Self::apply) accepts the patch within `limits` if `to` itself is within them. The result is equal to
    /// `to`; its members may be in another order.
    #[must_use]
    pub fn diff(&self, to: &Self, limits: &PatchLimits) -> JsonPatch<'static> {
        let patch = diff(&self.tree, &to.tree, limits.depth_max);
        // Trying is the simplest proof that the patch fits the limits on every step of its way.
        if self.clone().apply(&patch, limits).is_ok() {
            return patch;
        }
        vec![Replace::new(Pointer::root(), to.to_json()).into()]
    }
}

fn is_on_whole(operation: &Operation<'_>) -> bool {
    match operation {
        Operation::Add(add) => add.path.is_root(),
        Operation::Remove(remove) => remove.path.is_root(),
        Operation::Replace(replace) => replace.path.is_root(),
        Operation::Move(relocation) => relocation.path.is_root(),
        Operation::Copy(copy) => copy.path.is_root(),
        Operation::Test(_) | Operation::Unknown(_) => false,
    }
}
