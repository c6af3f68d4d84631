package llm

// TurnBreakpoints returns the cache breakpoints of a request in a growing conversation, at most four, which is as many
// as vendors accept: the first two system texts, the end of this request and the end of the previous one. At the latter
// the vendor finds what the previous request wrote to its cache, however much has been appended since.
func TurnBreakpoints(req *Request) CacheBreakpoints {
	b := CacheBreakpoints{System: min(2, len(req.System))}
	last := len(req.Messages) - 1
	previous := last
	for previous >= 0 && req.Messages[previous].Role != RoleAssistant {
		previous--
	}
	for previous >= 0 && req.Messages[previous].Role == RoleAssistant {
		previous--
	}
	for _, i := range []int{previous, last} {
		if i >= 0 {
			b.Messages = append(b.Messages, i)
		}
	}
	return b
}
