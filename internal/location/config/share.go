package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ShareMode says when sessions are shared; "" is ShareManual.
type ShareMode string

// The modes.
const (
	ShareManual   ShareMode = "manual"   // when a person asks for it
	ShareAuto     ShareMode = "auto"     // every new session that is not a subagent's
	ShareDisabled ShareMode = "disabled" // never
)

// Sharing says where sessions are shared.
type Sharing struct {
	Target  Address `json:"target" doc:"server that takes shares of OpenCode, such as https://opncd.ai; default: none, cairn share serve shows them"`
	URL     Address `json:"url" doc:"address at which others reach cairn share serve; default: http://127.0.0.1:4097"`
	Expires Age     `json:"expires" doc:"time after which a share ends, such as \"30d\"; default: never"`
}

// Enterprise is the server of a company, in OpenCode's configuration.
type Enterprise struct {
	URL Address `json:"url" doc:"address of the server"`
}

// DefaultPageURL is the address of cairn share serve.
const DefaultPageURL = "http://127.0.0.1:4097" // with DefaultPagePort

// DefaultPagePort is the port of cairn share serve.
const DefaultPagePort = 4097

// ShareTarget returns the address of the server that takes shares, "" if cairn itself shows them.
func (c *Config) ShareTarget() string { return string(cmp.Or(c.Sharing.Target, c.Enterprise.URL)) }

// PageURL returns the address at which the pages of shared sessions are reached.
func (c *Config) PageURL() string { return string(cmp.Or(c.Sharing.URL, DefaultPageURL)) }

// Address is the address of a server without a trailing slash: https, or http on this machine.
type Address string

// UnmarshalJSONFrom reads the address from a string.
func (a *Address) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := readText(dec)
	if err == nil {
		err = CheckAddress(text)
	}
	*a = Address(strings.TrimRight(text, "/"))
	return err
}

// CheckAddress returns why a text is not the address of a server to which sessions may be sent.
func CheckAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("want the address of a server, such as https://share.example.org")
	case u.Scheme == "http" && !isThisMachine(u.Hostname()):
		return fmt.Errorf("want https: over http, everybody between here and %s could read the sessions", u.Hostname())
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("want an address with https")
	}
	return nil
}

// isThisMachine reports whether the host is an address of the loopback interface.
func isThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}
