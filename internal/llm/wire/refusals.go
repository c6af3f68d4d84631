package wire

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// refusal is one row of the table that classifies failures. A row applies if the body has one of its codes, or a text
// with one of its words. source says whose errors it is for.
type refusal struct {
	class  llm.Class
	source string
	codes  string   // exact codes in lower case, separated by spaces
	repeat string   // codes that only repeat a status; they are compared after the words of all rows
	words  []string // in the form of normalizeText; " … " stands for any text in between
	weak   bool     // the class is Quota, but RateLimit with a delay below shortDelay or a limit per minute

	below500 bool // the words count with a status below 500 only
}

// refusals is the table, in the order in which its words are compared: rows whose words have one meaning come first.
// classifyBody compares the codes of all rows, then their words, then the codes that repeat a status.
var refusals = []refusal{
	{
		class:  llm.InvalidRequest,
		source: "llama.cpp, Ollama: an image, with the status of an internal failure",
		words: []string{
			"image input is not supported", "missing data required for image input",
		},
	},
	{class: llm.InvalidRequest, source: "llama.cpp, vLLM, LM Studio: the template of a model", words: []string{
		"jinja", "raise exception", "roles must alternate", "must alternate", "must be at the beginning",
		"assistant roles are supported", "chat template", "template error", "error rendering prompt",
	}},
	{class: llm.InvalidRequest, source: "OpenAI: a long parameter other than the prompt", words: []string{
		"cache key", "array too long",
	}},
	{class: llm.InvalidRequest, source: "OpenAI, Azure, Groq, Zen: a parameter, an image or a model", codes: `
		model_not_found unsupported_parameter unsupported_value unknown_parameter invalid_function_parameters invalid_type
		missing_required_parameter array_above_max_length empty_image_file failed_to_download_image failed_precondition
		image_file_too_large image_parse_error image_too_large image_too_small unsupported_image_media_type`},
	{class: llm.Malformed, source: "Groq: the vendor could not parse the model's answer", codes: `
		tool_use_failed json_validate_failed`},
	{class: llm.Overflow, source: "OpenAI, Azure, Anthropic, Cerebras, GitHub, llama.cpp, Z.ai, Baidu", codes: `
		context_length_exceeded context_window_exceeded exceed_context_size_error model_context_window_exceeded
		request_too_large request_entity_too_large string_above_max_length tokens_limit_reached too_many_prompt_tokens 1261`},
	{class: llm.Auth, source: "Google, OpenAI, Amazon", codes: `
		api_key_invalid api_key_service_blocked account_deactivated incorrect_api_key_error invalid_api_key
		invalid_authentication_error wrong_api_key expiredtokenexception incompletesignatureexception
		invalidsignatureexception missingauthenticationtokenexception unrecognizedclientexception`},
	{class: llm.Forbidden, source: "OpenAI: a country", codes: `unsupported_country_region_territory`},
	{class: llm.ContentFilter, source: "OpenAI, Azure, DashScope, Z.ai, MiniMax", codes: `
		content_filter content_policy_violation data_inspection_failed moderation_blocked responsibleaipolicyviolation
		sensitive_words_detected image_content_policy_violation cyber_policy_violation 1301 1026 1027`},
	{class: llm.Quota, source: "Z.ai, MiniMax, DashScope, Google", codes: `
		1113 1304 1308 1309 1310 1316 1008 arrearage billing_disabled billing_hard_limit_reached billing_not_active
		billing_error credit_limit_exceeded insufficient_balance insufficient_credits payment_required`},
	{class: llm.Quota, source: "OpenAI, Moonshot, Cerebras, Amazon, Copilot", weak: true, codes: `
		exceeded_current_quota_error insufficient_quota quota_exceeded quota_exhausted servicequotaexceededexception`},

	{class: llm.Auth, source: "xAI, Google: a key that is wrong, with the status of a bad request", words: []string{
		"incorrect api key", "invalid api key", "api key not valid", "api key expired", "invalid x api key",
	}},
	{class: llm.Overflow, source: "all: the context, the prompt or the request is too large", words: []string{
		"context … exceed", "exceed … context", "context … too long", "context … too large", "context … full",
		"context overflow", "context shift is disabled", "maximum context", "max context", "context length of only",
		"context length is only", "than the context length", "than the model's context",
		"than the maximum model length",
		"prompt … too long", "prompt … too large", "prompt … exceed", "exceed … prompt", "prompt … longer than",
		"prompt … too many tokens", "prompt token … less than", "maximum prompt length", "truncate prompt",
		"input … too long", "input too large", "input length … exceed", "exceed … input length",
		"input tokens … exceed",
		"input tokens cannot", "input token count", "too many input tokens", "length of prompt",
		"inputs must have less than", "input length should be", "exceed max message tokens", "max sequence length",
		"max seq len", "max input chars", "max input tokens", "reduce the length", "reduce your prompt",
		"reduce the prompt",
		"shorten your", "conversation is too long", "messages … too long", "request too large", "body too large",
		"request entity too large", "payload too large", "payload size exceeds", "long context request", "(no body)",
		"上下文", "超长", "过长", "输入长度", "超过最大长度",
	}},
	{class: llm.Quota, source: "all: the account has no money", words: []string{
		"insufficient … balance", "insufficient … credit", "insufficient … fund", "balance … insufficient",
		"balance is too low", "not enough … balance", "not enough … credit", "not enough … fund", "out of credit",
		"no credits", "any credits", "no remaining credit", "credits … exhausted", "credits … depleted",
		"credit balance",
		"exceeded … credits", "requires more credits", "can only afford", "spending limit", "spend limit",
		"spending cap",
		"budget … exceeded", "exceeded … budget", "exceeded budget", "arrears", "arrearage", "overdue", "unpaid",
		"past invoices", "payment required", "payment instrument", "free tier only", "free allocation",
		"free allowance",
		"resource pack", "package has expired", "plan has expired", "subscription has expired", "subscription expired",
		"requires billing", "billing disabled", "billing not active", "billing is not", "credits error",
		"余额", "欠费", "充值", "资源包", "套餐", "额度已", "额度不足",
	}},
	{class: llm.RateLimit, source: "all: a limit per minute, or of requests at a time", words: minuteWords},
	{class: llm.Quota, source: "all: the limit of a day, a week, a month, or a plan", weak: true, words: []string{
		"per day", "/ day", "/day", "by day", "daily", "weekly", "per week", "monthly", "per month", "/ month",
		"/month",
		"set limit exceeded", "5 hour", "five hour", "billing cycle", "usage limit", "usage quota",
		"key limit exceeded",
		"quota … exceeded", "quota … exhausted", "quota … reset", "quota … used up", "exceeded … quota",
		"exhausted your",
		"insufficient … quota", "out of … quota", "used up", "regain access", "plan and billing", "limit will reset",
		"fair use", "upgrade your plan", "使用上限", "每日", "每周", "每月", "已用完", "用量",
	}},
	{class: llm.RateLimit, source: "all", codes: `rate_limited`, repeat: `
		rate_limit_error rate_limit_exceeded rate_limit_reached_error too_many_requests too_many_requests_error
		throttlingexception`, words: []string{
		"rate limit", "ratelimit", "too many requests", "too many concurrent", "slow down", "请求过多",
	}},
	{class: llm.Overflow, source: "all: a number of tokens is too large", words: []string{
		"exceeds the limit of", "token limit exceeded", "exceeded … token limit", "tokens … must be <=",
		"tokens in request … more than max", "too many tokens: ", "too large for model with",
		"number of tokens … exceed",
		"number of tokens … greater", "total tokens … exceed", "token count … exceed",
	}},
	{class: llm.ContentFilter, source: "all", words: []string{
		"content policy", "content filter", "content management policy", "safety system", "safety policy",
		"safety check",
		"safety filter", "safety guideline", "usage policies", "usage policy", "usage guidelines",
		"flagged by … moderation",
		"content exists risk", "sensitive content", "sensitive information", "sensitive word", "new sensitive",
		"inappropriate content",
		"content violat", "violat … policy", "violat … policies", "violat … guidelines", "prohibited content",
		"harmful content", "content moderation", "policy violation", "data inspection", "risk detected",
		"unsafe content",
		"敏感", "不安全", "违规", "违法",
	}},
	{
		class:  llm.Forbidden,
		source: "Azure, Copilot, Groq, Anthropic, Google: a network, a region, a policy, an account", below500: true,
		words: []string{
			"virtual network", "firewall", "public access is disabled", "private endpoint",
			"access to this endpoint is forbidden",
			"terms of service", "organization's policy", "organization policy", "your organization has disabled",
			"disabled by your", "has been restricted", "organization restricted", "has been disabled", "has been suspended",
			"is suspended", "has been blocked", "has been banned", "has been terminated", "account is locked",
			"country … not supported", "not supported in your", "not available in your", "your country", "your region",
			"unsupported region", "location is not supported", "must be verified", "verification required",
			"not allowlisted",
			"not whitelisted", "ip address … not", "ip not allowed", "network rules", "service disabled",
			"iam permission denied",
		},
	},
	{
		class:  llm.InvalidRequest,
		source: "Zen, Copilot: a model that does not exist, with the status of a wrong key", below500: true,
		words: []string{
			"model … is not supported", "model … not found", "model … does not exist", "unknown model",
			"model … not available",
		},
	},
	{class: llm.Overloaded, source: "all", codes: `vector_store_timeout`, words: []string{
		"overloaded", "at capacity", "server is busy", "model is loading", "no capacity", "系统繁忙", "服务器繁忙",
	}},

	{class: llm.Auth, repeat: `authentication_error permission_denied permission_error unauthenticated unauthorized`},
	{class: llm.Overloaded, repeat: `
		deadline_exceeded engine_overloaded_error internal internal_error internal_server_error overloaded overloaded_error
		api_error server_error service_unavailable service_unavailable_error unavailable internalserverexception
		modelerrorexception modelnotreadyexception modelstreamerrorexception modeltimeoutexception
		serviceunavailableexception`},
}

// minuteWords mean a limit per minute, or of requests at a time.
var minuteWords = []string{
	"per minute", "per min", "/ minute", "/minute", "/min", "by minute", "per second", "/ second", " tpm", "(tpm",
	" rpm", "(rpm", " qps",
	"concurren", "throttling", "please wait before", "(e.g. check quota)", "requests in parallel",
	"频率", "速率", "并发", "过于频繁", "每分钟",
}

// accessDenied is a code with which Amazon refuses requests for many reasons. Only credentialWords blame the key.
const accessDenied = "accessdeniedexception"

// credentialWords mean that the key is the reason of an AccessDeniedException.
var credentialWords = []string{"api key", "authentication failed", "security token", "signature"}

// clockWords occur in the errors with which Amazon refuses a request whose signature has another date.
var clockWords = []string{"signature expired", "signature not yet current"}

// hasAny reports whether one of the words occurs in one of the texts.
func hasAny(texts, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return occursIn(text, w) })
	})
}

// maxGap bounds the text between two words of a pattern, in bytes: words further apart belong to two statements.
const maxGap = 100

// occursIn reports whether the pattern occurs in the text. " … " in it stands for at most maxGap bytes.
func occursIn(text, pattern string) bool {
	first, rest, gap := strings.Cut(pattern, " … ")
	for {
		_, after, found := strings.Cut(text, first)
		if !found || !gap {
			return found
		}
		if occursIn(after[:min(len(after), maxGap)], rest) {
			return true
		}
		text = after
	}
}
