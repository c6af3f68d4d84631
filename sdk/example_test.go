package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// A program asks the server of the user on this machine, and prints the answer. It needs a server (cairn serve) and the
// key of a provider.
func ExampleDial() {
	ctx := context.Background()
	client, err := sdk.Dial(ctx, "", nil)
	if errors.Is(err, sdk.ErrNoServer) {
		fmt.Fprintln(os.Stderr, "start one with cairn serve")
		return
	}
	if err != nil {
		slog.Error("connect to cairn", "error", err)
		return
	}
	defer client.Close()
	session, err := client.CreateSession(ctx, nil)
	if err != nil {
		slog.Error("create a session", "error", err)
		return
	}
	result, err := session.Do(ctx, sdk.Prompt{Text: "What does this project do?"})
	if err != nil {
		slog.Error("prompt the session", "error", err)
		return
	}
	fmt.Println(result.Text)
}

// exampleStore stands for the server that an example is connected to.
func exampleStore(answers ...cairntest.Answer) (*embed.Store, func()) {
	home, err := os.MkdirTemp("", "cairn")
	if err != nil {
		panic(err)
	}
	store, err := embed.Open(context.Background(), &embed.Options{
		Home: home, Directory: home, Env: func(string) string { return "" },
		Models: []embed.Model{cairntest.NewModel(answers...).Model()},
	})
	if err != nil {
		panic(err)
	}
	return store, func() { _ = errors.Join(store.Close(), os.RemoveAll(home)) }
}

func ExampleSession_Do() {
	ctx := context.Background()
	store, done := exampleStore(cairntest.Turn(cairntest.Text("Four.")))
	defer done()

	session, err := store.Client().CreateSession(ctx, nil)
	if err != nil {
		panic(err)
	}
	result, err := session.Do(ctx, sdk.Prompt{Text: "How much is two and two?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Text)
	// Output: Four.
}

// The loop shows the answer while it is written, and allows the commands that start with "echo ".
func ExampleSession_Run() {
	ctx := context.Background()
	store, done := exampleStore(
		cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "echo hello"})),
		cairntest.Turn(cairntest.Text("It says hello.")),
	)
	defer done()
	client := store.Client()

	session, err := client.CreateSession(ctx, nil)
	if err != nil {
		panic(err)
	}
	for event, err := range session.Run(ctx, sdk.Prompt{Text: "Say hello."}) {
		if err != nil {
			panic(err)
		}
		switch e := event.Data.(type) {
		case sdk.TextDelta:
			fmt.Println(e.Text)
		case sdk.ToolCalled:
			fmt.Println("call", e.Tool)
		case sdk.Asked:
			reply := sdk.ReplyReject
			if len(e.Ask.Resources) == 1 && e.Ask.Resources[0] == "echo hello" {
				reply = sdk.ReplyOnce
			}
			if err := client.Reply(ctx, e.Ask, reply, ""); err != nil {
				panic(err)
			}
		}
	}
	// Output:
	// call bash
	// It says hello.
}

func ExampleSession_Undo() {
	ctx := context.Background()
	store, done := exampleStore(
		cairntest.Turn(cairntest.Call("write", map[string]any{"filePath": "notes.txt", "content": "remember\n"})),
		cairntest.Turn(cairntest.Text("Written.")),
	)
	defer done()

	session, err := store.Client().CreateSession(ctx, nil)
	if err != nil {
		panic(err)
	}
	if _, err := session.Do(ctx, sdk.Prompt{Text: "Make a note.", Asks: sdk.AskEdits}); err != nil {
		panic(err)
	}
	undone, err := session.Undo(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(undone.Changed), "file taken back")
	// Output: 1 file taken back
}
