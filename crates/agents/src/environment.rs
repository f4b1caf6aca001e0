//! Which of the host's variables an agent inherits.

use std::collections::BTreeMap;

/// Beginnings of the names that agents and their providers' libraries read. An inherited key silently beats the login or the
/// endpoint that a contract chose (Claude Code prefers `ANTHROPIC_API_KEY` to its login).
const STEERING_PREFIXES: [&str; 38] = [
    // Agents.
    "ANTHROPIC_",
    "CLAUDE_",
    "CODEX_",
    "CURSOR_",
    "OPENAI_",
    "OPENCODE_",
    "PI_",
    // Ours: an agent may run inside an agent.
    "CHAT_NATIVE_",
    // Providers.
    "AI_GATEWAY_",
    "ANT_LING_",
    "AZURE_",
    "BASETEN_",
    "CEREBRAS_",
    "CLOUDFLARE_",
    "COHERE_",
    "DASHSCOPE_",
    "DEEPINFRA_",
    "DEEPSEEK_",
    "FIREWORKS_",
    "GEMINI_",
    "GOOGLE_",
    "GROQ_",
    "KIMI_",
    "MINIMAX_",
    "MISTRAL_",
    "MOONSHOT_",
    "NVIDIA_API_",
    "OLLAMA_",
    "OPENROUTER_",
    "PERPLEXITY_",
    "REPLICATE_",
    "TOGETHER_",
    "VENICE_",
    "VERCEL_",
    "VERTEX_",
    "VERTEXAI_",
    "XAI_",
    "ZAI_",
];

/// Names that share their beginning with variables an agent's commands need, such as `AWS_PROFILE` for the user's own tools: only
/// these choose a model's endpoint or pay for it.
const STEERING_NAMES: [&str; 22] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_BEDROCK_FORCE_HTTP1",
    "AWS_BEDROCK_SKIP_AUTH",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "AWS_PROFILE",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "API_TIMEOUT_MS",
    "CLAUDECODE",
    "CLOUD_ML_REGION",
    "COPILOT_GITHUB_TOKEN",
    "DISABLE_PROMPT_CACHING",
    "GCLOUD_PROJECT",
    "HF_TOKEN",
    "MAX_THINKING_TOKENS",
    "MCP_TIMEOUT",
    "MCP_TOOL_TIMEOUT",
    "OPENCODE",
    "USE_BUILTIN_RIPGREP",
    "ZHIPU_API_KEY",
];

/// The variables of the host that an agent gets: exactly those that `inherit` names, or else all but those that steer the login,
/// the endpoint or the configuration of an agent. The ids of this library's own processes are never passed on.
pub(crate) fn inherited(host: &BTreeMap<String, String>, inherit: Option<&[String]>) -> BTreeMap<String, String> {
    let is_passed = |name: &str| match inherit {
        Some(names) => names.iter().any(|wanted| wanted == name) && !name.starts_with("CHAT_NATIVE_"),
        None => !steers_agents(name),
    };
    host.iter().filter(|(name, _)| is_passed(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn steers_agents(name: &str) -> bool {
    // Names differ in case on Windows, and some programs read theirs in either.
    let name = name.to_ascii_uppercase();
    STEERING_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || STEERING_NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), format!("value of {name}"))).collect()
    }

    fn names(variables: BTreeMap<String, String>) -> Vec<String> {
        variables.into_keys().collect()
    }

    #[test]
    fn logins_and_endpoints_of_agents_are_left_out() {
        let steering = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AZURE_OPENAI_API_KEY",
            "CHAT_NATIVE_AGENT",
            "CHAT_NATIVE_HOST",
            "CLAUDECODE",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "CURSOR_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "OPENAI_API_KEY",
            "OPENCODE_CONFIG_CONTENT",
            "OPENROUTER_API_KEY",
            "PI_CODING_AGENT_DIR",
            "openai_base_url",
        ];
        assert_eq!(names(inherited(&host(&steering), None)), [""; 0]);
    }

    #[test]
    fn what_commands_need_stays() {
        let needed = [
            "AWS_REGION",
            "GIT_AUTHOR_NAME",
            "HOME",
            "HTTPS_PROXY",
            "LANG",
            "LC_ALL",
            "NODE_EXTRA_CA_CERTS",
            "NO_PROXY",
            "PATH",
            "PIPX_HOME",
            "SSH_AUTH_SOCK",
            "SSL_CERT_FILE",
            "TMPDIR",
            "XDG_CONFIG_HOME",
            "https_proxy",
        ];
        assert_eq!(names(inherited(&host(&needed), None)), needed);
    }

    #[test]
    fn a_list_is_taken_as_it_is() {
        let list = ["OPENAI_API_KEY".to_owned(), "PATH".to_owned(), "MISSING".to_owned(), "CHAT_NATIVE_HOST".to_owned()];
        let variables = inherited(&host(&["CHAT_NATIVE_HOST", "HOME", "OPENAI_API_KEY", "PATH"]), Some(&list));
        assert_eq!(names(variables), ["OPENAI_API_KEY", "PATH"]);
    }
}
