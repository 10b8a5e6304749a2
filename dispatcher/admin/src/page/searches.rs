//! What very many rows are searched for. A page waits a moment for what its filter finds, and is then shown with what the same
//! search found last, or without. The search goes on behind the page, which shows what it found when it is shown again.

use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The longest that a page waits for a search.
pub(super) const PATIENCE: Duration = Duration::from_millis(80);

/// What takes no longer is made whenever somebody looks, and is not remembered. A page that waits for its turn, too, may otherwise
/// give up each time.
const QUICK: Duration = Duration::from_millis(40);

/// The longest that the form of a change waits for a count of what it means. It is offered all the same.
pub(super) const FORM_PATIENCE: Duration = Duration::from_secs(3);

/// How old may be what a search found that takes longer.
const OLDEST: Duration = Duration::from_mins(10);

/// Such a search is made again once this many times as long has passed.
const RESTS: u32 = 4;

/// How many such searches are remembered: those made last.
const MOST: usize = 16;

/// How many searches go on at once. The others wait: whoever may read may ask for any number.
const AT_ONCE: usize = 2;

/// The searches of a page, by what is asked.
#[derive(Debug)]
pub(super) struct Searches<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    turns: Semaphore,
    /// The one made last stands last.
    long: Mutex<Vec<(String, Arc<Long<T>>)>>,
}

/// A search that somebody waits for, or that took long.
#[derive(Debug)]
struct Long<T> {
    /// Held while it is made: others wait for what it finds.
    under_way: tokio::sync::Mutex<()>,
    last: Mutex<Option<Last<T>>>,
}

#[derive(Debug, Clone)]
struct Last<T> {
    at: Instant,
    took: Duration,
    found: T,
}

/// What a search found, and how long ago that was.
pub(super) type Found<T> = (T, Duration);

impl<T> Clone for Searches<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Searches<T> {
    fn default() -> Self {
        Self(Arc::new(Inner { turns: Semaphore::new(AT_ONCE), long: Mutex::default() }))
    }
}

impl<T: Clone + Send + 'static> Searches<T> {
    /// What the search of this name finds now, or else what it found last. None where it has found nothing so far, and goes on.
    pub(super) async fn find<A>(&self, name: String, search: impl FnOnce() -> A + Send + 'static) -> Option<Found<T>>
    where
        A: Future<Output = T> + Send,
    {
        self.find_within(PATIENCE, name, search).await
    }

    /// The same for a page that waits longer.
    pub(super) async fn find_within<A>(
        &self,
        patience: Duration,
        name: String,
        search: impl FnOnce() -> A + Send + 'static,
    ) -> Option<Found<T>>
    where
        A: Future<Output = T> + Send,
    {
        let long = self.0.of(&name);
        let (inner, searched) = (self.0.clone(), long.clone());
        let searching = tokio::spawn(async move { inner.make(&name, &searched, search).await });
        if let Ok(Ok(last)) = tokio::time::timeout(patience, searching).await {
            return Some(last.aged());
        }
        long.last().filter(|last| last.at.elapsed() < OLDEST).map(Last::aged)
    }
}

impl<T: Clone> Inner<T> {
    async fn make<A: Future<Output = T>>(
        &self,
        name: &str,
        long: &Arc<Long<T>>,
        search: impl FnOnce() -> A,
    ) -> Last<T> {
        let _under_way = long.under_way.lock().await;
        if let Some(last) = long.last().filter(Last::is_fresh) {
            return last;
        }
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        let began = Instant::now();
        let found = search().await;
        let last = Last { at: Instant::now(), took: began.elapsed(), found };
        if last.is_quick() {
            self.long().retain(|(known, _)| known != name);
        }
        *long.last.lock() = Some(last.clone());
        last
    }

    fn of(&self, name: &str) -> Arc<Long<T>> {
        let mut long = self.long();
        let place = long.iter().position(|(known, _)| known == name);
        let one = place.map_or_else(|| (name.to_owned(), Arc::default()), |place| long.remove(place));
        let searched = one.1.clone();
        long.push(one);
        let too_many = long.len().saturating_sub(MOST);
        long.drain(..too_many);
        searched
    }

    fn long(&self) -> MutexGuard<'_, Vec<(String, Arc<Long<T>>)>> {
        self.long.lock()
    }
}

impl<T> Default for Long<T> {
    fn default() -> Self {
        Self { under_way: tokio::sync::Mutex::default(), last: Mutex::new(None) }
    }
}

impl<T: Clone> Long<T> {
    fn last(&self) -> Option<Last<T>> {
        self.last.lock().clone()
    }
}

impl<T> Last<T> {
    /// Whether it is too early to make this search again: one that is quick is made whenever somebody looks.
    fn is_fresh(&self) -> bool {
        !self.is_quick() && self.at.elapsed() < self.took * RESTS
    }

    fn is_quick(&self) -> bool {
        self.took <= QUICK
    }

    fn aged(self) -> Found<T> {
        (self.found, self.at.elapsed())
    }
}

/// Stands where the form of a change says what it means, while that is counted.
pub(super) fn not_counted(address: &str) -> Markup {
    html! {
        p.note.warning role="status" {
            "This takes longer than usual: what the form means is not counted yet. It means all of them. "
            a href=(address) { "Look again" }
        }
    }
}

/// Stands where what was searched for will be.
pub(super) fn under_way(address: &str) -> Markup {
    html! {
        p.note role="status" {
            "This takes longer than usual. The page shows what is found when it is there. "
            a href=(address) { "Look again" }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(5);

    /// Searches that find how many were made before, after so long.
    #[derive(Clone, Default)]
    struct Rows(Arc<AtomicU32>);

    impl Rows {
        async fn search(self, takes: Duration) -> u32 {
            tokio::time::sleep(takes).await;
            self.0.fetch_add(1, Ordering::SeqCst)
        }
    }

    async fn find(searches: &Searches<u32>, rows: &Rows, takes: Duration) -> Option<Found<u32>> {
        let rows = rows.clone();
        searches.find("tenant=a".to_owned(), move || rows.search(takes)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_search_is_made_whenever_somebody_looks_and_is_not_remembered() {
        let (searches, rows) = (Searches::default(), Rows::default());
        for made in 0..3 {
            assert_eq!(find(&searches, &rows, Duration::ZERO).await, Some((made, Duration::ZERO)));
        }
        assert!(searches.0.long().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_long_search_and_what_it_found_last_is_shown_with_its_age() {
        let (searches, rows) = (Searches::default(), Rows::default());
        assert_eq!(find(&searches, &rows, LONG).await, None);
        tokio::time::sleep(LONG).await;
        let (found, age) = find(&searches, &rows, LONG).await.expect("it was found meanwhile");
        assert!(found == 0 && age <= PATIENCE, "{age:?}");
        tokio::time::sleep(LONG * RESTS).await;
        let (found, age) = find(&searches, &rows, LONG).await.expect("it was found before");
        assert!(found == 0 && age >= LONG * RESTS, "{age:?}");
        tokio::time::sleep(LONG).await;
        assert_eq!(find(&searches, &rows, LONG).await.map(|(found, _)| found), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_search_that_a_page_gave_up_since_it_had_to_wait_for_its_turn_is_shown_when_somebody_looks_again() {
        let (searches, rows) = (Searches::default(), Rows::default());
        let takes = PATIENCE * 3 / 4;
        let others = [0, 1].map(|other| {
            let (searches, rows) = (searches.clone(), rows.clone());
            tokio::spawn(async move { searches.find(other.to_string(), move || rows.search(takes)).await })
        });
        tokio::task::yield_now().await;
        assert_eq!(find(&searches, &rows, takes).await, None);
        for other in others {
            assert!(other.await.expect("it ends").is_some());
        }
        tokio::time::sleep(takes).await;
        assert_eq!(find(&searches, &rows, LONG).await.map(|(found, _)| found), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_look_a_long_search_is_made_once() {
        let (searches, rows) = (Searches::default(), Rows::default());
        for _ in 0..10 {
            assert_eq!(find(&searches, &rows, LONG).await, None);
        }
        tokio::time::sleep(LONG * 2).await;
        assert_eq!(rows.0.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_search_found_too_long_ago_is_not_shown() {
        let (searches, rows) = (Searches::default(), Rows::default());
        assert_eq!(find(&searches, &rows, LONG).await, None);
        tokio::time::sleep(LONG + OLDEST).await;
        assert_eq!(find(&searches, &rows, LONG).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_long_searches_are_made_at_once_or_remembered_than_there_may_be() {
        let (searches, rows) = (Searches::default(), Rows::default());
        for name in 0..MOST + 5 {
            let rows = rows.clone();
            assert_eq!(searches.find(name.to_string(), move || rows.search(LONG)).await, None);
        }
        assert_eq!(searches.0.long().len(), MOST);
        tokio::time::sleep(LONG).await;
        assert_eq!(rows.0.load(Ordering::SeqCst) as usize, AT_ONCE);
    }
}
