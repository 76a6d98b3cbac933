//! Three instances, their database, and the networks in between.

use crate::serving::agents::{brief, section, steady};
use crate::serving::client::Client;
use crate::serving::process::Served;
use hyper::StatusCode;
use std::time::Duration;
use tempfile::TempDir;
use threadline_testkit::balancer::Balancer;
use threadline_testkit::fault_proxy::FaultProxy;
use threadline_testkit::postgres::{Postgres, in_new_schema, url};
use threadline_testkit::upstream::Upstream;
use tokio::time::{sleep, timeout};

/// How many instances there are.
pub(super) const INSTANCES: usize = 3;
/// How many pieces a run has that ends by itself: it goes on for a second at least.
const PIECES_OF_STEADY: usize = 200;
/// How many pieces a run has that does not: more than it has time for.
const PIECES_OF_ENDLESS: usize = 4_000;

/// How long after the database is back an instance answers again, at most.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
/// How long after the database has gone an instance gives up its runs, at most: what it appends is held back for some seconds.
const GIVEN_UP_MAX: Duration = Duration::from_secs(30);
/// How long is waited before an instance is asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// How long the lease of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease {
    /// 500 milliseconds.
    Short,
    /// As it comes.
    Default,
}

/// Instances behind a balancer.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) postgres: Postgres,
    instances: Vec<Instance>,
    balancer: Balancer,
    settings: String,
    _agents: [Upstream; 4],
}

#[derive(Debug)]
struct Instance {
    served: Served,
    /// To the database.
    network: FaultProxy,
    store: String,
    dir: TempDir,
}

impl Cluster {
    /// Starts all of it. The agents are `steady`, which ends its runs, `endless`, which does not, `quiet`, which does not and says next to
    /// nothing, and `brief`, which says a word.
    pub(super) async fn start(lease: Lease) -> Self {
        let agents = [
            steady(PIECES_OF_STEADY, true).await,
            steady(PIECES_OF_ENDLESS, false).await,
            steady(0, false).await,
            brief().await,
        ];
        let mut settings: String = match lease {
            Lease::Short => "[runs]\nlease = \"500ms\"\n".to_owned(),
            Lease::Default => String::new(),
        };
        for (name, agent) in ["steady", "endless", "quiet", "brief"].into_iter().zip(&agents) {
            settings += &section(name, agent);
        }
        let postgres = Postgres::start();
        let schema = in_new_schema("");
        let mut instances = Vec::new();
        for _ in 0..INSTANCES {
            let dir = TempDir::new().expect("a directory");
            let network = FaultProxy::start(postgres.address()).await;
            let store = url(network.address()) + &schema;
            let served = Served::start_on(&store, dir.path(), &settings, "info");
            instances.push(Instance { served, network, store, dir });
        }
        let balancer = Balancer::start(instances.iter().map(|instance| instance.served.address())).await;
        Self { postgres, instances, balancer, settings, _agents: agents }
    }

    /// Asks one of them.
    pub(super) fn client(&self, instance: usize) -> Client {
        self.instances[instance % INSTANCES].served.client
    }

    /// Asks whose turn it is.
    pub(super) const fn anyone(&self) -> Client {
        Client { address: self.balancer.address() }
    }

    /// One of their processes.
    pub(super) fn process(&self, instance: usize) -> &Served {
        &self.instances[instance].served
    }

    /// The network between one of them and the database.
    pub(super) fn network(&self, instance: usize) -> &FaultProxy {
        &self.instances[instance].network
    }

    /// Kills one of them.
    pub(super) fn kill(&mut self, instance: usize) {
        self.instances[instance].served.kill();
    }

    /// Starts one of them again, somewhere else.
    pub(super) fn start_again(&mut self, instance: usize) {
        let place = &mut self.instances[instance];
        place.served = Served::start_on(&place.store, place.dir.path(), &self.settings, "info");
        self.balancer.moved(instance, place.served.address());
    }

    /// Waits until one of them reaches the database again, which must not take long.
    pub(super) async fn recovered(&self, instance: usize) {
        let client = self.client(instance);
        let answers = async {
            for path in ["/readyz", "/v1/threads"] {
                while client.get(path).await.status != StatusCode::OK {
                    sleep(AGAIN).await;
                }
            }
        };
        timeout(RECOVERY_MAX, answers).await.expect("an instance that has recovered by itself");
    }

    /// Waits until one of them executes no run any more.
    pub(super) async fn given_up(&self, instance: usize) {
        let client = self.client(instance);
        let none_left = async {
            while !client.get("/metrics").await.text().await.contains("\nthreadline_runs 0\n") {
                sleep(AGAIN).await;
            }
        };
        timeout(GIVEN_UP_MAX, none_left).await.expect("an instance that gives up what it cannot write");
    }

    /// Stops all of them in good order.
    pub(super) async fn stop(self) {
        for instance in self.instances {
            instance.served.stop().await;
        }
    }
}
