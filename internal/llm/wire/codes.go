package wire

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// codeClass maps the codes and types in vendors' error objects to classes. Codes that mean only "bad request" are
// absent, because the message may be more exact.
var codeClass = map[string]llm.Class{
	"context_length_exceeded":              llm.Overflow,
	"context_window_exceeded":              llm.Overflow,
	"exceed_context_size_error":            llm.Overflow,
	"model_context_window_exceeded":        llm.Overflow,
	"request_too_large":                    llm.Overflow,
	"request_entity_too_large":             llm.Overflow,
	"string_above_max_length":              llm.Overflow,
	"tokens_limit_reached":                 llm.Overflow,
	"too_many_prompt_tokens":               llm.Overflow,
	"tool_use_failed":                      llm.Malformed, // the vendor could not parse the model's call
	"json_validate_failed":                 llm.Malformed,
	"api_key_invalid":                      llm.Auth,
	"api_key_service_blocked":              llm.Auth,
	"account_deactivated":                  llm.Auth,
	"authentication_error":                 llm.Auth,
	"incorrect_api_key_error":              llm.Auth,
	"invalid_api_key":                      llm.Auth,
	"invalid_authentication_error":         llm.Auth,
	"permission_denied":                    llm.Auth,
	"permission_error":                     llm.Auth,
	"unauthenticated":                      llm.Auth,
	"unauthorized":                         llm.Auth,
	"wrong_api_key":                        llm.Auth,
	"billing_hard_limit_reached":           llm.Quota,
	"billing_not_active":                   llm.Quota,
	"billing_error":                        llm.Quota,
	"credit_limit_exceeded":                llm.Quota,
	"exceeded_current_quota_error":         llm.Quota,
	"insufficient_balance":                 llm.Quota,
	"insufficient_credits":                 llm.Quota,
	"insufficient_quota":                   llm.Quota,
	"payment_required":                     llm.Quota,
	"quota_exceeded":                       llm.Quota,
	"rate_limit_error":                     llm.RateLimit,
	"rate_limit_exceeded":                  llm.RateLimit,
	"rate_limit_reached_error":             llm.RateLimit,
	"rate_limited":                         llm.RateLimit,
	"too_many_requests":                    llm.RateLimit,
	"too_many_requests_error":              llm.RateLimit,
	"content_filter":                       llm.ContentFilter,
	"content_policy_violation":             llm.ContentFilter,
	"data_inspection_failed":               llm.ContentFilter,
	"moderation_blocked":                   llm.ContentFilter,
	"responsibleaipolicyviolation":         llm.ContentFilter,
	"sensitive_words_detected":             llm.ContentFilter,
	"image_content_policy_violation":       llm.ContentFilter,
	"cyber_policy_violation":               llm.ContentFilter,
	"deadline_exceeded":                    llm.Overloaded,
	"engine_overloaded_error":              llm.Overloaded,
	"internal":                             llm.Overloaded,
	"internal_error":                       llm.Overloaded,
	"internal_server_error":                llm.Overloaded,
	"overloaded":                           llm.Overloaded,
	"overloaded_error":                     llm.Overloaded,
	"vector_store_timeout":                 llm.Overloaded,
	"server_error":                         llm.Overloaded,
	"service_unavailable":                  llm.Overloaded,
	"service_unavailable_error":            llm.Overloaded,
	"unavailable":                          llm.Overloaded,
	"empty_image_file":                     llm.InvalidRequest,
	"failed_to_download_image":             llm.InvalidRequest,
	"failed_precondition":                  llm.InvalidRequest,
	"image_file_too_large":                 llm.InvalidRequest,
	"image_parse_error":                    llm.InvalidRequest,
	"image_too_large":                      llm.InvalidRequest,
	"image_too_small":                      llm.InvalidRequest,
	"unsupported_image_media_type":         llm.InvalidRequest,
	"expiredtokenexception":                llm.Auth,
	"incompletesignatureexception":         llm.Auth,
	"invalidsignatureexception":            llm.Auth,
	"missingauthenticationtokenexception":  llm.Auth,
	"unrecognizedclientexception":          llm.Auth,
	"servicequotaexceededexception":        llm.Quota,
	"throttlingexception":                  llm.RateLimit,
	"internalserverexception":              llm.Overloaded,
	"modelerrorexception":                  llm.Overloaded,
	"modelnotreadyexception":               llm.Overloaded,
	"modelstreamerrorexception":            llm.Overloaded,
	"modeltimeoutexception":                llm.Overloaded,
	"serviceunavailableexception":          llm.Overloaded,
	"model_not_found":                      llm.InvalidRequest,
	"unsupported_parameter":                llm.InvalidRequest,
	"unsupported_value":                    llm.InvalidRequest,
	"unknown_parameter":                    llm.InvalidRequest,
	"unsupported_country_region_territory": llm.Forbidden,
}

// accessDenied is the code with which Amazon refuses most requests.
const accessDenied = "accessdeniedexception"

// forbiddenCodes occur next to codes that would otherwise mean an invalid key.
var forbiddenCodes = []string{"service_disabled", "iam_permission_denied"}

// textPattern is a list of strings. It occurs in a text that contains all of them, in this order.
type textPattern []string

// overflowPatterns mean that the request exceeds the context window.
var overflowPatterns = []textPattern{
	{"prompt is too long"},
	{"prompt too long"},
	{"prompt contains too many tokens"},
	{"input is too long"},
	{"input too long for requested model"},
	{"exceeds", "context window"},
	{"exceed", "context window"},
	{"exceed", "context limit"},
	{"exceeds", "available context size"},
	{"context window exceeds limit"},
	{"exceeds the limit of"},
	{"input token count", "exceeds"},
	{"tokens in request more than max tokens"},
	{"tokens in request", "more than max"},
	{"maximum prompt length is"},
	{"reduce the length of"},
	{"maximum context length"},
	{"greater than the context length"},
	{"longer than the model's context length"},
	{"longer than the maximum model length"},
	{"tokens", "must be <="},
	{"range of input length should be"},
	{"prompt exceeds max length"},
	{"too many input tokens"},
	{"inputs must have less than"},
	{"input length", "exceeds the maximum length"},
	{"exceed max message tokens"},
	{"too many tokens: "},
	{"input tokens exceeded"},
	{"token limit exceeded"},
	{"context length of only"},
	{"exceeded model token limit"},
	{"context_length_exceeded"},
	{"context length exceeded"},
	{"exceeds", "context length"},
	{"request entity too large"},
	{"payload too large"},
	{"context length is only"},
	{"too large for model with"},
	{"model_context_window_exceeded"},
	{"(no body)"},
}

// imageRefusalPatterns occur in the errors with which servers of local models refuse an image, with the status of an
// internal failure.
var imageRefusalPatterns = []textPattern{
	{"image input is not supported"},
	{"missing data required for image input"},
}

var quotaPatterns = []textPattern{
	{"insufficient", "quota"},
	{"exceeded", "current quota"},
	{"insufficient", "balance"},
	{"insufficient", "credit"},
	{"out of credits"},
	{"no credits"},
	{"credit balance"},
	{"billing"},
	{"payment required"},
	{"spending limit"},
	{"quota exceeded"},
	{"exceeded your quota"},
	{"exceeded", "monthly"},
}

// creditPatterns mean an empty account, whatever the status is: Anthropic answers 400.
var creditPatterns = []textPattern{{"credit balance is too low"}}

// keyPatterns mean an invalid key, whatever the status is: xAI answers 400.
var keyPatterns = []textPattern{{"incorrect api key provided"}}

// credentialPatterns mean that the key is the reason of an AccessDeniedException.
var credentialPatterns = []textPattern{{"api key"}, {"authentication failed"}, {"security token"}, {"signature"}}

// clockPatterns occur in the errors with which Amazon refuses a request whose signature has another date.
var clockPatterns = []textPattern{{"signature expired"}, {"signature not yet current"}}

var ratePatterns = []textPattern{{"rate limit"}, {"rate_limit"}, {"ratelimit"}, {"too many requests"}}

var filterPatterns = []textPattern{
	{"content policy"},
	{"content_policy"},
	{"content filter"},
	{"content_filter"},
	{"content management policy"},
	{"safety system"},
	{"safety policy"},
	{"usage policies"},
	{"usage policy"},
	{"flagged by", "moderation"},
}

// matchesAny reports whether one of the patterns occurs in text, which is in lower case.
func matchesAny(text string, patterns []textPattern) bool {
	return slices.ContainsFunc(patterns, func(p textPattern) bool { return p.occursIn(text) })
}

func (p textPattern) occursIn(text string) bool {
	for _, words := range p {
		_, after, found := strings.Cut(text, words)
		if !found {
			return false
		}
		text = after
	}
	return true
}
