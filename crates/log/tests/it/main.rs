//! What is promised of the engine and of the store in memory.

mod buffered;
mod cost;
mod leaving;
mod memory;
mod retaining;
mod shared;
