//! The two kinds of integers that the protocol has.

use std::fmt;
use std::num::NonZeroU64;
use thiserror::Error;

/// The largest integer that a JavaScript number holds exactly: 2^53 - 1.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// An integer in the range that JavaScript keeps exact, such as a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeInt(i64);

/// A count in the range that JavaScript keeps exact, such as a number of tokens.
///
/// Kept one larger than it is, so that an absent count takes no more room than one that is there: a list of empty usage
/// entries must not cost many times its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(NonZeroU64);

/// An integer that the protocol cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("outside the safe range of integers")]
pub struct OutOfRange;

impl SafeInt {
    /// The integer.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Reads the text of a JSON number. `5.0` and `1e3` are integers, as they are in JavaScript.
    pub(crate) fn from_json(number: &str) -> Option<Self> {
        if let Ok(value) = number.parse::<i64>() {
            return Self::try_from(value).ok();
        }
        let value = number.parse::<f64>().ok()?;
        #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact")]
        let fits = value.fract() == 0.0 && value.abs() <= SAFE_MAX as f64;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be an integer in range")]
        fits.then_some(Self(value as i64))
    }
}

impl TryFrom<i64> for SafeInt {
    type Error = OutOfRange;

    fn try_from(value: i64) -> Result<Self, OutOfRange> {
        if value.unsigned_abs() <= SAFE_MAX { Ok(Self(value)) } else { Err(OutOfRange) }
    }
}

impl From<i32> for SafeInt {
    fn from(value: i32) -> Self {
        Self(value.into())
    }
}

impl Count {
    const MAX: Self = Self(NonZeroU64::MIN.saturating_add(SAFE_MAX));

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get() - 1
    }

    /// The sum, or the largest count that there is.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        let sum = self.0.saturating_add(other.get());
        Self(sum.min(Self::MAX.0))
    }

    /// Reads the text of a JSON number, like [`SafeInt`].
    pub(crate) fn from_json(number: &str) -> Option<Self> {
        u64::try_from(SafeInt::from_json(number)?.get()).ok()?.try_into().ok()
    }
}

impl TryFrom<u64> for Count {
    type Error = OutOfRange;

    fn try_from(value: u64) -> Result<Self, OutOfRange> {
        if value <= SAFE_MAX { Ok(Self(NonZeroU64::MIN.saturating_add(value))) } else { Err(OutOfRange) }
    }
}

impl From<u32> for Count {
    fn from(value: u32) -> Self {
        Self(NonZeroU64::MIN.saturating_add(value.into()))
    }
}

impl From<SafeInt> for i64 {
    fn from(value: SafeInt) -> Self {
        value.get()
    }
}

impl From<Count> for u64 {
    fn from(value: Count) -> Self {
        value.get()
    }
}

impl fmt::Display for SafeInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Count").field(&self.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_however_they_are_written() {
        for (text, value) in [
            ("5", Some(5)),
            ("-5", Some(-5)),
            ("-0", Some(0)),
            ("5.0", Some(5)),
            ("1e3", Some(1000)),
            ("-1.5e1", Some(-15)),
            ("9007199254740991", Some(9_007_199_254_740_991)),
            ("9007199254740991.0", Some(9_007_199_254_740_991)),
            ("-9007199254740991", Some(-9_007_199_254_740_991)),
            ("9007199254740992", None),
            ("-9007199254740992", None),
            ("9007199254740992.0", None),
            ("99999999999999999999", None),
            ("1e400", None),
            ("0.5", None),
        ] {
            assert_eq!(SafeInt::from_json(text).map(SafeInt::get), value, "{text}");
        }
        assert_eq!(Count::from_json("-1"), None);
        assert_eq!(Count::from_json("7.0").map(Count::get), Some(7));
        assert_eq!(Count::from_json("0").map(Count::get), Some(0));
        assert_eq!(Count::from_json("9007199254740991").map(Count::get), Some(9_007_199_254_740_991));
        assert_eq!(Count::from(5).get(), 5);
        assert_eq!(Count::from(5).saturating_add(Count::from(0)).get(), 5);
        assert_eq!(Count::MAX.saturating_add(Count::from(1)), Count::MAX);
        assert_eq!(Count::try_from(1_u64 << 53), Err(OutOfRange));
    }
}
