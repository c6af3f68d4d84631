package v2

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/sse"
)

// frameRoom is the room that a frame needs besides its data.
const frameRoom = 8 << 10

// fitFrame shortens a frame that is too large for a stream: first the longest strings, then shorter ones, finally
// everything but short members of the payload itself. The event in the log and in /history stays whole.
func (f eventFrame) fitFrame() eventFrame {
	if len(f.data) <= sse.MaxFrame-frameRoom {
		return f
	}
	f.elided = true
	for _, most := range []int{64 << 10, 4 << 10, 256} {
		if cut, err := shorten(f.data, most); err == nil && len(cut) <= sse.MaxFrame-frameRoom {
			f.data = cut
			return f
		}
	}
	f.data = shortMembers(f.data)
	return f
}

// shorten rewrites the value without strings longer than most. A data URI keeps its media type and loses its
// content.
func shorten(v jsontext.Value, most int) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	for dec.StackDepth() > 0 || dec.InputOffset() == 0 {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := false
		if t.Kind() == '"' {
			kind, n := dec.StackIndex(dec.StackDepth())
			name = kind == '{' && n%2 == 1
		}
		if s := ""; t.Kind() == '"' && !name {
			if s = t.String(); len(s) > most {
				t = jsontext.String(shortenString(s, most))
			}
		}
		if err := enc.WriteToken(t); err != nil {
			return nil, err
		}
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func shortenString(s string, most int) string {
	if media, _, ok := strings.Cut(s, ","); ok && strings.HasPrefix(s, "data:") && len(media) < 200 {
		media, _, _ = strings.Cut(media, ";")
		return media + ";elided=" + fmt.Sprint(len(s)) + ","
	}
	return fmt.Sprintf("%s… [%d bytes in all]", cutText(s, most/2), len(s))
}

// shortMembers returns the numbers, booleans and short strings at the top of an object.
func shortMembers(v jsontext.Value) jsontext.Value {
	var all map[string]jsontext.Value
	kept := map[string]jsontext.Value{}
	if json.Unmarshal(v, &all) == nil {
		for name, m := range all {
			if k := m.Kind(); len(name)+len(m) < 512 && k != '{' && k != '[' && len(kept) < 64 {
				kept[name] = m
			}
		}
	}
	out, err := json.Marshal(kept, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return out
}
