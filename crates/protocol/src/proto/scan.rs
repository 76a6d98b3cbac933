//! What prost would not notice in the bytes of an event: two arms where only one may be.

#![warn(clippy::indexing_slicing)]

use super::decode::DecodeError;
use super::wire::{Fields, Payload};
use std::ops::Range;

/// What an envelope holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Envelope {
    Known,
    /// Only arms that 1.0 does not have.
    Unknown,
}

/// Looks at the outline of an event.
pub(super) fn envelope(event: &[u8]) -> Result<Envelope, DecodeError> {
    if walk(event, &EVENT)?.is_some() {
        return Ok(Envelope::Known);
    }
    let mut arms = 0;
    for field in Fields::new(event) {
        if let (_, Payload::Bytes(arm)) = field.map_err(DecodeError::wire)? {
            // Nothing tells whether it is an event but that it could be one.
            Fields::new(arm).try_for_each(|field| field.map(drop)).map_err(DecodeError::wire)?;
            arms += 1;
        }
    }
    if arms > 0 { Ok(Envelope::Unknown) } else { Err(DecodeError::Empty) }
}

/// The part of a message that leads to a oneof.
struct Outline {
    /// The fields of which only one may be there.
    arms: Range<u32>,
    /// The fields that are to be looked into.
    below: &'static [(u32, &'static Self)],
}

const NO_ARMS: Range<u32> = 0..0;
const EVENT: Outline = Outline {
    arms: 1..32,
    below: &[
        (9, &Outline { arms: NO_ARMS, below: &[(2, &MESSAGE)] }),
        (12, &Outline { arms: NO_ARMS, below: &[(5, &INPUT)] }),
        (22, &Outline { arms: NO_ARMS, below: &[(7, &PART)] }),
    ],
};
const INPUT: Outline = Outline { arms: NO_ARMS, below: &[(5, &MESSAGE)] };
const MESSAGE: Outline = Outline { arms: NO_ARMS, below: &[(8, &PART)] };
const PART: Outline = Outline { arms: 1..6, below: &[(2, &MEDIA), (3, &MEDIA), (4, &MEDIA), (5, &MEDIA)] };
const MEDIA: Outline = Outline { arms: NO_ARMS, below: &[(1, &SOURCE)] };
const SOURCE: Outline = Outline { arms: 1..4, below: &[] };

/// Walks along the outline, which is where its recursion ends, and gives the arm that the message holds. An arm may
/// be given twice, and merges.
fn walk(message: &[u8], outline: &Outline) -> Result<Option<u32>, DecodeError> {
    let mut found = None;
    for field in Fields::new(message) {
        let (number, payload) = field.map_err(DecodeError::wire)?;
        if outline.arms.contains(&number) && found.replace(number).is_some_and(|earlier| earlier != number) {
            return Err(DecodeError::SeveralArms);
        }
        let below = outline.below.iter().find(|(below, _)| *below == number);
        if let (Payload::Bytes(payload), Some((_, below))) = (payload, below) {
            walk(payload, below)?;
        }
    }
    Ok(found)
}
