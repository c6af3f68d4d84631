package redaction_test

import (
	"encoding/base64"
	"strings"
	"testing"

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
