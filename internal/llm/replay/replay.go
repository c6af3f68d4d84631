// Package replay records provider traffic in files and plays it back. A Recorder between a client and its transport
// writes each exchange to a cassette; a Player answers from one without a network. Both are http.RoundTrippers, so they
// work with every protocol.
//
// A cassette is a JSON file of interactions: request with method, url, headers and body, response with status, headers
// and body, as text or, with bodyEncoding base64, as bytes. Only its owner can read it. It is replaced atomically after
// every exchange and contains no credentials: it has only harmless headers; key-like query parameters, JSON fields and
// every credential of a header are removed.
package replay

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cassette is the content of the file.
type cassette struct {
	Version      int            `json:"version"`
	Metadata     jsontext.Value `json:"metadata,omitzero"`
	Interactions []interaction  `json:"interactions"`
}

type interaction struct {
	Transport string   `json:"transport,omitempty"`
	Request   request  `json:"request"`
	Response  response `json:"response"`
}

type request struct {
	Method       string            `json:"method"`
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers"`
	Body         string            `json:"body"`
	BodyEncoding string            `json:"bodyEncoding,omitempty"`
}

type response struct {
	Status       int               `json:"status"`
	Headers      map[string]string `json:"headers"`
	Body         string            `json:"body"`
	BodyEncoding string            `json:"bodyEncoding,omitempty"`
}

const (
	version     = 1
	base64Coded = "base64"
	maxCassette = 512 << 20 // maximum bytes of a file
)

// encodeBody returns a body for a cassette: text if it is UTF-8, else base64.
func encodeBody(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), base64Coded
}

func decodeBody(text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(text), nil
	case base64Coded:
		return base64.StdEncoding.DecodeString(text)
	default:
		return nil, fmt.Errorf("unknown bodyEncoding %q", encoding)
	}
}

// load reads and validates a cassette.
func load(path string) (*cassette, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxCassette {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxCassette>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c cassette
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s is not a recording that cairn run --record wrote", path)
	}
	if c.Version != version {
		return nil, fmt.Errorf(
			"%s has the unsupported cassette version %d; record it again for version %d", path, c.Version, version,
		)
	}
	for i, x := range c.Interactions {
		if _, err := decodeBody(x.Response.Body, x.Response.BodyEncoding); err != nil {
			return nil, fmt.Errorf("%s, interaction %d: response body: %w", path, i, err)
		}
	}
	return &c, nil
}

// save replaces the file at path, readable by its owner only.
func save(path string, c *cassette) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".cassette-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // after the rename there is nothing left to remove
	err = json.MarshalWrite(tmp, c, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
