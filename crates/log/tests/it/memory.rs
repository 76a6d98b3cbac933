//! The store in memory keeps the contract of stores, and the engine on it its own.

use async_trait::async_trait;
use std::sync::Arc;
use threadline_log::{MemoryStore, Store};
use threadline_testkit::store::{Ending, Harness};

/// Nothing outlives a store in memory, so that ending it is left out.
#[derive(Debug)]
struct InMemory;

#[async_trait]
impl Harness for InMemory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(MemoryStore::new())
    }

    async fn reopen(&self, store: Arc<dyn Store>, _ending: Ending) -> Arc<dyn Store> {
        store
    }

    fn lasts(&self) -> bool {
        false
    }
}

threadline_testkit::store_contract!(InMemory);
threadline_testkit::engine_contract!(InMemory);
