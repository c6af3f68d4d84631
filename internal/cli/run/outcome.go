package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// exitStatus says how the work came out: its code and, unless that is ok, why.
func exitStatus(s *follow.Progress) (cli.ExitCode, string) {
	switch {
	case s.Withdrawn && !s.Begun:
		return cli.ExitInterrupted, "the prompt was withdrawn before it was delivered"
	case !s.Begun && !s.Blocked:
		return cli.ExitInterrupted, "the session was interrupted before the prompt was delivered; it is pending in the " +
			"inbox (cairn inbox list)"
	case s.Failure != nil:
		return cli.CodeOfReason(s.Failure.Reason), s.Failure.Message
	case s.Finish == "content-filter" || s.Finish == "error":
		return cli.ExitProvider, session.DescribeFinish(s.Finish)
	case len(s.Denials) == 1:
		return cli.ExitDenied, "a permission was denied: " + s.Denials[0].Action
	case len(s.Denials) > 1:
		return cli.ExitDenied, fmt.Sprintf("%d permissions were denied", len(s.Denials))
	case len(s.Said) == 0 && len(s.Value) == 0 && (s.Finish == "stop" || s.Finish == "length"):
		return cli.ExitProvider, "the model ended its answer without text; its reasoning is in cairn session show --thinking"
	default:
		return cli.ExitOK, ""
	}
}

// result says how the run came out.
func (r *promptRun) result(err error) printer.Result {
	out := printer.Result{
		SessionID: r.shownID(), Time: time.Now().UnixMilli(), Denials: []follow.Denial{}, Sandbox: r.setup.sandbox,
		Fill: r.after.fill,
	}
	if !r.plan.ephemeral && !r.deleted {
		out.Continue = r.continueCommand(out.SessionID)
	}
	// What the progress of the prompt says.
	var why string
	if s := r.progress; s != nil {
		out.ExitCode, why = exitStatus(s)
		out.Text, out.Turns, out.Usage, out.Cost = strings.Join(s.Said, "\n"), s.Turns, s.Tokens, s.Cost
		out.Agent, out.Finish, out.Value = s.Agent, s.Finish, s.Value
		out.Denials = append(out.Denials, s.Denials...)
		if s.Model.ID != "" {
			out.Model = s.Model.String()
		}
	}
	// An error of the run comes before that, and the reason for which it was stopped.
	var hint string
	switch {
	case err != nil:
		out.ExitCode, why, hint = cli.CodeOf(err), err.Error(), cli.HintOf(err)
		if follow.IsDamaged(err) {
			out.Continue = ""
		}
		if e, ok := errors.AsType[*session.Error](err); ok && hint == "" && e.Code == session.CodeNotFound &&
			e.Kind == "model" {
			hint = r.plan.withheld
		}
		if errors.Is(err, errTimeout) {
			out.ExitCode = cli.ExitTimeout
		}
	case r.stopped != 0 && out.ExitCode != cli.ExitOK:
		out.ExitCode = r.stopped
	}
	// Words for a run that was stopped, by what had become of the prompt.
	switch {
	case r.inv.Out.Err != nil && r.stopped == cli.ExitFailure:
		out.ExitCode, why = cli.ExitFailure, "cannot write to standard output: "+r.inv.Out.Err.Error()
	case r.progress != nil && r.progress.Withdrawn && r.stopped == cli.ExitInterrupted:
		why = "interrupted while the prompt waited; the prompt was withdrawn"
	case r.progress != nil && r.progress.Withdrawn && out.ExitCode == cli.ExitTimeout:
		why = fmt.Sprintf("--timeout %s passed while the prompt waited; the prompt was withdrawn", r.plan.timeout)
	case r.stopped == cli.ExitInterrupted && out.ExitCode == r.stopped && r.plan.ephemeral:
		why = "interrupted; the session was ephemeral and is deleted"
	case r.stopped == cli.ExitInterrupted && out.ExitCode == r.stopped && r.progress != nil && !r.progress.Begun:
		why = "interrupted before the prompt could be withdrawn; if it is still pending, cairn inbox list shows it"
	case r.stopped == cli.ExitInterrupted && out.ExitCode == cli.ExitInterrupted:
		why = "interrupted; the session can be continued"
	case out.ExitCode == cli.ExitTimeout:
		why = fmt.Sprintf("--timeout %s passed; the session was interrupted", r.plan.timeout)
		if !r.setup.sent {
			why = fmt.Sprintf("--timeout %s passed before the prompt was sent", r.plan.timeout)
		}
	}
	if out.IsError = out.ExitCode != cli.ExitOK; out.IsError {
		out.Error = &printer.ResultError{Name: out.ExitCode.String(), Message: why, Hint: hint}
		r.addHint(&out)
	}
	return out
}

// shownID is the session's id once there is one.
func (r *promptRun) shownID() session.ID {
	if r.progress == nil && !r.setup.prepared && !r.setup.located {
		return ""
	}
	return r.plan.id
}

// continueCommand is the command that continues the session.
func (r *promptRun) continueCommand(id session.ID) string {
	attach := ""
	if r.plan.server != nil {
		attach = "--attach " + r.plan.server.publicURL() + " "
	}
	return "cairn run " + attach + "-s " + string(id) + ` "…"`
}

// wasDeniedByPolicy reports whether a person could have allowed what was denied: not a rule or an extension denied it.
func (r *promptRun) wasDeniedByPolicy() bool {
	return r.progress == nil || slices.ContainsFunc(r.progress.Denials, func(d follow.Denial) bool { return d.By == "policy" })
}

// addHint adds the next step to the error.
func (r *promptRun) addHint(out *printer.Result) {
	e := out.Error
	if r.progress != nil && r.progress.Failure != nil {
		e.Reason = r.progress.Failure.Reason
	}
	if e.Hint != "" {
		return
	}
	switch {
	case r.owner != "" && r.findOwnVariable(e.Message) != "":
		e.Hint = cli.DescribeOwnKey(r.findOwnVariable(e.Message), r.owner, "PROVIDER")
	case out.ExitCode == cli.ExitDenied && r.desk.headless && r.wasDeniedByPolicy():
		e.Hint = "No terminal was available for questions. Use --ask=allow or --ask=wait:5m, or add a rule to the " +
			"configuration."
	case e.Reason == session.ReasonAuth && strings.Contains(e.Message, session.KeyPlaceMark): // the next step is in it
	case e.Reason == session.ReasonAuth && r.progress != nil:
		e.Hint = "Set the key: cairn auth login " + r.progress.Model.ProviderID
	case e.Reason == session.ReasonQuota && r.progress != nil:
		e.Hint = "The account at " + r.progress.Model.ProviderID + " has no credit left or has reached its limit. The key " +
			"is not the reason. Pay at the provider's site, or choose a model of another provider with -m (cairn models)."
	case out.ExitCode == cli.ExitBudget && r.progress != nil && r.progress.Limit == "price":
		e.Hint = "Set the price of the model in the configuration, or limit its tokens: --budget-tokens N"
	case out.ExitCode == cli.ExitBudget && r.plan.ephemeral:
		e.Hint = fmt.Sprintf("Run it again with a higher limit: %s …", r.budgetFlag())
	case out.ExitCode == cli.ExitBudget:
		e.Hint = fmt.Sprintf("Continue with a higher limit: cairn run -s %s %s … \"go on\"", out.SessionID, r.budgetFlag())
	}
}

// findOwnVariable returns a variable that the message names as missing although this process has it; "" if none.
func (r *promptRun) findOwnVariable(message string) string {
	isOther := func(c rune) bool { return c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') }
	for _, name := range strings.FieldsFunc(message, isOther) {
		if strings.Contains(name, "_") && r.inv.Env(name) != "" {
			return name
		}
	}
	return ""
}

// budgetFlag sets the limit that was reached.
func (r *promptRun) budgetFlag() string {
	limit := ""
	if r.progress != nil {
		limit = r.progress.Limit
	}
	switch limit {
	case "tokens", "turns":
		return "--budget-" + limit
	case "wall":
		return "--budget-time"
	default:
		return "--budget-usd"
	}
}
