package session

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the golden files anew: the stored form is a promise, so look twice")

// fill sets every field of v to a value, and every Extra to an unknown field.
func fill(v reflect.Value, name string) {
	switch p := v.Addr().Interface().(type) {
	case *jsontext.Value:
		*p = jsontext.Value(`{"raw":[1,"x"]}`)
		if name == "Extra" {
			*p = jsontext.Value(`{"future":{"a":1}}`)
		}
		return
	case *[]Content:
		*p = []Content{filled(&Text{Type: "text"}), filled(&Reasoning{Type: "reasoning"}), filled(&Tool{Type: "tool"})}
		return
	case *MessageType:
		return // says what it is already
	}
	switch v.Kind() {
	case reflect.String:
		if name != "Type" {
			v.SetString(strings.ToLower(name))
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(len(name)) + 40)
	case reflect.Uint32:
		v.SetUint(uint64(len(name)) + 40)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, name)
		v.SetMapIndex(reflect.ValueOf("key"), item)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i), f.Name)
			}
		}
	default:
		panic("what to fill " + v.Kind().String() + " with?")
	}
}

func filled[T any](v *T) *T {
	fill(reflect.ValueOf(v).Elem(), "")
	return v
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s: stored forms changed: -want +got\n%s", file, d)
	}
}

// The stored form of every event kind, with every field set, and unknown ones at every level. It survives a round trip.
func TestGoldenEvents(t *testing.T) {
	var out strings.Builder
	seen := map[Kind]bool{}
	for _, k := range ListKinds() {
		d := newData(k)
		if d == nil || d.Kind() != k || seen[k] {
			t.Fatalf("%s: the table of kinds is wrong", k)
		}
		seen[k] = true
		fill(reflect.ValueOf(d).Elem(), "")
		raw, err := EncodeData(d)
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		fmt.Fprintf(&out, "%s.%d public=%v %s\n", k, d.Version(), k.IsPublic(), raw)
		back, err := DecodeData(k, d.Version(), raw)
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		if diff := cmp.Diff(d, back, cmpopts.IgnoreUnexported(MessagesCopied{})); diff != "" {
			t.Errorf("%s: round trip: %s", k, diff)
		}
	}
	golden(t, "events.txt", out.String())
}

// The same of every message type, and of a session with all it has.
func TestGoldenMessages(t *testing.T) {
	var out strings.Builder
	for _, typ := range []MessageType{
		TypeUser, TypeSynthetic, TypeSystem, TypeShell, TypeAgentSwitch, TypeModelSwitch, TypeAssistant, TypeCompaction,
	} {
		m, err := newMessage(typ)
		if err != nil {
			t.Fatal(err)
		}
		m.Meta().Type = typ
		fill(reflect.ValueOf(m).Elem(), "")
		raw, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		fmt.Fprintf(&out, "%s\n", raw)
		back, err := DecodeMessage(raw)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Errorf("%s: round trip: %s", typ, diff)
		}
	}
	s := filled(&Session{})
	raw, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "session %s\n", raw)
	var back Session
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, &back); diff != "" {
		t.Errorf("session: round trip: %s", diff)
	}
	golden(t, "messages.txt", out.String())
}

func TestGoldenEmpty(t *testing.T) {
	var out strings.Builder
	for _, k := range ListKinds() {
		raw, err := EncodeData(newData(k))
		if err != nil {
			t.Errorf("%s: %v", k, err)
		}
		fmt.Fprintf(&out, "%s %s\n", k, raw)
	}
	golden(t, "empty.txt", out.String())
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		kind    Kind
		version int
		raw     string
		session ID
	}{
		{"session.next.future", 1, `{"timestamp":7,"sessionID":"ses_a","x":[1,2]}`, "ses_a"},
		{KindRenamed, 9, `{"timestamp":7,"sessionID":"ses_a","title":{"now":"an object"}}`, "ses_a"},
		{"alien", 3, `[]`, ""},
		{"alien", 3, `{"sessionID":5}`, ""},
	} {
		d, err := DecodeData(c.kind, c.version, jsontext.Value(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := d.(*Unknown); !ok || d.Kind() != c.kind || d.Version() != c.version ||
			d.Stamp().SessionID != c.session {
			t.Errorf("%s.%d became %#v", c.kind, c.version, d)
		}
		raw, err := EncodeData(d)
		if err != nil || string(raw) != c.raw {
			t.Errorf("%s.%d is written as %s, %v", c.kind, c.version, raw, err)
		}
		if (&Session{}).Apply(d) || Begin(d, 1) != nil || ChangedTurn(d) != "" || (&Assistant{}).Apply(d) {
			t.Errorf("%s.%d means something", c.kind, c.version)
		}
	}
}

func TestUpcast(t *testing.T) {
	d, err := DecodeData(
		KindStepEnded, 1,
		jsontext.Value(
			`{"timestamp":1,"sessionID":"ses_a","assistantMessageID":"msg_a","finish":"stop","cost":0.5,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}`,
		),
	)
	if err != nil || d.(*StepEnded).Cost != Dollar/2 || d.Version() != 2 {
		t.Errorf("an old step.ended became %+v, %v", d, err)
	}
	if _, err := DecodeData(KindRenamed, 0, jsontext.Value(`{}`)); err == nil {
		t.Error("version 0 was taken")
	}
	var e Event // what is in the new form says so, or the next reader would up-cast it again
	err = e.UnmarshalJSON(
		[]byte(
			`{"id":"evt_1","type":"session.next.step.ended","durable":{"aggregateID":"ses_a","seq":1,"version":1},"data":{}}`,
		),
	)
	if err != nil || e.Version != 2 {
		t.Errorf("an old event became version %d, %v", e.Version, err)
	}
}

func TestWireEvent(t *testing.T) {
	e := Event{
		ID: "evt_1", SessionID: "ses_a", Seq: 3, Position: 77, Version: 1,
		Data:    &Renamed{Fact: Fact{Timestamp: 5, SessionID: "ses_a"}, Title: "t"},
		Private: &Private{Epoch: &Epoch{Snapshot: jsontext.Value(`{"secret":1}`), Revision: 1}},
	}
	raw, err := json.Marshal(e)
	want := `{"id":"evt_1","type":"session.next.renamed","durable":{"aggregateID":"ses_a","seq":3,"version":1},"data":{"timestamp":5,"sessionID":"ses_a","title":"t"}}`
	if err != nil || string(raw) != want {
		t.Errorf("got  %s, %v\nwant %s", raw, err, want)
	}
	var back Event
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	e.Position, e.Private = 0, nil
	if d := cmp.Diff(e, back); d != "" {
		t.Error(d)
	}
	if err := json.Unmarshal([]byte(`{"id":"x","type":"session.status","data":{}}`), &back); err == nil {
		t.Error("an event that is not durable was taken for one")
	}
}

func TestFragmentWire(t *testing.T) {
	for _, item := range []FragmentItem{FragmentText, FragmentReasoning, FragmentToolInput} {
		f := Fragment{
			SessionID: "ses_a", MessageID: "msg_a", PartID: "prt_a", ItemID: "x", Item: item, Offset: 4,
			Delta: "né\n", Timestamp: 9,
		}
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var wire struct {
			Type Kind           `json:"type"`
			Data jsontext.Value `json:"data"`
		}
		if err := json.Unmarshal(raw, &wire); err != nil || strings.Contains(string(raw), "durable") {
			t.Fatalf("%s: %v", raw, err)
		}
		if back, ok := ParseFragment(wire.Type, wire.Data); !ok || back != f {
			t.Errorf("%s came back as %+v, %v", raw, back, ok)
		}
	}
	if _, ok := ParseFragment(KindTextEnded, jsontext.Value(`{}`)); ok {
		t.Error("a durable event was taken for a fragment")
	}
}

func FuzzDecodeData(f *testing.F) {
	for _, k := range ListKinds() {
		d := newData(k)
		fill(reflect.ValueOf(d).Elem(), "")
		raw, _ := EncodeData(d)
		f.Add(string(k), d.Version(), []byte(raw))
	}
	f.Fuzz(func(t *testing.T, kind string, version int, raw []byte) {
		d, err := DecodeData(Kind(kind), version, raw)
		if err != nil {
			return
		}
		// Whatever was taken can be written, read again, and means the same.
		once, err := EncodeData(d)
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		again, err := DecodeData(Kind(kind), version, once)
		if err != nil {
			t.Fatalf("written but cannot be read: %v\n%s", err, once)
		}
		twice, err := EncodeData(again)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("not stable: %v\n%s\n%s", err, once, twice)
		}
		s, a := &Session{}, &Assistant{Head: Head{ID: ChangedTurn(d)}}
		s.Apply(d)
		a.Apply(d)
		Begin(d, 1)
	})
}

func FuzzDecodeMessage(f *testing.F) {
	for _, typ := range []MessageType{
		TypeUser, TypeSynthetic, TypeSystem, TypeShell, TypeAgentSwitch, TypeModelSwitch, TypeAssistant,
		TypeCompaction,
	} {
		m, _ := newMessage(typ)
		m.Meta().Type = typ
		fill(reflect.ValueOf(m).Elem(), "")
		raw, _ := json.Marshal(m)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := DecodeMessage(raw)
		if err != nil {
			return
		}
		once, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		again, err := DecodeMessage(once)
		if err != nil {
			t.Fatalf("written but cannot be read: %v\n%s", err, once)
		}
		twice, err := json.Marshal(again, json.Deterministic(true))
		if err != nil || string(once) != string(twice) {
			t.Fatalf("not stable: %v\n%s\n%s", err, once, twice)
		}
	})
}
