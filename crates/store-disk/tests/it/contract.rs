//! What every store promises.

mod with_catalogue {
    use crate::harness::InDirectory;

    threadline_testkit::store_contract!(InDirectory::new());
}

mod without_catalogue {
    use crate::harness::InDirectory;

    threadline_testkit::store_contract!(InDirectory::forgetful());
}
