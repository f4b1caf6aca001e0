//! Which of the host's variables an agent inherits.

use std::collections::BTreeMap;

/// Beginnings of the names that agents and their providers' libraries read. An inherited key silently beats the login or the
/// endpoint that a contract chose: Claude Code prefers `ANTHROPIC_API_KEY` to its login.
const STEERING_PREFIXES: [&str; 43] = [
    // Agents.
    "ANTHROPIC_",
    "CLAUDE_",
    "CODEX_",
    "CURSOR_",
    "OPENAI_",
    "OPENCODE_",
    "PI_",
    // Ours: a host may run inside an agent.
    "CHAT_NATIVE_",
    // Providers.
    "AI_GATEWAY_",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_BEDROCK_",
    "AWS_ENDPOINT_URL_BEDROCK",
    "AZURE_API_",
    "AZURE_COGNITIVE_",
    "AZURE_OPENAI_",
    "AZURE_RESOURCE_NAME",
    "BEDROCK_",
    "CEREBRAS_",
    "COHERE_",
    "COPILOT_",
    "DASHSCOPE_",
    "DEEPINFRA_",
    "DEEPSEEK_",
    "FIREWORKS_",
    "GEMINI_",
    "GOOGLE_API_",
    "GOOGLE_GEMINI_",
    "GOOGLE_GENERATIVE_AI_",
    "GOOGLE_VERTEX_",
    "GROQ_",
    "KIMI_",
    "LITELLM_",
    "MINIMAX_",
    "MISTRAL_",
    "MOONSHOT_",
    "OPENROUTER_",
    "PERPLEXITY_",
    "TOGETHER_",
    "VERTEX_",
    "VERTEXAI_",
    "XAI_",
    "ZAI_",
    "ZHIPU_",
];

/// Names without such a beginning that set up Claude Code, or tell an agent that it runs inside another.
const STEERING_NAMES: [&str; 10] = [
    "API_TIMEOUT_MS",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
    "BASH_MAX_TIMEOUT_MS",
    "CLAUDECODE",
    "CLOUD_ML_REGION",
    "MAX_MCP_OUTPUT_TOKENS",
    "MAX_THINKING_TOKENS",
    "MCP_TOOL_TIMEOUT",
    "OPENCODE",
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
            "GOOGLE_API_KEY",
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
            "AWS_PROFILE",
            "AZURE_CLIENT_ID",
            "GIT_AUTHOR_NAME",
            "GOOGLE_APPLICATION_CREDENTIALS",
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
