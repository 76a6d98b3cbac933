//! What instances tell each other, beside the log and never within what is appended: `NOTIFY` takes a lock that the whole server shares.
//!
//! What is lost costs latency only. Who could not tell something, or could not listen, says that something was missed. Everybody says every second
//! that he is here: to nobody, nothing need be told; and who is heard no more may have died before he told what he wrote last.

use crate::connection::{ANSWER_TIMEOUT, Connection, Connector, Failure};
use futures_util::future::poll_fn;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadline_log::store::News;
use threadline_log::{Incarnation, ThreadKey};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_postgres::AsyncMessage;

/// How many messages may wait for the engine. More are missed.
const HEARD_MAX: usize = 256;
/// PostgreSQL takes less than 8000 bytes.
const MESSAGE_BYTES_MAX: usize = 7900;
/// How long something waits at most until it is told: what comes meanwhile is told with it, since each time costs the database as much as an append, and
/// wakes everybody.
const PAUSE: Duration = Duration::from_millis(5);
/// How often everybody says that he is here.
const HERE_EVERY: Duration = Duration::from_secs(1);
/// Who has not been heard for so long is gone.
const GONE_AFTER: Duration = Duration::from_secs(5);
/// Of how many appends it is counted whose they were: many more than are told of at once.
const COUNTED: u32 = 16 * 1024;
/// How long to wait before a connection is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long whoever goes waits at most until all is told.
const LAST_WORDS_MAX: Duration = Duration::from_secs(2);

const NOTIFY: &str = "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message";

/// What is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    Reached(Incarnation, u64),
    Changed(ThreadKey),
    Deleted(ThreadKey, Incarnation),
    Missed,
    Here,
}

impl Told {
    /// One line. What is told most is the shortest.
    fn write(&self, line: &mut String) {
        match self {
            Self::Reached(thread, tail) => write!(line, "{} {tail}", thread.0).expect("a text takes it"),
            other => line.push_str(&serde_json::to_string(other).expect("names and numbers")),
        }
    }

    /// What a line says, if that is known here: somebody newer may tell more.
    fn read(line: &str) -> Option<Self> {
        match line.split_once(' ').map(|(thread, tail)| (thread.parse(), tail.parse())) {
            Some((Ok(thread), Ok(tail))) => Some(Self::Reached(Incarnation(thread), tail)),
            _ => serde_json::from_str(line).ok(),
        }
    }

    /// What the engine need know of it.
    fn news(self) -> Option<News> {
        match self {
            Self::Reached(thread, tail) => Some(News::Reached { thread, tail }),
            Self::Changed(key) => Some(News::Changed(key)),
            Self::Deleted(key, thread) => Some(News::Deleted { key, thread }),
            Self::Missed => Some(News::Missed),
            Self::Here => None,
        }
    }
}

/// Whose appends were the last.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    ours: u32,
    others: u32,
}

impl Shares {
    fn count(&mut self, ours: usize, others: usize) {
        let add = |share: u32, more| share.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        *self = Self { ours: add(self.ours, ours), others: add(self.others, others) };
        while self.ours.saturating_add(self.others) > COUNTED {
            *self = Self { ours: self.ours / 2, others: self.others / 2 };
        }
    }
}

/// Who is there, as far as it was heard.
#[derive(Debug, Default)]
struct Present {
    we: Option<Instant>,
    /// By their names.
    others: HashMap<u64, Instant>,
    shares: Shares,
    /// Something was not told, because nobody was there.
    is_untold: bool,
}

fn is_recent(heard: Instant) -> bool {
    heard.elapsed() < GONE_AFTER
}

impl Present {
    fn are_others_there(&self) -> bool {
        self.others.values().copied().any(is_recent)
    }

    /// Whether something need be told: to others, or if we cannot hear who is there, since we do not hear ourselves.
    fn is_to_be_told(&mut self) -> bool {
        let is_to_be_told = self.are_others_there() || !self.we.is_some_and(is_recent);
        self.is_untold |= !is_to_be_told;
        is_to_be_told
    }

    /// We have heard ourselves.
    fn hear_us(&mut self) {
        self.we = Some(Instant::now());
    }

    /// Forgets who is gone, and says whether anybody is.
    fn forget_gone(&mut self) -> bool {
        let known = self.others.len();
        self.others.retain(|_, heard| is_recent(*heard));
        self.others.len() < known
    }

    /// One of the others was heard, and so many news of it. Gives what that one is to be told, if nobody was there before.
    fn hear_other(&mut self, name: u64, news: usize) -> Option<Vec<Told>> {
        self.shares.count(0, news);
        let is_first = !self.are_others_there();
        self.others.insert(name, Instant::now());
        let is_untold = std::mem::take(&mut self.is_untold);
        is_first.then(|| if is_untold { vec![Told::Here, Told::Missed] } else { vec![Told::Here] })
    }
}

/// Who has told something, so that nobody hears himself.
#[derive(Clone, Copy, Debug)]
struct Name(u64);

impl Name {
    fn draw() -> Self {
        let mut bytes = [0; 8];
        // Without chance everybody hears himself, which does no harm, or others do not hear us for a second.
        _ = getrandom::fill(&mut bytes);
        Self(u64::from_le_bytes(bytes))
    }
}

fn lock(present: &SyncMutex<Present>) -> MutexGuard<'_, Present> {
    // Nothing here panics half way.
    present.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be told, and who waits until it was.
#[derive(Debug)]
struct Telling {
    told: Vec<Told>,
    done: Option<oneshot::Sender<()>>,
}

impl Telling {
    const fn of(told: Vec<Told>) -> Self {
        Self { told, done: None }
    }
}

/// What was heard and is to be told.
#[derive(Debug)]
pub(crate) struct Grapevine {
    telling: mpsc::UnboundedSender<Telling>,
    heard: Mutex<mpsc::Receiver<Vec<News>>>,
    has_missed: Arc<AtomicBool>,
    present: Arc<SyncMutex<Present>>,
}

impl Grapevine {
    /// Begins to listen and to tell, in tasks of the set.
    pub(crate) fn begin(connector: &Arc<Connector>, tasks: &mut JoinSet<()>) -> Self {
        let (telling, told) = mpsc::unbounded_channel();
        let (hearing, heard) = mpsc::channel(HEARD_MAX);
        let (has_missed, present) = (Arc::new(AtomicBool::new(false)), Arc::<SyncMutex<Present>>::default());
        let name = Name::draw();
        tasks.spawn(tell(Arc::clone(connector), told, name));
        let listener = Listener {
            name,
            hearing,
            has_missed: Arc::clone(&has_missed),
            present: Arc::clone(&present),
            telling: telling.clone(),
        };
        tasks.spawn(listener.listen(Arc::clone(connector)));
        Self { telling, heard: Mutex::new(heard), has_missed, present }
    }

    /// One that tells nobody and hears nothing.
    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        let (telling, _) = mpsc::unbounded_channel();
        let (_, heard) = mpsc::channel(1);
        Self { telling, heard: Mutex::new(heard), has_missed: Arc::default(), present: Arc::default() }
    }

    /// Counts appends of others that nobody made.
    #[cfg(test)]
    pub(crate) fn hear_of(&self, appends: usize) {
        lock(&self.present).hear_other(0, appends);
    }

    /// Tells the others, soon.
    pub(crate) fn tell(&self, told: Vec<Told>) {
        let mut present = lock(&self.present);
        present.shares.count(told.len(), 0);
        if present.is_to_be_told() {
            // When the store is closed nobody need know.
            _ = self.telling.send(Telling::of(told));
        }
    }

    /// Waits until all is told, as far as the database is there for it.
    pub(crate) async fn flush(&self) {
        // Somebody may be there who has not been heard yet.
        let is_untold = std::mem::take(&mut lock(&self.present).is_untold);
        let told = if is_untold { vec![Told::Missed] } else { Vec::new() };
        let (done, is_done) = oneshot::channel();
        _ = self.telling.send(Telling { told, done: Some(done) });
        _ = timeout(LAST_WORDS_MAX, is_done).await;
    }

    /// Whether others append as much as half of what we do, or more.
    pub(crate) fn are_others_busy(&self) -> bool {
        let present = lock(&self.present);
        let Shares { ours, others } = present.shares;
        present.are_others_there() && others > 0 && others >= ours / 2
    }

    /// Waits for what another has told.
    pub(crate) async fn heard(&self) -> Vec<News> {
        if self.has_missed.swap(false, Ordering::Relaxed) {
            return vec![News::Missed];
        }
        match self.heard.lock().await.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }
}

/// Tells what waits, all at once, for as long as the store is there.
async fn tell(connector: Arc<Connector>, mut told: mpsc::UnboundedReceiver<Telling>, name: Name) {
    let mut connection: Option<Connection> = None;
    let mut ticks = interval(HERE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            told = told.recv() => match told {
                Some(told) => told,
                None => return,
            },
            _ = ticks.tick() => Telling::of(vec![Told::Here]),
        };
        let (mut waiting, mut done) = (first.told, Vec::from_iter(first.done));
        while let Ok(more) = told.try_recv() {
            waiting.extend(more.told);
            done.extend(more.done);
        }
        while !waiting.is_empty() {
            let telling = async {
                let open = match connection.take().filter(|open| !open.is_closed()) {
                    Some(open) => open,
                    None => connect(&connector).await?,
                };
                open.query(NOTIFY, &[&connector.channel, &messages(name, &waiting)]).await?;
                connection = Some(open);
                Ok::<_, Failure>(())
            };
            if telling.await.is_ok() {
                break;
            }
            // Whether it was told is not known, and more will have come when it can be.
            while let Ok(more) = told.try_recv() {
                done.extend(more.done);
            }
            waiting = vec![Told::Missed];
            sleep(AGAIN).await;
        }
        for done in done {
            // Whoever waited may have gone.
            _ = done.send(());
        }
        sleep(PAUSE).await;
    }
}

async fn connect(connector: &Connector) -> Result<Connection, Failure> {
    let connection = connector.connect_for(ANSWER_TIMEOUT).await?;
    // What is told is told after the fact, and need not be durable.
    connection.set("SET synchronous_commit = off").await?;
    Ok(connection)
}

/// As few messages as hold all of it, each with the name of who tells it in its first line.
fn messages(name: Name, told: &[Told]) -> Vec<String> {
    let mut messages = Vec::new();
    let mut message = name.0.to_string();
    let (name_bytes, mut line) = (message.len(), String::new());
    for one in told {
        line.clear();
        one.write(&mut line);
        if message.len() > name_bytes && message.len() + 1 + line.len() > MESSAGE_BYTES_MAX {
            messages.push(std::mem::replace(&mut message, name.0.to_string()));
        }
        message.push('\n');
        message.push_str(&line);
    }
    messages.push(message);
    messages
}

/// Who hears what others tell.
struct Listener {
    name: Name,
    hearing: mpsc::Sender<Vec<News>>,
    has_missed: Arc<AtomicBool>,
    present: Arc<SyncMutex<Present>>,
    telling: mpsc::UnboundedSender<Telling>,
}

impl Listener {
    /// Listens for as long as somebody wants to hear.
    async fn listen(self, connector: Arc<Connector>) {
        loop {
            if let Ok((client, mut connection)) = connector.connect_raw().await {
                let statement = format!("LISTEN \"{}\"", connector.channel);
                let mut listening = std::pin::pin!(client.batch_execute(&statement));
                let mut is_listening = false;
                loop {
                    let message = tokio::select! {
                        begun = &mut listening, if !is_listening => {
                            if begun.is_err() {
                                break;
                            }
                            is_listening = true;
                            // Whatever was told before is not heard.
                            self.pass_on(vec![News::Missed]);
                            continue;
                        }
                        message = poll_fn(|context| connection.poll_message(context)) => message,
                        // We say something ourselves every second.
                        () = sleep(GONE_AFTER) => break,
                    };
                    match message {
                        Some(Ok(AsyncMessage::Notification(note))) => self.hear(note.payload()),
                        Some(Ok(_)) => {}
                        Some(Err(_)) | None => break,
                    }
                }
            }
            if self.hearing.is_closed() {
                return;
            }
            sleep(AGAIN).await;
        }
    }

    fn hear(&self, message: &str) {
        let mut lines = message.lines();
        // Who has died, or was asleep, may have written what nobody has heard of. We hear ourselves every second at least.
        if lock(&self.present).forget_gone() {
            self.pass_on(vec![News::Missed]);
        }
        let name = lines.next().and_then(|line| line.parse().ok());
        // What we have told is known here.
        if name == Some(self.name.0) {
            return lock(&self.present).hear_us();
        }
        let mut news: Vec<News> =
            lines.filter_map(|line| Told::read(line).unwrap_or(Told::Missed).news()).collect();
        // However much of it is not known here, it is looked for once.
        news.dedup();
        // Whoever has come need not wait until he knows of us.
        if let Some(greeting) = lock(&self.present).hear_other(name.unwrap_or_default(), news.len()) {
            _ = self.telling.send(Telling::of(greeting));
        }
        self.pass_on(news);
    }

    fn pass_on(&self, news: Vec<News>) {
        if !news.is_empty() && self.hearing.try_send(news).is_err() {
            self.has_missed.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_log::names::Owner;
    use threadline_log::{Scope, ThreadId};

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_to_nobody_by_who_would_hear_others() {
        let mut present = Present::default();
        assert!(present.is_to_be_told(), "who does not hear himself may not hear others");
        present.hear_us();
        assert_eq!(present.hear_other(2, 0), Some(vec![Told::Here]), "nothing is untold");
        assert!(present.is_to_be_told() && present.hear_other(2, 0).is_none());
        tokio::time::advance(GONE_AFTER).await;
        assert!(present.is_to_be_told());
        present.hear_us();
        assert!(!present.is_to_be_told(), "the others are gone");
        assert_eq!(present.hear_other(2, 0), Some(vec![Told::Here, Told::Missed]));
        assert!(present.is_to_be_told());
    }

    #[tokio::test(start_paused = true)]
    async fn others_are_busy_while_they_append_half_as_much_as_we_do() {
        let grapevine = Grapevine::silent();
        let tell =
            |appends| (0..appends).for_each(|_| grapevine.tell(vec![Told::Reached(Incarnation(1), 1)]));
        assert!(!grapevine.are_others_busy(), "nobody has appended");
        grapevine.hear_of(10);
        tell(20);
        assert!(grapevine.are_others_busy());
        tell(2);
        assert!(!grapevine.are_others_busy(), "less than half");
        grapevine.hear_of(usize::MAX);
        assert!(grapevine.are_others_busy());
        tell(2 * COUNTED);
        assert!(!grapevine.are_others_busy(), "that was long ago");
        grapevine.hear_of(usize::MAX);
        tokio::time::advance(GONE_AFTER).await;
        assert!(!grapevine.are_others_busy(), "they are gone");
    }

    #[test]
    fn what_somebody_newer_tells_is_missed_once() {
        let ((hearing, mut heard), (telling, _greetings)) = (mpsc::channel(1), mpsc::unbounded_channel());
        let (has_missed, present) = Default::default();
        let listener = Listener { name: Name(1), hearing, has_missed, present, telling };
        listener.hear("1\n7 8");
        listener.hear("2\n7 8\nunheard of\n9\n\"here\"");
        let reached = News::Reached { thread: Incarnation(7), tail: 8 };
        assert_eq!(heard.try_recv(), Ok(vec![reached, News::Missed]));
        assert!(heard.try_recv().is_err(), "we have told the first ourselves");
    }

    #[tokio::test(start_paused = true)]
    async fn of_whoever_is_heard_no_more_something_may_be_missed() {
        let ((hearing, mut heard), (telling, _greetings)) = (mpsc::channel(9), mpsc::unbounded_channel());
        let (has_missed, present) = Default::default();
        let listener = Listener { name: Name(1), hearing, has_missed, present, telling };
        let second = Duration::from_secs(1);
        listener.hear("2\n\"here\"");
        listener.hear("3\n\"here\"");
        for _ in 0..GONE_AFTER.as_secs() {
            assert!(heard.try_recv().is_err(), "all are there");
            tokio::time::advance(second).await;
            listener.hear("3\n\"here\"");
        }
        assert_eq!(heard.try_recv(), Ok(vec![News::Missed]), "the other is gone");
        for _ in 0..GONE_AFTER.as_secs() {
            assert!(heard.try_recv().is_err(), "that was said");
            tokio::time::advance(second).await;
            listener.hear("1\n\"here\"");
        }
        assert_eq!(heard.try_recv(), Ok(vec![News::Missed]), "all are gone");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_goes_says_what_was_told_to_nobody_and_waits_for_it_but_not_for_ever() {
        let (telling, mut told) = mpsc::unbounded_channel();
        let grapevine = Grapevine { telling, ..Grapevine::silent() };
        lock(&grapevine.present).hear_us();
        grapevine.tell(vec![Told::Here]);
        assert!(told.try_recv().is_err(), "nobody is there");
        for last_words in [vec![Told::Missed], Vec::new()] {
            let (begun, is_told) = (Instant::now(), AtomicBool::new(false));
            let telling = async {
                let Telling { told, done } = told.recv().await.unwrap();
                assert_eq!(told, last_words);
                sleep(Duration::from_millis(7)).await;
                is_told.store(true, Ordering::Relaxed);
                done.unwrap().send(()).unwrap();
            };
            tokio::join!(grapevine.flush(), telling);
            assert!(is_told.into_inner() && begun.elapsed() < LAST_WORDS_MAX);
        }
        let begun = Instant::now();
        grapevine.flush().await;
        assert_eq!(begun.elapsed(), LAST_WORDS_MAX);
    }

    #[test]
    fn messages_are_as_few_as_the_database_takes() {
        let owner = |name: &str| Owner::new(name).unwrap();
        let scope = Scope { app: owner(&"\0".repeat(256)), user: owner(&"\0".repeat(256)) };
        let key = ThreadKey::new(scope, ThreadId::new("\0".repeat(256)).unwrap());
        let mut told =
            vec![Told::Changed(key.clone()), Told::Deleted(key, Incarnation(u64::MAX)), Told::Missed];
        told.extend((0..1000).map(|number| Told::Reached(Incarnation(u64::MAX - number), number)));
        let messages = messages(Name(u64::MAX), &told);
        assert!(messages.iter().all(|message| message.len() <= MESSAGE_BYTES_MAX));
        assert!(messages.len() < 10, "{}", messages.len());
        let heard: Vec<Told> = messages
            .iter()
            .flat_map(|message| message.lines().skip(1))
            .map(|line| Told::read(line).unwrap())
            .collect();
        assert_eq!(heard, told);
    }
}
