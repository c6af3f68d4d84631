package wire

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// requestSizes are the numbers of a refusal that names how large the request is and how large it may be.
type requestSizes struct {
	limit    int64 // 0 if the texts name no limit that they exceed
	request  int64 // size of the request; 0 unless it is the only number beside the limit
	inTokens bool  // the numbers are tokens of one request: not bytes or characters, and not of a minute or a day
}

// isExceeded reports whether the texts name a limit and a size above it.
func (s requestSizes) isExceeded() bool { return s.limit > 0 }

// contextWindow returns the context window that the numbers show, 0 for none. It is at least leastWindow, because cairn
// cannot work in a smaller one.
func (s requestSizes) contextWindow() int64 {
	const leastWindow = 4096
	if s.limit == 0 || !s.inTokens {
		return 0
	}
	return max(s.limit, leastWindow)
}

// sizeNumber matches a number of at least four digits or with a k; limitNumber one that the words before it call a
// limit; minuteNumbers the allowance of a minute and the size of one request.
var (
	sizeNumber  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(number) })
	limitNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:max\w*|limit|at most|less than|up to|window|n ctx|<=|>|cannot exceed|allow\w*|` +
			`supports?|accepts?|context (?:length|size|window))[^\d.;]{0,40}?` + number)
	})
	minuteNumbers = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`limit\D{1,3}` + number + `.{0,60}requested\D{1,3}` + number)
	})
)

const number = `\b(\d{1,3}(?:,\d{3})+|\d{4,9}|\d{1,4}k)\b`

// parseSize returns the value of a match of number, such as 8,192 or 128k.
func parseSize(s string) int64 {
	digits, isThousands := strings.CutSuffix(strings.ReplaceAll(s, ",", ""), "k")
	n, _ := strconv.ParseInt(digits, 10, 64) // at most nine digits
	if isThousands {
		n *= 1000
	}
	return n
}

// exceedsMinute reports whether the request alone is larger than the allowance of a minute, so that waiting does not
// help.
func exceedsMinute(texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		m := minuteNumbers().FindStringSubmatch(text)
		return m != nil && parseSize(m[2]) > parseSize(m[1])
	})
}

// findSizes returns the sizes that the texts name. The limit is the number that the words call so, else the smaller one
// of two numbers; it counts if the other numbers together exceed it. Of several limits the largest one counts. Sizes of
// answers, tools and files do not count.
//
// Texts without a word for a prompt or tokens have no sizes: their numbers can be anything.
func findSizes(texts []string) (s requestSizes) {
	// Check that the texts are about the prompt.
	text := strings.Join(texts, "\n")
	all := []string{text}
	isContext := hasAny(all, []string{"context", "prompt", "n ctx", "input tokens", "input length"})
	isOther := hasAny(all, []string{
		"max tokens", "max completion tokens", "completion tokens", "output", "budget", "tool", "function", "image", "file",
		"pixel", "audio", "stop sequence",
	})
	if !isContext && (isOther || !hasAny(all, []string{"token", "input", "max length"})) {
		return s
	}
	// Collect the numbers, each once, and those that are called a limit.
	var sizes []int64
	sum := int64(0)
	for _, m := range sizeNumber().FindAllStringSubmatch(text, 32) {
		if n := parseSize(m[1]); !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
			sum += n
		}
	}
	var limits []int64
	for _, m := range limitNumber().FindAllStringSubmatch(text, 32) {
		limits = append(limits, parseSize(m[1]))
	}
	if len(sizes) == 2 && len(limits) == 0 {
		limits = append(limits, slices.Min(sizes))
	}
	// Choose the limit, and find the size of the request.
	for _, limit := range limits {
		if sum-limit > limit {
			s.limit = max(s.limit, limit)
		}
	}
	if len(sizes) == 2 && s.limit == slices.Min(sizes) {
		s.request = slices.Max(sizes)
	}
	s.inTokens = !hasAny(all, minuteWords) && !hasAny(all, []string{"byte", "character", "max length", "per day"})
	return s
}
