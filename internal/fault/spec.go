package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type rule struct {
	nth    int64 // 0 is every time
	action action
	delay  time.Duration
}

type action int

const (
	actKill action = iota
	actPanic
	actError
	actDelay
)

// parse parses a spec.
func parse(spec string) (map[Name][]rule, error) {
	rules := map[Name][]rule{}
	for entry := range strings.SplitSeq(spec, ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		n, r, err := parseEntry(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", entry, err)
		}
		rules[n] = append(rules[n], r)
	}
	return rules, nil
}

func parseEntry(entry string) (Name, rule, error) {
	where, what, ok := strings.Cut(entry, "=")
	if !ok {
		return "", rule{}, fmt.Errorf("want point#n=kill|panic|error|delay:50ms")
	}
	point, count, counted := strings.Cut(where, "#")
	n, r := Name(point), rule{nth: 1}
	if !isKnown(n) {
		return "", rule{}, fmt.Errorf("unknown point %q; the points are %v", point, AllNames())
	}
	if counted && count == "*" {
		r.nth = 0
	} else if counted {
		nth, err := strconv.ParseInt(count, 10, 64)
		if err != nil || nth < 1 {
			return "", rule{}, fmt.Errorf("%q is not a count; want 1, 2, … or *", count)
		}
		r.nth = nth
	}
	var err error
	r.action, r.delay, err = parseAction(what)
	return n, r, err
}

func parseAction(what string) (action, time.Duration, error) {
	verb, arg, _ := strings.Cut(what, ":")
	switch {
	case what == "kill":
		return actKill, 0, nil
	case what == "panic":
		return actPanic, 0, nil
	case what == "error":
		return actError, 0, nil
	case verb == "delay":
		d, err := time.ParseDuration(arg)
		if err != nil || d < 0 {
			return 0, 0, fmt.Errorf("%q is not a delay; want one like 50ms", arg)
		}
		return actDelay, d, nil
	default:
		return 0, 0, fmt.Errorf("unknown action %q; want kill, panic, error or delay:50ms", what)
	}
}
