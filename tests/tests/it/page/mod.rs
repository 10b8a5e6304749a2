//! The page of a replica that runs, asked as a browser without scripts asks it.

mod browser;
mod changes;
mod check;
mod chromium;
mod deaths;
mod destinations;
mod destinations_page;
mod figures;
mod finding;
mod jobs;
mod keyboard;
mod links;
mod lists;
mod recurring;
mod removals;
mod sessions;
mod wake;

use outbox_tests::eventually;
use parking_lot::Mutex;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, RequestBuilder};

use crate::outboxes::Outbox;
use crate::program::{HTTP, PATIENCE, Program, Replica};
use crate::sink::Sink;

const OPERATES: &str = "s3cret-operate";
const RETRIES: &str = "s3cret-retry";
const READS: &str = "s3cret-read";
const TOKENS: &str = "token = \"s3cret-operate\"\nretry_token = \"s3cret-retry\"\nread_token = \"s3cret-read\"\n";

/// A replica at work.
struct Stage {
    program: Program,
    _replica: Replica,
    url: String,
    sink: Sink,
}

impl Stage {
    /// `admin` is more of its section.
    async fn begin(outbox: &Outbox, admin: &str) -> Self {
        let sink = Sink::start().await;
        // `[admin]` is the section that the settings begin with.
        let halting = "[channels.orders]\nkind = \"http\"\non_dead_ordered = \"halt\"\n";
        let program = Program::new(&outbox.test.url, &format!("{admin}{halting}{HTTP}"));
        let mut replica = program.start();
        let url = replica.listener().await;
        Self { program, _replica: replica, url, sink }
    }

    /// Enqueues a message to this path of the sink, and gives its id.
    async fn message(&self, outbox: &Outbox, path: &str, more: &[&str]) -> i64 {
        let target = self.sink.url(path);
        let message = ["enqueue", "--channel", "http", "--target", &target, "--payload", "{\"order\": 17}"];
        self.program.run(&[&message, more].concat()).await.done();
        outbox.number("SELECT max(id) FROM outbox").await
    }

    /// Waits until so many are dead.
    async fn dead(&self, outbox: &Outbox, number: i64) {
        let count = "SELECT count(*) FROM outbox WHERE status = 'DEAD'";
        eventually("they are dead", PATIENCE, async || (outbox.number(count).await == number).then_some(())).await;
    }

    /// Somebody who has signed in with a token.
    async fn person(&self, token: &str) -> Person {
        let person = Person::at(&self.url);
        let signed_in = person.send("/sign-in", "/sign-in", &[("token", token), ("name", "ada")]).await;
        assert_eq!((signed_in.status, signed_in.location.as_str()), (303, "/"), "{}", signed_in.text);
        person
    }
}

/// The link on a page that is shown before it has found what it searches for.
const LOOK_AGAIN: &str = "Look again";

/// Somebody at a browser, which keeps cookies.
struct Person {
    client: reqwest::Client,
    url: String,
    cookie: Mutex<String>,
    /// The headers that a proxy adds.
    added: Vec<(&'static str, &'static str)>,
}

/// What a browser got.
#[derive(Debug)]
struct Shown {
    status: u16,
    location: String,
    headers: reqwest::header::HeaderMap,
    text: String,
}

impl Person {
    fn at(url: &str) -> Self {
        outbox_adapters::ensure_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { client, url: url.to_owned(), cookie: Mutex::default(), added: Vec::new() }
    }

    /// The same person with the same cookies, at another address.
    fn moved(&self, url: &str) -> Self {
        Self { cookie: Mutex::new(self.cookie.lock().clone()), ..Self::at(url) }
    }

    async fn ask(&self, request: impl FnOnce(&reqwest::Client, &str) -> RequestBuilder) -> Shown {
        let cookie = self.cookie.lock().clone();
        let request = request(&self.client, &self.url).header(COOKIE, cookie);
        let request = self.added.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = request.send().await.unwrap();
        if let Some(set) = answer.headers().get(SET_COOKIE) {
            set.to_str().unwrap().split(';').next().unwrap().clone_into(&mut self.cookie.lock());
        }
        let location = answer.headers().get(LOCATION).map_or("", |to| to.to_str().unwrap()).to_owned();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Shown { status, location, headers, text: answer.text().await.unwrap() }
    }

    /// What a browser gets at once, though a search may go on.
    async fn glance(&self, path: &str) -> Shown {
        self.ask(|client, url| client.get(format!("{url}{path}"))).await
    }

    /// What is there once nothing is searched for any more.
    async fn look(&self, path: &str) -> Shown {
        let searched = async || Some(self.glance(path).await).filter(|shown| !shown.text.contains(LOOK_AGAIN));
        eventually(&format!("{path} has found what it searches for"), PATIENCE, searched).await
    }

    /// The page, which must be there.
    async fn page(&self, path: &str) -> String {
        let shown = self.look(path).await;
        assert_eq!(shown.status, 200, "{path}: {}", shown.text);
        shown.text
    }

    /// Sends a form with these fields, and no token but one in them.
    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let form = "application/x-www-form-urlencoded";
        self.ask(|client, url| {
            client.request(Method::POST, format!("{url}{path}")).header("content-type", form).body(body)
        })
        .await
    }

    /// Sends a form as the page `on` has it, with its token.
    async fn send(&self, on: &str, path: &str, fields: &[(&str, &str)]) -> Shown {
        let page = self.page(on).await;
        let token = between(&page, "name=\"form\" value=\"", "\"");
        self.post(path, &[&[("form", token)], fields].concat()).await
    }
}

/// What stands between two texts, where they are first found.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("{before} is not in {text}")).1;
    rest.split_once(after).unwrap().0
}

/// The words of a page, without its tags.
pub(crate) fn words(page: &str) -> String {
    let mut words = String::new();
    for part in page.split('<').skip(1) {
        words.push_str(part.split_once('>').map_or("", |(_, text)| text));
    }
    words
}
