//! How agents and providers write the name of a model, and whom they call its provider.

/// Whose models nobody else sells at prices of his own: a gateway passes their prices on.
const SOLE_MAKERS: [&str; 5] = ["anthropic", "openai", "google", "x-ai", "cursor"];

/// Makers of models that others host as well.
const OPEN_MAKERS: [&str; 8] = ["mistral", "deepseek", "moonshotai", "zai", "zhipuai", "minimax", "cohere", "perplexity"];

/// Open weights of sole makers: their price is their host's.
const OPEN_WEIGHTS: [&str; 2] = ["gpt-oss", "gemma"];

/// Other names of providers, after those of agents (OpenCode and Pi name them after the package or the login).
const PROVIDER_NAMES: [(&str, &[&str]); 14] = [
    ("anthropic", &["claude", "claude-code", "claude-ai"]),
    ("openai", &["openai-codex", "codex", "chatgpt", "openai-responses"]),
    (
        "google",
        &[
            "gemini",
            "google-gemini",
            "google-gemini-cli",
            "google-generative-ai",
            "google-ai-studio",
            "vertex",
            "vertex-ai",
            "vertexai",
            "google-vertex",
            "google-vertex-anthropic",
        ],
    ),
    ("aws", &["bedrock", "amazon-bedrock", "aws-bedrock"]),
    ("azure", &["azure-openai", "azure-openai-responses", "azure-cognitive-services", "azure-ai"]),
    ("x-ai", &["xai", "grok"]),
    ("together", &["togetherai", "together-ai"]),
    ("fireworks", &["fireworks-ai"]),
    ("moonshotai", &["moonshot", "moonshot-ai", "kimi"]),
    ("zai", &["z-ai", "z.ai"]),
    ("github-copilot", &["copilot"]),
    ("mistral", &["mistralai"]),
    ("deepseek", &["deepseek-ai"]),
    ("cloudflare", &["cloudflare-workers-ai", "workers-ai"]),
];

/// Clouds that sell the models of others. A gateway that is reached through one (`bedrock/…`) passes the cloud's prices on.
const CLOUDS: [&str; 3] = ["aws", "azure", "google"];

/// Where a model of Bedrock runs, and who made it: `us.anthropic.claude-…`.
const REGIONS: [&str; 10] = ["us-gov", "us", "eu", "apac", "global", "au", "jp", "ca", "sa", "me"];
const BEDROCK_MAKERS: [&str; 11] =
    ["anthropic", "amazon", "meta", "mistral", "deepseek", "cohere", "openai", "qwen", "ai21", "moonshotai", "minimax"];

/// How hard a model thinks, which is no matter of price.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];
/// Efforts that are written in brackets alone, since a name may end in such a word (`gpt-5.1-codex-max`).
const EFFORTS_IN_BRACKETS: [&str; 2] = ["max", "ultra"];
/// Families whose effort agents write behind the name.
const WITH_EFFORT: [&str; 5] = ["gpt-", "o1", "o3", "o4", "claude-"];
/// Modes with a price of their own, which stays at the end of the name whatever else of it is undone.
const MODES: [&str; 4] = ["-fast", "-flex", "-priority", "-batch"];

/// The comparable form of a model's name: agents differ in case and in `4.5` or `4-5`.
pub(super) fn key(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let mut plain = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let in_number =
            plain.ends_with(|before: char| before.is_ascii_digit()) && letters.peek().is_some_and(char::is_ascii_digit);
        plain.push(if letter == '.' && in_number { '-' } else { letter });
    }
    plain
}

/// The catalog's name of a provider.
pub(super) fn provider_key(name: &str) -> String {
    let name = name.trim().to_lowercase().replace('_', "-");
    let known = PROVIDER_NAMES.iter().find(|(_, others)| others.contains(&name.as_str()));
    known.map_or(name, |(provider, _)| (*provider).to_owned())
}

/// What is looked for.
pub(super) struct Asked {
    provider: Option<String>,
    /// Whose way of writing a model the name shows: that of Bedrock or of Vertex.
    form: Option<String>,
    /// What stands before the first slash of the name; it may be a provider.
    prefix: Option<String>,
    /// Ways to write the name, as [`key`]s, the most exact one first.
    pub(super) names: Vec<String>,
}

impl Asked {
    /// `None` where the name asks for something that no name of the catalog says.
    pub(super) fn read(provider_id: Option<&str>, model_id: &str) -> Option<Self> {
        let whole = key(model_id);
        let plain = without_parameters(&whole)?;
        let last = plain.rsplit('/').next().unwrap_or(&plain);
        let form = match () {
            () if bedrock_tail(last).is_some() => Some("aws".to_owned()),
            () if last.contains('@') => Some("google".to_owned()),
            () => None,
        };
        let mut names = vec![whole.clone(), plain.clone()];
        let mut rest = plain.as_str();
        while let Some((_, tail)) = rest.split_once('/') {
            names.push(tail.to_owned());
            rest = tail;
        }
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            names.extend(plainer(&name));
            if let Some((base, mode)) = MODES.iter().find_map(|mode| Some((name.strip_suffix(mode)?, mode))) {
                names.extend(plainer(base).map(|name| name + mode));
            }
            at += 1;
        }
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
        let prefix = plain.split_once('/').map(|(prefix, _)| provider_key(prefix));
        Some(Self { provider: provider_id.map(provider_key), form, prefix, names })
    }

    /// Who may sell it, in the order of preference. `known` gives whose models a known provider sells as well.
    pub(super) fn providers<'a>(&self, known: impl Fn(&str) -> Option<&'a [String]>) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let sellers = |name: &String| Some([vec![name.clone()], known(name)?.to_vec()].concat());
        let of_form = self.form.as_ref().and_then(sellers);
        let is_open = self.names.iter().any(|name| OPEN_WEIGHTS.iter().any(|family| name.starts_with(family)));
        match &self.provider {
            // Agents that reach Claude over a cloud still call its maker the provider; the form of the name tells.
            Some(maker) if maker == "anthropic" && of_form.is_some() => of_form.unwrap_or_default(),
            Some(provider) => sellers(provider).unwrap_or_else(|| {
                let cloud = self.prefix.as_ref().filter(|prefix| CLOUDS.contains(&prefix.as_str()));
                let behind = match of_form.or_else(|| sellers(cloud?)) {
                    Some(sellers) => sellers,
                    None if is_open => Vec::new(),
                    None => owned(&SOLE_MAKERS),
                };
                [vec![provider.clone()], behind].concat()
            }),
            None => of_form
                .or_else(|| sellers(self.prefix.as_ref()?))
                .unwrap_or_else(|| [owned(&SOLE_MAKERS), owned(&OPEN_MAKERS)].concat()),
        }
    }
}

/// The name without one thing that agents add to it.
fn plainer(name: &str) -> impl Iterator<Item = String> {
    [version_less(name), date_less(name), bedrock_tail(name), effort_less(name), family_first(name)].into_iter().flatten()
}

/// The name without parameters in brackets, such as `gpt-5.5[context=272k,reasoning=medium,fast=false]` (Cursor) or
/// `claude-sonnet-4-5[1m]` (Claude Code). The fast mode becomes part of the name, since its price is another; `None` for
/// parameters that nobody knows, since they may do the same.
fn without_parameters(name: &str) -> Option<String> {
    let Some((name, parameters)) = name.split_once('[') else { return Some(name.to_owned()) };
    let mut fast = false;
    for parameter in parameters.strip_suffix(']')?.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            ("fast", value) => fast |= value != "false",
            ("thinking" | "context" | "effort" | "reasoning", _) => {}
            (word, "") if word == "1m" || EFFORTS.contains(&word) || EFFORTS_IN_BRACKETS.contains(&word) => {}
            _ => return None,
        }
    }
    Some(if fast && !name.ends_with("-fast") { format!("{name}-fast") } else { name.to_owned() })
}

/// `…-v1:0` of Bedrock, which writes `…-v1` as well.
fn version_less(name: &str) -> Option<String> {
    let (rest, version) = name.rsplit_once("-v")?;
    let is_version = match version.split_once(':') {
        Some((version, revision)) => is_number(version) && is_number(revision),
        None => is_number(version) && bedrock_tail(name).is_some(),
    };
    is_version.then(|| rest.to_owned())
}

/// `…-20250929`, `…-2025-08-07`, `…@20250929` (Vertex), `…-latest`, and the numbered releases of Gemini (`…-001`).
fn date_less(name: &str) -> Option<String> {
    for newest in ["-latest", "@latest", "@default"] {
        if let Some(rest) = name.strip_suffix(newest) {
            return Some(rest.to_owned());
        }
    }
    let (rest, last) = name.rsplit_once(['-', '@'])?;
    let is_digits = |text: &str, length: usize| text.len() == length && is_number(text);
    if is_digits(last, 8) && last.starts_with("20") || is_digits(last, 3) && last.starts_with("00") && name.contains("gemini") {
        return Some(rest.to_owned());
    }
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    (is_digits(last, 2) && is_digits(month, 2) && is_digits(year, 4) && year.starts_with("20")).then(|| rest.to_owned())
}

/// What follows a region or a maker.
fn bedrock_tail(name: &str) -> Option<String> {
    let (first, rest) = name.split_once('.')?;
    (REGIONS.contains(&first) || BEDROCK_MAKERS.contains(&first)).then(|| rest.to_owned())
}

/// `gpt-5-high`, `claude-opus-4-6-thinking`: the same model at the same price.
fn effort_less(name: &str) -> Option<String> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let (rest, word) = name.rsplit_once('-')?;
    let is_effort = EFFORTS.contains(&word) && WITH_EFFORT.iter().any(|family| base.starts_with(family));
    (is_effort || word == "thinking" && base.starts_with("claude-")).then(|| rest.to_owned())
}

/// `claude-4-6-sonnet` for `claude-sonnet-4-6`.
fn family_first(name: &str) -> Option<String> {
    let words: Vec<&str> = name.strip_prefix("claude-")?.split('-').collect();
    let (family, version) = words.split_last()?;
    let is_version = !version.is_empty() && version.iter().all(|word| is_number(word));
    (is_version && family.chars().all(|letter| letter.is_ascii_lowercase()))
        .then(|| format!("claude-{family}-{}", version.join("-")))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
