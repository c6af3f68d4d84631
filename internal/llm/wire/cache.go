package wire

import "github.com/cairn-dev/cairn/internal/llm"

// CacheTTL is how long what is marked shall be kept, as the option cacheTTL says; "" is the vendor's own time.
func CacheTTL(req *llm.Request) (string, error) {
	v, ok := req.Options["cacheTTL"]
	if !ok {
		return "", nil
	}
	switch ttl := Plain(v); ttl {
	case "5m", "1h":
		return ttl, nil
	default:
		return "", Invalid("the option cacheTTL must be \"5m\" or \"1h\", not %.40s", v)
	}
}
