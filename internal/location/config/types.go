package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// ModelName is "provider/model", or "provider/model#variant"; the model's part may hold more slashes. A name without a
// provider is read, too; what needs the model reports or resolves it.
type ModelName string

const wantModel = `"provider/model", such as "openai/gpt-5"; cairn models lists them`

// Ref returns the model named, nil if it has no provider.
func (m ModelName) Ref() *session.ModelRef {
	provider, id, ok := strings.Cut(string(m), "/")
	if !ok || provider == "" || id == "" {
		return nil
	}
	ref := &session.ModelRef{ID: id, ProviderID: provider}
	if at := strings.LastIndexByte(id, '#'); at > 0 && at < len(id)-1 {
		ref.ID, ref.Variant = id[:at], id[at+1:]
	}
	return ref
}

// BaseName returns the name without the variant.
func (m ModelName) BaseName() string {
	if ref := m.Ref(); ref != nil {
		return ref.String()
	}
	return ""
}

// UnmarshalJSONFrom reads the name from a string.
func (m *ModelName) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	*m = ModelName(s)
	return nil
}

// BareName returns a name without a provider, such as Claude Code's "sonnet"; "" for other names and for those that
// mean the session's model.
func (m ModelName) BareName() string {
	if m.Ref() != nil || isInherited(string(m)) {
		return ""
	}
	return string(m)
}

// isInherited reports whether the name means the session's model, as in files of Claude Code.
func isInherited(name string) bool { return name == "" || name == "inherit" || name == "default" }

// Mode is an agent's mode; "" if not set.
type Mode session.AgentMode

// UnmarshalJSONFrom reads the mode from a string.
func (m *Mode) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	if strings.EqualFold(strings.NewReplacer("-", "", "_", "").Replace(s), "subagent") { // as people write it
		s = string(session.ModeSubagent)
	}
	switch session.AgentMode(s) {
	case session.ModePrimary, session.ModeSubagent, session.ModeAll:
		*m = Mode(s)
		return nil
	default:
		return fmt.Errorf(`want "primary", "subagent" or "all"`)
	}
}

// SandboxMode is the confinement of commands; "" if not set.
type SandboxMode session.SandboxMode

// UnmarshalJSONFrom reads the mode from a string.
func (m *SandboxMode) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	if session.SandboxMode(s).Check("") != nil || s == "" {
		return fmt.Errorf(`want "off", "writes" or "strict"`)
	}
	*m = SandboxMode(s)
	return nil
}

// Color is "#rrggbb" or a name of the theme; "" if not set.
type Color string

var color = regexp.MustCompile(`^(#[0-9a-fA-F]{6}|primary|secondary|accent|success|warning|error|info)$`)

// claudeColors are the names of colours that Claude Code has.
var claudeColors = map[string]Color{
	"red": "#dc2626", "blue": "#2563eb", "green": "#16a34a", "yellow": "#ca8a04", "purple": "#9333ea",
	"orange": "#ea580c", "pink": "#db2777", "cyan": "#0891b2",
}

// UnmarshalJSONFrom reads the colour from a string.
func (c *Color) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	if err := Color(s).Validate(); err != nil && claudeColors[s] == "" {
		return err
	}
	*c = cmp.Or(claudeColors[s], Color(s))
	return nil
}

// Validate returns an error that lists the accepted forms unless the colour has one of them.
func (c Color) Validate() error {
	if c != "" && !color.MatchString(string(c)) {
		return errors.New(`want "#rrggbb", "primary", "secondary", "accent", "success", "warning", "error" or "info"`)
	}
	return nil
}

// TimeZone is the IANA name of a time zone; "" if not set.
type TimeZone string

// UnmarshalJSONFrom reads the name from a string.
func (z *TimeZone) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	if session.TimeZone(s).Check("") != nil {
		return fmt.Errorf(`want a time zone such as "Europe/Berlin"`)
	}
	*z = TimeZone(s)
	return nil
}

// Count is a positive whole number; 0 if not set.
type Count int

// UnmarshalJSONFrom reads the count from a number.
func (c *Count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(v), 10, 32)
	if v.Kind() != '0' || err != nil || n < 1 {
		return fmt.Errorf("want a whole number above 0")
	}
	*c = Count(n)
	return nil
}

// Size is a positive number of bytes; 0 if not set.
type Size int64

// UnmarshalJSONFrom reads the size from a number.
func (s *Size) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if v.Kind() != '0' || err != nil || n < 1 || n > maxSize {
		return fmt.Errorf("want a number of bytes: a whole number above 0")
	}
	*s = Size(n)
	return nil
}

// maxSize keeps sums of sizes within int64.
const maxSize = 1 << 50

// Path is an absolute path, or one below the home directory: "/srv/cache", "~/.cargo".
type Path string

// UnmarshalJSONFrom reads the path from a string.
func (p *Path) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	if rest, below := strings.CutPrefix(s, "~/"); !filepath.IsAbs(s) && (!below || !filepath.IsLocal(rest)) {
		return fmt.Errorf(`want an absolute path, or one that begins with "~/"`)
	}
	*p = Path(s)
	return nil
}

// In returns the path with "~" as the home directory.
func (p Path) In(home string) string {
	if rest, below := strings.CutPrefix(string(p), "~/"); below {
		return filepath.Join(home, rest)
	}
	return filepath.Clean(string(p))
}

// Natural is a whole number, zero or more.
type Natural int64

// UnmarshalJSONFrom reads the number.
func (n *Natural) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	i, err := strconv.ParseInt(string(v), 10, 64)
	if v.Kind() != '0' || err != nil || i < 0 {
		return fmt.Errorf("want a whole number, 0 or more")
	}
	*n = Natural(i)
	return nil
}

// Network is an address or a network of addresses.
type Network netip.Prefix

// UnmarshalJSONFrom reads the network from a string.
func (n *Network) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, err := readText(dec)
	if err != nil {
		return err
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		*n = Network(netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf(`want an address or a network, such as "127.0.0.1" or "10.0.0.0/8"`)
	}
	*n = Network(p.Masked())
	return nil
}

// Duration is a time span, written as milliseconds, as text such as "90s" or "2m", or as false for no limit
// (Unlimited). 0 means not set.
type Duration time.Duration

// Unlimited is the Duration of false.
const Unlimited Duration = -1

const maxDuration = 30 * 24 * time.Hour

// UnmarshalJSONFrom reads the duration in any of its forms.
func (d *Duration) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	wrong := fmt.Errorf(`want milliseconds, a time such as "90s" or "2m" (at most 30 days), or false for no limit`)
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'f':
		*d = Unlimited
		return nil
	case '0':
		ms, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || ms < 1 || ms > maxDuration.Milliseconds() {
			return wrong
		}
		*d = Duration(time.Duration(ms) * time.Millisecond)
		return nil
	case '"':
		text, _ := jsontext.AppendUnquote(nil, v) // the decoder checked it
		span, err := time.ParseDuration(string(text))
		if err != nil || span <= 0 || span > maxDuration {
			return wrong
		}
		*d = Duration(span)
		return nil
	default:
		return wrong
	}
}

// Milliseconds returns the duration in milliseconds, 0 when unlimited.
func (d Duration) Milliseconds() int64 { return max(0, time.Duration(d).Milliseconds()) }

func (d Duration) orElse(o Duration) Duration {
	if d != 0 {
		return d
	}
	return o
}

// toClock converts d to the form of llm.Clocks: zero is the default, negative means no limit.
func (d Duration) toClock() time.Duration { return time.Duration(d) }

func readText(dec *jsontext.Decoder) (string, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	if tok.Kind() != '"' {
		return "", fmt.Errorf("want a string")
	}
	return tok.String(), nil
}
