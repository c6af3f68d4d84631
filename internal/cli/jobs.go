package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) jobsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "jobs", Aliases: []string{"job"}, Short: "Look at, wait for and end commands that run in the background",
		Long: "A job is a command that the model started in the background of a session. It runs in the process that works\n" +
			"for the session, cairn serve or else cairn run, and ends with it. Jobs are named by id or by its beginning.",
	}
	cmd.AddCommand(a.jobsList(), a.jobsShow(), a.jobsLogs(), a.jobsWait(), a.jobsCancel())
	return parent(cmd)
}

// jobIn is a job and its session.
type jobIn struct {
	SessionID session.ID `json:"sessionID"`
	session.Job
}

// maxJobSessions is how many sessions, those that changed last, are looked at for jobs.
const maxJobSessions = 500

// jobs returns those of one session, or of all sessions of the directory; of every directory with everywhere.
func (a *app) jobs(ctx context.Context, c *api.Client, name string, everywhere bool) ([]jobIn, error) {
	var of []*session.Session
	var err error
	if name != "" {
		s, ferr := a.find(ctx, c, name)
		of, err = []*session.Session{s}, ferr
	} else {
		q := api.SessionQuery{Directory: a.Dir, Archived: true}
		if everywhere {
			q.Directory = ""
		}
		of, err = sessions(ctx, c, q, maxJobSessions)
	}
	out := []jobIn{}
	for i := 0; err == nil && i < len(of); i++ {
		if len(of[i].Jobs) == 0 {
			continue
		}
		var list []session.Job
		list, err = c.Jobs(ctx, of[i].ID) // which knows what really runs
		for _, j := range list {
			out = append(out, jobIn{of[i].ID, j})
		}
	}
	return out, err
}

// withJob finds the job that somebody means and calls f with it.
func (a *app) withJob(ctx context.Context, name string, f func(context.Context, *api.Client, jobIn) error) error {
	return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
		all, err := a.jobs(ctx, c, "", true)
		if err != nil {
			return err
		}
		var found []jobIn
		ids := make([]string, len(all))
		for i, j := range all {
			ids[i] = string(j.ID)
			if ids[i] == name {
				return f(ctx, c, j)
			}
			if len(name) >= 8 && strings.HasPrefix(ids[i], name) {
				found = append(found, j)
			}
		}
		if len(found) == 1 {
			return f(ctx, c, found[0])
		}
		return &exit{exitUsage, session.NotFound("job", name, nearest(name, ids)...), "cairn jobs list --all shows what there is"}
	})
}

// completeTime is how long a shell waits for what may be typed.
const completeTime = 2 * time.Second

// completeJobs offers the ids of jobs to shells: those that run first. Where there is no home yet, it makes none.
func (a *app) completeJobs(cmd *cobra.Command, args []string, typed string) (ids []cobra.Completion, files cobra.ShellCompDirective) {
	files = cobra.ShellCompDirectiveNoFileComp
	dirs, err := config.FindDirectories(a.Env)
	if err != nil || len(args) > 0 {
		return nil, files
	}
	if _, err := os.Stat(dirs.Data); err != nil {
		return nil, files
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	var jobs []jobIn
	_ = a.connected(ctx, func(ctx context.Context, c *api.Client) (err error) { // without an answer nothing is offered
		jobs, err = a.jobs(ctx, c, "", true)
		return err
	})
	for _, running := range []bool{true, false} {
		for _, j := range jobs {
			if strings.HasPrefix(string(j.ID), typed) && running == (j.Status == session.JobRunning) {
				ids = append(ids, cobra.CompletionWithDesc(string(j.ID), jobState(j.Job)+": "+line(j.Command, 60)))
			}
		}
	}
	return ids, files | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) jobsList() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List the jobs of this directory, or of a session", Args: cobra.MaximumNArgs(1),
		Example: "  cairn jobs list\n  cairn jobs list last --json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				jobs, err := a.jobs(ctx, c, first(args, ""), all)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(jobs)
				}
				if len(jobs) == 0 {
					a.err.printf("There are no jobs.\n")
					return nil
				}
				t := a.table("ID", "STATE", "SINCE", "COMMAND")
				for _, j := range jobs {
					t.row(string(j.ID), jobState(j.Job), ago(j.Time.Started), line(j.Command, 80))
				}
				t.print()
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "of all directories")
	return cmd
}

// jobState is how a job stands, in a few words.
func jobState(j session.Job) string {
	if j.Exit != nil {
		return fmt.Sprintf("%s %d", j.Status, *j.Exit)
	}
	return string(j.Status)
}

func (a *app) jobsShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show JOB", Short: "Show what a job is and how it stands", Args: cobra.ExactArgs(1),
		Example: "  cairn jobs show job_…",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.withJob(ctx, args[0], func(_ context.Context, _ *api.Client, j jobIn) error {
				if asJSON {
					return a.printJSON(j)
				}
				a.out.printf("%s  %s  %s\n  %s\n", a.out.paint(bold, string(j.ID)), jobState(j.Job), a.out.paint(dim, ago(j.Time.Started)), line(j.Command, 500))
				about := [][2]string{
					{"for", line(j.Description, 200)},
					{"error", line(j.Error, 300)},
					{"session", string(j.SessionID)},
					{"in", line(j.Directory, 300)},
					{"output", line(j.OutputPath, 300)},
				}
				for _, l := range about {
					if l[1] != "" {
						a.out.printf("  %-8s %s\n", l[0], l[1])
					}
				}
				return nil
			})
		}),
	}
	cmd.ValidArgsFunction = a.completeJobs
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) jobsLogs() *cobra.Command {
	var asJSON, follow bool
	var bytes int64
	cmd := &cobra.Command{
		Use: "logs JOB", Short: "Print what a job has printed", Args: cobra.ExactArgs(1),
		Example: "  cairn jobs logs job_…\n  cairn jobs logs job_… --follow --tail 4096",
		RunE: a.does(func(ctx context.Context, args []string) error {
			if bytes < 0 {
				return usagef("--tail must be a number of bytes, 0 or more, got %d", bytes)
			}
			err := a.withJob(ctx, args[0], func(ctx context.Context, c *api.Client, j jobIn) error {
				return a.printLog(ctx, c, j, printing{follow, asJSON, -bytes})
			})
			if follow && errors.Is(err, errSignal) {
				return nil // this is how following ends
			}
			return err
		}),
	}
	cmd.ValidArgsFunction = a.completeJobs
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job ends")
	cmd.Flags().Int64Var(&bytes, "tail", 0, "begin so many `BYTES` before the end")
	return cmd
}

type printing struct {
	follow, json bool
	at           int64
}

// lookAgain is how long following waits for more.
const lookAgain = 300 * time.Millisecond

// printLog prints the log from p.at on, piece by piece; as JSON one line for each.
func (a *app) printLog(ctx context.Context, c *api.Client, j jobIn, p printing) error {
	for {
		log, err := c.JobLog(ctx, j.SessionID, j.ID, p.at)
		if err != nil {
			return err
		}
		p.at = log.Next
		switch {
		case log.Text != "" && p.json:
			a.printLine(log)
		case log.Text != "":
			a.out.say(log.Text)
		case !p.follow || log.Status != session.JobRunning:
			return a.out.err
		default:
			if _, err := c.WaitJob(ctx, j.SessionID, j.ID, lookAgain); err != nil {
				return err
			}
		}
		if a.out.err != nil {
			return a.out.err
		}
	}
}

func (a *app) jobsWait() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait JOB", Short: "Wait until a job has ended", Args: cobra.ExactArgs(1),
		Long:    "Wait exits with 0 if the job ended by itself with exit code 0, with 4 if it still runs after --timeout, else with 1.",
		Example: "  cairn jobs wait job_… --timeout 10m && echo fine",
		RunE: a.does(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return usagef("--timeout must be more than 0, got %v", timeout)
			}
			return a.withJob(ctx, args[0], func(ctx context.Context, c *api.Client, j jobIn) error {
				if err := waitFor(ctx, c, &j, timeout); err != nil {
					return err
				}
				if asJSON {
					if err := a.printJSON(j); err != nil {
						return err
					}
				}
				return ended(j.Job)
			})
		}),
	}
	cmd.ValidArgsFunction = a.completeJobs
	jsonFlag(cmd, &asJSON)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this `DURATION` and exit with 4; the job runs on")
	return cmd
}

// waitFor brings j up to date when it has ended, or the time is over.
func waitFor(ctx context.Context, c *api.Client, j *jobIn, timeout time.Duration) error {
	const most = time.Minute // a connection is not kept open for ever
	for end := time.Now().Add(timeout); ; {
		d := most
		if timeout > 0 {
			d = min(d, max(0, time.Until(end)))
		}
		now, err := c.WaitJob(ctx, j.SessionID, j.ID, d)
		if err != nil {
			return err
		}
		if j.Job = now; now.Status != session.JobRunning || timeout > 0 && !time.Now().Before(end) {
			return nil
		}
	}
}

// ended is what the end of a job means for the exit code.
func ended(j session.Job) error {
	switch {
	case j.Status == session.JobRunning:
		return &exit{code: exitTimeout, err: fmt.Errorf("job %s still runs", j.ID)}
	case j.Status == session.JobEndedItself && j.Exit != nil && *j.Exit == 0:
		return nil
	default:
		return &exit{code: exitError, err: fmt.Errorf("job %s: %s", j.ID, jobState(j))}
	}
}

func (a *app) jobsCancel() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "cancel JOB…", Short: "End jobs with everything that they started", Args: cobra.MinimumNArgs(1),
		Example: "  cairn jobs cancel job_…",
		RunE: a.does(func(ctx context.Context, args []string) error {
			for _, name := range args {
				err := a.withJob(ctx, name, func(ctx context.Context, c *api.Client, j jobIn) error {
					now, err := c.CancelJob(ctx, j.SessionID, j.ID)
					if err == nil {
						a.changed(asJSON, change{SessionID: j.SessionID, JobID: j.ID}, string(j.ID)+" "+jobState(now))
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.ValidArgsFunction = a.completeJobs
	jsonFlag(cmd, &asJSON)
	return cmd
}
