package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// argWidth bounds what a line shows of a call's arguments, in characters.
const argWidth = 120

// arguments are those of the tools by which a call is described.
type arguments struct {
	FilePath string `json:"filePath"`
	Path     string `json:"path"`
	Pattern  string `json:"pattern"`
	Command  string `json:"command"`
	Patch    string `json:"patchText"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Subagent string `json:"subagent_type"`
	About    string `json:"description"`

	Todos     []session.Todo     `json:"todos"`
	Questions []session.Question `json:"questions"`

	Rest jsontext.Value `json:",embed"`
}

// DescribeCall describes a call in a few words: the tool and its main argument.
func DescribeCall(tool string, input jsontext.Value) string {
	var in arguments
	name := FirstLine(tool, 40)
	if json.Unmarshal(input, &in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		if !input.IsValid() {
			return name
		}
		in = arguments{} // a tool with other types for these names
	}
	about := ""
	switch {
	case in.Command != "":
		about = in.Command
	case in.FilePath != "":
		about = in.FilePath
	case in.Patch != "":
		about = strings.Join(patchFiles(in.Patch), ", ")
	case in.Pattern != "" && in.Path != "":
		about = in.Pattern + " in " + in.Path
	case in.Pattern != "":
		about = in.Pattern
	case in.Path != "":
		about = in.Path
	case in.URL != "":
		about = in.URL
	case in.Query != "":
		about = in.Query
	case in.Subagent != "":
		about = in.About + " (@" + in.Subagent + ")"
	case in.Todos != nil:
		open := 0
		for _, todo := range in.Todos {
			if todo.Status.Open() {
				open++
			}
		}
		about = fmt.Sprintf("%d steps, %d open", len(in.Todos), open)
	case len(in.Questions) > 0:
		about = in.Questions[0].Question
	default:
		if about = strings.TrimSpace(string(input)); about == "{}" {
			about = ""
		}
	}
	if about == "" {
		return name
	}
	return name + " " + FirstLine(about, argWidth)
}

// FormatCount formats a count with thousands separators.
func FormatCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// FormatCacheHit formats the share of the input that came from the provider's cache; "" if that is zero.
func FormatCacheHit(t session.Tokens) string {
	share, ok := t.CacheShare()
	if !ok || t.Cache.Read == 0 {
		return ""
	}
	return strconv.Itoa(int(share*100)) + "%"
}

// FormatUSD formats an amount: cents, or four decimals below a dollar.
func FormatUSD(u session.USD) string {
	if u == 0 {
		return "0"
	}
	unit, digits := session.Dollar/10000, 4
	if u >= session.Dollar || u <= -session.Dollar {
		unit, digits = session.Dollar/100, 2
	}
	rounded := (u + unit/2) / unit * unit
	if rounded == 0 {
		return "<0.0001"
	}
	whole, frac, _ := strings.Cut(rounded.String(), ".")
	return whole + "." + (frac + strings.Repeat("0", digits))[:max(digits, min(len(frac), digits))]
}

// FormatCost formats what tokens cost, with a dollar sign; "unknown" where no price is known.
func FormatCost(u session.USD, t session.Tokens) string {
	switch {
	case t.Unpriced == 0:
		return "$" + FormatUSD(u)
	case u == 0:
		return "unknown"
	default:
		return "$" + FormatUSD(u) + " + unknown"
	}
}

// patchFiles are the files that a patch names, in its order.
func patchFiles(patch string) []string {
	var files []string
	for l := range strings.Lines(patch) {
		for _, marker := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if name, ok := strings.CutPrefix(l, marker); ok {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	return files
}

// FormatAge formats a time in milliseconds as an age.
func FormatAge(ms int64) string {
	d := time.Since(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	case d < 30*24*time.Hour:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	default:
		return time.UnixMilli(ms).Format("2006-01-02")
	}
}

// CacheNote warns that a request does not begin like the one before, so that the provider's cache is not used.
func CacheNote(changed string) string {
	return "the provider's cache is not used, so the whole conversation is charged at full price: " + FirstLine(
		changed,
		200,
	)
}

// FormatPercent formats a share in percent without decimals.
func FormatPercent(p float64) string {
	if p > 0 && p < 1 {
		return "<1%"
	}
	return strconv.Itoa(int(p+0.5)) + "%"
}

// FormatPlural formats a count with its noun.
func FormatPlural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return FormatCount(int64(n)) + " " + noun + "s"
}
