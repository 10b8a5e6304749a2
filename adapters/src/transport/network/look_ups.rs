//! Look-ups of names by the system (`getaddrinfo`), for all channels of the process. Each takes a thread until the name
//! server has answered, or the system has given it up after half a minute; nothing can end it sooner. So look-ups are
//! few: one for a name at a time, and so many of names that have been answered before, and of strangers.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Look-ups at once of names that were answered before, and as many of others. Together they are a quarter of the threads
/// that tokio has for what waits.
const SLOTS: usize = 64;

/// How soon a name has to be answered to count as one that is answered.
const SOON: Duration = Duration::from_secs(1);

/// Names that are known to be answered, at most. One that is forgotten is a stranger once more.
const MOST_KNOWN: usize = 16_384;

static OF_THE_SYSTEM: LazyLock<Arc<LookUps>> = LazyLock::new(|| {
    let system = |name: &str| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect());
    Arc::new(LookUps::new(system))
});

/// The addresses of `name`, by the resolver of the system. The answer is not kept: a pooled connection needs no look-up.
pub(super) async fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    OF_THE_SYSTEM.addresses(name).await
}

/// An answer that several may wait for. The error has its words alone.
type Answer = Result<Vec<IpAddr>, String>;

type LookUp = BoxFuture<'static, Answer>;

/// Asks for the addresses of a name, and waits for the answer.
type Ask = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

struct LookUps {
    ask: Arc<Ask>,
    state: Mutex<State>,
    of_known: Arc<Semaphore>,
    of_strangers: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    /// The look-ups that somebody waits for, or that have a thread.
    under_way: HashMap<String, WeakShared<LookUp>>,
    /// The names whose last look-up was answered soon.
    known: HashSet<String>,
}

impl LookUps {
    fn new(ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        let slots = || Arc::new(Semaphore::new(SLOTS));
        Self { ask: Arc::new(ask), state: Mutex::default(), of_known: slots(), of_strangers: slots() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// # Cancel safety
    /// Safe: a look-up that has no thread yet ends with the last call that waits for it.
    async fn addresses(self: &Arc<Self>, name: &str) -> io::Result<Vec<IpAddr>> {
        self.look_up(name).await.map_err(io::Error::other)
    }

    fn look_up(self: &Arc<Self>, name: &str) -> Shared<LookUp> {
        let mut state = self.state();
        if let Some(look_up) = state.under_way.get(name).and_then(WeakShared::upgrade) {
            return look_up;
        }
        let look_up = Arc::clone(self).ask(name.to_owned()).boxed().shared();
        state.under_way.extend(look_up.downgrade().map(|weak| (name.to_owned(), weak)));
        look_up
    }

    async fn ask(self: Arc<Self>, name: String) -> Answer {
        let entry = Entry { look_ups: &self, name: &name };
        let known = self.state().known.contains(&name);
        let slots = if known { &self.of_known } else { &self.of_strangers };
        // The semaphore is never closed, so there is always a slot in the end.
        let slot = Arc::clone(slots).acquire_owned().await;
        entry.see_it_through();
        // A name is a stranger again until it is answered: it takes no more than this one slot of those that are.
        self.state().known.remove(&name);
        let (ask, asked, began) = (Arc::clone(&self.ask), name.clone(), Instant::now());
        let answer = spawn_blocking(move || {
            let answer = ask(&asked);
            drop(slot);
            answer
        });
        let answer = answer.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        if answer.is_ok() && began.elapsed() < SOON {
            let mut state = self.state();
            if state.known.len() >= MOST_KNOWN {
                state.known.clear();
            }
            state.known.insert(name.clone());
        }
        answer.map_err(|error| error.to_string())
    }
}

/// The entry of a look-up, which is removed at its end.
struct Entry<'a> {
    look_ups: &'a LookUps,
    name: &'a str,
}

impl Entry<'_> {
    /// Has the look-up go on though all who wait for it give up: it has a thread, and the next who ask wait for the same.
    fn see_it_through(&self) {
        let look_up = self.look_ups.state().under_way.get(self.name).and_then(WeakShared::upgrade);
        if let Some(look_up) = look_up {
            tokio::spawn(look_up);
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.look_ups.state().under_way.remove(self.name);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::net::Ipv4Addr;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use tokio::time::timeout;

    use super::*;

    /// A name server: names that begin with `silent` are answered once [`Self::speak`] is dropped, others at once.
    struct Server {
        look_ups: Arc<LookUps>,
        asked: Arc<Mutex<Vec<String>>>,
        speak: Sender<()>,
    }

    fn server() -> Server {
        let (speak, heard): (_, Receiver<()>) = channel();
        let (heard, asked) = (Mutex::new(heard), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&asked);
        let ask = move |name: &str| {
            noted.lock().push(name.to_owned());
            if name.starts_with("silent") {
                // The first waits for the end of the sender, the others for the first.
                let _ = heard.lock().recv();
            }
            Ok(vec![Ipv4Addr::LOCALHOST.into()])
        };
        Server { look_ups: Arc::new(LookUps::new(ask)), asked, speak }
    }

    impl Server {
        fn begin(&self, name: String) -> tokio::task::JoinHandle<io::Result<Vec<IpAddr>>> {
            let look_ups = Arc::clone(&self.look_ups);
            tokio::spawn(async move { look_ups.addresses(&name).await })
        }

        async fn is_answered(&self, name: &str) -> bool {
            timeout(Duration::from_secs(20), self.look_ups.addresses(name)).await.is_ok_and(|answer| answer.is_ok())
        }

        fn asked(&self, name: &str) -> usize {
            self.asked.lock().iter().filter(|asked| asked.starts_with(name)).count()
        }

        async fn until_asked(&self, name: &str, times: usize) {
            while self.asked(name) < times {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    #[tokio::test]
    async fn a_thousand_names_that_nobody_answers_leave_room_for_those_that_were_answered() {
        let server = server();
        assert!(server.is_answered("shop.example").await);
        let waiting: Vec<_> = (0..1_000).map(|n| server.begin(format!("silent-{n}.example"))).collect();
        server.until_asked("silent", SLOTS).await;
        for _ in 0..3 {
            assert!(server.is_answered("shop.example").await);
        }
        assert_eq!(server.asked("silent"), SLOTS, "they take no more threads than they have slots");
        // Whoever gives up in the line leaves no look-up behind.
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for waits in waiting {
            assert!(waits.await.is_err());
        }
        drop(server.speak);
        let answered = timeout(Duration::from_secs(20), server.look_ups.addresses("new.example")).await;
        assert!(answered.is_ok_and(|answer| answer.is_ok()));
        let silent = server.asked.lock().iter().filter(|name| name.starts_with("silent")).count();
        assert_eq!(silent, SLOTS);
    }

    #[tokio::test]
    async fn many_who_ask_for_one_name_take_one_look_up_also_after_others_have_given_up() {
        let server = server();
        let given_up: Vec<_> = (0..100).map(|_| server.begin("silent.example".to_owned())).collect();
        server.until_asked("silent", 1).await;
        given_up.iter().for_each(tokio::task::JoinHandle::abort);
        for waits in given_up {
            assert!(waits.await.is_err());
        }
        let waiting: Vec<_> = (0..100).map(|_| server.look_ups.look_up("silent.example")).collect();
        let asked = Arc::clone(&server.asked);
        drop(server.speak);
        for waits in waiting {
            assert!(waits.await.is_ok());
        }
        assert_eq!(asked.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_name_that_falls_silent_takes_one_slot_of_those_that_are_answered() {
        let server = server();
        // Answered once, and soon, as the name server of an attacker may do.
        server.look_ups.state().known.insert("silent.example".to_owned());
        let first = server.begin("silent.example".to_owned());
        server.until_asked("silent", 1).await;
        assert_eq!(server.look_ups.of_known.available_permits(), SLOTS - 1);
        assert!(!server.look_ups.state().known.contains("silent.example"));
        drop(server.speak);
        assert!(first.await.unwrap().is_ok());
    }
}
