//! A table that gives each item a number, and numbers of removed items to later ones.

use std::ops::{Index, IndexMut};

/// The table.
#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds an item, and returns its number.
    pub(super) fn add(&mut self, item: T) -> usize {
        if let Some(number) = self.free.pop() {
            self.items[number] = Some(item);
            return number;
        }
        self.items.push(Some(item));
        self.items.len() - 1
    }

    /// Removes an item. Nobody may use its number any more.
    pub(super) fn remove(&mut self, number: usize) {
        self.items[number] = None;
        self.free.push(number);
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// The item of this number, if there is one.
    pub(super) fn get(&self, number: usize) -> Option<&T> {
        self.items.get(number)?.as_ref()
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.items.get_mut(number)?.as_mut()
    }

    /// All items, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.items.iter().enumerate().filter_map(|(number, item)| Some((number, item.as_ref()?)))
    }
}

impl<T> Index<usize> for Slab<T> {
    type Output = T;

    fn index(&self, number: usize) -> &T {
        self.items[number].as_ref().expect("the number of an item")
    }
}

impl<T> IndexMut<usize> for Slab<T> {
    fn index_mut(&mut self, number: usize) -> &mut T {
        self.items[number].as_mut().expect("the number of an item")
    }
}
