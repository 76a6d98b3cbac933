//! P3: a disk that is full in the middle of a run.

use super::agents::{brief, section, stream};
use super::client::{Answer, Frame, Next, PATIENCE};
use super::process::Served;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use threadline_testkit::faults::leave_out;
use threadline_testkit::upstream::{Step, Upstream, sse_body};
use tokio::time::{sleep, timeout};

/// Tells this program, executed again in a place of its own, where it may mount disks.
const PLACE: &str = "THREADLINE_TEST_SERVED_DISK";

#[test]
fn p3_a_full_disk_cuts_streams_and_loses_nothing() {
    let dir = TempDir::new().expect("a directory");
    // Whoever may not mount may be allowed to as somebody else.
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let mounts = |way: &&&[&str]| {
        let mut command = Command::new("unshare");
        let place = dir.path().to_str().expect("a path");
        command.args(**way).args(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let Some(way) = ways.iter().find(mounts) else {
        return leave_out("disks of a limited size cannot be mounted");
    };
    let status = Command::new("unshare")
        .args(*way)
        .arg(std::env::current_exe().expect("a program"))
        .args(["--exact", "serving::full::with_a_disk", "--ignored", "--nocapture"])
        .env(PLACE, dir.path())
        .status()
        .expect("a process");
    assert!(status.success(), "{status}");
}

fn mount(arguments: &[&str], place: &Path) {
    let status = Command::new("mount").args(arguments).arg(place).status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
}

/// How often a server is asked whether it is ready.
const GLANCE: Duration = Duration::from_millis(100);

/// An agent without end, whose events are large. Each is unlike the one before it, which the store would not write twice.
async fn flood() -> Upstream {
    let event = |letter: &str| {
        format!(r#"{{"type":"CUSTOM","name":"flood","value":"{}"}}"#, letter.repeat(256 << 10))
    };
    let events = sse_body(&[&event("x"), &event("y")]);
    let script = stream(Step::Write(": here it comes\n".into()), Step::Repeat(events.into()));
    Upstream::start([script]).await
}

/// What a client has seen of a flood: cursors, and digests of the events, which are large.
type Seen = Vec<(String, u64)>;

/// Reads a flood to its end, whichever it is. Gives the type of the last event as well.
async fn read(mut answer: Answer) -> (Seen, String, Next) {
    let (mut seen, mut last) = (Seen::new(), String::new());
    loop {
        match answer.next().await {
            Next::Frame(frame) => {
                let mut hasher = DefaultHasher::new();
                frame.json.hash(&mut hasher);
                seen.push((frame.cursor().to_owned(), hasher.finish()));
                last = frame.kind();
            }
            end => return (seen, last, end),
        }
    }
}

/// Takes all the room that is left.
fn take_room(place: &Path) {
    let mut ballast = File::create(place).expect("a file");
    let zeros = vec![0; 64 << 10];
    while ballast.write_all(&zeros).is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "executed by another test where disks can be mounted"]
async fn with_a_disk() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let (dir, store) = (Path::new(&place), Path::new(&place).join("store"));
    std::fs::create_dir(&store).expect("a directory");
    mount(&["-t", "tmpfs", "-o", "size=448m", "tmpfs"], &store);
    let (flood, brief) = (flood().await, brief().await);
    let settings = section("flood", &flood) + &section("brief", &brief);
    let served = Served::start(dir, &settings);
    let client = served.client;
    finish_run(&served, "before", "run").await;
    take_room(&store.join("ballast"));
    let (seen, _, end) = read(client.run("flood", "t", "run").await).await;
    println!("{} frames before the disk was full", seen.len());
    assert_eq!(end, Next::Cut);

    // It is said, runs are refused, and what is there can be read.
    let ready = client.get("/readyz").await;
    assert_eq!(ready.status, 503);
    let ready = ready.json().await;
    assert_eq!(ready["code"], "store_unavailable");
    assert!(ready["message"].as_str().is_some_and(|message| message.contains("os error 28")), "{ready}");
    assert_eq!(client.get("/healthz").await.status, 200);
    let refused = client.run("brief", "before", "next").await.refusal().await;
    assert_eq!(refused, (503, "store_unavailable".to_owned()));
    let held = client.get("/v1/threads/before/messages").await.json().await;
    assert_eq!(held["messages"][1]["content"], "word");
    let (first, known) = (seen[0].0.as_str(), &seen[1..]);
    let (told, _, end) = read(client.connect("flood", "t", Some(first)).await).await;
    let common = told.len().min(known.len());
    assert_eq!((&told[..common], end), (&known[..common], Next::Cut));
    assert!(common > 0, "what is durable is told");
    std::fs::remove_file(store.join("ballast")).expect("a file");
    // As soon as there is room, it goes on by itself.
    let room = async {
        while client.get("/readyz").await.status != 200 {
            sleep(GLANCE).await;
        }
    };
    timeout(PATIENCE, room).await.expect("room");
    finish_run(&served, "before", "again").await;
    assert!(served.log().contains("the store was opened anew"), "{}", served.log());
    served.stop().await;

    let served = Served::start(dir, &settings);
    assert_eq!(served.client.get("/readyz").await.status, 200);
    let (told, last, end) = read(served.client.connect("flood", "t", Some(first)).await).await;
    assert_eq!((last.as_str(), end), ("RUN_ERROR:abandoned", Next::Over));
    assert_eq!(&told[..known.len()], known);
    finish_run(&served, "t", "next").await;
    finish_run(&served, "before", "next").await;
    served.stop().await;
    let status = Command::new("umount").arg(&store).status();
    assert!(status.is_ok_and(|status| status.success()));
}

async fn finish_run(served: &Served, thread: &str, run: &str) {
    let frames = served.client.run("brief", thread, run).await.all().await;
    assert_eq!(frames.last().map(Frame::kind).as_deref(), Some("RUN_FINISHED"), "{thread}");
}
