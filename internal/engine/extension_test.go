package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// observedKey is the key of the activities around one, in its context.
type observedKey struct{}

// extend adds an extension from the fields of a line: ID [may-allow] POINT SUBJECT ACT [TEXT…]. The subject is the tool,
// the action of a permission, or * for any. What it was shown is a line of the outcome.
//
//	prompt     text TEXT, refuse TEXT
//	options    headers TEXT
//	definition description TEXT
//	call       input JSON, deny TEXT, ask TEXT, allow, context TEXT, halt TEXT
//	system     add TEXT
//	messages   first TEXT: the text of the first prompt
//	environment set TEXT: the variable ID
//	result     content TEXT, halt TEXT
//	permission deny TEXT, ask, allow
//	compaction add TEXT, refuse TEXT
//	proceed    end
//	text       text TEXT
//	stop       continue TEXT
//	event      none
//	observe    none
//
// At each point: fail TEXT, panic, hang.
func (w *world) extend(f []string) {
	e := extension.Extension{ID: f[0]}
	if f[1] == "may-allow" {
		e.MayAllow, f = true, slices.Delete(slices.Clone(f), 1, 2)
	}
	subject, act, text := f[2], f[3], strings.Join(f[4:], " ")
	// do does what every point can do, and reports whether the extension acts.
	do := func(ctx context.Context, what string) (acts bool, err error) {
		w.mu.Lock()
		w.shown = append(w.shown, fmt.Sprintf("%s is shown %s %s", e.ID, f[1], what))
		w.mu.Unlock()
		switch {
		case subject != "*" && !strings.HasPrefix(what, subject):
			return false, nil
		case act == "fail", act == "refuse":
			return false, errors.New(text)
		case act == "panic":
			panic(text)
		case act == "hang":
			<-ctx.Done()
			return false, ctx.Err()
		}
		return true, nil
	}
	switch extension.Point(f[1]) {
	case extension.PointPrompt:
		e.Prompt = func(ctx context.Context, v *extension.Prompt) error {
			acts, err := do(ctx, v.Prompt.Text)
			if acts {
				v.Prompt.Text = text
			}
			return err
		}
	case extension.PointCall:
		e.Call = func(ctx context.Context, v *extension.Call) error {
			acts, err := do(ctx, v.Tool+" "+string(v.Input))
			switch {
			case acts && act == "input":
				v.Input = jsontext.Value(text)
			case acts && act == "context":
				v.Context = text
			case acts && act == "halt":
				v.Effect, v.Halt = session.Deny, text
			case acts:
				v.Effect, v.Reason = session.Effect(act), text
			}
			return err
		}
	case extension.PointOptions:
		e.Options = func(ctx context.Context, v *extension.Options) error {
			acts, err := do(ctx, v.Model.ID)
			if acts {
				v.Temperature, v.Headers = new(0.5), map[string]string{"X-Test": text}
			}
			return err
		}
	case extension.PointDefinition:
		e.Definition = func(ctx context.Context, v *extension.Definition) error {
			acts, err := do(ctx, v.Tool)
			if acts {
				v.Description = text
			}
			return err
		}
	case extension.PointSystem:
		e.System = func(ctx context.Context, v *extension.System) error {
			acts, err := do(ctx, v.Agent)
			if w.mu.Lock(); acts {
				v.Text = text + w.systemSuffix
			}
			w.mu.Unlock()
			return err
		}
	case extension.PointMessages:
		e.Messages = func(ctx context.Context, v *extension.Messages) error {
			acts, err := do(ctx, fmt.Sprint(len(v.Messages)))
			if u, ok := v.Messages[0].(*session.User); acts && ok {
				other := *u
				other.Text, v.Messages = text, slices.Clone(v.Messages)
				v.Messages[0] = &other
			}
			return err
		}
	case extension.PointEnvironment:
		e.Environment = func(ctx context.Context, v *extension.Environment) error {
			acts, err := do(ctx, v.Directory)
			if acts {
				v.Variables = maps.Clone(v.Variables)
				if v.Variables == nil {
					v.Variables = map[string]string{}
				}
				v.Variables[e.ID] = text
			}
			return err
		}
	case extension.PointResult:
		e.Result = func(ctx context.Context, v *extension.Result) error {
			acts, err := do(ctx, v.Tool+" "+v.Content[0].Text)
			switch {
			case acts && act == "halt":
				v.Halt = text
			case acts:
				v.Content = session.TextContent(text)
			}
			return err
		}
	case extension.PointPermission:
		e.Permission = func(ctx context.Context, v *extension.Permission) error {
			acts, err := do(ctx, v.Action+" "+string(v.Effect))
			if acts {
				v.Effect, v.Reason = session.Effect(act), text
			}
			return err
		}
	case extension.PointCompaction:
		e.Compaction = func(ctx context.Context, v *extension.Compaction) error {
			if act == "refuse" {
				_, _ = do(ctx, fmt.Sprintf("manual=%v %q", v.Manual, v.Instructions))
				v.Refuse = text
				return nil
			}
			acts, err := do(ctx, fmt.Sprintf("manual=%v %q", v.Manual, v.Instructions))
			if acts {
				v.Context = append(v.Context, text)
			}
			return err
		}
	case extension.PointProceed:
		e.Proceed = func(ctx context.Context, v *extension.Proceed) error {
			acts, err := do(ctx, fmt.Sprintf("%s overflow=%v", v.Agent, v.Overflow))
			v.Enabled = v.Enabled && !acts
			return err
		}
	case extension.PointText:
		e.Text = func(ctx context.Context, v *extension.Text) error {
			acts, err := do(ctx, v.Text)
			if acts {
				v.Text = text
			}
			return err
		}
	case extension.PointStop:
		e.Stop = func(ctx context.Context, v *extension.Stop) error {
			acts, err := do(ctx, fmt.Sprintf("%s %q again=%v subagent=%v", v.Agent, v.Text, v.Again, v.ParentID != ""))
			if acts {
				v.Continue = text
			}
			return err
		}
	case extension.PointEvent:
		e.Event = func(ctx context.Context, v *extension.Event) error {
			_, err := do(ctx, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", v.Type, v.Agent, v.Cause, v.Text)))
			return err
		}
	case "observe":
		e.Observe = func(ctx context.Context, a extension.Activity) extension.Observation {
			above, _ := ctx.Value(observedKey{}).(string)
			name := strings.TrimPrefix(above+" > "+cmp.Or(a.Tool, "work "+a.Agent), " > ")
			return extension.Observation{
				Attach: func(ctx context.Context) context.Context { return context.WithValue(ctx, observedKey{}, name) },
				End: func(o extension.Outcome) {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.shown = append(w.shown, strings.TrimSpace(fmt.Sprintf("%s follows %s to its end %s", e.ID, name, o.Failure)))
				},
			}
		}
	default:
		panic("unknown point " + f[1])
	}
	w.extensions = append(w.extensions, e)
}
