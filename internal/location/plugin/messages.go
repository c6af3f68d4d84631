package plugin

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// seeMessages is experimental.chat.messages.transform. Messages that it leaves alone keep their native form, and those
// that OpenCode has no form for keep their place.
func (p *plugin) seeMessages(ctx context.Context, v *extension.Messages) error {
	forms := p.set.currentLocation().Forms
	// Show each message in OpenCode's form. A compaction has two there, and some messages none.
	owner := map[string]int{} // index of the message, by the id of its first value
	groups := make([][]jsontext.Value, len(v.Messages))
	all := []jsontext.Value{}
	for i, m := range v.Messages {
		values, err := forms.Messages(v.SessionID, []session.Message{m})
		if err != nil {
			return err
		}
		if groups[i] = values; len(values) > 0 {
			owner[idOf(values[0])] = i
		}
		all = append(all, values...)
	}
	out := struct {
		Messages []jsontext.Value `json:"messages"`
	}{slices.Clone(all)}
	out, err := callHook(ctx, p, "experimental.chat.messages.transform", object{}, out)
	if err != nil {
		return err
	}
	if slices.EqualFunc(all, out.Messages, IsEqual) {
		return nil
	}
	// Take what is unchanged as it was, and read the others.
	b := messageBuilder{forms: forms, messages: v.Messages, groups: groups}
	for i := 0; i < len(out.Messages); {
		at, known := owner[idOf(out.Messages[i])]
		n := 0
		if known {
			n = len(groups[at])
		}
		if known && i+n <= len(out.Messages) && slices.EqualFunc(groups[at], out.Messages[i:i+n], IsEqual) {
			b.keep(at)
			i += n
			continue
		}
		b.changed = append(b.changed, out.Messages[i])
		i++
	}
	b.finish()
	v.Messages = b.out
	return b.err
}

// idOf returns the id of a value {info, parts}.
func idOf(v jsontext.Value) string {
	var m struct {
		Info struct {
			ID string `json:"id"`
		} `json:"info"`
	}
	_ = json.Unmarshal(v, &m) // another form has no id
	return m.Info.ID
}

// messageBuilder makes the messages that a plugin left.
type messageBuilder struct {
	forms    Forms
	messages []session.Message  // before
	groups   [][]jsontext.Value // their forms
	next     int                // index of the first message that may follow
	changed  []jsontext.Value   // not read yet
	out      []session.Message
	err      error
}

// keep adds a message that is unchanged, behind those before it that plugins do not see.
func (b *messageBuilder) keep(at int) {
	b.flush()
	b.addHidden(at)
	b.out = append(b.out, b.messages[at])
	b.next = max(b.next, at+1)
}

// addHidden adds the messages before an index that plugins do not see.
func (b *messageBuilder) addHidden(until int) {
	for ; b.next < until; b.next++ {
		if len(b.groups[b.next]) == 0 {
			b.out = append(b.out, b.messages[b.next])
		}
	}
}

// flush reads the messages that are changed. They keep the places of those with their ids.
func (b *messageBuilder) flush() {
	if len(b.changed) == 0 {
		return
	}
	parsed, err := b.forms.ParseMessages(b.changed)
	b.err = errors.Join(b.err, err)
	for _, m := range parsed {
		at := slices.IndexFunc(b.messages, func(old session.Message) bool { return old.Meta().ID == m.Meta().ID })
		if at >= 0 {
			b.addHidden(at)
			m.Meta().Seq = b.messages[at].Meta().Seq
			b.next = max(b.next, at+1)
		}
		b.out = append(b.out, m)
	}
	b.changed = nil
}

// finish adds what is left.
func (b *messageBuilder) finish() {
	b.flush()
	b.addHidden(len(b.messages))
}
