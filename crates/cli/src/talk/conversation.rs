//! `threadline run`: turn by turn.

use super::answers::{Answers, call_prompt, interrupt_prompt, typed};
use super::args::{ReachArgs, RunArgs, TalkFormat};
use super::person::Person;
use super::recorder::Recorder;
use super::screen::Screen;
use super::view::{Out, View};
use crate::args::{ReportFormat, Reporting};
use crate::check::paint::Paint;
use crate::report::{Failure, Report, printable};
use crate::store::remote::{escaped, failure};
use http::{HeaderName, HeaderValue, header};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use threadline_client::{
    Ambient as _, Cancelled, Client, ClientOptions, Progress, Proxy, Run, System, Thread, ThreadError, Turn,
    has_expired,
};
use threadline_protocol::Json;
use threadline_protocol::json::JsonNonNull;
use threadline_protocol::run::Tool;
use threadline_protocol::stages::fold::RunStatus;

/// How the last run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Good,
    /// It failed, was cancelled, or waits for an answer.
    Bad,
    /// The person has left.
    Left,
}

pub(crate) fn run(args: &RunArgs) -> ExitCode {
    let reporting = Reporting { format: ReportFormat::Text, keep_going: false };
    match talk(args) {
        Ok(Standing::Good) => ExitCode::SUCCESS,
        Ok(Standing::Bad | Standing::Left) => ExitCode::from(1),
        Err(failure) => Report::new(String::new(), reporting, io::stderr().lock()).finish(Err(failure)),
    }
}

fn talk(args: &RunArgs) -> Result<Standing, Failure> {
    let client = client(&args.agent, &args.reaching)?;
    let (tools, answers) = (tools(args.tools.as_deref())?, Answers::read(args.answers.as_deref())?);
    let recorder = args.record.as_deref().map(Recorder::create).transpose()?;
    let out = match args.format {
        TalkFormat::Text => Out::Screen(Box::new(Screen::new(io::stdout(), Paint::of_stdout()))),
        TalkFormat::Json => View::lines(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Environment(error.to_string()))?;
    runtime.block_on(async {
        let id = args.thread.clone().unwrap_or_else(new_thread_id);
        let mut talk = Talk {
            thread: Thread::new(&client, id),
            view: View::new(out, recorder),
            person: Person::new(),
            asks: args.messages.is_empty(),
            tools,
            answers,
        };
        talk.asks |= talk.person.is_at_a_terminal;
        talk.all(args).await
    })
}

fn new_thread_id() -> String {
    format!("thread-{:016x}", System.random())
}

/// The client for an agent's URL or name.
pub(crate) fn client(agent: &str, reaching: &ReachArgs) -> Result<Client, Failure> {
    let url = match agent.contains("://") {
        true => agent.to_owned(),
        false => format!("{}/agents/{}", reaching.server.trim_end_matches('/'), escaped(agent)),
    };
    let usage = |text: String| Failure::Usage(text);
    let mut options = ClientOptions::default();
    let headers = &mut options.endpoint.headers;
    for given in &reaching.headers {
        let (name, value) =
            given.split_once(':').ok_or_else(|| usage(format!("a header is NAME: VALUE. given={given}")))?;
        let name = HeaderName::try_from(name.trim()).map_err(|error| usage(format!("{given}: {error}")))?;
        let value =
            HeaderValue::try_from(value.trim()).map_err(|error| usage(format!("{given}: {error}")))?;
        headers.append(name, value);
    }
    if let Some(token) = &reaching.token {
        let bearer = HeaderValue::try_from(format!("Bearer {token}"));
        headers
            .insert(header::AUTHORIZATION, bearer.map_err(|_other| usage("the token is none".to_owned()))?);
    }
    options.endpoint.accept_protobuf = reaching.protobuf;
    let wrong = |error: threadline_client::EndpointError| Failure::Usage(error.to_string());
    options.endpoint.proxy = reaching.proxy.as_deref().map(Proxy::new).transpose().map_err(wrong)?;
    Client::new(&url, options).map_err(wrong)
}

fn tools(path: Option<&Path>) -> Result<Vec<Tool<'static>>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, error))?;
    let tools: Vec<Box<serde_json::value::RawValue>> =
        serde_json::from_str(&text).map_err(|error| Failure::invalid(path, &error))?;
    let read = |tool: &serde_json::value::RawValue| {
        let (tool, _departures) =
            Tool::read_json(tool.get()).map_err(|error| Failure::invalid(path, &error))?;
        Ok(tool.into_owned())
    };
    tools.iter().map(|tool| read(tool)).collect()
}

/// A thread that is talked in.
struct Talk {
    thread: Thread,
    view: View,
    person: Person,
    /// Whether somebody can be asked.
    asks: bool,
    tools: Vec<Tool<'static>>,
    answers: Answers,
}

impl Talk {
    async fn all(&mut self, args: &RunArgs) -> Result<Standing, Failure> {
        let mut standing = Standing::Good;
        match &args.thread {
            Some(_) => standing = self.join(args.parent.as_deref()).await?,
            None => self.greet(),
        }
        let mut parent = args.parent.as_deref();
        for message in &args.messages {
            if standing == Standing::Left {
                return Ok(standing);
            }
            standing = self.turn(first(Turn::say(message.clone()), parent.take())).await?;
        }
        while args.messages.is_empty() && standing != Standing::Left {
            let Some(line) = self.person.line("").await else { break };
            if !line.trim().is_empty() {
                standing = self.turn(first(Turn::say(line), parent.take())).await?;
            }
        }
        Ok(standing)
    }

    /// Says how to come back.
    fn greet(&mut self) {
        if self.person.is_at_a_terminal {
            // Who does not see it can look for it.
            _ = writeln!(io::stderr().lock(), "thread {}", printable(self.thread.id()));
        }
    }

    /// Takes up a thread where it is.
    async fn join(&mut self, parent: Option<&str>) -> Result<Standing, Failure> {
        self.view.begin_with_snapshots();
        let run = self.thread.connect(parent);
        match follow(run, &mut self.view, &mut self.person).await {
            Ok(standing) => {
                self.view.end()?;
                self.answer(standing).await
            }
            // A server that keeps no threads is told everything anew.
            Err(Ended::Wrong(ThreadError::NotResumable { .. })) if parent.is_none() => Ok(Standing::Good),
            Err(ended) => self.failed(ended),
        }
    }

    /// A turn, and the answers to whatever it asks.
    async fn turn(&mut self, turn: Turn) -> Result<Standing, Failure> {
        let standing = self.run(turn).await?;
        self.answer(standing).await
    }

    async fn run(&mut self, turn: Turn) -> Result<Standing, Failure> {
        let turn = turn.with_tools(self.tools.clone());
        let run = match self.thread.run(turn) {
            Ok(run) => run,
            Err(error) => {
                self.view.tell(&printable(&error.to_string()));
                return Ok(Standing::Bad);
            }
        };
        self.view.begin(run.held());
        match follow(run, &mut self.view, &mut self.person).await {
            Ok(standing) => {
                self.view.end()?;
                Ok(standing)
            }
            Err(ended) => self.failed(ended),
        }
    }

    fn failed(&mut self, ended: Ended) -> Result<Standing, Failure> {
        self.view.end()?;
        match ended {
            Ended::Left => Ok(Standing::Left),
            Ended::Wrong(error) => match error.client_error() {
                Some(source) if matches!(error, ThreadError::Failed { .. }) => Err(failure(source)),
                Some(_) => Err(Failure::Environment(error.to_string())),
                None => {
                    self.view.tell(&printable(&error.to_string()));
                    Ok(Standing::Bad)
                }
            },
        }
    }

    /// Answers what the last run waits for, as long as it does.
    async fn answer(&mut self, mut standing: Standing) -> Result<Standing, Failure> {
        while standing != Standing::Left {
            let turn = if self.thread.held().interrupts().is_empty() {
                if standing == Standing::Bad {
                    return Ok(standing);
                }
                self.results().await
            } else {
                self.resumption().await
            };
            match turn {
                Asked::Nothing => return Ok(standing),
                Asked::InVain => return Ok(Standing::Bad),
                Asked::Turn(turn) => standing = self.run(*turn).await?,
            }
        }
        Ok(standing)
    }

    /// Results for the calls that wait for one.
    async fn results(&mut self) -> Asked {
        let held = self.thread.held();
        let calls: Vec<_> =
            held.pending_tool_calls().iter().filter_map(|id| held.tool_call(id)).cloned().collect();
        if calls.is_empty() {
            return Asked::Nothing;
        }
        let mut turn = Turn::new();
        for call in calls {
            let result = match self.answers.result(&call) {
                Some(result) => Some(result),
                None if self.asks => self.person.line(&call_prompt(&call)).await,
                None => None,
            };
            let Some(result) = result else {
                self.view.tell(&format!("no result for {}", super::screen::call_line(&call)));
                return Asked::InVain;
            };
            turn = turn.with_result(call.id.clone(), result);
        }
        Asked::Turn(Box::new(turn))
    }

    /// Answers to the questions that wait for one.
    async fn resumption(&mut self) -> Asked {
        let mut turn = Turn::new();
        for interrupt in self.thread.held().interrupts().to_vec() {
            if has_expired(&interrupt, System.now_ms()) {
                self.view.tell("the time for an answer is over");
                turn = turn.without_answer(interrupt.id);
                continue;
            }
            let answer = match self.answers.answer(&interrupt) {
                Some(answer) => Some(answer.clone()).filter(|answer| !answer.is_null()),
                None if self.asks => match self.person.line(&interrupt_prompt(&interrupt)).await {
                    Some(text) => typed(&interrupt, &text),
                    None => return Asked::InVain,
                },
                None => {
                    self.view
                        .tell(&format!("waits for an answer: {}", interrupt_prompt(&interrupt).trim_end()));
                    return Asked::InVain;
                }
            };
            let answer = answer.map(Json::from).and_then(|answer| JsonNonNull::try_from(answer).ok());
            turn = match answer {
                Some(answer) => turn.with_answer(interrupt.id, answer),
                None => turn.without_answer(interrupt.id),
            };
        }
        Asked::Turn(Box::new(turn))
    }
}

fn first(turn: Turn, parent: Option<&str>) -> Turn {
    match parent {
        Some(parent) => turn.with_parent(parent),
        None => turn,
    }
}

/// What came of asking.
enum Asked {
    /// There was nothing to ask.
    Nothing,
    /// There was no answer.
    InVain,
    Turn(Box<Turn>),
}

/// Why a run was not read to its end.
enum Ended {
    Left,
    Wrong(ThreadError),
}

/// Reads a run to its end. Ctrl-C cancels it, a second one leaves.
async fn follow(mut run: Run<'_>, view: &mut View, person: &mut Person) -> Result<Standing, Ended> {
    let mut is_cancelled = false;
    loop {
        tokio::select! {
            progress = run.advance(view) => match progress.map_err(Ended::Wrong)? {
                Progress::Going => {}
                Progress::Over(end) => {
                    if end.status == RunStatus::Cancelled || is_cancelled {
                        view.tell("cancelled");
                    }
                    let is_good = end.status == RunStatus::Success && !is_cancelled;
                    return Ok(if is_good { Standing::Good } else { Standing::Bad });
                }
            },
            () = person.stop() => {
                if std::mem::replace(&mut is_cancelled, true) {
                    return Err(Ended::Left);
                }
                view.tell("cancelling; Ctrl-C again leaves");
                tokio::select! {
                    cancelled = run.cancel() => match cancelled {
                        Ok(Cancelled::Told(_) | Cancelled::Closed) => {}
                        Err(error) => view.tell(&format!("cannot be cancelled: {}", printable(&error.to_string()))),
                    },
                    () = person.stop() => return Err(Ended::Left),
                }
            }
        }
    }
}
