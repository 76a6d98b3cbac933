//! Blocks that were unpacked, kept for who reads on, or reads again.

use super::block::Block;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file and where in it a block begins. Neither changes, nor is a number ever given again.
type Key = (u64, u64);

/// The blocks that were used last.
#[derive(Debug)]
pub(super) struct BlockCache {
    bytes_max: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    blocks: HashMap<Key, (Block, u64)>,
    /// When each was used last.
    used: BTreeMap<u64, Key>,
    uses: u64,
    bytes: usize,
}

impl BlockCache {
    /// One that holds no more than this many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: Key) -> Option<Block> {
        let mut held = self.held();
        let Held { blocks, used, uses, .. } = &mut *held;
        let (block, use_no) = blocks.get_mut(&key)?;
        *uses += 1;
        used.remove(&std::mem::replace(use_no, *uses));
        used.insert(*uses, key);
        Some(block.clone())
    }

    /// Keeps a block. One that is larger than all of it is not kept.
    pub(super) fn put(&self, key: Key, block: &Block) {
        if block.bytes() > self.bytes_max {
            return;
        }
        let mut held = self.held();
        held.remove(key);
        held.uses += 1;
        let use_no = held.uses;
        held.bytes += block.bytes();
        held.used.insert(use_no, key);
        held.blocks.insert(key, (block.clone(), use_no));
        while held.bytes > self.bytes_max
            && let Some((_, oldest)) = held.used.first_key_value()
        {
            let oldest = *oldest;
            held.remove(oldest);
        }
    }

    /// Lets go of what was in a file.
    pub(super) fn forget(&self, file: u64) {
        let mut held = self.held();
        let keys: Vec<Key> = held.blocks.keys().copied().filter(|key| key.0 == file).collect();
        keys.into_iter().for_each(|key| held.remove(key));
    }
}

impl Held {
    fn remove(&mut self, key: Key) {
        if let Some((block, use_no)) = self.blocks.remove(&key) {
            self.used.remove(&use_no);
            self.bytes -= block.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::BlockBuilder;
    use super::super::index::BlockKind;
    use super::*;
    use threadline_log::sealed::batch::BatchHead;
    use threadline_log::{RunNo, Timestamp};

    fn block(bytes: usize) -> Block {
        let mut builder = BlockBuilder::new(BlockKind::Records, 1);
        let head = BatchHead { first: 0, count: 1, run: RunNo(0), time: Timestamp(0) };
        builder.push_batch(head, &vec![7; bytes]);
        Block::decode(&builder.encode(None).unwrap().1, None).unwrap()
    }

    #[test]
    fn what_was_used_last_is_kept_and_no_more_than_may_be() {
        let (block, large) = (block(1000), block(5000));
        let cache = BlockCache::new(3 * block.bytes() + 10);
        let there = || (0..6).filter(|at| cache.held().blocks.contains_key(&(1, *at))).collect::<Vec<u64>>();
        (0..3).for_each(|at| cache.put((1, at), &block));
        assert!(cache.get((1, 0)).is_some());
        cache.put((1, 3), &block);
        assert_eq!(there(), [0, 2, 3]);
        cache.put((1, 2), &block);
        cache.put((1, 4), &block);
        assert_eq!(there(), [2, 3, 4]);
        assert_eq!(cache.held().bytes, 3 * block.bytes());
        cache.put((1, 5), &large);
        assert_eq!(there(), [2, 3, 4], "too large");
        cache.put((2, 9), &block);
        cache.forget(1);
        assert!(there().is_empty());
        assert!(cache.get((2, 9)).is_some());
        assert_eq!(cache.held().bytes, block.bytes());
    }
}
