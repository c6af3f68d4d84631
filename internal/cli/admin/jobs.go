package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// jobCommands are `cairn jobs …`.
type jobCommands struct{ inv *cli.Invocation }

func (g jobCommands) jobsCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "jobs", Aliases: []string{"job"}, Short: "List, wait for and cancel background commands",
		Long: "A job is a command that the model started in the background of a session. It ends with the process that\n" +
			"runs the session: cairn serve, or else cairn run. A JOB is an id or the beginning of one.",
	}, g.jobsList(), g.jobsShow(), g.jobsLogs(), g.jobsWait(), g.jobsCancel())
}

// sessionJob is a job and its session.
type sessionJob struct {
	SessionID session.ID `json:"sessionID"`
	session.Job
}

// maxJobSessions bounds the sessions whose jobs are listed: those that changed last.
const maxJobSessions = 500

// listJobs returns the jobs of one session, of all sessions of the directory, or with everywhere of all sessions.
func (g jobCommands) listJobs(ctx context.Context, c *api.Client, name string, everywhere bool) ([]sessionJob, error) {
	var of []*session.Session
	var err error
	if name != "" {
		s, ferr := g.inv.FindSession(ctx, c, name)
		of, err = []*session.Session{s}, ferr
	} else {
		q := api.SessionQuery{Directory: g.inv.Dir, Archived: true}
		if everywhere {
			q.Directory = ""
		}
		of, err = g.inv.ListSessions(ctx, c, q, maxJobSessions)
	}
	out := []sessionJob{}
	for i := 0; err == nil && i < len(of); i++ {
		if len(of[i].Jobs) == 0 {
			continue
		}
		var list []session.Job
		list, err = c.Jobs().List(ctx, of[i].ID) // which knows what really runs
		for _, j := range list {
			out = append(out, sessionJob{of[i].ID, j})
		}
	}
	return out, err
}

// withJob finds the job by id or beginning of an id, and calls f with it.
func (g jobCommands) withJob(
	ctx context.Context,
	name string,
	f func(context.Context, *api.Client, sessionJob) error,
) error {
	return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		all, err := g.listJobs(ctx, c, "", true)
		if err != nil {
			return err
		}
		kind := cli.Kind{Name: "job", Hint: "cairn jobs list --all shows all jobs"}
		found, err := cli.FindByID(kind, all, func(j sessionJob) session.JobID { return j.ID }, name)
		if err != nil {
			return err
		}
		return f(ctx, c, found)
	})
}

// completeJobs returns all jobs, running ones first.
func (g jobCommands) completeJobs(ctx context.Context, c *api.Client) (ids []cobra.Completion, err error) {
	jobs, err := g.listJobs(ctx, c, "", true)
	for _, running := range []bool{true, false} {
		for _, j := range jobs {
			if running == (j.Status == session.JobRunning) {
				about := jobState(j.Job) + ": " + terminal.FirstLine(j.Command, 60)
				ids = append(ids, cobra.CompletionWithDesc(string(j.ID), about))
			}
		}
	}
	return ids, err
}

// jobsList returns the command that lists background jobs.
func (g jobCommands) jobsList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List the jobs of this directory, or of a session",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn jobs list\n  cairn jobs list last --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			// Jobs of a session, of this directory, or with --all of every directory.
			jobs, err := g.listJobs(ctx, c, cli.FirstArg(args, ""), all)
			if err != nil {
				return err
			}
			return cli.List[sessionJob]{
				Head: []string{"ID", "STATE", "SINCE", "COMMAND"},
				Row: func(j sessionJob) []string {
					since, command := terminal.FormatAge(j.Time.Started), terminal.FirstLine(j.Command, 80)
					return []string{string(j.ID), jobState(j.Job), since, command}
				},
				Empty: "No jobs.",
			}.Print(g.inv, jobs)
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "include all directories")
	return g.inv.AddJSONFlag(cmd)
}

// jobState describes the status of a job in a few words.
func jobState(j session.Job) string {
	if j.Exit != nil {
		return fmt.Sprintf("%s %d", j.Status, *j.Exit)
	}
	return string(j.Status)
}

// jobsShow returns the command that shows a job.
func (g jobCommands) jobsShow() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "show JOB", Short: "Show a job and its state", Args: cobra.ExactArgs(1),
		Example:           "  cairn jobs show job_…",
		ValidArgsFunction: cli.FirstOnly(g.inv.Complete(g.completeJobs)),
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.withJob(ctx, args[0], func(_ context.Context, _ *api.Client, j sessionJob) error {
				// JSON for programs; for people a heading, then the facts that are set.
				if g.inv.JSON {
					return g.inv.PrintJSON(j)
				}
				g.inv.Out.Printf(
					"%s  %s  %s\n  %s\n",
					g.inv.Out.PaintText(terminal.Bold, string(j.ID)),
					jobState(j.Job),
					g.inv.Out.PaintText(terminal.Dim, terminal.FormatAge(j.Time.Started)),
					terminal.FirstLine(j.Command, 500),
				)
				about := [][2]string{
					{"for", terminal.FirstLine(j.Description, 200)},
					{"error", terminal.FirstLine(j.Error, 300)},
					{"session", string(j.SessionID)},
					{"in", terminal.FirstLine(j.Directory, 300)},
					{"output", terminal.FirstLine(j.OutputPath, 300)},
				}
				for _, l := range about {
					if l[1] != "" {
						g.inv.Out.Printf("  %-8s %s\n", l[0], l[1])
					}
				}
				return nil
			})
		}),
	})
}

func (g jobCommands) jobsLogs() *cobra.Command {
	var follow bool
	var bytes int64
	cmd := &cobra.Command{
		Use: "logs JOB", Short: "Print the output of a job", Args: cobra.ExactArgs(1),
		Example:           "  cairn jobs logs job_…\n  cairn jobs logs job_… --follow --tail 4096",
		ValidArgsFunction: cli.FirstOnly(g.inv.Complete(g.completeJobs)),
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if bytes < 0 {
				return cli.UsageErrorf("--tail must be a number of bytes, 0 or more, got %d", bytes)
			}
			err := g.withJob(ctx, args[0], func(ctx context.Context, c *api.Client, j sessionJob) error {
				return g.printLog(ctx, c, j, logOptions{follow, -bytes})
			})
			if follow && errors.Is(err, cli.ErrSignal) {
				return nil // this is how following ends
			}
			return err
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until the job ends")
	cmd.Flags().Int64Var(&bytes, "tail", 0, "start this many `BYTES` before the end")
	return g.inv.AddJSONFlag(cmd)
}

// logOptions are the flags of jobs logs.
type logOptions struct {
	follow bool
	at     int64 // offset in the log
}

// logPollInterval is the time that --follow waits for new output before it reads the log again.
const logPollInterval = 300 * time.Millisecond

// printLog prints the log from p.at on, piece by piece; as JSON one line for each.
func (g jobCommands) printLog(ctx context.Context, c *api.Client, j sessionJob, p logOptions) error {
	for {
		log, err := c.Jobs().Log(ctx, j.SessionID, j.ID, p.at)
		if err != nil {
			return err
		}
		p.at = log.Next
		switch {
		case log.Text != "" && g.inv.JSON:
			g.inv.PrintJSONLine(log)
		case log.Text != "":
			g.inv.Out.WriteText(log.Text)
		case !p.follow || log.Status != session.JobRunning:
			return g.inv.Out.Err
		default:
			if _, err := c.Jobs().Wait(ctx, j.SessionID, j.ID, logPollInterval); err != nil {
				return err
			}
		}
		if g.inv.Out.Err != nil {
			return g.inv.Out.Err
		}
	}
}

// jobsWait returns the command that waits for a job. Its exit code is for scripts: 0 only if the job succeeded.
func (g jobCommands) jobsWait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait JOB", Short: "Wait until a job has ended", Args: cobra.ExactArgs(1),
		Long: "Wait until a job has ended. Exit with 0 if its exit code is 0, with 4 if it is still running after\n" +
			"--timeout, and with 1 otherwise.",
		Example:           "  cairn jobs wait job_… --timeout 10m && echo fine",
		ValidArgsFunction: cli.FirstOnly(g.inv.Complete(g.completeJobs)),
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return cli.UsageErrorf("--timeout must be more than 0, got %v", timeout)
			}
			return g.withJob(ctx, args[0], func(ctx context.Context, c *api.Client, j sessionJob) error {
				// Wait; the job is printed as it is afterwards, then its end decides the exit code.
				if err := waitForJob(ctx, c, &j, timeout); err != nil {
					return err
				}
				if g.inv.JSON {
					if err := g.inv.PrintJSON(j); err != nil {
						return err
					}
				}
				return jobError(j.Job)
			})
		}),
	}
	cmd.Flags().
		DurationVar(&timeout, "timeout", 0, "stop waiting after this `DURATION` and exit with 4; the job continues")
	return g.inv.AddJSONFlag(cmd)
}

// waitForJob updates j once the job has ended or the timeout has passed; 0 waits without a limit.
func waitForJob(ctx context.Context, c *api.Client, j *sessionJob, timeout time.Duration) error {
	const most = time.Minute // a connection is not kept open for ever
	for end := time.Now().Add(timeout); ; {
		d := most
		if timeout > 0 {
			d = min(d, max(0, time.Until(end)))
		}
		now, err := c.Jobs().Wait(ctx, j.SessionID, j.ID, d)
		if err != nil {
			return err
		}
		if j.Job = now; now.Status != session.JobRunning || timeout > 0 && !time.Now().Before(end) {
			return nil
		}
	}
}

// jobError returns the error whose exit code says how the job ended; nil if it succeeded.
func jobError(j session.Job) error {
	switch {
	case j.Status == session.JobRunning:
		return &cli.ExitError{Code: cli.ExitTimeout, Err: fmt.Errorf("job %s is still running", j.ID)}
	case j.Status == session.JobEndedItself && j.Exit != nil && *j.Exit == 0:
		return nil
	default:
		return &cli.ExitError{Code: cli.ExitFailure, Err: fmt.Errorf("job %s: %s", j.ID, jobState(j))}
	}
}

func (g jobCommands) jobsCancel() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "cancel JOB…", Short: "End jobs and every process that they started", Args: cobra.MinimumNArgs(1),
		Example:           "  cairn jobs cancel job_…",
		ValidArgsFunction: cli.FirstOnly(g.inv.Complete(g.completeJobs)),
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			for _, name := range args {
				err := g.withJob(ctx, name, func(ctx context.Context, c *api.Client, j sessionJob) error {
					now, err := c.Jobs().Cancel(ctx, j.SessionID, j.ID)
					change := cli.Change{SessionID: j.SessionID, JobID: j.ID}
					return g.inv.FinishChange(err, change, string(j.ID)+" "+jobState(now))
				})
				if err != nil {
					return err
				}
			}
			return nil
		}),
	})
}
