//! Makes the page with npm, if that is there, and embeds what comes of it.
//!
//! Nothing is written into the source tree but `node_modules`. With `THREADLINE_INSPECTOR=require` a page that cannot be made fails the
//! build; else the crate is built without it, and says so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// What the page is made of. Tests of it are not among that.
const SOURCES: &[&str] =
    &["web", "index.html", "vite.config.ts", "tsconfig.json", "package.json", "package-lock.json", ".npmrc"];

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where to write"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=THREADLINE_INSPECTOR");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let page = out.join("page");
    let made = match env::var("THREADLINE_INSPECTOR").as_deref() {
        Ok("off") => Err("THREADLINE_INSPECTOR is off".to_owned()),
        _ => make(&here, &page),
    };
    if let Err(why) = &made {
        assert!(
            env::var("THREADLINE_INSPECTOR").as_deref() != Ok("require"),
            "the inspector was not made: {why}"
        );
        println!("cargo::warning=built without the inspector: {why}");
    }
    let listed = match made {
        Ok(()) => listed(&page).expect("what was just written can be read"),
        Err(_) => "&[]".to_owned(),
    };
    fs::write(out.join("files.rs"), listed).expect("cargo's directory can be written");
}

/// Installs what the lock file names, unless that is there, and builds.
fn make(here: &Path, page: &Path) -> Result<(), String> {
    if !runs("npm", here) {
        return Err("npm was not found".to_owned());
    }
    // The stamp lies in the folder that it vouches for, and is written last.
    let stamp = here.join("node_modules/.build-stamp");
    let lock = read(&here.join("package-lock.json"))?;
    if fs::read(&stamp).ok().as_ref() != Some(&lock) {
        run(here, &["ci", "--loglevel=error"])?;
        fs::write(&stamp, &lock).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    }
    let page = page.to_str().ok_or_else(|| "the target directory is no text".to_owned())?;
    run(here, &["run", "--silent", "build", "--", "--outDir", page, "--emptyOutDir", "--logLevel", "error"])
}

fn runs(program: &str, here: &Path) -> bool {
    Command::new(program)
        .arg("--version")
        .current_dir(here)
        .output()
        .is_ok_and(|output| output.status.success())
}

fn run(here: &Path, args: &[&str]) -> Result<(), String> {
    let output = Command::new("npm").args(args).current_dir(here).output();
    let output = output.map_err(|error| format!("npm cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let first: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    Err(format!("npm {} failed: {}", args.join(" "), first.join("; ")))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// The files of the page as Rust: each with what it is compressed to, which the build has put beside it.
fn listed(page: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    let mut directories = vec![page.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if !path.extension().is_some_and(|ending| ending == "br" || ending == "gz") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut listed = "&[\n".to_owned();
    for file in files {
        let name = file.strip_prefix(page).expect("it was found there").to_string_lossy().replace('\\', "/");
        let bytes = |ending: &str| format!("include_bytes!({:?})", format!("{}{ending}", file.display()));
        let (plain, gzip, brotli) = (bytes(""), bytes(".gz"), bytes(".br"));
        let _ =
            writeln!(listed, "File {{ name: {name:?}, plain: {plain}, gzip: {gzip}, brotli: {brotli} }},");
    }
    Ok(listed + "]")
}
