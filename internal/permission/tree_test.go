package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// What is read below a directory is held to the rules for read, file by file, and is looked for only where one of them
// may say no. What is too much to look at asks where it may be something that is denied or asked about.
func TestTrees(t *testing.T) {
	for _, c := range []struct {
		name   string
		rules  []string
		files  []string
		all    bool
		want   session.Effect
		looked bool
	}{
		{"nothing is held against it", []string{"* | * | allow"}, []string{".env"}, false, session.Allow, false},
		{
			"a file is denied",
			[]string{"* | * | allow", "read | *.env | deny"},
			[]string{"a", "d/.env"},
			true, session.Deny,
			true,
		},
		{
			"a file is asked about",
			[]string{"* | * | allow", "read | *.env | ask"},
			[]string{"a", "d/.env"},
			true, session.Ask,
			true,
		},
		{
			"none is",
			[]string{"* | * | allow", "read | *.env | deny"},
			[]string{"a", "d/.env.example"},
			true, session.Allow,
			true,
		},
		{
			"the last rule counts",
			[]string{"* | * | allow", "read | *.env | deny", "read | d/* | allow"},
			[]string{"d/.env"},
			true, session.Allow, false,
		},
		{"elsewhere", []string{"* | * | allow", "read | keys/* | deny"}, []string{"d/a"}, true, session.Allow, false},
		{"all is denied", []string{"read | * | deny", "bash | * | allow"}, nil, true, session.Deny, false},
		{"too many", []string{"* | * | allow", "read | *.env | deny"}, []string{"a"}, false, session.Ask, true},
		{
			"too many, one denied",
			[]string{"* | * | allow", "read | *.env | deny"},
			[]string{".env"},
			false, session.Deny,
			true,
		},
		{
			"the program is named",
			[]string{"* | * | allow", "read | *.env | deny", "bash | grep * | allow"},
			[]string{"d/.env"},
			true, session.Deny, true,
		},
	} {
		looked := false
		list := func() ([]string, bool) { looked = true; return c.files, c.all }
		s := permission.Subject{Action: "bash", Resources: []string{"grep -r x d"}}
		s.Command.Trees = []permission.Tree{{Action: "read", Dir: "d", Files: list}}
		d := permission.EvaluateAll([]permission.Layer{layer("user", c.rules...)}, nil, s)
		if d.Effect != c.want || looked != c.looked {
			t.Errorf("%s: %s by %+v, looked %v", c.name, d.Effect, d, looked)
		}
	}
}
