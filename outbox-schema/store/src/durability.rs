//! Which commits wait until another server has them.

/// Which commits of a replica wait until a standby has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Those that the settings of the server and of the role have wait.
    #[default]
    Local,
    /// Those of terms and claims: so nothing is sent of which no standby has a claim. What came of it may be lost with the server,
    /// and is in doubt then.
    Replicated,
    /// Every commit.
    All,
}

impl Durability {
    /// The words of the settings.
    pub const WORDS: [(&str, Self); 3] = [("local", Self::Local), ("replicated", Self::Replicated), ("all", Self::All)];

    /// The word in the settings.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, durability)| *durability == self).map_or("", |(word, _)| word)
    }

    /// What each connection of a poller's pool to PostgreSQL is told. Those for terms and claims are told more
    /// (`postgres/poller/waits`).
    pub(crate) fn of_a_poller(self) -> Option<&'static str> {
        match self {
            Self::Local => None,
            Self::Replicated => Some(query!("postgres/poller/replicated")),
            Self::All => Some(query!("postgres/poller/all")),
        }
    }

    /// The same for the connections of what people ask and change.
    pub(crate) fn of_people(self) -> Option<&'static str> {
        match self {
            Self::Local | Self::Replicated => None,
            Self::All => Some(query!("postgres/poller/all")),
        }
    }
}
