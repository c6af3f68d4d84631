package script

import (
	"regexp"
	"strconv"
	"strings"
)

// intent is what the Guide understands of a user's text.
type intent struct {
	kind    intentKind
	a, b    string // the operands: old and new text, what to find, the command, the content
	path    string
	defined bool // find: where it is defined is what matters
	pattern bool // find: a is a regular expression
	first   int  // show: line range; 0 means open
	last    int
}

type intentKind int

const (
	wantOther intentKind = iota
	wantHelp
	wantReplace
	wantCreate
	wantRun
	wantOverview
	wantList
	wantShow
	wantFind
	wantExplain
	wantQuestion
)

var (
	courtesy    = lazily(`(?i)^(?:(?:please|kindly|hey|ok|okay|now|then|can you|could you|would you|will you)[,:]?\s+)+`)
	helpText    = lazily(`(?i)^(?:help|hi|hello|hey|thanks|thank you|test|ping|what can you do|what do you do|who are you|what are you)[\s.!?]*$`)
	createText  = lazily(`(?is)^(?:create|write|make|add)\s+(?:an?\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?:named\s+|called\s+)?([^\s"'` + "`" + `]+|"[^"]+"|'[^']+'|` + "`[^`]+`" + `)\s+(?:with|containing)\s+(?:the\s+)?(?:(?:contents?|text)\b)?:?\s*(.+)$`)
	runText     = lazily(`(?is)^(?:(?:run|execute)\s+(?:the\s+command:?\s+)?|\$\s+)(.+)$`)
	notCommand  = lazily(`(?i)^(?:the|this|it|an?|all|my|our|your|tests?|some|everything|through)\b`)
	aboutText   = lazily(`(?i)(?:what (?:does|is|are|do) (?:this|the|our|my) (?:project|repo|repository|code ?base|directory|folder|code|program|app|application|package|module|tool|library)\b|what(?:'s| is) this\b|what does (?:this|it) do|where (?:do|should|can) (?:i|we) (?:start|begin))`)
	listText    = lazily(`(?i)^(?:list|ls|dir|show(?: me)?)(?:\s+(?:all\s+)?(?:the\s+|my\s+)?(?:files|contents?|entries|director(?:y|ies)|folders?))?(?:\s+(?:in|of|under|from|at))?(?:\s+(?:the\s+)?(?:directory\s+|folder\s+)?(\S+))?$`)
	listWords   = lazily(`(?i)^(?:list|ls|dir)\b|\b(?:files|contents?|entries|director(?:y|ies)|folders?)\b`)
	filesText   = lazily(`(?i)^(?:what|which) files (?:are|do you see|exist)`)
	showText    = lazily(`(?i)^(?:read|show|cat|open|print|display|view)\s+(?:me\s+)?(?:lines?\s+(\d+)(?:\s*(?:-|–|to)\s*(\d+))?\s+of\s+)?(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:file\s+)?("[^"]+"|'[^']+'|` + "`[^`]+`" + `|\S+?)(?::(\d+)(?:-(\d+))?)?(?:\s+(?:file|from)?\s*lines?\s+(\d+)(?:\s*(?:-|–|to)\s*(\d+))?)?(?:\s+file)?$`)
	findText    = lazily(`(?i)^(?:find|locate|look for|search for|search)\s+(?:me\s+)?(?:(?:where|all|every|the|any|uses?|usages?|occurrences?|references?|mentions?|definitions?|places?|lines?|files?|of|to|for|with|containing|that|contains?|named|called)\s+)*(.+)$`)
	grepText    = lazily(`(?i)^(?:grep|rg)\s+(?:for\s+)?(.+)$`)
	whereText   = lazily(`(?i)^where(?:'s|\s+(?:is|are|does|do|was|were|can i find|do you find))\s+(.+?)(?:\s+(defined|declared|implemented|used|called|located|set|come from|live|configured|handled|documented|mentioned))?$`)
	whichText   = lazily(`(?i)^(?:(?:which|what)\s+files?\s+(?:contains?|mentions?|uses?|defines?|has|have|includes?|imports?)|who\s+(?:uses|calls))\s+(.+)$`)
	inPlace     = lazily(`(?i)\s+in\s+(?:(?:this|the|our|my)\s+(?:project|repo|repository|code ?base|directory|folder|code)|here|(\S+))$`)
	explainText = lazily(`(?i)^(?:explain|describe|summari[sz]e|outline|what(?:'s| is| does| are)|tell me about|how does)\b`)
	aboutWords  = lazily(`(?i)(?:\b(?:this|the|our|my) (?:project|repo|repository|code ?base|directory|folder|program|app|application|code)\b|\boverview\b|\bget(?:ting)? started\b|\bhow (?:do|can|should|to)\b.*\b(?:run|build|test|install|start|use)\b|^(?:explain|describe|summari[sz]e)\b)`)
	pathWord    = lazily("[`\"']?((?:[\\w@.-]+/)+[\\w@.-]*|[\\w@-][\\w@.-]*\\.[A-Za-z]\\w{0,7})[`\"']?\\.?(?:[\\s,;:?!]|$)")
	question    = lazily(`(?i)^(?:how|why|what|which|who|when|is|are|does|do|can)\b|\?\s*$`)
)

// maxIntent bounds the texts, in bytes, that are looked at for more than a replacement or a new file.
const maxIntent = 4096

// intentOf reads the user's text.
func intentOf(text string) intent {
	text = courtesy().ReplaceAllString(strings.TrimSpace(text), "")
	if helpText().MatchString(text) || text == "" {
		return intent{kind: wantHelp}
	}
	if in, ok := replaceOf(text); ok {
		return in
	}
	if m := createText().FindStringSubmatch(text); m != nil && strings.ContainsAny(m[1], "./") {
		return intent{kind: wantCreate, path: unquote(m[1]), a: unquote(m[2])}
	}
	if len(text) > maxIntent {
		return intent{}
	}
	if m := runText().FindStringSubmatch(text); m != nil && !notCommand().MatchString(m[1]) {
		return intent{kind: wantRun, a: unquote(strings.TrimSpace(m[1]))}
	}
	bare := strings.TrimRight(text, " ?!.\n")
	if aboutText().MatchString(text) {
		return intent{kind: wantOverview}
	}
	if m := listText().FindStringSubmatch(bare); filesText().MatchString(text) || (m != nil && listWords().MatchString(bare)) {
		return intent{kind: wantList, path: placeOf(m)}
	}
	if in, ok := showOf(bare); ok {
		return in
	}
	if in, ok := findOf(bare); ok {
		return in
	}
	return looseIntent(text)
}

// looseIntent is what is left when no form of words fits exactly.
func looseIntent(text string) intent {
	m := pathWord().FindStringSubmatch(text)
	switch {
	case m != nil && explainText().MatchString(text):
		return intent{kind: wantExplain, path: strings.TrimRight(m[1], ".")}
	case aboutWords().MatchString(text):
		return intent{kind: wantOverview}
	case question().MatchString(text) && keyword(text) != "":
		return intent{kind: wantQuestion, a: keyword(text)}
	default:
		return intent{kind: wantOther}
	}
}

func placeOf(m []string) string {
	if m == nil {
		return ""
	}
	switch p := unquote(m[1]); strings.ToLower(p) {
	case "here", "this", "directory", "folder", "files", "it", "the", "project":
		return ""
	default:
		return p
	}
}

func showOf(text string) (intent, bool) {
	m := showText().FindStringSubmatch(text)
	if m == nil {
		return intent{}, false
	}
	in := intent{kind: wantShow, path: unquote(m[3])}
	for _, group := range [][2]string{{m[1], m[2]}, {m[4], m[5]}, {m[6], m[7]}} {
		if group[0] != "" {
			in.first, _ = strconv.Atoi(group[0])
			in.last, _ = strconv.Atoi(group[1])
			if group[1] == "" {
				in.last = in.first
			}
		}
	}
	return in, true
}

func findOf(text string) (intent, bool) {
	in := intent{kind: wantFind}
	place := ""
	strip := func(s string) string {
		m := inPlace().FindStringSubmatch(s)
		if m == nil || strings.Count(m[0], `"`)%2 == 1 || strings.Count(m[0], "`")%2 == 1 {
			return s
		}
		place = unquote(m[1])
		return strings.TrimSuffix(s, m[0])
	}
	if m := grepText().FindStringSubmatch(text); m != nil {
		in.a, in.pattern = unquote(strip(m[1])), true
	} else if m := whereText().FindStringSubmatch(strip(text)); m != nil {
		in.a = subject(m[1])
		in.defined = m[2] == "" || strings.HasSuffix(m[2], "ed") && m[2] != "used" && m[2] != "called"
	} else if m := whichText().FindStringSubmatch(text); m != nil {
		in.a = subject(strip(m[1]))
		in.defined = strings.Contains(m[0], "define")
	} else if m := findText().FindStringSubmatch(text); m != nil {
		in.a = subject(strip(m[1]))
	}
	in.path = place
	return in, in.a != ""
}

var (
	quoted    = lazily("\"([^\"]+)\"|`([^`]+)`|“([^”]+)”|'([^']+)'")
	nounFirst = lazily(`(?i)^(?:(?:the|an?|all|function|func|type|class|method|variable|constant|struct|interface|symbol|word|string|text|file)\s+)+`)
	nounLast  = lazily(`(?i)\s+(?:function|func|type|class|method|variable|constant|struct|interface|symbol|is|are|defined|used)$`)
)

// subject takes from a phrase the thing it is about: what stands in quotes, else the phrase without articles.
func subject(s string) string {
	if m := quoted().FindStringSubmatch(s); m != nil {
		return m[1] + m[2] + m[3] + m[4]
	}
	s = nounFirst().ReplaceAllString(strings.TrimSpace(s), "")
	s = nounLast().ReplaceAllString(s, "")
	return strings.TrimSuffix(strings.TrimSpace(s), "()")
}

// unquote removes one pair of quotes around s.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, pair := range quotePairs {
		if inner, ok := strings.CutPrefix(s, pair[0]); ok {
			if inner, ok = strings.CutSuffix(inner, pair[1]); ok && inner != "" {
				return inner
			}
		}
	}
	return s
}

var quotePairs = [][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"‘", "’"}}

var (
	replaceVerb = lazily(`(?i)^(replace|substitute|change)\s+`)
	replaceAll  = lazily(`(?i)^(?:(?:all|every|each|the)\s+)*(?:(?:occurrences?|instances?)\s+of\s+|(?:text|word|string|line|phrase)\s+)`)
	withWord    = lazily(`(?i)^\s+(?:with|by)\s+`)
	toWord      = lazily(`(?i)^\s+(?:to|into)\s+`)
	inWord      = lazily(`(?i)^\s+in(?:side)?\s+(?:the\s+)?(?:file\s+)?`)
)

// replaceOf reads: replace X with Y in FILE. Without quotes X ends at the first "with" and Y at the last "in".
func replaceOf(text string) (intent, bool) {
	verb := replaceVerb().FindString(text)
	if verb == "" {
		return intent{}, false
	}
	rest := text[len(verb):]
	rest = rest[len(replaceAll().FindString(rest)):]
	link := withWord()
	if strings.EqualFold(strings.TrimSpace(verb), "change") {
		link = toWord()
	}
	old, rest, ok := operand(rest, link, false)
	if !ok {
		return intent{}, false
	}
	neu, rest, ok := operand(rest, inWord(), true)
	if !ok {
		return intent{}, false
	}
	path := unquote(strings.TrimRight(strings.TrimSpace(rest), " .!?"))
	if old == "" || path == "" {
		return intent{}, false
	}
	return intent{kind: wantReplace, a: old, b: neu, path: path}, true
}

// operand cuts s at link, which for an operand in quotes comes right after the closing quote; for a bare one it is
// the first, or the last if last is set.
func operand(s string, link *regexp.Regexp, last bool) (value, rest string, ok bool) {
	for _, pair := range quotePairs {
		inner, found := strings.CutPrefix(s, pair[0])
		if !found {
			continue
		}
		for i := 0; i < len(inner); i++ {
			if !strings.HasPrefix(inner[i:], pair[1]) {
				continue
			}
			after := inner[i+len(pair[1]):]
			if m := link.FindString(after); m != "" {
				return inner[:i], after[len(m):], true
			}
		}
	}
	space := func(i int) bool { return strings.IndexByte(" \t\r\n", s[i]) >= 0 }
	for i := 1; i < len(s); i++ {
		if !space(i) || space(i-1) {
			continue
		}
		if m := link.FindString(s[i:]); m != "" {
			value, rest, ok = s[:i], s[i+len(m):], true
			if !last {
				break
			}
		}
	}
	return value, rest, ok
}

var (
	wordText  = lazily(`[A-Za-z_][A-Za-z0-9_.]*[A-Za-z0-9_]`)
	codeLike  = lazily(`[a-z][A-Z]|_|\d|\.`)
	stopWords = " about after again also another anything because before being between could does doing done each ever every explain file files find from function give have here into just know like line lines list make many mean most much need only other over please project question same should show some something tell than that their them then there these they thing this those through type under using very want what when where which while will with without work works would write your "
)

// keyword picks the word of a question that is most worth a search: one in quotes, one that looks like code, else the
// longest that is not common English.
func keyword(text string) string {
	if m := quoted().FindStringSubmatch(text); m != nil {
		return m[1] + m[2] + m[3] + m[4]
	}
	best := ""
	for _, w := range wordText().FindAllString(text, -1) {
		w = strings.Trim(w, ".")
		if codeLike().MatchString(w) && len(w) > 2 {
			return w
		}
		if len(w) > 3 && len(w) > len(best) && !strings.Contains(stopWords, " "+strings.ToLower(w)+" ") {
			best = w
		}
	}
	return best
}
