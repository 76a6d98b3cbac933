//! `threadline run` and `threadline replay`, as people use them.

use crate::serving::process::Served;
use crate::{Ran, run, threadline};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn server(dir: &Path) -> Served {
    Served::start(dir, "")
}

fn url(served: &Served) -> String {
    format!("http://{}", served.client.address)
}

/// Talks to the demo.
fn talk(served: &Served, args: &[&str], stdin: &str) -> Ran {
    let url = url(served);
    let all: Vec<&str> = ["run", "demo", "--server", &url].iter().chain(args).copied().collect();
    threadline(&all, stdin)
}

#[test]
fn a_run_is_shown_and_its_end_is_the_exit_code() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = server(dir.path());
    let ran = talk(&served, &["--message", "think", "--message", "tool", "--message", "state"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        ran.text(),
        "\
The user wants to see me think. I do not think, but I can say so.
I have thought about it, and the answer is 42.
count_words({\"text\":\"tool\"})
  = {\"words\":1}
You wrote 1 words.
state {\"status\":\"counting\",\"visits\":1}
Visits of this thread: 1.
state {\"status\":\"done\",\"visits\":1}
"
    );
    let failed = talk(&served, &["--message", "fail"], "");
    assert_eq!(failed.code, 1);
    assert!(
        failed.text().ends_with("failed: the demo fails when it is asked to (demo_failed)\n"),
        "{}",
        failed.text()
    );
    // Lines of standard input are turns.
    let typed = talk(&served, &[], "hello\n\nthink\n");
    assert_eq!(typed.text().lines().count(), 4, "{}", typed.text());
}

#[test]
fn a_thread_goes_on_after_a_restart_and_forks() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut served = server(dir.path());
    assert_eq!(talk(&served, &["--thread", "t", "--message", "state"], "").code, 0);
    served.kill();
    let served = server(dir.path());
    let again = talk(&served, &["--thread", "t", "--message", "state"], "");
    assert!(again.text().contains("> state\nVisits of this thread: 1.\n"), "{}", again.text());
    assert!(again.text().contains("Visits of this thread: 2.\n"), "{}", again.text());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let runs = |count: usize| {
        let told = runtime.block_on(async { served.client.get("/v1/threads/t/runs").await.json().await });
        let runs = told["runs"].as_array().cloned().unwrap_or_default();
        assert_eq!(runs.len(), count, "{told}");
        runs
    };
    let first = runs(2)[0]["runId"].as_str().expect("an id").to_owned();
    // From the first run on, there was one visit.
    let fork = talk(&served, &["--thread", "t", "--parent", &first, "--message", "state"], "");
    assert!(
        fork.text().ends_with("Visits of this thread: 2.\nstate {\"status\":\"done\",\"visits\":2}\n"),
        "{}",
        fork.text()
    );
    assert_eq!(runs(3)[2]["parentRunId"].as_str(), Some(first.as_str()));
}

#[test]
fn questions_and_tools_are_answered_by_lines_or_from_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = server(dir.path());
    let asked = talk(&served, &[], "approve\nn\nask\nfine\n");
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    assert!(asked.text().contains("Denied: the letter stays here.\n"), "{}", asked.text());
    assert!(asked.text().ends_with("Your tool answered: fine\n"), "{}", asked.text());
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("text").to_owned()
    };
    let tools =
        file("tools.json", r#"[{"name":"look","description":"Looks.","parameters":{"type":"object"}}]"#);
    let answers = file(
        "answers.json",
        r#"{"tools":{"look":{"seen":1}},"interrupts":{"confirmation":{"approved":true}}}"#,
    );
    let from_file = ["--message", "approve", "--message", "ask", "--tools", &tools, "--answers", &answers];
    let ran = talk(&served, &from_file, "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.text().contains("Approved: the letter is sent.\n"), "{}", ran.text());
    assert!(ran.text().contains("look({\"question\":\"Shall we go on?\"})\n"), "{}", ran.text());
    assert!(ran.text().ends_with("Your tool answered: {\"seen\":1}\n"), "{}", ran.text());
    // Nobody answers.
    let ran = talk(&served, &["--message", "approve"], "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.text().ends_with("waits for an answer: May I send the letter? (y/n, empty gives up)\n"),
        "{}",
        ran.text()
    );
}

#[test]
fn programs_get_the_events() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = server(dir.path());
    let json = talk(&served, &["--message", "hello", "--format", "json"], "");
    let types: Vec<String> = json.text().lines().map(kind).collect();
    assert_eq!((types[0].as_str(), types.last().expect("an end").as_str()), ("RUN_STARTED", "RUN_FINISHED"));
    let protobuf = talk(&served, &["--message", "hello", "--format", "json", "--protobuf"], "");
    assert_eq!(protobuf.text().lines().map(kind).collect::<Vec<_>>(), types);
}

fn kind(line: &str) -> String {
    let event: Value = serde_json::from_str(line).expect("JSON");
    event["type"].as_str().expect("a type").to_owned()
}

#[test]
fn what_cannot_be_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = format!("http://{}", taken.local_addr().expect("an address"));
    drop(taken);
    let args: [(&[&str], i32, &str); 6] = [
        (&["run", "ftp://a", "--message", "x"], 2, "it must begin with http:// or https://"),
        (&["run", "x", "--header", "nothing"], 2, "a header is NAME: VALUE"),
        (&["run", "x", "--proxy", "socks5://a"], 2, "not the url of a proxy"),
        (&["run", "x", "--tools", "/nonexistent"], 3, "cannot read /nonexistent"),
        (&["replay", "nothing", "--store", "/nonexistent"], 3, "there is no store"),
        (&["replay", "-", "--speed", "0"], 2, "a speed is more than nothing"),
    ];
    for (args, code, said) in args {
        let ran = threadline(args, "");
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let served = server(dir.path());
    let none = threadline(&["run", "nobody", "--server", &url(&served), "--message", "x"], "");
    assert_eq!(none.code, 2, "{}", none.stderr);
    // Somebody who is not there is waited for, but not for ever: that takes half a minute and more, so that it is broken off here.
    let mut waits = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["run", &nobody, "--message", "x"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("threadline starts");
    let first = first_line(&mut waits);
    assert!(first.starts_with("connection lost: agent cannot be reached"), "{first}");
    waits.kill().expect("it can be ended");
    waits.wait().expect("it ends");
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    line
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_the_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = server(dir.path());
    let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["run", "demo", "--server", &url(&served), "--thread", "t", "--message", "slow"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("threadline starts");
    let mut out = child.stdout.take().expect("piped");
    let mut said = [0; 2];
    out.read_exact(&mut said).expect("the beginning of the answer");
    assert_eq!(&said, b"1 ");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    assert!(rest.ends_with("\ncancelling; Ctrl-C again leaves\ncancelled\n"), "{rest}");
    let shown = threadline(&["show", "t", "--server", &url(&served)], "");
    assert!(shown.text().contains("cancelled"), "{}", shown.text());
}

#[test]
fn a_terminal_sees_colours_and_no_commands_of_the_agent() {
    let Ok(version) = Command::new("script").arg("--version").output() else {
        return println!("skipped: no script");
    };
    assert!(version.status.success());
    let dir = tempfile::tempdir().expect("a directory");
    let events = dir.path().join("run.jsonl");
    let text = concat!(
        "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
        "{\"type\":\"REASONING_MESSAGE_CHUNK\",\"messageId\":\"h\",\"delta\":\"hm\"}\n",
        "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"m\",\"delta\":\"a\\u001b]0;owned\\u0007b\"}\n",
        "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
    );
    std::fs::write(&events, text).expect("a file");
    let command = format!("{} replay {} --interval 0", env!("CARGO_BIN_EXE_threadline"), events.display());
    let on_a_terminal = |no_color: &str| {
        let mut script = Command::new("script");
        let ran = run(script.args(["-qec", &command, "/dev/null"]).env("NO_COLOR", no_color), "");
        ran.text().to_owned()
    };
    assert_eq!(on_a_terminal(""), "\u{1b}[2mhm\u{1b}[0m\r\na\\u{1b}]0;owned\\u{7}b\r\n");
    assert_eq!(on_a_terminal("1"), "hm\r\na\\u{1b}]0;owned\\u{7}b\r\n");
}

#[test]
fn a_recording_is_played_for_a_front_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = server(dir.path());
    let recording = dir.path().join("run.sse");
    let recording = recording.to_str().expect("text");
    let recorded = talk(
        &served,
        &["--thread", "t", "--message", "hello", "--message", "think", "--record", recording],
        "",
    );
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    // The thread says the same as the recording.
    let of_file = threadline(&["replay", recording, "--interval", "0"], "");
    let of_thread = threadline(&["replay", "t", "--server", &url(&served), "--speed", "1000"], "");
    assert_eq!(of_file.code, 0, "{}", of_file.stderr);
    assert_eq!(of_file.text(), of_thread.text());
    // As people saw it, with the user's words, which the recording has.
    let shown = threadline(&["replay", recording, "--interval", "0", "--format", "text"], "");
    assert!(shown.text().starts_with("> hello\nHello! I am a demo"), "{}", shown.text());
    let mut playing = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["replay", recording, "--listen", "127.0.0.1:0", "--interval", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("threadline starts");
    let greeting = first_line(&mut playing);
    let address: SocketAddr = greeting
        .trim()
        .trim_start_matches("replaying on http://")
        .trim_end_matches('/')
        .parse()
        .expect("an address");
    let agent = format!("http://{address}/");
    let heard = threadline(&["run", &agent, "--message", "a", "--message", "b", "--message", "c"], "");
    assert_eq!(
        heard.text(),
        "Hello! I am a demo without a model. Say help.\nthreadline.demo.greeted {\"pieces\":8}\nThe user wants to see me think. I do not think, but I can say so.\nI have thought about it, and the answer is 42.\nHello! I am a demo without a model. Say help.\nthreadline.demo.greeted {\"pieces\":8}\n",
        "{}",
        heard.stderr
    );
    let asked = |origin: &str| {
        let mut tcp = TcpStream::connect(address).expect("a connection");
        let request =
            format!("OPTIONS / HTTP/1.1\r\nhost: x\r\norigin: {origin}\r\nconnection: close\r\n\r\n");
        tcp.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(
        asked("http://localhost:3000").contains("access-control-allow-origin: http://localhost:3000\r\n")
    );
    assert!(asked("https://evil.example").starts_with("HTTP/1.1 403"));
    playing.kill().expect("it can be ended");
    playing.wait().expect("it ends");
}
