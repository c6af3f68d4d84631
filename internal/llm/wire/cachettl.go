package wire

import "github.com/cairn-dev/cairn/internal/llm"

// ParseCacheTTL returns how long cached prefixes are kept, from the option cacheTTL; "" is the vendor's default.
func ParseCacheTTL(req *llm.Request) (string, error) {
	v, ok := req.Options["cacheTTL"]
	if !ok {
		return "", nil
	}
	switch ttl := DecodeString(v); ttl {
	case "5m", "1h":
		return ttl, nil
	default:
		return "", NewInvalidRequest("the option cacheTTL must be \"5m\" or \"1h\", not %.40s", v)
	}
}
