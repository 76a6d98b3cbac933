//! Examples for every command. A test tries whether they can be said.

macro_rules! examples {
    ($( $name:ident = $( $line:literal )*; )*) => {
        $( pub(crate) const $name: &str = concat!("Examples:", $( "\n  ", $line, )*); )*
    };
}

examples! {
    SERVE = "threadline serve"
        "threadline serve --agent chat=http://127.0.0.1:9000/ --store data"
        "threadline serve --listen 0.0.0.0:8000 --tokens tokens.jsonl"
        "threadline serve --store 'postgres://threadline@db.example/threadline?sslmode=verify-full'"
        "threadline serve --config threadline.toml --check";
    CONVERT = "threadline convert --to jsonl recording.sse > events.jsonl"
        "threadline convert --to proto events.jsonl > events.bin"
        "curl -sN localhost:8000/agui -d @input.json -H 'content-type: application/json' | threadline convert --to jsonl";
    TRANSLATE = "threadline translate old.jsonl > new.jsonl"
        "threadline translate old.jsonl | threadline enforce";
    ENFORCE = "threadline enforce recording.sse"
        "threadline enforce --unknown-words strip --format json events.jsonl";
    EXPAND = "threadline expand chunks.jsonl"
        "threadline expand chunks.jsonl | threadline check";
    COMPACT = "threadline compact events.jsonl > shorter.jsonl"
        "threadline compact --form snapshot --base-state state.json events.jsonl";
    REPAIR = "threadline repair broken.jsonl > legal.jsonl"
        "threadline repair --keep-going broken.sse | threadline fold";
    NORMALISE = "threadline normalise thread.jsonl > smaller.jsonl";
    FOLD = "threadline fold recording.sse"
        "threadline fold --input input.json events.jsonl"
        "threadline fold --peer-version 0.0.57 old.jsonl";
    CHECK = "threadline check recording.sse"
        "threadline check --format sarif recording.sse > findings.sarif"
        "threadline check http://127.0.0.1:9000/agent"
        "threadline check http://127.0.0.1:9000/agent --plan"
        "threadline check https://agents.example/chat --yes --header 'Authorization: Bearer TOKEN' --format markdown > drift.md"
        "threadline check http://127.0.0.1:9000/agent --say 'please fail' --say 'use your tools'";
    BENCH = "threadline bench http://127.0.0.1:8000/agui"
        "threadline bench http://127.0.0.1:8000/agents/demo --runs 1000 --concurrency 32 --message hello"
        "threadline bench http://127.0.0.1:8000/agui --runs 10 --followers 100 --message slow --format json";
    THREADS = "threadline threads"
        "threadline threads --query 'weather paris' --limit 10"
        "threadline threads --server http://localhost:8000 --format json";
    SHOW = "threadline show my-thread"
        "threadline show my-thread --at 17 --records"
        "threadline show my-thread --run my-run --format json";
    EXPORT = "threadline export my-thread > my-thread.jsonl"
        "threadline export my-thread --form compact"
        "threadline export --all --server http://localhost:8000 | threadline import --store copy";
    IMPORT = "threadline import my-thread.jsonl"
        "threadline import recording.sse --thread recorded";
    CLONE = "threadline clone my-thread my-copy"
        "threadline clone my-thread before-the-mistake --at 17";
    DELETE = "threadline delete my-thread"
        "threadline delete my-thread --server http://localhost:8000 --yes";
    MIGRATE = "threadline migrate --from threadline-data --to postgres://threadline@db.example/threadline"
        "PGPASSWORD=secret threadline migrate --from 'postgres://threadline@db.example/threadline?sslmode=verify-full' --to copy";
    DOCTOR = "threadline doctor"
        "threadline doctor --store postgres://threadline@db.example/threadline"
        "threadline doctor --store data --repair"
        "threadline doctor --rebuild --format json";
    EVIDENCE_DERIVE = "threadline evidence derive --thread my-thread --run my-run --statement statement.json > artifact.json"
        "threadline evidence derive recording.sse --started-at 2026-04-14T19:00:00Z > artifact.json"
        "threadline evidence derive --server http://localhost:8000 --thread my-thread --run my-run --format json";
    EVIDENCE_CHECK = "threadline evidence check artifact.json"
        "threadline evidence check --format json artifact.json";
    EVIDENCE_SIGN = "threadline evidence sign artifact.json --statement statement.json --key key.pem > envelope.json";
    EVIDENCE_VERIFY = "threadline evidence verify artifact.json --envelope envelope.json --key public.pem --thread my-thread --run my-run"
        "threadline evidence verify artifact.json --envelope envelope.json --key public.pem --raw recording.sse"
        "threadline evidence verify artifact.json --envelope envelope.json --key public.pem --require signature,subject";
    EVIDENCE_DIFF = "threadline evidence diff artifact.json other.json";
    EVIDENCE_HEAD = "threadline evidence head my-thread > pinned.json"
        "threadline evidence head my-thread --pinned pinned.json";
    EVIDENCE_KEYGEN = "threadline evidence keygen key.pem --public public.pem";
    TOKEN_CREATE = "threadline token create --user ann --permission run"
        "threadline token create --app shop --permission admin --expires 24h --note 'nightly export'";
    TOKEN_LIST = "threadline token list"
        "threadline token list --tokens other.jsonl";
    TOKEN_REVOKE = "threadline token revoke 1f6b0c5e2d9a";
    COMPLETIONS = "threadline completions bash > /etc/bash_completion.d/threadline"
        "threadline completions zsh > ~/.zfunc/_threadline"
        "threadline completions fish > ~/.config/fish/completions/threadline.fish";
    MAN = "threadline man /usr/local/share/man/man1";
}

#[cfg(test)]
mod tests {
    use crate::args::Args;
    use clap::{Command, CommandFactory, Parser};

    /// The words of a line as a shell has them, up to what is for the shell.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for letter in line.chars() {
            let is_quote = matches!(letter, '\'' | '"');
            if quote == Some(letter) {
                quote = None;
            } else if quote.is_none() && is_quote {
                quote = Some(letter);
                word.get_or_insert_default();
            } else if quote.is_none() && letter == ' ' {
                words.extend(word.take());
            } else {
                word.get_or_insert_default().push(letter);
            }
        }
        assert_eq!(quote, None, "{line}");
        words.extend(word);
        let end =
            words.iter().position(|word| matches!(word.as_str(), ">" | "<" | "#")).unwrap_or(words.len());
        words.truncate(end);
        words
    }

    /// Each `threadline ...` among the examples.
    fn said(help: &str) -> Vec<Vec<String>> {
        let (_, examples) = help.split_once("Examples:\n").expect("examples");
        let lines = examples.lines().map_while(|line| line.strip_prefix("  "));
        let commands = lines.flat_map(|line| line.split(" | ").flat_map(|part| part.split(" && ")));
        let ours = commands.map(words).filter(|words| words.first().is_some_and(|word| word == "threadline"));
        ours.collect()
    }

    fn walk(command: &Command, path: &[String], commands: &mut usize) {
        *commands += 1;
        let help = command.get_after_long_help().map(ToString::to_string);
        let help = help.filter(|help| help.contains("Examples:\n"));
        let help = help.unwrap_or_else(|| panic!("no examples: {}", path.join(" ")));
        let examples = said(&help);
        let starts = |words: &Vec<String>| words.starts_with(path);
        assert!(examples.iter().any(starts), "no example of {} itself: {help}", path.join(" "));
        for words in examples {
            if let Err(error) = Args::try_parse_from(&words) {
                panic!("{}: {error}", words.join(" "));
            }
        }
        for sub in command.get_subcommands() {
            walk(sub, &[path, &[sub.get_name().to_owned()]].concat(), commands);
        }
    }

    #[test]
    fn every_command_has_examples_that_can_be_said() {
        let mut commands = 0;
        walk(&Args::command(), &["threadline".to_owned()], &mut commands);
        assert!(commands > 20, "{commands}");
    }

    #[test]
    fn the_definitions_hold_together() {
        Args::command().debug_assert();
    }
}
