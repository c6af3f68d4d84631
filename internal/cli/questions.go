package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) questionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "question", Short: "Answer what the model wants to know",
		Long: "A question waits until somebody answers it, here or in another terminal, today or after a restart.",
	}
	cmd.AddCommand(a.questionList(), a.questionAnswer(), a.questionDismiss())
	return parent(cmd)
}

func (a *app) questionList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List what waits for an answer", Args: cobra.MaximumNArgs(1),
		Example: "  cairn question list\n  cairn question list ses_… --json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				list, err := a.questions(ctx, c, first(args, ""))
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(list)
				}
				if len(list) == 0 {
					a.err.printf("No question waits.\n")
				}
				for _, q := range list {
					a.printQuestion(q)
				}
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) printQuestion(q session.QuestionAsked) {
	a.out.printf("%s  %s\n", a.out.paint(bold, string(q.ID)), q.SessionID)
	for _, one := range q.Questions {
		a.out.printf("  %s\n", strings.ReplaceAll(harmless(one.Question), "\n", "\n  "))
		for i, l := range optionLines(one) {
			a.out.printf("    %d %s\n", i+1, l)
		}
	}
}

// questions returns what waits in one session, or everywhere.
func (a *app) questions(ctx context.Context, c *api.Client, name string) ([]session.QuestionAsked, error) {
	id, err := a.findIfNamed(ctx, c, name)
	if err != nil {
		return nil, err
	}
	list, err := c.Questions(ctx, id)
	return append([]session.QuestionAsked{}, list...), err
}

func (a *app) questionAnswer() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "answer QUESTION ANSWER…", Short: "Answer", Args: cobra.MinimumNArgs(2),
		Long: "Answer takes one ANSWER for each question that is asked together: the number or the label of an option, several of\n" +
			"them with commas between where several may be chosen, or your own words; \"\" is no answer.",
		Example: "  cairn question answer que_… 2\n  cairn question answer que_… \"the staging database\" 1,3",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				q, err := a.findQuestion(ctx, c, args[0])
				if err != nil {
					return err
				}
				answers, err := allChosen(q.Questions, args[1:])
				if err != nil {
					return err
				}
				if err := c.AnswerQuestion(ctx, q.SessionID, q.ID, answers); err != nil {
					return err
				}
				a.changed(asJSON, change{SessionID: q.SessionID, AskID: q.ID, Reply: session.ReplyOnce}, "answered")
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func allChosen(qs []session.Question, words []string) ([][]string, error) {
	if len(words) != len(qs) {
		return nil, usagef("%d questions are asked together, got %d answers; \"\" is no answer", len(qs), len(words))
	}
	answers := make([][]string, len(qs))
	for i, q := range qs {
		given, err := q.Chosen(strings.TrimSpace(words[i]))
		if err != nil {
			return nil, usagef("question %d: %v: %s", i+1, err, questionChoices(q))
		}
		answers[i] = given
	}
	return answers, nil
}

func (a *app) questionDismiss() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "dismiss QUESTION", Short: "Do not answer; the session's work stops", Args: cobra.ExactArgs(1),
		Example: "  cairn question dismiss que_…",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				q, err := a.findQuestion(ctx, c, args[0])
				if err != nil {
					return err
				}
				if err := c.RejectQuestion(ctx, q.SessionID, q.ID); err != nil {
					return err
				}
				a.changed(asJSON, change{SessionID: q.SessionID, AskID: q.ID, Reply: session.ReplyReject}, "dismissed")
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// findQuestion finds what waits by its id or the beginning of it.
func (a *app) findQuestion(ctx context.Context, c *api.Client, name string) (session.QuestionAsked, error) {
	list, err := a.questions(ctx, c, "")
	if err != nil {
		return session.QuestionAsked{}, err
	}
	ids := make([]string, len(list))
	var found []session.QuestionAsked
	for i, q := range list {
		ids[i] = string(q.ID)
		if ids[i] == name || len(name) >= 8 && strings.HasPrefix(ids[i], name) {
			found = append(found, q)
		}
	}
	if at := slices.Index(ids, name); at >= 0 {
		return list[at], nil
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return session.QuestionAsked{}, &exit{
		exitUsage, session.NotFound("waiting question", name, nearest(name, ids)...), "cairn question list shows what waits",
	}
}

// waiting are the questions of a session as asks.
func waitingQuestions(ctx context.Context, c *api.Client, id session.ID) ([]session.PendingAsk, error) {
	list, err := c.Questions(ctx, id)
	var asks []session.PendingAsk
	for _, q := range list {
		asks = append(asks, session.PendingAsk{ID: q.ID, SessionID: q.SessionID, Action: actionQuestion, Questions: q.Questions})
	}
	return asks, err
}

// actionQuestion is the action of asks for answers.
const actionQuestion = "question"

// waitingWords says what waits, and how to answer it.
func waitingWords(a session.PendingAsk) string {
	if a.IsQuestion() {
		return fmt.Sprintf("an answer: %s; answer with: cairn question answer %s ANSWER", oneLine(a), a.ID)
	}
	return fmt.Sprintf("a permission: %s; answer with: cairn permission reply %s once|always|reject", oneLine(a), a.ID)
}
