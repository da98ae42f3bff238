//! Which adapters must be there, by the variable `TAUT_REQUIRE_GPU`. The tests of the program use it, too.

/// A graphics API in lower case (`vulkan`, `gl`, `metal`, `dx12`) and the name of an adapter.
pub(crate) type Named = (String, String);

const APIS: [&str; 4] = ["vulkan", "gl", "metal", "dx12"];

/// What `TAUT_REQUIRE_GPU` says: nothing where it is unset, empty or `0`.
fn required() -> Option<String> {
    std::env::var("TAUT_REQUIRE_GPU").ok().filter(|value| !["", "0"].contains(&value.as_str()))
}

/// Whether what a test needs a GPU for must happen.
pub(crate) fn gpu_required() -> bool {
    required().is_some()
}

/// What is asked for and not there. `1` asks for any adapter; other words, separated by commas, each for one of that
/// API or with that word in its name.
pub(crate) fn missing<'a>(required: &'a str, found: &[Named]) -> Vec<&'a str> {
    let there = |word: &str| {
        let word = word.to_lowercase();
        found.iter().any(|(api, name)| {
            word == "1"
                || if APIS.contains(&word.as_str()) { *api == word } else { name.to_lowercase().contains(&word) }
        })
    };
    required.split(',').map(str::trim).filter(|word| !word.is_empty() && !there(word)).collect()
}

/// Fails where an adapter that is asked for is not among those that compute; says aloud that there is none where none
/// is asked for.
pub(crate) fn ask_for(found: &[Named]) {
    if found.is_empty() {
        println!("SKIPPED: there is no adapter that computes");
    }
    if let Some(required) = required() {
        let missing = missing(&required, found);
        assert!(
            missing.is_empty(),
            "TAUT_REQUIRE_GPU={required}, but none computes of {missing:?}; there are {found:?}"
        );
    }
}
