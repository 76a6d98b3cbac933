//! Everything is measured several times, and what is compared is compared within one of them.

use crate::quantiles::median;

/// How often everything is measured.
pub(crate) const REPEATS: usize = 3;

/// The median of a figure over all repeats.
pub(crate) fn middle<T>(repeats: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    median(repeats.iter().map(figure))
}

/// A figure in times of another candidate's, repeat by repeat.
pub(crate) fn ratios<T>(ours: &[T], theirs: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| figure(ours) / figure(theirs)).collect()
}
