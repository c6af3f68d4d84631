package wire_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		status  int
		body    string
		class   llm.Class
		message string
	}{
		// Codes take precedence.
		{
			400,
			`{"error":{"message":"This model's maximum context length is 8192 tokens (safety margin included)",` +
				`"code":"context_length_exceeded","type":"invalid_request_error"}}`,
			llm.Overflow, "This model's maximum",
		},
		{
			429,
			`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.",` +
				`"type":"insufficient_quota","code":"insufficient_quota"}}`,
			llm.Quota, "You exceeded",
		},
		{
			429, `{"error":{"message":"Rate limit reached; see billing","type":"tokens","code":"rate_limit_exceeded"}}`,
			llm.RateLimit, "Rate limit",
		},
		{
			413,
			`{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000",` +
				`"type":"tokens","code":"rate_limit_exceeded"}}`,
			llm.Overflow, "Request too large",
		},
		{
			401, `{"error":{"message":"Incorrect API key provided: sk-abcdef***xyz.","code":"invalid_api_key"}}`, llm.Auth,
			"Incorrect API key provided: [redacted]",
		},
		{
			400, `{"error":{"message":"blocked","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
			llm.ContentFilter, "blocked",
		},
		{
			403, `{"error":{"message":"Input flagged","code":403,"metadata":{"reasons":["x"],"flagged_input":"y"}}}`,
			llm.ContentFilter, "Input flagged",
		},
		{
			400,
			`[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",` +
				`"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]`,
			llm.Auth, "API key not valid.",
		},
		{
			429,
			`{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.",` +
				`"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]},` +
				`{"retryDelay":"36s"}]}}`,
			llm.RateLimit, "You exceeded",
		},
		{
			429,
			`{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED",` +
				`"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"retryDelay":"36s"}]}}`,
			llm.Quota, "You exceeded",
		},
		{
			429,
			`{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`,
			llm.RateLimit, "Resource has",
		},
		{
			400,
			`{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed ` +
				`(1048576).","status":"INVALID_ARGUMENT"}}`,
			llm.Overflow, "The input token",
		},
		{
			503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`,
			llm.Overloaded, "The model is",
		},
		{
			500, `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`, llm.Overloaded,
			"An internal",
		},
		{
			400,
			`{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`,
			llm.InvalidRequest, "User location",
		},
		{403, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`, llm.Auth, "no"},
		{400, `{"error":{"code":"image_content_policy_violation","message":"no"}}`, llm.ContentFilter, "no"},
		{400, `{"error":{"message":"no such model","code":"model_not_found"}}`, llm.InvalidRequest, "no such model"},
		{
			400,
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"input length and max_tokens exceed context limit: 190000 + 20000 > 200000"}}`,
			llm.Overflow, "input length",
		},
		{
			400,
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"Your credit balance is too low to access the API."}}`,
			llm.Quota, "Your credit",
		},
		// Refusals that a new key cannot fix.
		{
			403,
			`{"__type":"com.amazon.coral.service#AccessDeniedException",` +
				`"message":"You don't have access to the model with the specified model ID."}`,
			llm.Forbidden, "You don't have access",
		},
		{
			403, `{"__type":"AccessDeniedException","Message":"Authentication failed: Please make sure your API Key is valid."}`,
			llm.Auth, "Authentication failed",
		},
		{
			403, `{"__type":"AccessDeniedException","Message":"The security token included in the request is invalid"}`,
			llm.Auth, "The security token",
		},
		{
			403,
			`{"message":"Signature expired: 20261121T101500Z is now earlier than 20261121T102000Z (20261121T102500Z - 5 min.)"}`,
			llm.Forbidden,
			"Signature expired: 20261121T101500Z is now earlier than 20261121T102000Z (20261121T102500Z - 5 min.); the clock " +
				"of this computer is wrong: correct it",
		},
		{
			403, `{"message":"Signature not yet current: 20261121T103500Z is still later than 20261121T103000Z"}`, llm.Forbidden,
			"Signature not yet current",
		},
		{
			403,
			`{"message":"The request signature we calculated does not match the signature you provided. Check your AWS ` +
				`Secret Access Key"}`,
			llm.Auth, "The request signature",
		},
		{
			403,
			`{"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory",` +
				`"type":"request_forbidden"}}`,
			llm.Forbidden, "Country",
		},
		{
			403,
			`{"error":{"code":403,"message":"Generative Language API has not been used in project 1 before or it is ` +
				`disabled.","status":"PERMISSION_DENIED","details":[{"reason":"SERVICE_DISABLED"}]}}`,
			llm.Forbidden, "Generative",
		},
		{
			403, "\n<!DOCTYPE html><html><head>\n<TITLE lang=en>Access  denied |\n gateway &amp; co</TITLE></head>",
			llm.Forbidden,
			`a web page answered with HTTP 403 Forbidden instead of the provider: "Access denied | gateway & co"; check for a ` +
				`firewall or proxy in between (HTTPS_PROXY) and the base URL (options.baseURL)`,
		},
		{403, "<html>no", llm.Forbidden, "a web page answered with HTTP 403 Forbidden instead of the provider; check"},
		{
			401, "<html><title>Log in</title>", llm.Auth,
			`a web page answered with HTTP 401 Unauthorized instead of the provider: "Log in"`,
		},
		{
			404, "<html><title>nope " + strings.Repeat("x", 200), llm.InvalidRequest,
			"a web page answered with HTTP 404 Not Found",
		},
		{429, `{"message":"Too many tokens per day, please wait before trying again."}`, llm.RateLimit, "Too many tokens"},
		{
			400, `{"message":"The model returned the following errors: Input is too long for requested model."}`, llm.Overflow,
			"The model returned",
		},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, "Overloaded"},
		{503, `{"object":"error","message":"busy","type":"ServiceUnavailableError","code":503}`, llm.Overloaded, "busy"},
		{402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.Quota, "Insufficient credits"},
		{
			400,
			`{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}`,
			llm.Overflow, "The total",
		},
		{
			400,
			`{"error":{"code":"tool_use_failed","failed_generation":"maybe",` +
				`"message":"Tool choice is required, but model did not call a tool","type":"invalid_request_error"}}`,
			llm.Malformed, "Tool choice",
		},
		{
			400, `{"error":{"code":"json_validate_failed","message":"Failed to generate JSON.","type":"invalid_request_error"}}`,
			llm.Malformed, "Failed",
		},
		{
			400,
			`{"code":"invalid-argument","error":"Incorrect API key provided. You can obtain an API key from ` +
				`https://console.x.ai."}`,
			llm.Auth, "Incorrect API key provided",
		},
		// Then the status.
		{401, ``, llm.Auth, "the provider answered with HTTP 401 Unauthorized"},
		{403, `forbidden`, llm.Auth, "forbidden"},
		{503, `upstream sad`, llm.Overloaded, "Service Unavailable: upstream sad"},
		{404, `{"error":"model \"x\" not found, try pulling it first"}`, llm.InvalidRequest, `model "x" not found`},
		{408, ``, llm.Overloaded, "the provider answered with HTTP 408"},
		{418, ``, llm.Unknown, "the provider answered with HTTP 418"},
		{422, `{"detail":"bad"}`, llm.InvalidRequest, "bad"},
		{429, ``, llm.RateLimit, "the provider answered with HTTP 429"},
		{429, `{"error":{"message":"Your credit balance is too low"}}`, llm.Quota, "Your credit"},
		{500, `<html>oops</html>`, llm.Overloaded, "the provider answered with HTTP 500"},
		{529, `{}`, llm.Overloaded, "{}"},
		{599, ``, llm.Overloaded, "the provider answered with HTTP 599"},
		{301, ``, llm.InvalidRequest, "the provider answered with HTTP 301"},
		// Then phrases.
		{400, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.Overflow, "prompt is"},
		{400, `{"message":"Input is too long for requested model"}`, llm.Overflow, "Input is"},
		{400, `{"error":{"message":"Your input exceeds the context window of this model"}}`, llm.Overflow, ""},
		{
			400, `{"error":{"message":"request (9000 tokens) exceeds the available context size (8192 tokens)"}}`, llm.Overflow,
			"",
		},
		{500, `{"error":{"message":"the request exceeds the available context size"}}`, llm.Overflow, ""},
		{400, `{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000"}}`, llm.Overflow, ""},
		{
			400,
			`[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed ` +
				`(1048576).","status":"INVALID_ARGUMENT"}}]`,
			llm.Overflow, "The input token",
		},
		{422, `{"error":{"message":"tokens in request more than max tokens allowed"}}`, llm.Overflow, ""},
		{
			400, `{"error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`,
			llm.Overflow, "",
		},
		{
			500,
			`{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, ` +
				`you may need to provide the mmproj","type":"server_error"}}`,
			llm.InvalidRequest, "",
		},
		{500, `{"error":"Failed to create new sequence: missing data required for image input"}`, llm.InvalidRequest, ""},
		{400, `{"message":"inputs must have less than 8192 tokens. Given: 9000"}`, llm.Overflow, ""},
		{400, `{"error":{"message":"Input length 9000 exceeds the maximum length 8192"}}`, llm.Overflow, ""},
		{400, `{"error":{"message":"Total tokens of image and text exceed max message tokens"}}`, llm.Overflow, ""},
		{400, `{"error":{"message":"Please reduce the length of the messages or completion"}}`, llm.Overflow, ""},
		{
			400, `{"error":{"message":"This endpoint's maximum context length is 8192 tokens. However, you requested"}}`,
			llm.Overflow, "",
		},
		{400, `{"error":{"message":"the number of tokens is greater than the context length"}}`, llm.Overflow, ""},
		{400, `{"error":{"message":"invalid params, context window exceeds limit"}}`, llm.Overflow, ""},
		{400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192"}}`, llm.Overflow, ""},
		{413, `Request Entity Too Large`, llm.Overflow, "Request Entity"},
		{413, ``, llm.Overflow, ""},
		{400, ``, llm.InvalidRequest, ""},
		{400, `{"error":{"message":"context length is only 4096 tokens"}}`, llm.Overflow, ""},
		{400, `{"error":{"message":"input length of 9000 tokens exceeds the model's context length"}}`, llm.Overflow, ""},
		{
			400, `{"error":{"message":"Prompt contains 40000 tokens: too large for model with 32768 maximum context length"}}`,
			llm.Overflow, "",
		},
		{400, `{"error":{"message":"stop: model_context_window_exceeded"}}`, llm.Overflow, ""},
		{
			422,
			`{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens`" + ` must be <= 131073. Given: 140000 ` +
				"`inputs`" + ` tokens"}`,
			llm.Overflow, "",
		},
		{
			400,
			`{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.",` +
				`"type":"BadRequestError","code":400}`,
			llm.Overflow, "",
		},
		{
			400, `{"error":"The model is loaded with context length of only 4096 tokens, which is not enough."}`, llm.Overflow,
			"",
		},
		{
			400,
			`{"error":{"message":"Range of input length should be [1, 129024]","type":"invalid_request_error",` +
				`"code":"invalid_parameter_error"}}`,
			llm.Overflow, "",
		},
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, llm.Overflow, ""},
		{
			400, `{"message":"Too many input tokens. Max input tokens: 131072, request input token count: 150000"}`,
			llm.Overflow, "",
		},
		{
			400,
			`{"message":"Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input and ` +
				`try again."}`,
			llm.Overflow, "",
		},
		{
			400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 9000."}`,
			llm.Overflow, "",
		},
		{400, `{"error":{"message":"token limit exceeded"}}`, llm.Overflow, ""},
		{
			400, `{"error":{"message":"Invalid 'max_tokens': integer above maximum value. Expected a value <= 16384"}}`,
			llm.InvalidRequest, "",
		},
		{
			400,
			`{"error":{"message":"maximum context length is 8192 tokens, the content filter and the safety system included"}}`,
			llm.Overflow, "",
		},
		// A word in the text is not a code.
		{
			400, `{"error":{"message":"field safety_identifier is unknown","type":"invalid_request_error"}}`, llm.InvalidRequest,
			"",
		},
		{
			400, `{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384 completion tokens"}}`,
			llm.InvalidRequest, "",
		},
		{400, `{"error":{"message":"Your request was rejected as a result of our safety system"}}`, llm.ContentFilter, ""},
		// Inside a stream.
		{200, `{"error":{"message":"x","code":502}}`, llm.Overloaded, ""},
		{200, `{"error":{"message":"x"}}`, llm.Overloaded, ""},
		{200, `{"error":{"message":"x","type":"invalid_request_error"}}`, llm.InvalidRequest, ""},
		{200, `{"error":{"message":"Rate limit reached"}}`, llm.RateLimit, ""},
		{200, `{"error":{"message":"Context window exceeded","type":"context_length_exceeded"}}`, llm.Overflow, ""},
		{200, `{"error":null,"errors":[{"message":"cloudflare says no","code":7003}]}`, llm.Overloaded, "cloudflare says no"},
	}
	for _, tt := range tests {
		t.Run(tt.body, func(t *testing.T) {
			e := wire.ClassifyFailure(wire.Failure{Status: tt.status, Body: []byte(tt.body)})
			if e.Class != tt.class {
				t.Errorf("HTTP %d: class %s, want %s", tt.status, e.Class, tt.class)
			}
			if !strings.HasPrefix(e.Message, tt.message) {
				t.Errorf("message %q, want %q", e.Message, tt.message)
			}
		})
	}
}

func TestClassifyRetryAfter(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		headers map[string]string
		want    time.Duration
	}{
		{"none", nil, 0},
		{"seconds", map[string]string{"Retry-After": "3"}, 3 * time.Second},
		{"fraction", map[string]string{"Retry-After": "0.25"}, 250 * time.Millisecond},
		{"milliseconds win", map[string]string{"Retry-After-Ms": "1500.5", "Retry-After": "9"}, 1500500 * time.Microsecond},
		{"broken milliseconds", map[string]string{"Retry-After-Ms": "soon", "Retry-After": "9"}, 9 * time.Second},
		{"an hour", map[string]string{"Retry-After": "3600"}, time.Hour},
		{"for ever", map[string]string{"Retry-After": "1e300"}, 30 * 24 * time.Hour},
		{"negative", map[string]string{"Retry-After": "-5"}, 0},
		{"NaN", map[string]string{"Retry-After": "NaN"}, 0},
		{"date", map[string]string{"Retry-After": "Sat, 01 Aug 2026 12:00:30 GMT"}, 30 * time.Second},
		{
			"date by the server's own clock",
			map[string]string{"Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT", "Date": "Thu, 01 Jan 1970 00:00:00 GMT"},
			time.Minute,
		},
		{"date in the past", map[string]string{"Retry-After": "Sat, 01 Aug 2026 11:00:00 GMT"}, 0},
		{"date far away", map[string]string{"Retry-After": "Fri, 01 Aug 9999 11:00:00 GMT"}, 30 * 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tt.headers {
				h.Set(k, v)
			}
			if got := wire.ClassifyFailure(wire.Failure{Status: 429, Header: h, Now: now}).RetryAfter; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClassifyRedacts(t *testing.T) {
	body := `{"error":{"message":"bad key hunter2-hunter2 in Bearer abcdefgh123","param":"task-force"},` +
		`"request":{"api_key":"plain-value","apiKey":"v2","access_token":"t","partner_token":"pt-1","own_key":"ok-1",` +
		`"my_secret_word":"sw-1","signature":"s\"x","max_tokens":12,"note":"{\"client_secret\":\"inner\",\"ok\":\"kept\"}"}}`
	e := wire.ClassifyFailure(wire.Failure{
		Status: 401, Header: http.Header{"X-Request-Id": {"r1"}}, Body: []byte(body),
		Secrets: []string{"hunter2-hunter2", ""},
	})
	for _, secret := range []string{
		"hunter2", "abcdefgh123", "plain-value", `"v2"`, `"t"`, "pt-1", "ok-1", "sw-1", `"s\`, "x\"", "inner",
	} {
		if strings.Contains(e.Body+e.Message, secret) {
			t.Errorf("%q is still in\n%s\n%s", secret, e.Message, e.Body)
		}
	}
	for _, kept := range []string{"task-force", `"max_tokens":12`, "kept"} {
		if !strings.Contains(e.Body, kept) {
			t.Errorf("%q is gone from %s", kept, e.Body)
		}
	}
	if e.RequestID != "r1" || e.Status != 401 {
		t.Errorf("got %+v", e)
	}
}

func TestClassifyBounds(t *testing.T) {
	whole := `{"error":{"message":"` + strings.Repeat("ä", 40000) + `"}}`
	cut := strings.TrimSuffix(whole, "}") + `,"api_key":"cut off value`
	for _, huge := range []string{whole, cut} {
		e := wire.ClassifyFailure(wire.Failure{Status: 500, Body: []byte(huge)})
		if n := utf8.RuneCountInString(e.Body); n > 16384 {
			t.Errorf("body of %d characters", n)
		}
		if n := utf8.RuneCountInString(e.Message); n > 500 {
			t.Errorf("message of %d characters", n)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(400, `{"error":{"message":"a hunter2-hunter2","code":"context_length_exceeded"}}`, "3")
	f.Add(200, `[{"error":{"code":1,"error":{"error":{}}}}]`, "Sat, 01 Aug 2026 11:00:00 GMT")
	f.Add(500, `{"api_key":"hunter2-hunter2`, "-1")
	f.Fuzz(func(t *testing.T, status int, body, retry string) {
		e := wire.ClassifyFailure(wire.Failure{
			Status: status, Body: []byte(body), Secrets: []string{"hunter2-hunter2"},
			Header: http.Header{"Retry-After": {retry}}, Now: time.Unix(1e9, 0),
		})
		switch {
		case e.Class == "", e.Message == "" && body == "", e.RetryAfter < 0:
			t.Errorf("got %+v", e)
		case strings.Contains(e.Message+e.Body, "hunter2-hunter2"):
			t.Errorf("the secret is in %+v", e)
		case !utf8.ValidString(e.Message) || !utf8.ValidString(e.Body) || utf8.RuneCountInString(e.Message) > 500 ||
			utf8.RuneCountInString(e.Body) > 16384:
			t.Errorf("bad text in %+v", e)
		}
	})
}

// TestClassifyByHeader: Amazon reports some classes only in a header.
func TestClassifyByHeader(t *testing.T) {
	for name, want := range map[string]llm.Class{
		"ModelErrorException:http://internal.amazon.com/": llm.Overloaded,
		"ServiceQuotaExceededException":                   llm.Quota,
		"ValidationException":                             llm.Unknown,
	} {
		h := http.Header{"X-Amzn-Errortype": {name}}
		if e := wire.ClassifyFailure(wire.Failure{Status: 424, Header: h, Body: []byte(`{"message":"x"}`)}); e.Class != want {
			t.Errorf("%s: %s, want %s", name, e.Class, want)
		}
	}
}

// TestTimeOfReset: a quota says when it ends, if a member of the body does.
func TestTimeOfReset(t *testing.T) {
	for member, want := range map[string]time.Duration{
		`"resets_at":1000003600`:   time.Hour,
		`"resets_in_seconds":7200`: 2 * time.Hour,
		`"resets_at":999999999`:    0,
	} {
		e := wire.ClassifyFailure(wire.Failure{
			Status: 429, Now: time.Unix(1e9, 0), Body: []byte(`{"error":{"type":"usage_limit_reached",` + member + `}}`),
		})
		if e.Class != llm.Quota || e.RetryAfter != want {
			t.Errorf("%s: %s after %s", member, e.Class, e.RetryAfter)
		}
	}
}

// Delays in the text of an error are kept, a header goes before them.
func TestDelayInText(t *testing.T) {
	for message, want := range map[string]time.Duration{
		"Rate limit reached for gpt-5. Please try again in 20.5s. Visit https://x": 20500 * time.Millisecond,
		"Please try again in 6ms.":                       6 * time.Millisecond,
		"try again in 1m30.5s":                           90500 * time.Millisecond,
		"Please retry after 20 seconds.":                 20 * time.Second,
		"Retry after 2 minutes":                          2 * time.Minute,
		"try again in 1 hour":                            time.Hour,
		"Please try again in 500 milliseconds":           500 * time.Millisecond,
		"try again in 999999h":                           30 * 24 * time.Hour,
		"try again later":                                0,
		"try again in 5 sessions":                        0,
		"try again in 99999999999999999999s":             0,
		"your 3s of waiting end; try again in s seconds": 0,
	} {
		body := []byte(`{"error":{"message":"` + message + `","code":"rate_limit_exceeded"}}`)
		if got := wire.ClassifyFailure(wire.Failure{Status: 200, Body: body}).RetryAfter; got != want {
			t.Errorf("%q: %s, want %s", message, got, want)
		}
		h := http.Header{"Retry-After": {"7"}}
		e := wire.ClassifyFailure(wire.Failure{Status: 429, Body: body, Header: h})
		if e.RetryAfter != 7*time.Second {
			t.Errorf("%q: %s in spite of the header", message, e.RetryAfter)
		}
	}
}

// Statuses that blame something else than the request are tried again, and a vendor may say so itself.
func TestTransientStatuses(t *testing.T) {
	body := []byte(`{"error":{"message":"x"}}`)
	for _, c := range []struct {
		status int
		say    string
		want   bool
	}{
		{409, "", true},
		{423, "", true},
		{425, "", true},
		{498, "", true},
		{499, "", true},
		{408, "", true},
		{400, "", false},
		{404, "", false},
		{409, "false", false},
		{500, "false", false},
		{429, "false", false},
		{400, "true", true},
		{401, "true", false},
	} {
		f := wire.Failure{Status: c.status, Body: body, Header: http.Header{}}
		if c.say != "" {
			f.Header.Set("X-Should-Retry", c.say)
		}
		if e := wire.ClassifyFailure(f); e.IsRetryable() != c.want {
			t.Errorf("%d %s: %s, retryable %t", c.status, c.say, e.Class, e.IsRetryable())
		}
	}
}
