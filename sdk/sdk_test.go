package sdk_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
)

func TestTry(t *testing.T) {
	ctx := context.Background()
	c, err := sdk.Dial(ctx, "", &sdk.DialOptions{Home: "/tmp/x/h1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.CreateSession(ctx, &sdk.SessionOptions{Directory: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Run(ctx, sdk.Prompt{Text: "x hello", Asks: sdk.AskAllow}) {
		fmt.Printf("%d %T %+v %v\n", e.Seq, e.Data, e.Data, err)
	}
	r, err := s.Do(ctx, sdk.Prompt{Text: "again"})
	fmt.Printf("%+v %v\n", r, err)
	for m, err := range s.Messages(ctx) {
		fmt.Printf("%+v %v\n", m, err)
	}
	fmt.Println(s.Undo(ctx))
	fmt.Println(s.Redo(ctx))
	fmt.Println(c.Models(ctx))
	fmt.Println(c.OpenSession(ctx, "ses_nope"))
}
