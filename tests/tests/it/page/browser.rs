//! A person at Chromium, by `WebDriver`: <https://www.w3.org/TR/webdriver2/>.

use std::path::PathBuf;
use std::process::Stdio;

use outbox_tests::eventually;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::LOOK_AGAIN;
use crate::program::PATIENCE;

/// The name of an element in answers.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Where pictures of pages go.
const PICTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/screenshots");

/// Where the pictures of docs/page.md are.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/page");

/// The pictures that docs/page.md shows, by the names under which they are taken, and their heights.
const OF_THE_DOCUMENT: [(&str, &str, u32); 4] = [
    ("overview-light-wide", "overview-light.png", 1_530),
    ("overview-dark-wide", "overview-dark.png", 1_530),
    ("dead-letters-light-wide", "dead-letters-light.png", 1_110),
    ("dead-letters-dark-wide", "dead-letters-dark.png", 1_110),
];

/// The width of the pictures in docs/page.md, and the height of the window.
const WIDTH: u32 = 1_280;
const HEIGHT: u32 = 900;

/// The most of a page that a picture shows.
const TALLEST: u32 = 4_000;

/// A key that is pressed: <https://www.w3.org/TR/webdriver2/#keyboard-actions>.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Tab,
    Enter,
    Delete,
}

impl Key {
    fn code(self) -> char {
        match self {
            Self::Tab => '\u{e004}',
            Self::Enter => '\u{e007}',
            Self::Delete => '\u{e017}',
        }
    }
}

/// A browser with one window. It ends with the test.
pub(super) struct Browser {
    client: reqwest::Client,
    session: String,
    _driver: Child,
    profile: TempDir,
}

impl Browser {
    /// A browser that runs scripts, or none.
    pub(super) async fn start(runs_scripts: bool) -> Self {
        outbox_adapters::ensure_crypto_provider();
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        // A driver that is killed leaves its browser: one group of processes ends as a whole.
        let mut driver = driver.spawn().expect("tests/install installs chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next_line().await.unwrap().expect("chromedriver says its port");
            if let Some((_, port)) = line.rsplit_once("started successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut browser =
            Self { client, session: format!("http://127.0.0.1:{port}/session"), _driver: driver, profile };
        let folder = format!("--user-data-dir={}", browser.profile.path().display());
        let mut options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--hide-scrollbars", folder],
        });
        if !runs_scripts {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "SEVERE" },
            } } });
        let session = browser.ask(Method::POST, "", Some(wanted)).await.unwrap();
        browser.session = format!("{}/{}", browser.session, session["sessionId"].as_str().unwrap());
        browser
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Value> {
        let mut request = self.client.request(method, format!("{}{path}", self.session)).timeout(PATIENCE);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let is_done = answer.status().is_success();
        let mut answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let value = answer["value"].take();
        if is_done { Ok(value) } else { Err(value) }
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.ask(Method::POST, path, Some(body)).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(super) async fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    async fn found(&self, xpath: &str) -> Option<String> {
        let found = self.at(xpath).await;
        if found.is_none() {
            self.look_again().await;
        }
        found
    }

    async fn at(&self, xpath: &str) -> Option<String> {
        let by = json!({ "using": "xpath", "value": xpath });
        let found = self.ask(Method::POST, "/element", Some(by)).await.ok()?;
        Some(found[ELEMENT].as_str().unwrap().to_owned())
    }

    /// Clicks on what stands on a page that has not found yet what it searches for.
    async fn look_again(&self) {
        if let Some(element) = self.at(&format!("//main//a[.='{LOOK_AGAIN}']")).await {
            let _ = self.ask(Method::POST, &format!("/element/{element}/click"), Some(json!({}))).await;
        }
    }

    async fn element(&self, xpath: &str) -> String {
        eventually(&format!("{xpath} is there"), PATIENCE, async || self.found(xpath).await).await
    }

    /// Clicks on the link, the button or the summary with these words.
    pub(super) async fn click(&self, words: &str) {
        let of = |tag: &str| format!("//main//{tag}[contains(normalize-space(.), '{words}')]");
        self.click_at(&["a", "button", "summary"].map(of).join(" | ")).await;
    }

    /// Clicks on what is at this place. A page that is live may put another element there in that moment.
    pub(super) async fn click_at(&self, xpath: &str) {
        let click = async || {
            let element = self.found(xpath).await?;
            self.ask(Method::POST, &format!("/element/{element}/click"), Some(json!({}))).await.ok()
        };
        eventually(&format!("{xpath} is clicked"), PATIENCE, click).await;
    }

    /// Writes into the field of this name.
    pub(super) async fn write(&self, name: &str, text: &str) {
        let element = self.element(&format!("//main//*[@name='{name}' and not(@type='hidden')]")).await;
        self.post(&format!("/element/{element}/clear"), json!({})).await;
        self.post(&format!("/element/{element}/value"), json!({ "text": text })).await;
    }

    /// Presses a key, wherever the page has its focus.
    pub(super) async fn press(&self, key: Key) {
        self.types(&key.code().to_string()).await;
    }

    /// Types a text, wherever the page has its focus.
    pub(super) async fn types(&self, text: &str) {
        let each = |c: char| ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": c.to_string() }));
        let keys: Vec<_> = text.chars().flat_map(each).collect();
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": keys }] })).await;
    }

    /// The words that are seen on the page.
    pub(super) async fn words(&self) -> String {
        let read = async || {
            let element = self.found("//main").await?;
            let text = self.ask(Method::GET, &format!("/element/{element}/text"), None).await.ok()?;
            if text.as_str()?.contains(LOOK_AGAIN) {
                self.look_again().await;
                return None;
            }
            Some(text.as_str()?.to_owned())
        };
        eventually("the page is read", PATIENCE, read).await
    }

    /// Waits until the page says these words.
    pub(super) async fn says(&self, words: &str) -> String {
        let said = async || Some(self.words().await).filter(|all| all.contains(words));
        eventually(&format!("the page says {words}"), PATIENCE, said).await
    }

    /// Loads the page until it says these words.
    pub(super) async fn says_at_last(&self, words: &str) -> String {
        let said = async || {
            self.post("/refresh", json!({})).await;
            Some(self.words().await).filter(|all| all.contains(words))
        };
        eventually(&format!("the page says {words}"), PATIENCE, said).await
    }

    /// What a script of the test gives, which the policy of the page does not bind.
    pub(super) async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// The same of a script that calls back.
    pub(super) async fn run_to_its_end(&self, script: &str) -> Value {
        self.post("/execute/async", json!({ "script": script, "args": [] })).await
    }

    /// Sends a form that the page does not show, with the token of one that it does. Gives the status of the answer.
    pub(super) async fn sends(&self, path: &str, fields: &str) -> Value {
        let script = "const done = arguments[0], token = document.querySelector('[name=form]').value; \
                      const body = new URLSearchParams('FIELDS'); body.set('form', token); \
                      fetch('PATH', { method: 'POST', body }).then(answer => done(answer.status), error => done(String(error)))";
        self.run_to_its_end(&script.replace("FIELDS", fields).replace("PATH", path)).await
    }

    /// What is open, where a page has made the browser ask something.
    pub(super) async fn alert(&self) -> Option<Value> {
        self.ask(Method::GET, "/alert/text", None).await.ok()
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// Looks at the page in this scheme of colours, and so wide.
    pub(super) async fn look_in(&self, scheme: &str, width: u32) {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
        self.look_through(width, HEIGHT).await;
    }

    /// Moves the reader to this zone of time.
    pub(super) async fn live_in(&self, zone: &str) {
        self.devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })).await;
    }

    async fn look_through(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Takes a picture of the whole page, to look at. None is compared. With `OUTBOX_TEST_UPDATE=1` those that docs/page.md shows are
    /// written.
    pub(super) async fn picture(&self, name: &str) {
        let folder = PathBuf::from(PICTURES);
        std::fs::create_dir_all(&folder).unwrap();
        let (width, height) = self.size().await;
        self.look_through(width, height.clamp(HEIGHT, TALLEST)).await;
        std::fs::write(folder.join(format!("{name}.png")), self.taken().await).unwrap();
        self.look_through(width, HEIGHT).await;
        if std::env::var_os("OUTBOX_TEST_UPDATE").is_some()
            && let Some((_, shown, height)) = OF_THE_DOCUMENT.into_iter().find(|(taken, ..)| *taken == name)
        {
            self.look_through(WIDTH, height).await;
            std::fs::write(PathBuf::from(DOCUMENT).join(shown), self.taken().await).unwrap();
            self.look_through(WIDTH, HEIGHT).await;
        }
    }

    /// The width of the window, and the height of the page in it.
    async fn size(&self) -> (u32, u32) {
        let size = self.run("return [window.innerWidth, document.documentElement.scrollHeight]").await;
        let [width, height] = [0, 1].map(|side| size[side].as_u64().unwrap().try_into().unwrap());
        (width, height)
    }

    async fn taken(&self) -> Vec<u8> {
        let whole = json!({ "format": "png", "captureBeyondViewport": false });
        let picture = self.devtools("Page.captureScreenshot", whole).await;
        base64(picture["data"].as_str().unwrap())
    }

    /// The errors in the console since they were read last, as of a policy that a page breaks. An answer that is an error is none.
    pub(super) async fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" })).await;
        let said = log.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap().to_owned());
        said.filter(|said| !said.contains("the server responded with a status of")).collect()
    }

    /// Closes the browser. One that is left ends with its driver.
    pub(super) async fn close(self) {
        let _ = self.ask(Method::DELETE, "", None).await;
    }
}

/// The bytes of a text in base64.
fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.decode(text).unwrap()
}
