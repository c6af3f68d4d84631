package redaction_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/canary"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// Each form of a secret is replaced in a text, in a member, in an attachment, and behind colours; all forms of the
// filter replace the same.
func TestFilter(t *testing.T) {
	for _, c := range canary.List() {
		attached := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(c.Text))
		for name, text := range map[string]string{
			"text": c.Text, "coloured": "\x1b[01;31m\x1b[K" + c.Text + "\x1b[m\x1b[K", "attachment": attached,
		} {
			var replaced []string
			f := &redaction.Filter{Known: []string{canary.Known}, OnReplace: func(text string) { replaced = append(replaced, text) }}
			out := f.Text("", text)
			if _, data, ok := strings.Cut(out, ";base64,"); ok && name == "attachment" {
				content, err := base64.StdEncoding.DecodeString(data)
				if err != nil {
					t.Fatal(err)
				}
				out = string(content)
			}
			if leak := c.FindLeak(out); leak != "" || f.Replaced() != 1 || len(replaced) != 1 {
				t.Errorf("%s, %s: %q in %q; %d replaced, %q", c.Kind, name, leak, out, f.Replaced(), replaced)
			}
		}
		// A message and a session.
		f := &redaction.Filter{Known: []string{canary.Known}}
		m, err := f.Message(&session.User{Head: session.Head{ID: "msg_1", Type: session.TypeUser}, Text: c.Text})
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Session(&session.Session{ID: "ses_a", Title: c.Text})
		if err != nil {
			t.Fatal(err)
		}
		if leak := c.FindLeak(m.(*session.User).Text + s.Title); leak != "" || f.Replaced() != 2 {
			t.Errorf("%s: %q; %d replaced", c.Kind, leak, f.Replaced())
		}
	}
}

// A secret that Markdown hides is replaced: behind escapes, and in emphasis or code.
func TestFilterMarkup(t *testing.T) {
	escapes := strings.NewReplacer("_", `\_`, "-", `\-`, ".", `\.`, ":", `\:`)
	for _, c := range canary.List() {
		for name, text := range map[string]string{
			"escaped": escapes.Replace(c.Text), "bold": "**" + c.Text + "**", "italic": "_" + c.Text + "_", "bold and escaped": "__" + escapes.Replace(c.Text) + "__",
			"coloured and escaped": "\x1b[31m" + escapes.Replace(c.Text) + "\x1b[m", "half bold": halfBold(c.Text, "**"), "half code": halfBold(c.Text, "`"),
		} {
			f := &redaction.Filter{Known: []string{canary.Known}}
			out := f.Text("", "a *mark*\n"+text+"\n\n**end**\n")
			if !strings.Contains(out, "mark") || !strings.Contains(out, "end") {
				t.Errorf("%s, %s: too much is replaced: %q", c.Kind, name, out)
			}
			// What a reader sees.
			seen := strings.NewReplacer(`\_`, "_", `\-`, "-", `\.`, ".", `\:`, ":", "**", "", "`", "").Replace(out)
			if leak := c.FindLeak(seen); leak != "" || f.Replaced() != 1 {
				t.Errorf("%s, %s: %q in %q; %d replaced", c.Kind, name, leak, out, f.Replaced())
			}
		}
	}
}

// A known secret with marks is found as it is and as readers see it, and marks of a text whose secrets are found with them stay.
func TestFilterKnownMarks(t *testing.T) {
	f := &redaction.Filter{Known: []string{"my*own_secret", "known-value", "abcDEF123_", "_ghiJKL456", `a\_b1234567`, "ab~~cd~~ef12"}}
	for in, want := range map[string]string{
		"a **bold** my*own_secret":            "a **bold** [redacted]",
		`my\*own\_secret`:                     "[redacted]",
		`**my*own\_secret**`:                  "[redacted]",
		"`code`, *my*own_secret*":             "`code`, *[redacted]*",
		"a **known-value** and *k*nown-value": "a [redacted] and [redacted]",
		"abc**DEF123_**, _**ghi**JKL456":      "[redacted], [redacted]",
		`**a\_b**1234567 ab**~~cd~~ef12**`:    "[redacted] [redacted]",
		"a **b** `c` \\* _d_ ~~e~~":           "a **b** `c` \\* _d_ ~~e~~",
		"**password**: `two words`":           "password: [redacted]",
		"DB_PASSWORD=`hunter2hunter2hunter`":  "DB_PASSWORD=[redacted]",
	} {
		if got := f.Text("", in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What is a secret in the text, but not as readers see it, is replaced, too.
func TestFilterSecretsWithMarks(t *testing.T) {
	f := &redaction.Filter{}
	for _, text := range []string{
		"password: Pass*word*2024", "DB_PASSWORD=a*b*c", "password='a*b*c1'", `passphrase: "ab*cd*"`, "Authorization: Bearer ab*c*de*",
		"mysql -p*secret* db", "curl -u user:*pa* http://x", "password: _int1234abcd_", "password=1234*56*7", "password: *123456789*0",
		"PGPASSWORD=*ab*c psql", `**password**: a\_b*c*d12345`,
	} {
		got := f.Text("", text)
		for _, part := range []string{"Pass", "2024", "abc", "a*b", "Bearer a", "abcd", "secret", "pa*", "user:pa", "int1", "1234", "ab*", "a_b"} {
			if strings.Contains(got, part) || got == text {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
}

// halfBold puts the second half of each word with eight characters or more between marks.
func halfBold(text, mark string) string {
	return regexp.MustCompile(`[A-Za-z0-9_-]{8,}`).ReplaceAllStringFunc(text, func(word string) string {
		return word[:4] + mark + word[4:] + mark
	})
}

// A filter that keeps secrets changes nothing; another one changes nothing else.
func TestFilterKeeps(t *testing.T) {
	const value = `{"apiKey":"x","text":"plain","list":["known-value"]}`
	for _, c := range []struct {
		filter redaction.Filter
		want   string
	}{
		{redaction.Filter{KeepSecrets: true, Known: []string{"known-value"}}, value},
		{redaction.Filter{Known: []string{"known-value"}}, `{"apiKey":"[redacted]","text":"plain","list":["[redacted]"]}`},
		{redaction.Filter{}, `{"apiKey":"[redacted]","text":"plain","list":["known-value"]}`},
	} {
		got, err := c.filter.JSON([]byte(value))
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

// Names of members are texts, too; a member with the name of a secret has none that is a number; and a list has the name
// of its member, whatever is nested in it.
func TestFilterMembers(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"known name":      {`{"known-value":1,"b":2}`, `{"[redacted]":1,"b":2}`},
		"two names":       {`{"known-value":1,"known-value2":{"x known-value":1}}`, `{"[redacted]":1,"[redacted]2":{"x [redacted]":1}}`},
		"same names":      {`{"sk-abcdefghijklmnop1":1,"sk-abcdefghijklmnop2":2,"[redacted]":3}`, `{"[redacted]":1,"[redacted] 2":2,"[redacted] 3":3}`},
		"number":          {`{"password":12345678,"count":12345678}`, `{"password":"[redacted]","count":12345678}`},
		"numbers":         {`{"password":[1234,{"count":5},5678]}`, `{"password":["[redacted]",{"count":5},"[redacted]"]}`},
		"behind an inner": {`{"apiKey":[{"name":"x"},"short"],"n":["y"]}`, `{"apiKey":[{"name":"x"},"[redacted]"],"n":["y"]}`},
		"not in an inner": {`{"n":[{"apiKey":"x"},"short",5]}`, `{"n":[{"apiKey":"[redacted]"},"short",5]}`},
	} {
		f := &redaction.Filter{Known: []string{"known-value"}}
		got, err := f.JSON(jsontext.Value(c.in))
		if err != nil || string(got) != c.want || f.Replaced() == 0 {
			t.Errorf("%s: %s %v; %d replaced", name, got, err, f.Replaced())
		}
	}
}

// Known secrets are replaced in an attachment that is not a text.
func TestFilterBinary(t *testing.T) {
	f := &redaction.Filter{Known: []string{"known-value"}}
	head, data, _ := strings.Cut(f.Text("", "data:image/png;base64,"+base64.StdEncoding.EncodeToString([]byte("\xff\x00known-value\xff"))), ",")
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil || string(content) != "\xff\x00[redacted]\xff" || head != "data:image/png;base64" || f.Replaced() != 1 {
		t.Errorf("%s %q %v", head, content, err)
	}
}
