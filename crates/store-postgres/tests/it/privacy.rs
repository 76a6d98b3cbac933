//! TLS to the database.

use std::path::PathBuf;
use threadline_store_postgres::{OpenError, PostgresOptions, PostgresStore};
use threadline_testkit::postgres::Postgres;
use tokio_postgres::NoTls;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls").join(name)
}

/// Lets a server prove who it is.
async fn certify(postgres: &Postgres) {
    let (client, connection) = tokio_postgres::connect(&postgres.url(), NoTls).await.expect("a connection");
    tokio::spawn(connection);
    for name in ["server.key", "server.pem"] {
        let text = std::fs::read_to_string(file(name)).expect("a file").replace('\n', "\\n");
        // The server reads no key that others may read, and wants to be listened to.
        let put =
            format!("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; umask 077; printf %b \"{text}\" > {name}'");
        client.batch_execute(&put).await.expect("the server writes a file");
    }
    for setting in ["ssl_key_file = 'server.key'", "ssl_cert_file = 'server.pem'", "ssl = on"] {
        client.batch_execute(&format!("ALTER SYSTEM SET {setting}")).await.expect("a setting");
    }
    client.batch_execute("SELECT pg_reload_conf()").await.expect("settings are read anew");
}

async fn open(postgres: &Postgres, host: &str, parameters: &str) -> Result<PostgresStore, OpenError> {
    let port = postgres.address().port();
    let url = format!("postgres://postgres@{host}:{port}/postgres?schema=private&{parameters}");
    PostgresStore::open(&PostgresOptions::new(&url).expect("a URL")).await
}

#[tokio::test]
async fn a_connection_is_as_private_as_it_is_asked_to_be() {
    let postgres = Postgres::start();
    let without = open(&postgres, "127.0.0.1", "sslmode=require").await;
    assert!(without.is_err(), "there is no TLS yet");
    open(&postgres, "127.0.0.1", "sslmode=prefer").await.expect("it need not be there");
    certify(&postgres).await;
    // New settings are there a moment after they were read.
    while open(&postgres, "127.0.0.1", "sslmode=require").await.is_err() {}
    let root = |name: &str| format!("sslmode=verify-full&sslrootcert={}", file(name).display());
    for host in ["127.0.0.1", "localhost"] {
        open(&postgres, host, &root("ca.pem")).await.expect("it is who it says it is");
    }
    let other = open(&postgres, "127.0.0.1", &root("other-ca.pem")).await.expect_err("nobody vouches for it");
    assert!(other.to_string().contains("certificate"), "{other}");
    // The same server, asked for by another name.
    let elsewhere = format!("{}&hostaddr=127.0.0.1", root("ca.pem"));
    let named = open(&postgres, "elsewhere.example", &elsewhere).await.expect_err("it is somebody else");
    assert!(named.to_string().contains("not valid for name"), "{named}");
    let missing = open(&postgres, "127.0.0.1", &root("missing.pem")).await.expect_err("no certificates");
    assert!(matches!(missing, OpenError::Certificates(_)), "{missing}");
}
