//! What every store promises, and the engine on it, on a disk that loses what was not synced, without a catalogue that lasts.

use super::sim::OnSimDisk;

mod long_segments {
    use super::OnSimDisk;

    threadline_testkit::store_contract!(OnSimDisk::new(2 << 20));
    threadline_testkit::engine_contract!(OnSimDisk::new(2 << 20));
}
