//! What keys, buttons and the mouse do: the tables that the panel shows and the window works from.

use eframe::egui::Key;

/// What a key or a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Play,
    Step,
    Reset,
    Screenshot,
    Record,
    SeeAll,
    PreviousScene,
    NextScene,
    Close,
}

/// A key and what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) key: Key,
    /// As it is written on the keyboard.
    pub(super) name: &'static str,
    pub(super) action: Action,
    pub(super) about: &'static str,
}

/// Every key.
pub(super) const KEYS: [Binding; 9] = [
    bind(Key::Space, "Space", Action::Play, "play or pause"),
    bind(Key::ArrowRight, "Right", Action::Step, "one frame"),
    bind(Key::R, "R", Action::Reset, "start again"),
    bind(Key::F, "F", Action::SeeAll, "see all"),
    bind(Key::S, "S", Action::Screenshot, "screenshot"),
    bind(Key::V, "V", Action::Record, "record, stop"),
    bind(Key::PageUp, "PgUp", Action::PreviousScene, "scene before"),
    bind(Key::PageDown, "PgDn", Action::NextScene, "next scene"),
    bind(Key::Q, "Q", Action::Close, "close"),
];

/// What the mouse does.
pub(super) const MOUSE: [(&str, &str); 5] = [
    ("drag cloth", "pull it"),
    ("click cloth", "pin, release"),
    ("drag beside", "look around"),
    ("right drag", "move view"),
    ("wheel", "zoom"),
];

const fn bind(key: Key, name: &'static str, action: Action, about: &'static str) -> Binding {
    Binding { key, name, action, about }
}

/// What is said about a button: its key and what it does.
pub(super) fn hint(action: Action) -> String {
    let binding = KEYS.iter().find(|binding| binding.action == action);
    binding.map(|binding| format!("{}: {}", binding.name, binding.about)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_one_thing() {
        for (index, one) in KEYS.iter().enumerate() {
            assert!(KEYS[..index].iter().all(|other| other.key != one.key && other.action != one.action), "{one:?}");
        }
    }
}
