//! What every store promises.

mod with_catalogue {
    use crate::harness::InDirectory;

    threadline_testkit::store_contract!(InDirectory::new());
    threadline_testkit::engine_contract!(InDirectory::new());
}

mod without_catalogue {
    use crate::harness::InDirectory;

    threadline_testkit::store_contract!(InDirectory::forgetful());
    threadline_testkit::engine_contract!(InDirectory::forgetful());
}
