package shell_test

import (
	"bytes"
	_ "embed"
	"math/rand/v2"
	"regexp"
	"strings"
)

// everyday are lines that people and models write. Mutations of them are often plain.
//
//go:embed testdata/everyday.txt
var everydayText string

// differences are lines that bash and a reader of it once took for different commands, one on a line, escaped.
//
//go:embed testdata/differences.txt
var differencesText string

//go:embed testdata/fragments.txt
var fragmentsText string

// fragments are constructs that shells interpret differently, and the ordinary parts between them. In the file ¦ ends
// each.
var fragments = strings.Split(
	escapes.Replace(strings.ReplaceAll(fragmentsText, "\n", ""))+
		"\u00a0¦\u2003¦\u00e9¦'\u00e9'¦\"\u00e9\"¦\xa0¦\xc3¦'\xc3'¦\x85¦\u0085¦\ufeff¦\u2028¦\u2019¦\u201c¦\v¦\f¦\x7f¦"+
		"\x01¦'\x01'¦\x1b¦\b¦\xff¦\xc3\\\xa9¦\\\xc3¦\u3000", "¦",
)

var escapes = strings.NewReplacer("⏎", "\n", "⇥", "\t", "␍", "\r")

// listedLines are the lines of a file of test data without its comments, with their escapes replaced.
func listedLines(text string) (out []string) {
	for _, l := range strings.Split(text, "\n") {
		if l != "" && !strings.HasPrefix(l, "## ") {
			out = append(out, escapes.Replace(l))
		}
	}
	return out
}

// lineGenerator makes command lines: of fragments, of a grammar, and from everyday lines by mutation.
type lineGenerator struct {
	*rand.Rand
	everyday []string
	seeds    []string // everyday lines and known differences
}

func newLineGenerator(seed uint64) *lineGenerator {
	everyday := listedLines(everydayText)
	return &lineGenerator{rand.New(rand.NewPCG(seed, 7)), everyday, append(listedLines(differencesText), everyday...)}
}

// nextLine is the next line that is harmless to evaluate.
func (g *lineGenerator) nextLine() string {
	for {
		s := g.generate()
		if isHarmless(s) {
			return s
		}
	}
}

func (g *lineGenerator) generate() string {
	switch k := g.IntN(100); {
	case k < 20:
		return g.repeat(1+g.IntN(6), g.fragment)
	case k < 45:
		return g.list()
	case k < 92:
		return g.mutate(pick(g, g.everyday), 1+g.IntN(2))
	case k < 99:
		return g.mutate(pick(g, g.seeds), g.IntN(4))
	default: // very long
		return g.list() + strings.Repeat(g.fragment(), 1+g.IntN(300)) + g.list()
	}
}

func pick[T any](g *lineGenerator, from []T) T { return from[g.IntN(len(from))] }

func (g *lineGenerator) fragment() string { return pick(g, fragments) }

func (g *lineGenerator) repeat(n int, make func() string) string {
	var b strings.Builder
	for range n {
		b.WriteString(make())
	}
	return b.String()
}

// list is commands between operators, mostly well-formed.
func (g *lineGenerator) list() string {
	var b strings.Builder
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			b.WriteString(pick(g, []string{"; ", " && ", " || ", " | ", " & ", "\n", ";", "&&", "||", "|", "&"}))
		}
		b.WriteString(g.command())
	}
	if g.IntN(12) == 0 {
		b.WriteString(pick(g, []string{";", " &", "\n", " # c", "#c", " ", "\\"}))
	}
	return b.String()
}

func (g *lineGenerator) command() string {
	out := ""
	if g.IntN(8) == 0 {
		out = pick(
			g,
			[]string{
				"A=1 ",
				"TZ=1 ",
				"TZ= ",
				"TZ=a CI=2 ",
				"CI=a\"b\" ",
				"TZ='a b' ",
				"TZ=$x ",
				"TZ=a:b ",
				"LANG=C CI=b ",
			},
		)
	}
	out += pick(g, []string{"c", "ls", "git", "'c'", "\"ls\"", "c-d", "c_1", "export", "echo", "test", "\\c", "c\\ d"})
	for range g.IntN(4) {
		out += pick(g, []string{" ", " ", " ", "  ", "\t", ""}) + g.word()
	}
	if g.IntN(5) == 0 {
		out += pick(g, []string{" >o", " > o", " 2>&1", " >>o", " <in", " 2>/dev/null", " >&2", " &>o", " 2>o", ">o"})
	}
	return out
}

func (g *lineGenerator) word() string {
	if g.IntN(5) == 0 {
		return g.fragment()
	}
	return g.repeat(1+g.IntN(3), func() string {
		switch g.IntN(8) {
		case 0:
			return "'" + strings.ReplaceAll(g.fragment(), "'", "") + "'"
		case 1:
			return "\"" + strings.ReplaceAll(g.fragment(), "\"", "") + "\""
		case 2:
			return "\\" + g.fragment()
		default:
			return pick(g, []string{
				"a", "b1", "-x", "--y=z", "d/f", ".", "a.go", ":", "=", "%s", "@", ",", "a-b", "+", "_", "^", "~", "$x", "*", "#",
				"!", "{", "}", "[", "]", "1", "2",
			})
		}
	})
}

// special are bytes that a change of one byte prefers.
const special = "\n\t \r'\"\\`$(){}[]<>|&;#!*?~=%^@:,.-_+/012ax\x00\x01\x7f\x80\xa0\xc3\xff\v\f"

// mutate changes a line in n places.
func (g *lineGenerator) mutate(line string, n int) string {
	b := []byte(line)
	for range n {
		if len(b) == 0 {
			return g.fragment()
		}
		at := g.IntN(len(b))
		switch g.IntN(9) {
		case 0:
			b[at] = special[g.IntN(len(special))]
		case 1:
			b[at] ^= 1 << g.IntN(8)
		case 2, 3:
			b = insertAt(b, at, special[g.IntN(len(special)):][:1])
		case 4, 5:
			b = insertAt(b, at, g.fragment())
		case 6:
			b = append(b[:at:at], b[min(len(b), at+1+g.IntN(3)):]...)
		case 7:
			other := pick(g, g.seeds)
			b = append(b[:at:at], other[g.IntN(len(other)):]...)
		default:
			b = insertAt(b, at, pick(g, g.seeds))
		}
	}
	return string(b)
}

func insertAt(b []byte, at int, text string) []byte {
	return append(append(b[:at:at], text...), b[at:]...)
}

var (
	slashes   = regexp.MustCompile(`(^|[ \t\n<>=:"'])(\.\.?/|[a-z]+/)+[a-zA-Z.0-9]*`)
	nullFile  = regexp.MustCompile(`/dev/null($|[ \t\n;|&])`)
	dangerous = regexp.MustCompile(`builtin|cairn|PATH|\.\./.*\.\./|2[23][0-9]|IFS|ENV|[0-9]{5}`)
)

// isHarmless reports that a line, however bash reads it, names no program and writes no file outside its directory: all
// names are words that no PATH leads to, and every slash stands in a relative path.
func isHarmless(line string) bool {
	if len(line) > 4000 || strings.Contains(line, "\x00") || dangerous.MatchString(line) {
		return false
	}
	rest := slashes.ReplaceAllString(nullFile.ReplaceAllString(line, ""), "")
	if strings.Contains(rest, "/") {
		return false
	}
	return !strings.Contains(strings.ReplaceAll(line, "...", ""), "..") || !bytes.ContainsAny([]byte(line), "<>")
}
