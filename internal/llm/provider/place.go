package provider

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Setting is a part of an endpoint's address that each user has their own of, such as an account or a region. In the
// base URL it stands as ${name}.
type Setting struct {
	Name    string   // the option that sets it
	Env     []string // variables that do, first wins
	Default string
}

// Lookup finds the value of an option of the configuration, and that of a variable of the environment; "" for none.
type Lookup struct{ Option, Env func(string) string }

func (l Lookup) value(s Setting) string {
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

// placeholder is ${name} in an address; models.dev writes them with the names of variables.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z][A-Za-z0-9_]{0,63})\}`) })

// settingValue is what may stand in an address: nothing that would lead it to another host or path.
var settingValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })

// Placed returns the row with its address filled in. The error names what is missing and how to say it.
func (v Vendor) Placed(l Lookup) (Vendor, error) {
	settings := map[string]Setting{}
	for _, s := range v.Settings {
		settings[s.Name] = s
		for _, variable := range s.Env {
			settings[variable] = s
		}
	}
	var failed error
	v.BaseURL = placeholder().ReplaceAllStringFunc(v.BaseURL, func(whole string) string {
		name := placeholder().FindStringSubmatch(whole)[1]
		if name == "vertexHost" {
			return vertexHost(l.value(settings["location"]))
		}
		s, known := settings[name]
		if !known {
			s = Setting{Name: name, Env: []string{name}}
		}
		value := l.value(s)
		switch {
		case value == "" && failed == nil:
			failed = fmt.Errorf("provider %q needs to know its %s: set %s, or options.%s in its configuration", v.ID, s.Name, strings.Join(s.Env, " or "), s.Name)
		case value != "" && !settingValue().MatchString(value) && failed == nil:
			failed = fmt.Errorf("the %s %.60q of provider %q cannot stand in an address: letters, digits, dot, hyphen and underscore can", s.Name, value, v.ID)
		}
		return value
	})
	return v, failed
}

// vertexHost is where Vertex AI answers for a location.
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

// Setting returns the value of one of the row's settings.
func (v Vendor) Setting(name string, l Lookup) string {
	for _, s := range v.Settings {
		if s.Name == name {
			return l.value(s)
		}
	}
	return ""
}
