//! `threadline completions` and `threadline man`

use crate::threadline;
use tempfile::tempdir;

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = threadline(&["completions", shell], "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for word in ["normalise", "completions", "--header"] {
            // Fish writes long options without their dashes.
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(ran.text().contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(threadline(&["completions", "dos"], "").code, 2);
}

#[test]
fn every_command_has_a_page() {
    let dir = tempdir().expect("a directory");
    let pages = dir.path().join("share/man1");
    let ran = threadline(&["man", pages.to_str().expect("text")], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap_or_else(|_| panic!("no {name}"));
    for name in ["threadline.1", "threadline-check.1", "threadline-token-create.1", "threadline-man.1"] {
        assert!(page(name).contains(".TH"), "{name}");
    }
    // What --help has, examples included.
    assert!(page("threadline-check.1").contains("Examples:"));
    assert!(page("threadline-bench.1").contains("followers"));
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("a file");
    assert_eq!(threadline(&["man", file.to_str().expect("text")], "").code, 3);
}
