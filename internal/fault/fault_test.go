package fault

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func set(t *testing.T, spec string) {
	t.Helper()
	restore, err := Set(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restore)
}

func TestPointDoesWhatTheSpecSays(t *testing.T) {
	set(t, "store.pre_commit#2=error; store.post_commit#*=error;store.pre_answer=panic")
	var failed []int
	for i := range 3 {
		if err := PassPoint(t.Context(), StorePreCommit); errors.Is(err, ErrInjected) {
			failed = append(failed, i)
		}
		if err := PassPoint(t.Context(), StorePostCommit); !errors.Is(err, ErrInjected) {
			t.Errorf("pass %d of an every-time point: %v", i, err)
		}
	}
	if !slices.Equal(failed, []int{1}) {
		t.Errorf("failed at passes %v, want [1]", failed)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = PassPoint(t.Context(), StorePreAnswer)
	}()
	if h := HitCounts(); h[StorePreCommit] != 3 || h[StorePreAnswer] != 1 || h[AdmitBegin] != 0 {
		t.Errorf("hits are %v", h)
	}
}

func TestDelayIsTakenInFullUnlessTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set(t, "tool.exec=delay:50ms")
		start := time.Now()
		if err := PassPoint(t.Context(), ToolExec); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 50*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

func TestKillEndsTheProcess(t *testing.T) {
	if os.Getenv(Variable) != "" {
		if err := FromEnvironment(); err != nil {
			t.Fatal(err)
		}
		defer os.Stdout.WriteString("deferred functions ran")
		_ = PassPoint(t.Context(), AdmitPreAck)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillEndsTheProcess$")
	cmd.Env = append(os.Environ(), Variable+"=admit.pre_ack=kill")
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "ran") || strings.Contains(string(out), "PASS") {
		t.Errorf("the child ended with %v and said %q", err, out)
	}
}

func TestSpecErrors(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{"store.pre_commit", "want point#n="},
		{"store.precommit=kill", `unknown point "store.precommit"`},
		{"store.pre_commit#0=kill", `"0" is not a count`},
		{"store.pre_commit#x=kill", `"x" is not a count`},
		{"store.pre_commit=die", `unknown action "die"`},
		{"store.pre_commit=delay:long", `"long" is not a delay`},
	} {
		if _, err := Set(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.spec, err, tt.want)
		}
	}
	if HitCounts() != nil {
		t.Error("a wrong spec took effect")
	}
}

func FuzzSpec(f *testing.F) {
	f.Add("store.pre_commit#2=kill;tool.exec=delay:50ms")
	f.Fuzz(func(t *testing.T, spec string) {
		rules, err := parse(spec)
		for n := range rules {
			if err != nil || !isKnown(n) {
				t.Errorf("%q: rules %v with error %v", spec, rules, err)
			}
		}
	})
}

func BenchmarkPointOff(b *testing.B) {
	ctx := b.Context()
	for b.Loop() {
		_ = PassPoint(ctx, StorePreCommit)
	}
}
