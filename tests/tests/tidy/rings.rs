//! Which files of a crate need which others, as far as their `use` lines and paths tell, and which need each other in a ring.
//!
//! A name is followed through `pub use` to the file that defines it. So a `mod.rs` that only declares and re-exports is in no ring.

use std::collections::{BTreeMap, BTreeSet};

/// Paths deeper than this lead in a circle, as `use name::name` does.
const DEEPEST: usize = 20;

const ITEMS: [&str; 7] = ["struct", "enum", "trait", "fn", "const", "static", "type"];

#[derive(Default)]
struct Module {
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    /// By name: the path, and whether it is a re-export.
    imports: BTreeMap<String, (Vec<String>, bool)>,
    globs: Vec<Vec<String>>,
    /// What the code mentions: a name, or a path.
    mentions: BTreeSet<Vec<String>>,
}

enum Found {
    Module(usize),
    /// The file that defines the name.
    Item(usize),
    /// It is that of another crate.
    Elsewhere,
}

#[derive(Default)]
pub(crate) struct Crate {
    files: Vec<String>,
    modules: Vec<Module>,
    macros: BTreeMap<String, usize>,
}

impl Crate {
    /// The crate of this file, but for what only its tests see.
    pub(crate) fn read(root: &str, text: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut read = Self { files: vec![root.to_owned()], modules: vec![Module::default()], ..Self::default() };
        let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
        read.module(0, &without_tests(&tokens(&text(root).unwrap())), directory, text);
        read
    }

    /// Reads a module, and what it declares: their files are in the folder.
    fn module(&mut self, this: usize, code: &[String], folder: &str, text: &dyn Fn(&str) -> Option<String>) {
        let file = self.modules[this].file;
        let at = |place: usize| code.get(place).map_or("", String::as_str);
        let (mut place, mut depth) = (0, 0);
        while place < code.len() {
            let (word, next) = (at(place), at(place + 1));
            match word {
                "{" => depth += 1,
                "}" => depth -= 1,
                // `pub(in crate::module)`
                "(" if next == "in" => place = after(code, place) - 1,
                "use" if next != "<" => {
                    let end = place + code[place..].iter().position(|token| token == ";").unwrap();
                    let is_public = place > 0 && (at(place - 1) == "pub" || at(place - 1) == ")");
                    self.import(this, &mut code[place + 1..end].iter(), &[], is_public);
                    place = end;
                }
                "mod" if at(place + 2) == ";" => {
                    let paths = [format!("{folder}/{next}.rs"), format!("{folder}/{next}/mod.rs")];
                    if let Some((path, whole)) = paths.into_iter().find_map(|path| Some((path.clone(), text(&path)?))) {
                        self.files.push(path);
                        let child = self.declare(this, next, self.files.len() - 1);
                        self.module(child, &without_tests(&tokens(&whole)), &format!("{folder}/{next}"), text);
                    }
                    place += 2;
                }
                "mod" if at(place + 2) == "{" => {
                    let end = after(code, place + 2);
                    let child = self.declare(this, next, file);
                    self.module(child, &code[place + 3..end - 1], &format!("{folder}/{next}"), text);
                    place = end - 1;
                }
                "macro_rules" => drop(self.macros.insert(at(place + 2).to_owned(), file)),
                _ if ITEMS.contains(&word) && depth == 0 => drop(self.modules[this].items.insert(next.to_owned())),
                _ if is_word(word) && (place == 0 || ![".", "::"].contains(&at(place - 1))) => {
                    let mut path = vec![word.to_owned()];
                    while at(place + 1) == "::" && is_word(at(place + 2)) {
                        place += 2;
                        path.push(at(place).to_owned());
                    }
                    if at(place + 1) == "!" {
                        path.push("!".to_owned());
                    }
                    self.modules[this].mentions.insert(path);
                }
                _ => {}
            }
            place += 1;
        }
    }

    fn declare(&mut self, parent: usize, name: &str, file: usize) -> usize {
        self.modules.push(Module { file, parent, ..Module::default() });
        let child = self.modules.len() - 1;
        self.modules[parent].children.insert(name.to_owned(), child);
        child
    }

    /// Reads a tree of `use`, up to its end or that of a group.
    fn import(&mut self, this: usize, code: &mut std::slice::Iter<'_, String>, above: &[String], is_public: bool) {
        let (mut path, mut name) = (above.to_vec(), None);
        loop {
            let token = code.next().map_or("}", String::as_str);
            match token {
                "::" => {}
                "{" => {
                    self.import(this, code, &path, is_public);
                    path.clear();
                }
                "*" => {
                    self.modules[this].globs.push(std::mem::take(&mut path));
                }
                "as" => name = code.next().cloned(),
                "," | "}" => {
                    if path.len() > above.len() {
                        let of_itself = path.len() > 1 && path.last().is_some_and(|last| last == "self");
                        path.truncate(path.len() - usize::from(of_itself));
                        let mut name = name.take().unwrap_or_else(|| path.last().unwrap().clone());
                        if name == "_" {
                            name = path.join("::");
                        }
                        self.modules[this].imports.insert(name, (path, is_public));
                    }
                    path = above.to_vec();
                    if token == "}" {
                        return;
                    }
                }
                word => path.push(word.to_owned()),
            }
        }
    }

    fn resolve(&self, this: usize, path: &[String], depth: usize) -> Option<Found> {
        let mut at = Found::Module(this);
        for (place, name) in path.iter().enumerate() {
            let Found::Module(module) = at else { return Some(at) };
            at = match name.as_str() {
                "crate" => Found::Module(0),
                "self" => Found::Module(module),
                "super" => Found::Module(self.modules[module].parent),
                _ => match self.find(module, name, place + 1 < path.len(), depth + 1) {
                    Some(found) => found,
                    None if place == 0 => return None,
                    // Made by a macro.
                    None => Found::Item(self.modules[module].file),
                },
            };
        }
        Some(at)
    }

    /// What a name is in a module; one that leads on is a module, if there is one.
    fn find(&self, module: usize, name: &str, leads_on: bool, depth: usize) -> Option<Found> {
        let here = &self.modules[module];
        let child = here.children.get(name).map(|child| Found::Module(*child));
        if depth > DEEPEST || (leads_on && child.is_some()) {
            return child;
        }
        if here.items.contains(name) {
            return Some(Found::Item(here.file));
        }
        let import = here.imports.get(name);
        let found = import.and_then(|(path, _)| self.resolve(module, path, depth)).or(child);
        found
            .or(import.map(|_| Found::Elsewhere))
            .or_else(|| here.globs.iter().find_map(|glob| self.find_in(module, glob, name, depth)))
    }

    /// A name that a glob brings.
    fn find_in(&self, module: usize, glob: &[String], name: &str, depth: usize) -> Option<Found> {
        match self.resolve(module, glob, depth)? {
            Found::Module(other) => self.find(other, name, false, depth + 1),
            Found::Item(_) | Found::Elsewhere => None,
        }
    }

    /// From file to file, and the names for which.
    fn arrows(&self) -> BTreeMap<(usize, usize), BTreeSet<String>> {
        let mut arrows: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (this, module) in self.modules.iter().enumerate() {
            let mut draw = |file: usize, path: &[String]| {
                if file != module.file {
                    arrows.entry((module.file, file)).or_default().insert(path.join("::"));
                }
            };
            let used = module.imports.values().filter(|(_, is_public)| !is_public).map(|(path, _)| path);
            for path in used.chain(&module.mentions) {
                let is_seen = path.len() > 1 || module.imports.contains_key(&path[0]) || !module.globs.is_empty();
                let own_macro = self.macros.get(&path[0]).filter(|_| path.len() == 2 && path[1] == "!");
                if let Some(file) = own_macro {
                    draw(*file, path);
                } else if is_seen && let Some(Found::Item(file)) = self.resolve(this, path, 0) {
                    draw(file, path);
                }
            }
        }
        arrows
    }

    /// The arrows between files whose parts need each other in a ring, each with the names that make it. A part is what `part_of`
    /// makes of the name of a file: the file itself, or the module in which it lies.
    pub(crate) fn rings(&self, part_of: &dyn Fn(&str) -> String) -> Vec<String> {
        let part = |file: usize| part_of(&self.files[file]);
        let arrows = self.arrows();
        let between: BTreeSet<_> = arrows.keys().map(|(from, to)| (part(*from), part(*to))).collect();
        let reaches = |from: String, end: &String| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(part) = next.pop() {
                let on = between.iter().filter(|(from, _)| *from == part).map(|(_, to)| to.clone());
                next.extend(on.filter(|to| seen.insert(to.clone())));
            }
            seen.contains(end)
        };
        let mut found = Vec::new();
        for ((from, to), names) in &arrows {
            let (begin, end) = (part(*from), part(*to));
            if begin != end && reaches(end, &begin) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                found.push(format!("{} -> {}: {}", self.files[*from], self.files[*to], names.join(", ")));
            }
        }
        found
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Behind the bracket that closes the one at this place.
fn after(code: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in code.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place + 1;
        }
    }
    code.len()
}

/// Without the items below `#[cfg(test)]`.
fn without_tests(code: &[String]) -> Vec<String> {
    let (mut kept, mut place) = (Vec::new(), 0);
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    while place < code.len() {
        if !code[place..].iter().take(mark.len()).eq(mark.iter()) {
            kept.push(code[place].clone());
            place += 1;
            continue;
        }
        place += mark.len();
        while code[place] == "#" {
            place = after(code, place + 1);
        }
        let is_part =
            !ITEMS.iter().chain(&["pub", "impl", "mod", "use", "async", "let"]).any(|word| code[place] == *word);
        while !["}", ")"].contains(&code[place].as_str()) {
            match code[place].as_str() {
                "(" | "[" => place = after(code, place),
                "{" => {
                    place = after(code, place);
                    if code.get(place).is_none_or(|token| token != ";") {
                        break;
                    }
                }
                end => {
                    place += 1;
                    if end == ";" || (is_part && end == ",") {
                        break;
                    }
                }
            }
        }
    }
    kept
}

/// Words, `::`, `..` and single signs: without comments, strings, characters and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let raw =
            rest.strip_prefix("br").or_else(|| rest.strip_prefix('r')).map(|raw| (raw, raw.trim_start_matches('#')));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((raw, quoted)) = raw.filter(|(_, quoted)| quoted.starts_with('"')) {
            let end = format!("\"{}", "#".repeat(raw.len() - quoted.len()));
            let open = rest.len() - quoted.len() + 1;
            open + quoted[1..].find(&end).unwrap() + end.len()
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.unwrap() + 2
        } else if first == '\'' {
            let next = rest[1..].chars().next().map_or(0, char::len_utf8);
            if rest.starts_with("'\\") {
                3 + rest[3..].find('\'').unwrap() + 1
            } else if rest[1 + next..].starts_with('\'') {
                next + 2
            } else {
                // A lifetime.
                1 + rest[1..].find(|c| !is_part(c)).unwrap_or(0)
            }
        } else if word > 0 {
            found.push(rest[..word].to_owned());
            word
        } else if rest.starts_with("::") || rest.starts_with("..") {
            found.push(rest[..2].to_owned());
            2
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}
