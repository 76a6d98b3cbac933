//! Applying a patch: in place, within bounds, and undone whole if any of it fails.

use super::{Operation, PatchError, PatchErrorKind, Pointer};
use crate::json::{Json, Text, Tree, string_bytes};
use crate::limits::PatchLimits;
use std::mem;

/// The positions that lead from the root to a value.
type Path = Vec<usize>;

/// Where a value can be put.
enum Place {
    /// Where there is one, which then makes way.
    Occupied(Path),
    /// Before what has `position` in the array or object at `parent`, or at its end.
    Vacant { parent: Path, position: usize, key: Option<Text<'static>> },
}

impl Place {
    /// How far below the root.
    const fn depth(&self) -> usize {
        match self {
            Self::Occupied(path) => path.len(),
            Self::Vacant { parent, .. } => parent.len() + 1,
        }
    }
}

/// One reversible change. All changes are made of these, with a hand that holds one value in between.
///
/// Positions are those of the document at that time; undoing goes backwards, so they hold again when needed.
enum Step {
    /// A value went from the document to the hand.
    Took { parent: Path, position: usize, key: Option<Text<'static>> },
    /// A value went from the hand to the document.
    Put { parent: Path, position: usize },
    /// The hand and the document exchanged values.
    Swapped(Path),
    /// The hand let go of a value.
    Discarded(Tree),
}

/// What is wrong with an operation, and which of its pointers is.
struct Fault<'p>(PatchErrorKind, &'p Pointer<'p>);

/// A document while a patch is applied to it.
pub(super) struct Editor<'d> {
    tree: &'d mut Tree,
    hand: Tree,
    /// What has been done, for undoing it.
    steps: Vec<Step>,
    limits: PatchLimits,
    /// Of the compact JSON, together with a value that is in the hand only to move.
    bytes: usize,
    cloned_bytes: usize,
    disturbed: usize,
}

impl<'d> Editor<'d> {
    /// Begins to edit a tree whose compact JSON has so many bytes.
    pub(super) fn new(tree: &'d mut Tree, bytes: usize, limits: &PatchLimits) -> Self {
        let limits = PatchLimits {
            document_bytes_max: limits.document_bytes_max.max(bytes),
            depth_max: limits.depth_max.min(Tree::DEPTH_MAX),
            ..*limits
        };
        Self { tree, hand: Tree::Null, steps: Vec::new(), limits, bytes, cloned_bytes: 0, disturbed: 0 }
    }

    /// Applies the patch and gives the new size of the document, or leaves it as it was.
    pub(super) fn apply(mut self, patch: &[Operation<'_>]) -> Result<usize, PatchError> {
        let known = |(_, operation): &(usize, &Operation<'_>)| !matches!(operation, Operation::Unknown(_));
        if let Some((index, _)) = patch.iter().enumerate().filter(known).nth(self.limits.operations_max) {
            return Err(PatchError::new(PatchErrorKind::TooManyOperations, index, &Pointer::root()));
        }
        for (index, operation) in patch.iter().enumerate() {
            if let Err(Fault(kind, pointer)) = self.operation(operation) {
                self.undo();
                return Err(PatchError::new(kind, index, pointer));
            }
        }
        Ok(self.bytes)
    }

    fn operation<'p>(&mut self, operation: &'p Operation<'p>) -> Result<(), Fault<'p>> {
        match operation {
            Operation::Add(add) => {
                let place = locate(self.tree, &add.path)?;
                self.write(place, &add.value, &add.path)
            }
            Operation::Remove(remove) => self.remove(&remove.path),
            Operation::Replace(replace) => {
                let place = Place::Occupied(resolve(self.tree, &replace.path)?);
                self.write(place, &replace.value, &replace.path)
            }
            Operation::Move(relocation) => self.relocate(&relocation.from, &relocation.path),
            Operation::Copy(copy) => self.copy(&copy.from, &copy.path),
            Operation::Test(test) => self.test(&test.path, &test.value),
            Operation::Unknown(_) => Ok(()),
        }
    }

    /// Puts a value of the patch into the document.
    fn write<'p>(&mut self, place: Place, value: &Json<'_>, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        let too_deep = Fault(PatchErrorKind::TooDeep, path);
        let Some(depth_max) = self.limits.depth_max.checked_sub(place.depth()) else { return Err(too_deep) };
        // Every `Json` can be read; only its depth is left to refuse.
        let Ok(value) = Tree::parse(value, depth_max) else { return Err(too_deep) };
        self.admit(&place, value.bytes(), path)?;
        self.hand = value;
        self.put(place);
        Ok(())
    }

    fn remove<'p>(&mut self, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        if path.is_root() {
            return self.write(Place::Occupied(Path::new()), &Json::NULL, path);
        }
        self.take(&resolve(self.tree, path)?, path)?;
        self.bytes -= self.hand.bytes();
        self.discard();
        Ok(())
    }

    fn relocate<'p>(&mut self, from: &'p Pointer<'p>, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        if from.is_above(path) {
            return Err(Fault(PatchErrorKind::IntoItself, path));
        }
        let source = resolve(self.tree, from)?;
        if from == path {
            return Ok(());
        }
        self.take(&source, from)?;
        let place = locate(self.tree, path)?;
        // A value that does not go down takes nothing deeper than it was.
        if place.depth() > source.len() {
            self.disturb(self.hand.count(), path)?;
            self.nest(&place, self.hand.depth(), path)?;
        }
        self.admit(&place, 0, path)?;
        self.put(place);
        Ok(())
    }

    fn copy<'p>(&mut self, from: &'p Pointer<'p>, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        let source = resolve(self.tree, from)?;
        let place = locate(self.tree, path)?;
        let original = self.tree.at(&source);
        self.cloned_bytes += original.memory_bytes();
        if self.cloned_bytes > self.limits.cloned_bytes_max {
            return Err(Fault(PatchErrorKind::TooMuchCloned, from));
        }
        self.nest(&place, original.depth(), path)?;
        self.admit(&place, original.bytes(), path)?;
        self.hand = self.tree.at(&source).clone();
        self.put(place);
        Ok(())
    }

    fn test<'p>(&self, path: &'p Pointer<'p>, expected: &Json<'_>) -> Result<(), Fault<'p>> {
        let value = self.tree.at(&resolve(self.tree, path)?);
        // What is too deep for a tree is in no document.
        let same = Tree::parse(expected, Tree::DEPTH_MAX).is_ok_and(|expected| expected.is_same_value(value));
        if same { Ok(()) } else { Err(Fault(PatchErrorKind::TestFailed, path)) }
    }
}

/// The limits.
impl Editor<'_> {
    /// Counts a value that is about to be put, and of whose bytes so many are new to the document.
    fn admit<'p>(&mut self, place: &Place, new_bytes: usize, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        let bytes = self.bytes + new_bytes;
        let bytes = match place {
            Place::Occupied(at) => bytes - self.tree.at(at).bytes(),
            Place::Vacant { parent, position, key } => {
                let siblings = self.tree.at(parent).len();
                self.disturb(siblings - position, path)?;
                bytes + frame_bytes(key.as_ref(), siblings)
            }
        };
        if bytes > self.limits.document_bytes_max {
            return Err(Fault(PatchErrorKind::TooLarge, path));
        }
        self.bytes = bytes;
        Ok(())
    }

    fn disturb<'p>(&mut self, values: usize, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        self.disturbed += values;
        if self.disturbed > self.limits.disturbed_max {
            return Err(Fault(PatchErrorKind::TooMuchDisturbed, path));
        }
        Ok(())
    }

    const fn nest<'p>(&self, place: &Place, depth: usize, path: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        if place.depth() + depth > self.limits.depth_max {
            return Err(Fault(PatchErrorKind::TooDeep, path));
        }
        Ok(())
    }
}

/// The steps, forward and back.
impl Editor<'_> {
    /// Takes what is at `path`, which is not the root. Its own bytes stay counted.
    fn take<'p>(&mut self, path: &[usize], pointer: &'p Pointer<'p>) -> Result<(), Fault<'p>> {
        let (&position, parent) = path.split_last().expect("the root is replaced, never taken");
        let siblings = self.tree.at(parent).len() - 1;
        self.disturb(siblings - position, pointer)?;
        let (key, value) = self.tree.at_mut(parent).remove(position);
        self.bytes -= frame_bytes(key.as_ref(), siblings);
        self.hand = value;
        self.steps.push(Step::Took { parent: parent.to_vec(), position, key });
        Ok(())
    }

    fn put(&mut self, place: Place) {
        match place {
            Place::Occupied(path) => {
                mem::swap(self.tree.at_mut(&path), &mut self.hand);
                self.steps.push(Step::Swapped(path));
                self.discard();
            }
            Place::Vacant { parent, position, key } => {
                self.tree.at_mut(&parent).insert(position, key, mem::take(&mut self.hand));
                self.steps.push(Step::Put { parent, position });
            }
        }
    }

    fn discard(&mut self) {
        self.steps.push(Step::Discarded(mem::take(&mut self.hand)));
    }

    fn undo(&mut self) {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Took { parent, position, key } => {
                    self.tree.at_mut(&parent).insert(position, key, mem::take(&mut self.hand));
                }
                Step::Put { parent, position } => (_, self.hand) = self.tree.at_mut(&parent).remove(position),
                Step::Swapped(path) => mem::swap(self.tree.at_mut(&path), &mut self.hand),
                Step::Discarded(value) => self.hand = value,
            }
        }
    }
}

/// What a value adds to the bytes of an array or object with so many others in it, beside its own.
fn frame_bytes(key: Option<&Text<'_>>, siblings: usize) -> usize {
    let comma = usize::from(siblings > 0);
    comma + key.map_or(0, |key| string_bytes(key) + ":".len())
}

/// Finds the value that is at a pointer.
fn resolve<'p>(mut tree: &Tree, pointer: &'p Pointer<'p>) -> Result<Path, Fault<'p>> {
    let mut path = Path::new();
    for token in pointer.tokens() {
        let (position, value) = child(tree, &token).map_err(|kind| Fault(kind, pointer))?;
        path.push(position);
        tree = value;
    }
    Ok(path)
}

/// Finds the place that a pointer names for a value to be put there.
fn locate<'p>(mut tree: &Tree, pointer: &'p Pointer<'p>) -> Result<Place, Fault<'p>> {
    let mut parent = Path::new();
    let mut tokens = pointer.tokens();
    let Some(mut token) = tokens.next() else { return Ok(Place::Occupied(parent)) };
    for next in tokens {
        let (position, value) = child(tree, &token).map_err(|kind| Fault(kind, pointer))?;
        parent.push(position);
        (tree, token) = (value, next);
    }
    match tree {
        Tree::Array(elements) => {
            let end = (token == "-").then_some(elements.len());
            match end.or_else(|| index(&token)) {
                Some(position) if position <= elements.len() => {
                    Ok(Place::Vacant { parent, position, key: None })
                }
                Some(_) => Err(Fault(PatchErrorKind::BeyondTheEnd, pointer)),
                None => Err(Fault(PatchErrorKind::NotAnIndex, pointer)),
            }
        }
        Tree::Object(members) => Ok(match members.get_index_of(&token) {
            Some(position) => {
                parent.push(position);
                Place::Occupied(parent)
            }
            None => Place::Vacant { parent, position: members.len(), key: Some(token.into_owned()) },
        }),
        _ => Err(Fault(PatchErrorKind::NotAContainer, pointer)),
    }
}

/// The element or member that a token names, and its position.
fn child<'t>(tree: &'t Tree, token: &Text<'_>) -> Result<(usize, &'t Tree), PatchErrorKind> {
    match tree {
        Tree::Array(elements) => {
            let position = index(token).ok_or(PatchErrorKind::NotAnIndex)?;
            elements.get(position).map(|element| (position, element))
        }
        Tree::Object(members) => members.get_index_of(token).map(|position| (position, &members[position])),
        _ => return Err(PatchErrorKind::NotAContainer),
    }
    .ok_or(PatchErrorKind::NotFound)
}

/// The index that a token spells: digits without leading zeros.
fn index(token: &Text<'_>) -> Option<usize> {
    let digits = token.as_str()?;
    let spelled_well = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    // An index too large for a `usize` is beyond the end of every array.
    spelled_well.then(|| digits.parse().unwrap_or(usize::MAX))
}
