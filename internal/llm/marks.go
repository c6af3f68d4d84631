package llm

// Marks says where a cached prefix may end, for vendors that must be told (spec/v1 §30.2). It stands beside the
// conversation: a mark that moves on changes no message, so that the bytes before it stay what they were.
type Marks struct {
	System   int   // how many of the first system texts
	Messages []int // indexes of messages, ascending
}

// TurnMarks are the marks of a request in a growing conversation, four at most, as many as vendors take: the first two
// system texts, the end of this request, and the end of the one before it, where what that one wrote is found again
// however much has come since.
func TurnMarks(req *Request) Marks {
	m := Marks{System: min(2, len(req.System))}
	last := len(req.Messages) - 1
	before := last
	for before >= 0 && req.Messages[before].Role != RoleAssistant {
		before--
	}
	for before >= 0 && req.Messages[before].Role == RoleAssistant {
		before--
	}
	for _, i := range []int{before, last} {
		if i >= 0 {
			m.Messages = append(m.Messages, i)
		}
	}
	return m
}
