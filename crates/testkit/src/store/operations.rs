//! Random operations, as indices: what they mean depends on what is there, so that they stay sensible when others are left out.

use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::ops::Range;
use threadline_log::Timestamp;
use threadline_log::store::Claim;

/// So many threads.
pub(super) const THREADS: usize = 4;

/// An operation, and by how much the clock has moved before it: back now and then.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) clock: i64,
    pub(super) thread: Choice,
    pub(super) operation: Operation,
}

/// A record: the number of a kind, and bytes.
pub(super) type Piece = (u8, Vec<u8>);

#[derive(Clone, Debug)]
pub(super) enum Operation {
    Open {
        id: u8,
        parent: Option<Choice>,
        stale: bool,
        pieces: Vec<Piece>,
        lease: i64,
        description: Description,
    },
    Append {
        run: Choice,
        epoch: i64,
        pieces: Vec<Piece>,
        key: Option<u8>,
        expected: Option<i64>,
        end: Option<u8>,
    },
    Claim {
        run: Choice,
        epoch: i64,
        /// Until so long after it is made.
        claim: Claim,
    },
    Describe(Description),
    Checkpoint {
        run: Choice,
        version: u32,
        said: Vec<u8>,
        full: Option<Vec<u8>>,
    },
    /// In eighths of the tail; nine is beyond it.
    Trim(u64),
    Compact(Choice),
    Delete,
    /// From and to are eighths of the tail, or a little beyond it.
    Read {
        offsets: Range<u64>,
        run: Option<Choice>,
        bytes_max: usize,
    },
    List(Query),
    Tidy,
    Reopen {
        crash: bool,
    },
}

/// One of what is there, counted round, or one that is not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    Known(usize),
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) name: Option<Vec<u8>>,
    pub(super) archived: Option<bool>,
    pub(super) agent: Option<u8>,
    pub(super) labels: Vec<(u8, Option<u8>)>,
}

#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) by_name: bool,
    pub(super) of_one_user: bool,
    pub(super) archived: Option<bool>,
    pub(super) agent: Option<u8>,
    pub(super) label: Option<(u8, u8)>,
    pub(super) words: Option<Vec<u8>>,
    pub(super) goes_on: bool,
    pub(super) limit: usize,
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Often not at all, so that things happen at the same time.
    let clock = prop_oneof![4 => Just(0_i64), 4 => 0_i64..20, 1 => -50_i64..0, 1 => 20_i64..200];
    let step = (clock, choice(), operation());
    vec(step.prop_map(|(clock, thread, operation)| Step { clock, thread, operation }), 1..100)
}

fn claim() -> impl Strategy<Value = Claim> {
    let until = (0_i64..60).prop_map(Timestamp);
    prop_oneof![
        4 => until.clone().prop_map(Claim::Renew),
        4 => until.clone().prop_map(Claim::TakeOver),
        1 => until.prop_map(Claim::Seize),
    ]
}

fn operation() -> BoxedStrategy<Operation> {
    prop_oneof![
        12 => open(),
        28 => append(),
        8 => (choice(), around_zero(), claim())
            .prop_map(|(run, epoch, claim)| Operation::Claim { run, epoch, claim }),
        4 => description().prop_map(Operation::Describe),
        12 => (choice(), 0..3_u32, said(), of(vec(any::<u8>(), 1..5)))
            .prop_map(|(run, version, said, full)| Operation::Checkpoint { run, version, said, full }),
        4 => (0..=9_u64).prop_map(Operation::Trim),
        8 => choice().prop_map(Operation::Compact),
        1 => Just(Operation::Delete),
        6 => read(),
        6 => query().prop_map(Operation::List),
        2 => Just(Operation::Tidy),
        4 => any::<bool>().prop_map(|crash| Operation::Reopen { crash }),
    ]
    .boxed()
}

fn open() -> impl Strategy<Value = Operation> {
    let parent = weighted(0.6, choice());
    let stale = prop_oneof![9 => Just(false), 1 => Just(true)];
    (0..8_u8, parent, stale, pieces(), 0_i64..60, description()).prop_map(
        |(id, parent, stale, pieces, lease, description)| Operation::Open {
            id,
            parent,
            stale,
            pieces,
            lease,
            description,
        },
    )
}

fn append() -> impl Strategy<Value = Operation> {
    let expected = weighted(0.3, around_zero());
    (choice(), around_zero(), pieces(), weighted(0.4, 0..3_u8), expected, weighted(0.4, 0..5_u8)).prop_map(
        |(run, epoch, pieces, key, expected, end)| Operation::Append {
            run,
            epoch,
            pieces,
            key,
            expected,
            end,
        },
    )
}

fn read() -> impl Strategy<Value = Operation> {
    let bytes_max = prop_oneof![Just(0_usize), Just(1), Just(4), Just(30), Just(usize::MAX)];
    (0..=9_u64, 0..=9_u64, of(choice()), bytes_max).prop_map(|(start, end, run, bytes_max)| Operation::Read {
        offsets: start.min(end)..start.max(end),
        run,
        bytes_max,
    })
}

fn query() -> impl Strategy<Value = Query> {
    let label = weighted(0.1, (0..2_u8, 0..2_u8));
    let of_one_user = prop_oneof![3 => Just(false), 1 => Just(true)];
    let filters = (of_one_user, weighted(0.1, any::<bool>()), weighted(0.1, 0..2_u8), label);
    (any::<bool>(), filters, weighted(0.5, said()), any::<bool>(), 0..6_usize).prop_map(
        |(by_name, filters, words, goes_on, limit)| {
            let (of_one_user, archived, agent, label) = filters;
            Query { by_name, of_one_user, archived, agent, label, words, goes_on, limit }
        },
    )
}

fn description() -> impl Strategy<Value = Description> {
    let labels = vec((0..2_u8, of(0..2_u8)), 0..3);
    (of(said()), of(any::<bool>()), of(0..2_u8), labels)
        .prop_map(|(name, archived, agent, labels)| Description { name, archived, agent, labels })
}

/// Numbers of words.
fn said() -> impl Strategy<Value = Vec<u8>> {
    vec(0..6_u8, 0..3)
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let kind = prop_oneof![4 => Just(0_u8), 1 => 1..4_u8];
    let count = prop_oneof![9 => 1..4_usize, 1 => Just(0)];
    count.prop_flat_map(move |count| vec((kind.clone(), vec(any::<u8>(), 0..6)), count))
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![12 => (0..6_usize).prop_map(Choice::Known), 1 => Just(Choice::Unknown)]
}

fn around_zero() -> impl Strategy<Value = i64> {
    prop_oneof![8 => Just(0_i64), 1 => -2_i64..3]
}
