// Package canary has texts with planted secrets of many kinds, for tests of what leaves the machine.
package canary

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Known is the secret that no shape shows: it is known, as the keys of cairn are.
const Known = "f00dcafe own server secret"

// Canary is a text with secrets.
type Canary struct {
	Kind    string
	Text    string
	Secrets []string
}

// List returns all canaries. Each kind is there once.
func List() []Canary {
	var out []Canary
	for _, group := range [][][2]string{vendors, keys, headers, files, connections, code} {
		for _, c := range group {
			out = append(out, parse(c[0], c[1]))
		}
	}
	return out
}

// parse reads a text whose secrets are between « and ».
func parse(kind, marked string) Canary {
	c := Canary{Kind: kind}
	for rest := marked; ; {
		before, after, found := strings.Cut(rest, "«")
		c.Text += before
		if !found {
			return c
		}
		var secret string
		secret, rest, _ = strings.Cut(after, "»")
		c.Text, c.Secrets = c.Text+secret, append(c.Secrets, secret)
	}
}

// FindLeak returns a secret that the text has, or a long part of one, "" if it has none.
func (c *Canary) FindLeak(text string) string {
	for _, secret := range c.Secrets {
		size := min(len(secret), leak)
		for i := 0; i+size <= len(secret); i++ {
			if strings.Contains(text, secret[i:i+size]) {
				return secret[i : i+size]
			}
		}
	}
	return ""
}

// leak is the length of a part of a secret that is one, in bytes.
const leak = 16

// ReadTexts returns the strings of JSON values, names of members too, and the texts in their data URLs.
func ReadTexts(values []byte) (string, error) {
	var texts strings.Builder
	dec := jsontext.NewDecoder(bytes.NewReader(values), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		t, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return texts.String(), nil
		case err != nil:
			return "", err
		case t.Kind() != '"':
			continue
		}
		texts.WriteString(t.String() + "\n")
		if head, data, found := strings.Cut(t.String(), ";base64,"); found && strings.HasPrefix(head, "data:") {
			plain, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return "", err
			}
			texts.Write(append(plain, '\n'))
		}
	}
}
