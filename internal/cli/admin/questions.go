package admin

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// questionCommands are `cairn question …`.
type questionCommands struct{ inv *cli.Invocation }

func (g questionCommands) questionCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "question", Short: "Answer questions of the model",
		Long: "A question of the model waits for an answer, which can come from any terminal, also after a restart of\n" +
			"cairn.",
	}, g.questionList(), g.questionAnswer(), g.questionDismiss())
}

func (g questionCommands) questionList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List the pending questions", Args: cobra.MaximumNArgs(1),
		Example: "  cairn question list\n  cairn question list ses_… --json",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			list, err := g.listQuestions(ctx, c, cli.FirstArg(args, ""))
			if err != nil {
				return err
			}
			return cli.PrintResult(g.inv, list, g.printQuestions)
		}),
	})
}

func (g questionCommands) printQuestions(list []session.QuestionAsked) {
	if len(list) == 0 {
		g.inv.Err.Printf("No questions are pending.\n")
	}
	for _, q := range list {
		g.inv.Out.Printf("%s  %s\n", g.inv.Out.PaintText(terminal.Bold, string(q.ID)), q.SessionID)
		for _, one := range q.Questions {
			g.inv.Out.Printf("  %s\n", strings.ReplaceAll(terminal.ReplaceControls(one.Question), "\n", "\n  "))
			for i, l := range describe.OptionLines(one) {
				g.inv.Out.Printf("    %d %s\n", i+1, l)
			}
		}
	}
}

// listQuestions returns the pending questions of the named session, or of all sessions.
func (g questionCommands) listQuestions(
	ctx context.Context,
	c *api.Client,
	name string,
) ([]session.QuestionAsked, error) {
	id, err := g.inv.FindSessionID(ctx, c, name)
	if err != nil {
		return nil, err
	}
	return c.Questions().List(ctx, id)
}

func (g questionCommands) questionAnswer() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "answer QUESTION ANSWER…", Short: "Answer a question", Args: cobra.MinimumNArgs(2),
		Long: "Give one ANSWER for each question of the group: the number or label of an option, several separated by\n" +
			"commas if several may be chosen, or your own words. \"\" leaves a question unanswered.",
		Example: "  cairn question answer que_… 2\n  cairn question answer que_… \"the staging database\" 1,3",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			q, err := g.findQuestion(ctx, c, args[0])
			if err != nil {
				return err
			}
			answers, err := parseAnswers(q.Questions, args[1:])
			if err != nil {
				return err
			}
			err = c.Questions().Answer(ctx, q.SessionID, q.ID, answers)
			change := cli.Change{SessionID: q.SessionID, AskID: q.ID, Reply: session.ReplyOnce}
			return g.inv.FinishChange(err, change, "answered")
		}),
	})
}

// parseAnswers returns the answers to each question of a group. There must be one word for each question.
func parseAnswers(qs []session.Question, words []string) ([][]string, error) {
	if len(words) != len(qs) {
		return nil, cli.UsageErrorf(
			"the group has %d questions, got %d answers; use \"\" to leave one unanswered",
			len(qs),
			len(words),
		)
	}
	answers := make([][]string, len(qs))
	for i, q := range qs {
		given, err := q.ParseAnswer(strings.TrimSpace(words[i]))
		if err != nil {
			return nil, cli.UsageErrorf("question %d: %v: %s", i+1, err, describe.QuestionChoices(q))
		}
		answers[i] = given
	}
	return answers, nil
}

func (g questionCommands) questionDismiss() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "dismiss QUESTION", Short: "Dismiss a question and stop the session's work", Args: cobra.ExactArgs(1),
		Example: "  cairn question dismiss que_…",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			q, err := g.findQuestion(ctx, c, args[0])
			if err != nil {
				return err
			}
			err = c.Questions().Reject(ctx, q.SessionID, q.ID)
			change := cli.Change{SessionID: q.SessionID, AskID: q.ID, Reply: session.ReplyReject}
			return g.inv.FinishChange(err, change, "dismissed")
		}),
	})
}

// findQuestion returns the pending question with the id, or with the beginning of an id.
func (g questionCommands) findQuestion(ctx context.Context, c *api.Client, name string) (session.QuestionAsked, error) {
	list, err := g.listQuestions(ctx, c, "")
	if err != nil {
		return session.QuestionAsked{}, err
	}
	kind := cli.Kind{Name: "question", Hint: "cairn question list shows the pending questions"}
	return cli.FindByID(kind, list, func(q session.QuestionAsked) session.AskID { return q.ID }, name)
}
