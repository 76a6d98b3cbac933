//! What every store promises: one suite, which a store runs by one line.
//!
//! ```ignore
//! threadline_testkit::store_contract!(MyHarness::new());
//! ```
//!
//! in a crate's `tests/it/main.rs` makes a test of each law, and one that compares the store with a plain model over random
//! operations. The expression is evaluated for each test and each case, and must give an empty store each time.

mod copying;
mod gated;
mod laws;
pub mod model;
mod operations;
mod random_operations;
mod scene;
mod shared;
pub mod view;

pub use gated::{Gate, GatedStore};
pub use laws::*;
pub use random_operations::matches_the_model;
pub use scene::Scene;
pub use shared::{Hearing, SharedStore};

use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use threadline_log::Store;

/// How a store comes to its end before it is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is closed.
    Clean,
    /// It is cut off from what it keeps, and what was not durable may be lost. Of a harness that cannot do that, the same as
    /// clean.
    Crash,
}

/// Where one store lives during a test.
#[async_trait]
pub trait Harness: Send + Sync + fmt::Debug {
    /// Opens it for the first time: it is empty.
    async fn open(&self) -> Arc<dyn Store>;

    /// Ends it and opens it again. Nobody uses the old one any more.
    async fn reopen(&self, store: Arc<dyn Store>, ending: Ending) -> Arc<dyn Store>;

    /// Opens it once more beside the first, as another process does. None if only one can have it.
    async fn second(&self) -> Option<Arc<dyn Store>> {
        None
    }

    /// Whether what it keeps is there after it was closed.
    fn lasts(&self) -> bool {
        true
    }

    /// How many random histories are compared with the model: fewer where each of their steps waits for a disk.
    fn model_cases(&self) -> u32 {
        200
    }

    /// How many random threads are seen again at each of their points, which asks the store thousands of things.
    fn engine_cases(&self) -> u64 {
        30
    }

    /// Returns when lists and search show all that was written, for stores where they may lag behind.
    async fn settle(&self, _store: &dyn Store) {}
}

/// Runs one law on a store of its own, on two threads.
///
/// # Panics
/// If the store breaks it.
pub fn uphold<F: Future<Output = ()>>(harness: impl Harness + 'static, law: impl FnOnce(Scene) -> F) {
    runtime().block_on(async {
        let scene = Scene::new(Box::new(harness)).await;
        Box::pin(law(scene)).await;
    });
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().expect("a runtime")
}
