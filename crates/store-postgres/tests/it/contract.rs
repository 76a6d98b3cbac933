//! What every store promises.

use crate::place::Place;

threadline_testkit::store_contract!(Place::new());

mod engine {
    use crate::place::Place;

    threadline_testkit::engine_contract!(Place::new());
}

mod engines {
    use crate::place::Place;

    threadline_testkit::engines_contract!(Place::new());
}
