package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// Variables with a known value do not make a command ask.
func TestKnownVariables(t *testing.T) {
	allowed := []permission.Layer{layer("user", "* | * | allow"), layer("more", "bash | rm * | deny")}
	for text, want := range map[string]session.Effect{
		"D=src; cp x $D/y":                                session.Allow,
		"D=src && cp x \"$D/y\"":                          session.Allow,
		"D=src; E=$D/a; mkdir -p $E && touch $E/y":        session.Allow,
		"export D=src; cp x $D/y":                         session.Allow,
		"for f in a b; do touch $f.txt; done":             session.Allow,
		"for f in a b; do cp $f \"x $f\"; done":           session.Allow,
		"for f in *.txt; do mv \"$f\" \"old/$f\"; done":   session.Allow,
		"mkdir -p src/{a,b}":                              session.Allow,
		"touch {a,b}.txt":                                 session.Allow,
		"touch *.txt":                                     session.Allow,
		"chmod +x *":                                      session.Allow,
		"touch f$((1+1)) g$#":                             session.Allow,
		"cp x \"$PWD/y\"":                                 session.Allow,
		"cp x \"$HOME/y\"":                                session.Allow,
		"cp x ${PWD}/y; touch z":                          session.Allow,
		"D=src; cd $D; touch y":                           session.Allow,
		"F=out.txt; ls > $F":                              session.Ask, // as any redirection to what is not written out
		"n=a.tar; tar xf $n":                              session.Allow,
		"tar xf \"a\" -C \"$D\"":                          session.Ask,
		"tar cf a -- *":                                   session.Allow,
		"sort -- *":                                       session.Allow,
		"git commit -m \"$M\"":                            session.Allow,
		"git diff -- $X":                                  session.Allow,
		"git checkout $B":                                 session.Allow,
		"go test -run \"$X\" ./...":                       session.Allow,
		"rg -e \"$X\"":                                    session.Allow,
		"make -C \"$D\"":                                  session.Allow,
		"cat $X; ls \"$Y\"; echo $Z":                      session.Allow,
		"cp \"a\" b; rmdir c":                             session.Allow,
		"X=rm; $X y":                                      session.Deny,
		"X=rm; \"$X\" y":                                  session.Deny,
		"X=r; Y=m; $X$Y y":                                session.Deny,
		"for c in ls rm; do $c y; done":                   session.Deny,
		"X=rm; sh -c \"$X y\"":                            session.Deny,
		"{rm,-rf,x}":                                      session.Deny,
		"X=--to-command=y; tar xf a $X":                   session.Ask,
		"command -v go && D=a; D=b; cp x $D/y":            session.Allow,
		"f=a; g() { cp x $f; }; g":                        session.Allow,
		"while true; do f=b; done; f=a; cp x $f":          session.Allow,
		"f=a; while true; do cp x $f; f=b; done; touch c": session.Allow,
	} {
		if d := permission.Evaluate(allowed, nil, "bash", text); d.Effect != want {
			t.Errorf("%s is %s by %+v, want %s", text, d.Effect, d, want)
		}
	}
}

// A command is decided about in its script, in which variables have values; an approval does not lift what may be
// protected.
func TestWrittenAnywhere(t *testing.T) {
	all := []permission.Layer{layer("user", "* | * | allow", "bash | cp * | allow", "edit | * | allow")}
	approved := []session.Rule{{Action: "bash", Resource: "cp *", Effect: session.Allow}}
	decide := func(script, command string) permission.Decision {
		return permission.EvaluateAll(
			all, approved,
			permission.Subject{Action: "bash", Resources: []string{command}, Command: permission.CommandContext{Script: script}},
		)
	}
	if d := decide("", "cp x $D/y"); d.Effect != session.Ask || d.Layer != permission.Protected || !d.Possible {
		t.Errorf("%+v", d)
	}
	if d := decide("D=a; cp x $D/y", "cp x $D/y"); d.Effect != session.Allow {
		t.Errorf("%+v", d)
	}
	if d := decide("D=a; read D; cp x $D/y", "cp x $D/y"); d.Effect != session.Ask {
		t.Errorf("%+v", d)
	}
	if d := decide("D=a; cp x $D/y", "cp z $D/y"); d.Effect != session.Ask {
		t.Errorf("what is no command of the script has its variables: %+v", d)
	}
}

// A command that cannot be parsed asks although everything is allowed, because its protected or unreadable files are
// unknown.
func TestWhatCannotBeReadAsks(t *testing.T) {
	all := []permission.Layer{layer("user", "* | * | allow")}
	for _, text := range []string{
		"ls '", "let d=1 # '\ncp x .git/hooks/y", "eval \"ls '\"", "cp x .git/hooks/y \r", "sh -c 'ls ('",
	} {
		if d := permission.Evaluate(
			all, []session.Rule{{Action: "bash", Resource: "*", Effect: session.Allow}}, "bash", text,
		); d.Effect != session.Ask {
			t.Errorf("%q is %s by %+v", text, d.Effect, d)
		}
	}
}
