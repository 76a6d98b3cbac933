use super::{Postgres, in_new_schema, is_alive};
use std::io::{Read, Write};
use std::net::TcpStream;

/// What a server says to a query over a connection of its own.
fn ask(postgres: &Postgres, query: &str) -> String {
    let mut tcp = TcpStream::connect(postgres.address()).expect("a server");
    let mut startup = 196_608_u32.to_be_bytes().to_vec();
    startup.extend(b"user\0postgres\0\0");
    let mut message = u32::try_from(startup.len() + 4).expect("short").to_be_bytes().to_vec();
    message.extend(startup);
    let mut packet = |tag: u8, body: &str| {
        message.push(tag);
        message.extend(u32::try_from(body.len() + 5).expect("short").to_be_bytes());
        message.extend(body.as_bytes());
        message.push(0);
    };
    packet(b'Q', query);
    message.extend(b"X\0\0\0\x04");
    tcp.write_all(&message).expect("a server that reads");
    let mut said = Vec::new();
    tcp.read_to_end(&mut said).expect("an answer");
    String::from_utf8_lossy(&said).into_owned()
}

/// What a setting is. An answer begins with what the server says of itself, where some words are found whatever it is set to.
fn setting(postgres: &Postgres, name: &str) -> String {
    let said = ask(postgres, &format!("select 'it is set to ' || current_setting('{name}') || '.'"));
    let (_, value) = said.split_once("it is set to ").expect("a value");
    value.split_once('.').expect("a value that ends").0.to_owned()
}

#[test]
fn what_is_committed_survives_a_stop_and_a_kill() {
    let mut postgres = Postgres::start();
    let url = postgres.url();
    assert!(ask(&postgres, "create table t as select 'stopped' as word").contains("SELECT 1"));
    postgres.stop();
    TcpStream::connect(postgres.address()).expect_err("nobody listens");
    postgres.restart();
    assert_eq!(postgres.url(), url);
    assert!(ask(&postgres, "insert into t values ('killed')").contains("INSERT 0 1"));
    postgres.kill();
    TcpStream::connect(postgres.address()).expect_err("nobody listens");
    postgres.restart();
    let said = ask(&postgres, "select word from t");
    assert!(said.contains("stopped") && said.contains("killed"), "{said}");
    assert_eq!(
        ["fsync", "full_page_writes", "synchronous_commit"].map(|name| setting(&postgres, name)),
        ["on"; 3]
    );
    let (folder, server) =
        (postgres.folder.path().to_owned(), postgres.running.as_ref().expect("running").server);
    drop(postgres);
    assert!(!folder.exists() && !is_alive(server));
}

#[test]
fn every_test_has_a_schema_of_its_own() {
    let [one, other] = [(); 2].map(|()| in_new_schema("postgres://host/database"));
    assert!(one.starts_with("postgres://host/database?schema=t_"), "{one}");
    assert_ne!(one, other);
}
