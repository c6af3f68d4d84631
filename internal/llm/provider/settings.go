package provider

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
)

// Setting is a part of a base URL that differs between users, such as an account or a region. The base URL contains it
// as ${name}.
type Setting struct {
	Name    string   // the option's name
	Env     []string // environment variables, by precedence
	Default string
}

// Lookup returns the value of an option of the configuration and that of an environment variable; "" if it is not set.
type Lookup struct{ Option, Env func(string) string }

func (l Lookup) find(s Setting) string {
	if l.Option != nil {
		if v := strings.TrimSpace(l.Option(s.Name)); v != "" {
			return v
		}
	}
	for _, name := range s.Env {
		if v := strings.TrimSpace(l.Env(name)); v != "" {
			return v
		}
	}
	return s.Default
}

// placeholder matches ${name} in an address; models.dev uses the names of environment variables.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z][A-Za-z0-9_]{0,63})\}`)
})

// validSetting matches values that cannot change the host or path of an address.
var validSetting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
})

// ResolveBaseURL returns the row with the settings in its address replaced. The error names the missing setting and how
// to set it.
func (v Vendor) ResolveBaseURL(l Lookup) (Vendor, error) {
	// Settings are found by name, or by the environment variable that the catalog's addresses use.
	settings := map[string]Setting{}
	for _, s := range v.Settings {
		settings[s.Name] = s
		for _, variable := range s.Env {
			settings[variable] = s
		}
	}
	// Replace each placeholder; the first failure is the one that is reported.
	var failed error
	v.BaseURL = placeholder().ReplaceAllStringFunc(v.BaseURL, func(whole string) string {
		name := placeholder().FindStringSubmatch(whole)[1]
		// These two hosts are computed from other settings.
		if name == "vertexHost" {
			return vertexHost(l.find(settings["location"]))
		}
		if name == "ollamaHost" {
			return ollamaAddress(l.Env("OLLAMA_HOST"))
		}
		// A placeholder that no setting names is an environment variable.
		s, exists := settings[name]
		if !exists {
			s = Setting{Name: name, Env: []string{name}}
		}
		value := l.find(s)
		// A value must not be able to change the host or the path of the address.
		switch {
		case value == "" && failed == nil:
			failed = fmt.Errorf(
				"provider %q needs its %s: set %s, or options.%s in its configuration", v.ID, s.Name, strings.Join(s.Env, " or "),
				s.Name,
			)
		case value != "" && !validSetting().MatchString(value) && failed == nil:
			failed = fmt.Errorf(
				"the %s %.60q of provider %q is not valid in a URL: use letters, digits, dots, hyphens and underscores", s.Name,
				value, v.ID,
			)
		}
		return value
	})
	return v, failed
}

// vertexHost returns the host of Vertex AI for a location.
func vertexHost(location string) string {
	switch location {
	case "", "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	default:
		return location + "-aiplatform.googleapis.com"
	}
}

// ollamaAddress returns the address of an Ollama server from the form of OLLAMA_HOST, as Ollama's own clients read it:
// a host, a port, both, or an address; "" is the default. A server that listens everywhere is reached at the loopback.
func ollamaAddress(host string) string {
	scheme, rest, hasScheme := strings.Cut(strings.Trim(host, " \"'"), "://")
	if !hasScheme {
		scheme, rest = "http", scheme
	}
	port := "11434"
	if hasScheme {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	rest, path, _ := strings.Cut(rest, "/")
	if name, number, err := net.SplitHostPort(rest); err == nil {
		rest, port = name, cmp.Or(number, port)
	}
	rest = strings.Trim(rest, "[]")
	if ip := net.ParseIP(rest); rest == "" || ip != nil && ip.IsUnspecified() {
		rest = "127.0.0.1"
	}
	return strings.TrimRight(scheme+"://"+net.JoinHostPort(rest, port)+"/"+path, "/")
}

// SettingValue returns the value of one of the row's settings.
func (v Vendor) SettingValue(name string, l Lookup) string {
	for _, s := range v.Settings {
		if s.Name == name {
			return l.find(s)
		}
	}
	return ""
}
