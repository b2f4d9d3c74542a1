//! The page in a real browser: headless Chromium, driven over `WebDriver`. Skipped, loudly, where they are missing.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mxd::serve::http::{Scope, Timeouts};
use serde_json::{Value, json};

use super::Served;
use super::tokens::token;
use crate::cli_support::World;
use crate::engine_support::{call, play, root};

/// How long to wait for a browser. On a loaded machine, its start alone takes many seconds.
const BROWSER_PATIENCE: Duration = Duration::from_secs(180);

/// A browser with one window. Dropped, it is killed.
struct Browser {
    driver: Child,
    client: reqwest::Client,
    session: String,
}

impl Browser {
    /// Starts a browser, or returns `None` if there is none on this machine.
    async fn start(world: &World) -> Option<Self> {
        let mut command = world.command("chromedriver", &world.root());
        command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut driver) = command.spawn() else {
            eprintln!("SKIPPED: chromedriver is not installed (Debian: chromium-driver)");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take()?).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            Some(port.trim_end_matches('.').to_owned())
        });
        let address = "http://127.0.0.1".parse().unwrap();
        let client = mxd::net::client(&address, Duration::from_secs(5), |builder| builder).unwrap();
        let profile = world.folder("chromium");
        let arguments = json!([
            "--headless=new",
            // Containers forbid the browser's own sandbox.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            // Without a network, what the browser does for itself is refused and tried again.
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-quic",
            format!("--user-data-dir={}", profile.display()),
        ]);
        let options = json!({"args": arguments});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let mut browser = Self { driver, client, session: format!("http://127.0.0.1:{}", port?) };
        let Ok(session) = browser.ask("POST", "/session", &wanted).await else {
            eprintln!("SKIPPED: chromium is not installed or does not start");
            return None;
        };
        browser.session = format!("{}/session/{}", browser.session, session["sessionId"].as_str()?);
        Some(browser)
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let url = format!("{}{path}", self.session);
        let request = self.client.request(method.parse().unwrap(), url);
        let request = if method == "GET" { request } else { request.body(body.to_string()) };
        let answer = request.send().await.unwrap();
        let is_ok = answer.status().is_success();
        let value: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        if is_ok { Ok(value["value"].clone()) } else { Err(value["value"].clone()) }
    }

    async fn open(&self, url: &str) {
        self.ask("POST", "/url", &json!({"url": url})).await.unwrap();
    }

    /// Runs a script in the page and returns its value.
    async fn run(&self, script: &str) -> Value {
        self.ask("POST", "/execute/sync", &json!({"script": script, "args": []})).await.unwrap()
    }

    async fn element(&self, selector: &str) -> String {
        let wanted = json!({"using": "css selector", "value": selector});
        let found = self.ask("POST", "/element", &wanted).await.unwrap_or_else(|error| panic!("{selector}: {error}"));
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    /// Clicks as a user does: fails if something covers the element.
    async fn click(&self, selector: &str) {
        let deadline = Instant::now() + BROWSER_PATIENCE;
        loop {
            let element = self.element(selector).await;
            match self.ask("POST", &format!("/element/{element}/click"), &json!({})).await {
                Ok(_) => return,
                // The page has drawn another one in its place since it was found.
                Err(error) if error["error"] == "stale element reference" && Instant::now() < deadline => {}
                Err(error) => panic!("{selector}: {error}"),
            }
        }
    }

    async fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.ask("POST", &format!("/element/{element}/value"), &json!({"text": text})).await.unwrap();
    }

    /// Waits until an expression is true in the page.
    async fn until(&self, what: &str, expression: &str) {
        let deadline = Instant::now() + BROWSER_PATIENCE;
        while self.run(&format!("return Boolean({expression})")).await != true {
            assert!(Instant::now() < deadline, "in vain: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn devtools(&self, command: &str, parameters: Value) {
        self.ask("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters})).await.unwrap();
    }

    async fn size(&self, width: u32, height: u32, is_phone: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": if is_phone { 2 } else { 1 }, "mobile": is_phone});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    async fn scheme(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Takes a picture if the test is asked for pictures.
    async fn picture(&self, name: &str) {
        if std::env::var_os("MXD_UPDATE_PICTURES").is_none() {
            return;
        }
        let picture = self.ask("GET", "/screenshot", &json!({})).await.unwrap();
        let bytes = STANDARD.decode(picture.as_str().unwrap()).unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/screens");
        std::fs::write(format!("{folder}/page-{name}.png"), bytes).unwrap();
    }

    /// Returns what the browser complains about: broken rules of the policy, exceptions of the script.
    async fn complaints(&self) -> Vec<String> {
        let log = self.ask("POST", "/se/log", &json!({"type": "browser"})).await.unwrap();
        let entries = log.as_array().unwrap().iter().filter(|entry| entry["level"] == "SEVERE");
        entries.map(|entry| entry["message"].to_string()).filter(|text| !text.contains("401")).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser only if it is asked to.
        let address = self.session.trim_start_matches("http://");
        if let Some((address, path)) = address.split_once('/')
            && let Ok(address) = address.parse()
        {
            let request = format!("DELETE /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
            end_session(address, request.as_bytes());
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Waits for the beginning of the answer: the driver keeps the connection open.
fn end_session(address: SocketAddr, request: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let _ = stream.set_read_timeout(Some(BROWSER_PATIENCE));
    let _ = stream.write_all(request);
    let _ = stream.read(&mut [0; 512]);
}

/// A reply that streams for a while.
const STORY: &str = "I split this into two tasks:\n\n- **CSV importer** reads files into sheets\n- **Release notes** \
                     follow at the end\n\n```rust\npub fn read(text: &str) -> Sheet {\n    Reader::new(text).sheet()\n}\n```\n\nThe \
                     importer works in its own worktree. It will ask about dates before it starts.";

/// Records the lengths of the streamed text as long as the reply is not stored. The page records them itself, because this
/// test may look too late.
const RECORD_STREAMED_TEXT: &str = "window.streamed = []; const live = document.querySelector('#live'); \
                                    new MutationObserver(() => { if (!document.querySelector('#transcript .say')) \
                                    streamed.push(live.textContent.length); }).observe(live, { childList: true, subtree: true });";

fn conversation() -> Value {
    let question = json!({
        "question": "Which date format should the importer accept?",
        "detail": "Two of the sample files use ISO dates, one uses day.month.year.",
        "choices": ["ISO only", "Both, day first"],
    });
    json!([root(
        json!([{"text": STORY}, call("clarify", question), {"text": "ISO only. I begin."}, {"text": "Noted."}])
    )])
}

/// Makes the scripted model type at the speed of a real one, for some seconds.
async fn served_slowly(world: &World) -> Served {
    play(world, conversation());
    let mut scenario: Value =
        serde_json::from_str(&std::fs::read_to_string(world.root().join("scenario.json")).unwrap()).unwrap();
    scenario["pacing"]["chars_per_second"] = json!(100);
    Served::with_scenario(world, &scenario, Timeouts::default(), None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_answers_a_question_and_sends_a_message_that_streams() {
    let world = World::new();
    let Some(browser) = Browser::start(&world).await else { return };
    let served = served_slowly(&world).await;
    browser.size(1280, 800, false).await;
    browser.scheme("dark").await;
    browser.open(&served.server.page_link().unwrap()).await;
    browser.until("the tree", "document.querySelector('[role=treeitem]')").await;
    assert_eq!(browser.run("return location.pathname + location.search + location.hash").await, "/", "no secret stays");
    assert_eq!(browser.run("return document.cookie").await, "", "the script cannot read the cookie");

    browser.run(RECORD_STREAMED_TEXT).await;
    browser.type_into("#text", "Add CSV import\u{e007}").await;
    browser.until("the stored reply", "document.querySelector('#transcript .say pre code')").await;
    let lengths: Vec<u64> = serde_json::from_value(browser.run("return streamed").await).unwrap();
    let growths = lengths.windows(2).filter(|pair| pair[0] > 0 && pair[1] > pair[0]).count();
    assert!(growths >= 2, "the text grows while the reply is not stored yet: {lengths:?}");
    assert_eq!(browser.run("return document.querySelectorAll('#transcript .me').length").await, 1);

    browser.type_into("#text", "Go on\u{e007}").await;
    browser.until("the question", "document.querySelector('.ask-card')").await;
    browser.picture("desktop-dark").await;
    browser.scheme("light").await;
    browser.picture("desktop-light").await;
    browser.size(390, 844, true).await;
    browser.picture("phone-light").await;
    browser.scheme("dark").await;
    browser.picture("phone-dark").await;
    browser.click("#to-tree").await;
    browser.until("the tasks", "document.querySelector('#tree').offsetParent").await;
    browser.click("[role=treeitem]").await;
    browser.click(".ask-card [data-choice=option-1]").await;
    browser.until("the end of the question", "!document.querySelector('.ask-card')").await;
    browser
        .until("the answer's effect", "document.querySelector('#transcript').textContent.includes('I begin.')")
        .await;
    let asks = served.handle.asks().await.unwrap();
    assert!(asks.rows.is_empty());
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_logs_in_with_a_token_and_sees_only_what_it_may_do() {
    let world = World::new();
    let Some(browser) = Browser::start(&world).await else { return };
    let served = Served::start(&world).await;
    let phone = token(&world, "phone", &[Scope::Read], None);
    browser.size(390, 844, true).await;
    browser.open(&format!("http://{}/", served.address)).await;
    browser.until("the login", "document.querySelector('#token').offsetParent").await;
    browser.type_into("#token", "mxd_wrong\u{e007}").await;
    browser.until("the refusal", "document.querySelector('#login-problem').textContent.includes('not valid')").await;
    browser.run("document.querySelector('#token').value = ''").await;
    browser.type_into("#token", &format!("{phone}\u{e007}")).await;
    browser.until("the page", "document.querySelector('#composer')?.offsetParent").await;
    browser.until("a field that is closed", "document.querySelector('#text').disabled").await;
    // Every control has a name, and nothing is wider than the screen.
    let nameless = "return [...document.querySelectorAll('button, input, select, textarea')].filter((field) => !field.hidden \
                    && !(field.textContent.trim() || field.getAttribute('aria-label') || field.labels?.length)).map((field) => field.outerHTML)";
    assert_eq!(browser.run(nameless).await, json!([]));
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth").await, true);
    browser.click("#to-tree").await;
    browser.click("#logout").await;
    browser.until("the login again", "document.querySelector('#token').offsetParent").await;
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_whose_connection_is_cut_says_so_and_comes_back() {
    let world = World::new();
    let Some(browser) = Browser::start(&world).await else { return };
    let served = Served::start(&world).await;
    browser.open(&served.server.page_link().unwrap()).await;
    browser.until("the tree", "document.querySelector('[role=treeitem]')").await;
    let offline = |is: bool| json!({"offline": is, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
    browser.devtools("Network.enable", json!({})).await;
    browser.devtools("Network.emulateNetworkConditions", offline(true)).await;
    // Chromium keeps an open stream when it goes offline, so the page's own request is cut.
    browser.run("window.dispatchEvent(new Event('offline'))").await;
    browser.until("the notice", "!document.querySelector('#offline').hidden").await;
    served.post(&served.messages(), &json!({"text": "While you were away"})).await;
    browser.devtools("Network.emulateNetworkConditions", offline(false)).await;
    browser.run("window.dispatchEvent(new Event('online'))").await;
    browser.until("the end of the notice", "document.querySelector('#offline').hidden").await;
    browser
        .until("what was missed", "document.querySelector('#transcript').textContent.includes('While you were away')")
        .await;
    tokio::time::timeout(BROWSER_PATIENCE, served.end()).await.unwrap();
}
